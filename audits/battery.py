"""Every procedure with every model that it serves, attacked: `python -m audits.battery [--quick] [--only WORD]`.

A case is a plan and a way to look at it: the release as a whole, noisy totals before draws are made from them, or one part of a
shape-first path. Of worst cases, random and odd records and the result of a search, the pair of data sets that is told apart best
is attacked by sampling. Laws on finite grids are enumerated too, and every case is replayed with frozen outputs on the strongest
pairs and on all with an odd record. The false alarms of all cases together have a probability of at most 1e-6.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import sfumato as sf
from audits.cases import Case, cases, part_pairs
from sfumato.auditing.attack import Attack, pilot
from sfumato.auditing.audit import delta_of, keeps_to
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.exact import Exact, exact
from sfumato.auditing.odd_records import ODD
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.power import detectable_factor
from sfumato.auditing.replay import replay
from sfumato.auditing.runs import BATCHED
from sfumato.auditing.shaped_parts import attack_part, part_prices, part_shift
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.models.model import TOTALS

# Probability that any case of the battery is called broken although all claims are true.
FALSE_ALARM = 1e-6
# Each case gets this part of it; cases may be added up to that number.
MOST_CASES = 500
# The confidence of a bound.
LEVEL = 0.95
# Runs a side: of plans whose releases are drawn together, and of those that are run one by one; quick and long.
MANY, FEW = {True: 1_500, False: 10_000}, {True: 200, False: 400}
# Pairs whose laws are enumerated, that are replayed, and that are compared by a few runs; quick and long.
LISTED, REPLAYED, SIFTED = {True: 6, False: 20}, {True: 2, False: 6}, {True: 1, False: 3}
# Runs a side of draws by tens of thousands of trials each (posteriors with kinks in two dimensions).
TRIED = 60
# A draw of this procedure takes seconds: it is replayed and not sampled.
TOO_SLOW = "reference-chain"


@dataclass(frozen=True)
class Row:
    """What one case showed. `shown` and `claim` are mu where the claim has one, else epsilon at the plan's delta."""

    name: str
    procedure: str
    model: str
    pair: str
    statistic: str
    runs: int
    unit: str
    claim: float
    shown: float
    exact: float | None
    replayed: float
    power: float | None
    broken: str
    seconds: float

    @property
    def share(self) -> float:
        """The proved part of the claim, by sampling or by enumeration."""
        return max(self.shown, self.exact or 0.0) / self.claim

    def line(self) -> str:
        """The row for a terminal."""
        unit, at, delta = self.unit.partition(" at ")
        best = f"{unit} {self.claim:.3g}{at and f' at delta {delta}'}: sampled {self.shown:.3g}"
        listed = "" if self.exact is None else f", enumerated {self.exact:.4g}"
        seen = "" if self.power is None else f", would see {self.power:.2f}"
        again = f", replayed {self.replayed:.3f} of declared"
        spent = f" ({self.seconds:.1f} s)"
        return f"{self.name}: {best}{listed}{again}{seen}{spent}{'  BROKEN: ' + self.broken if self.broken else ''}"


def run(case: Case, quick: bool, false_alarm: float) -> Row:
    """Attack one case."""
    start, plan = time.process_time(), case.plan()
    source = sf.seeded(zlib.crc32(case.name.encode()))
    guarantee = part_prices(plan)[case.part] if case.part else plan.guarantee
    claim, delta = Claim.of(guarantee), delta_of(plan)
    pairs = _pairs(plan)
    listed = [] if case.part else _distinct(plan, pairs)[: LISTED[quick]]
    laws = [(pair, law) for pair in listed if (law := exact(plan, pair)) is not None]
    replays = [replay(plan, pair, 1) for pair in ([] if case.part else _replayed(pairs, plan, quick))]
    attack = None if plan.procedure == TOO_SLOW else attacked(case, plan, pairs, laws, quick, source)
    broken = [str(each) for each in replays if not keeps_to(claim, each)]
    broken += [f"enumerated on {pair.name}" for pair, law in laws if law.breaks(guarantee)]
    if attack is not None and claim.broken_by(attack.rates(1 - false_alarm)):
        broken.append(f"sampled on {attack.pair.name}")
    rates = None if attack is None else attack.rates(LEVEL)
    mu = claim.mu is not None
    values = [law.mu if mu else law.epsilon(delta) for _, law in laws]
    return Row(
        name=case.name,
        procedure=plan.procedure,
        model=case.model,
        pair=pairs[0].name if attack is None else attack.pair.name,
        statistic="" if attack is None else attack.statistic,
        runs=0 if rates is None else rates.runs,
        unit="mu" if mu else f"epsilon at {delta:g}",
        claim=float(claim.mu if claim.mu is not None else guarantee.epsilon(delta)),
        shown=0.0 if rates is None else (rates.mu if mu else rates.epsilon(delta)),
        exact=max(values, default=None),
        replayed=max((each.worst.ratio for each in replays), default=0.0),
        power=None if rates is None else _finite(_power(claim, rates.runs, len(rates.thresholds), 1 - false_alarm)),
        broken="; ".join(broken),
        seconds=time.process_time() - start,
    )


# Of a plan's digest: its pairs, chosen once for all looks at it.
_PAIRS: dict[str, list[Neighbours]] = {}
# (mu, runs, thresholds) -> the factor that is seen: many cases have the same claim.
_SEEN: dict[tuple[float, int, int], float] = {}


def _pairs(plan: Plan) -> list[Neighbours]:
    if plan.digest not in _PAIRS:
        _PAIRS[plan.digest] = candidates(plan)
    return _PAIRS[plan.digest]


def _distinct(plan: Plan, pairs: list[Neighbours]) -> list[Neighbours]:
    """Pairs whose totals differ from those of earlier ones: a family's law depends on nothing else. Of others, the strongest."""
    if plan.model.summed != TOTALS or getattr(plan.model, "quantiles", ()):  # tables whose bins are private
        return pairs[:4]
    seen: dict[str, Neighbours] = {}
    for pair in pairs:
        engines = [open_engine(data, plan.model, ("totals",)) for data in (pair.first, pair.second)]
        seen.setdefault(str([engine.totals(plan.model.tally) for engine in engines]), pair)
    return list(seen.values())


def _power(claim: Claim, runs: int, thresholds: int, level: float) -> float:
    if claim.mu is None:
        return detectable_factor(claim, runs, thresholds, level)
    key = (round(claim.mu, 3), runs, thresholds)
    if key not in _SEEN:
        _SEEN[key] = detectable_factor(claim, runs, thresholds, level)
    return _SEEN[key]


def _finite(factor: float) -> float | None:
    """The factor, or None where so few runs would see none below 64; JSON has no infinity."""
    return factor if math.isfinite(factor) else None


def _replayed(pairs: list[Neighbours], plan: Plan, quick: bool) -> list[Neighbours]:
    """The strongest pairs, and all with an odd record; a chain that takes seconds is replayed once."""
    if plan.procedure == TOO_SLOW:
        return pairs[:1]
    odd = [pair for pair in pairs if pair.name.startswith(ODD)]
    return [*pairs[: REPLAYED[quick]], *(odd[:2] if quick else odd)]


def attacked(
    case: Case,
    plan: Plan,
    pairs: list[Neighbours],
    laws: list[tuple[Neighbours, Exact]],
    quick: bool,
    source: sf.Randomness,
) -> Attack:
    """Sample the pair that is told apart best."""
    # Exact noise for every cell, and a fit for every round of choices: learnt tables are run one by one.
    together = (case.inside and plan.procedure != "noisy-tables") or case.part != "" or plan.procedure in BATCHED
    # The noise of curvature and scores is drawn once a run, and draws from noisy totals are made one release at a time.
    slow = case.part in ("curvature", "scores") or (plan.procedure == "noisy-totals" and not case.inside)
    runs = (MANY if together else FEW)[quick] // (4 if slow else 1)
    if plan.procedure == "kinked-grid" and "trials" in dict(plan.parameters):
        runs = TRIED
    if case.part:
        # A part by itself: the pair that moves it most.
        listed = [*pairs[: 2 * SIFTED[quick]], *part_pairs(plan)]
        best = max(listed, key=lambda pair: part_shift(plan, pair, case.part, sf.seeded(1)))
        return attack_part(plan, best, case.part, runs, source, max(50, runs // 4))
    chosen = pairs[0]
    if laws:
        chosen = max(laws, key=lambda each: each[1].epsilon(delta_of(plan)))[0]
    elif SIFTED[quick] > 1 and runs != TRIED:
        trial = 400 if together else 40
        chosen = max(
            (pilot(plan, pair, trial, source, case.inside) for pair in pairs[: SIFTED[quick]]),
            key=lambda each: each.separation,
        ).pair
    return pilot(plan, chosen, max(40, runs // 4), source, case.inside).attack(runs, source)


def rows(listed: list[Case], quick: bool, jobs: int, false_alarm: float) -> Iterator[Row]:
    """All cases, several at a time; each worker makes its own plans."""
    one = partial(_named, quick=quick, false_alarm=false_alarm)
    if jobs == 1:
        yield from map(one, [case.name for case in listed])
        return
    with ProcessPoolExecutor(jobs) as pool:
        # Cases of one model next to each other share its plans and pairs.
        yield from pool.map(one, [case.name for case in listed], chunksize=5)


def _named(name: str, quick: bool, false_alarm: float) -> Row:
    return run(next(case for case in cases() if case.name == name), quick, false_alarm)


def main(arguments: list[str] | None = None) -> int:
    """Attack all cases and write what they showed; the exit status is 1 where a claim is refuted."""
    parser = argparse.ArgumentParser(description="Attack every procedure with every model that it serves.")
    parser.add_argument(
        "--quick", action="store_true", help="fewer runs, and one case for each procedure and kind of model"
    )
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose name contains this")
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--resume", action="store_true", help="keep the cases of a run that was stopped")
    parser.add_argument("-o", dest="folder", type=Path, default=Path("build/audit"))
    options = parser.parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    listed = [case for case in cases(options.only) if case.quick or not options.quick]
    if not listed:
        print("no case has this word.")
        return 1
    print(f"{len(listed)} cases, false alarms of all together {FALSE_ALARM:g}", flush=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    # Every row is written as soon as it is there: a run that is stopped goes on where it was.
    kept = options.folder / f"battery-{'quick' if options.quick else 'long'}.jsonl"
    done = (
        [Row(**json.loads(line)) for line in kept.read_text().splitlines()] if options.resume and kept.exists() else []
    )
    waiting = [case for case in listed if case.name not in {row.name for row in done}]
    with kept.open("a" if done else "w", encoding="utf-8") as lines:
        for row in rows(waiting, options.quick, options.jobs, FALSE_ALARM / MOST_CASES):
            done.append(row)
            lines.write(json.dumps(asdict(row)) + "\n")
            lines.flush()
            print(f"[{len(done)}/{len(listed)}] {row.line()}", flush=True)
    text = json.dumps({"quick": options.quick, "rows": [asdict(row) for row in done]}, indent=1)
    (options.folder / "battery.json").write_text(text + "\n", encoding="utf-8")
    broken = sum(bool(row.broken) for row in done)
    print(f"{len(done)} cases, {broken} refuted; {sum(row.seconds for row in done):.0f} CPU seconds")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
