"""`sf.audit`: attack a plan before anybody relies on it, and say what was proved and what would have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from sfumato import _validate
from sfumato.auditing.attack import Attack, pilot
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.exact import Exact, exact
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.power import detectable_factor, enough_runs
from sfumato.auditing.replay import ROOM, Replayed, replay
from sfumato.auditing.result import ENUMERATION, REPLAY, SAMPLING, Audit
from sfumato.auditing.runs import BATCHED
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.progress import shown
from sfumato.randomness import Randomness, seeded
from sfumato.samplers.langevin import Report, silent
from sfumato.schema import Schema

# Of pairs in the order of how promising they are: how many have their laws enumerated, are replayed, and are compared by runs.
_LISTED, _REPLAYED, _SIFTED = 12, 12, 4
# Runs a side by which pairs are compared and by which a test and its thresholds are chosen: a share of `runs` and no fewer than
# these. A likelihood ratio needs no training, so few runs place its thresholds.
_LEAST, _LEAST_KNOWN, _PILOT = 100, 50, 4
_KNOWN = ("noisy-totals", "noisy-tables", "path", "shaped-path")
# Runs a side where many releases are drawn in one pass, and where each is a run of its own.
_TOGETHER, _ONE_BY_ONE = 10_000, 400
# Chains read every record at every step: so many looks at records are about half a minute of one core, and no default has fewer
# runs than this.
_LOOKS, _FEWEST = 180_000_000, 50
# Looks at records that one core takes in a second, where chains share a pass and where each release is a run of its own: measured
# on regressions of eight coefficients.
_SHARED_RATE, _SINGLE_RATE = 100_000_000, 6_000_000
# Runs from which on the most promising pairs are compared by runs first; with fewer that would cost more than it gains.
_MANY = 1000
# The factor on the claim for which the result says how many runs would see it.
_SMALL_FAULT = 1.5
# A draw of this procedure takes seconds, and its promise already says what it assumes: it is replayed and not sampled.
_TOO_SLOW = "reference-chain"
# Below this, one minus the probability of a false alarm has lost its digits, and no run could refute anything.
_RAREST_ALARM = 1e-12
# Delta at which epsilon is reported where the plan has no delta of its own.
_DELTA = 1e-6


def audit(
    plan: Plan,
    schema: Schema | None = None,
    *,
    runs: int | None = None,
    pairs: Sequence[Neighbours] | None = None,
    level: float = 0.95,
    false_alarm: float = 1e-6,
    seed: int = 0,
    progress: bool = False,
) -> Audit:
    """Attack a plan on made-up neighbouring data sets; no private row is read and nothing is spent.

    Three attacks: (1) the plan is carried out `runs` times on each of two data sets that differ in one record, and a test tells
    the releases apart; its errors prove a lower bound on what the plan gives away, with confidence `level`. (2) Where the
    law of a release is a finite grid it is enumerated, without sampling. (3) Outputs are held fixed and the plan is replayed
    on both data sets: every number that meets noise is compared with what is declared, and the control flow too. Of all pairs
    the strongest one is sampled, and the strongest twelve are enumerated and replayed.

    `broken` is True where the claim is refuted; a true claim is called broken with probability `false_alarm` at most. Data
    sets are worst cases of the model, random and odd ones, and one chosen by search, unless `pairs` are given. `schema` is needed
    where the model does not fix its columns. The runs are seeded: an audit can be repeated. `runs` is 10,000 where many
    releases are drawn in one pass and 400 where each is a run of its own, and fewer for long chains over many records.

        result = sf.audit(sf.plan(sf.families.BetaBernoulli(), n=500, epsilon=1.0, delta=1e-6))
        print(result)                 # claim, attack, runs, what is shown, power, verdict
        result.plot()                 # the attack beside the claimed trade-off

    Sources: Jagielski, Ullman and Oprea 2020 (lower bounds from the errors of a test); Dong, Roth and Su 2022 (trade-offs).
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if plan.guarantee.adjacency == "metric":
        raise ArgumentError("a guarantee about a distance between data sets is not audited; plan under 'replace-one'.")
    number = default_runs(plan) if runs is None else _validate.whole("runs", runs, minimum=20)
    _validate.between("level", level, 0.5, 1 - 1e-12)
    _validate.between("false_alarm", false_alarm, _RAREST_ALARM, 0.5)
    with _shown(progress, "choosing pairs of data sets") as report:
        tried = _given(plan, pairs) if pairs is not None else candidates(plan, schema, seed, report)
    laws, replays, ended = [], [], []
    with _shown(progress, "enumerating and replaying") as report:
        replayed = tried[: _replayed_pairs(plan)]
        for done, pair in enumerate(tried[:_LISTED], 1):
            if (law := exact(plan, pair)) is not None:
                laws.append((pair, law))
            if pair in replayed:
                replays.append(replay(plan, pair, seed))
                if _ends(replays[-1]):
                    ended.append(pair)
            report(done, len(tried[:_LISTED]))
    usable = tried if not ended else _without_error(plan, tried, ended, seed)
    listed = [each for each in laws if each[0] in usable]
    attack = _sampled(plan, usable, listed, number, seed, progress) if plan.procedure != _TOO_SLOW else None
    judgement = judged(plan, attack, [law for _, law in laws], replays, len(tried), level, false_alarm)
    return replace(judgement, seed=seed)


def _ends(replayed: Replayed) -> bool:
    """Whether a run ends with an error, or has numbers that are none."""
    return replayed.ended or math.isinf(replayed.worst.ratio)


def _without_error(plan: Plan, tried: list[Neighbours], ended: list[Neighbours], seed: int) -> list[Neighbours]:
    """The strongest pair whose runs do not end with an error: the others are refuted by their replay, and cannot be sampled."""
    rest = (pair for pair in tried if pair not in ended and not _ends(replay(plan, pair, seed)))
    return [next(rest, tried[-1])]


def default_runs(plan: Plan) -> int:
    """Runs a side of an audit that names none; fewer where a chain of many steps reads many records."""
    most = _TOGETHER if plan.procedure in (*BATCHED, "noisy-totals") else _ONE_BY_ONE
    looks = _looks(plan)
    return most if looks == 0 else min(most, max(_FEWEST, _LOOKS // looks))


def expected_seconds(plan: Plan, runs: int) -> float:
    """About how long the runs of an audit take on one core, where chains read the records; 0 for other procedures."""
    rate = _SHARED_RATE if plan.procedure in BATCHED else _SINGLE_RATE
    return 2 * (runs + _pilot_runs(plan, runs)) * _looks(plan) / rate


def _looks(plan: Plan) -> int:
    """Looks at records of one release by a chain; 0 where there is no chain."""
    steps = int(dict(plan.parameters).get("steps") or 0)
    return plan.n * steps * (plan.draws if plan.procedure in BATCHED else 1)


def _pilot_runs(plan: Plan, number: int) -> int:
    return max(_LEAST_KNOWN if plan.procedure in _KNOWN else _LEAST, number // _PILOT)


def _replayed_pairs(plan: Plan) -> int:
    """How many pairs are replayed: each replay is two releases, and two pairs are the least."""
    if plan.procedure == _TOO_SLOW:
        return 2
    looks = _looks(plan)
    return _REPLAYED if looks == 0 else min(_REPLAYED, max(2, _LOOKS // (4 * looks)))


def _given(plan: Plan, pairs: Sequence[Neighbours]) -> list[Neighbours]:
    listed = list(pairs)
    if not listed or not all(isinstance(pair, Neighbours) for pair in listed):
        raise ArgumentError("pairs must hold at least one sf.Neighbours; leave it out for worst cases of the model.")
    sizes = {data.n for pair in listed for data in (pair.first, pair.second)} - {plan.n}
    if sizes:
        raise ArgumentError(
            f"pairs must be data sets of the plan's n = {plan.n:,} records that differ in one of them; got n = {min(sizes):,}."
        )
    return listed


def _shown(progress: bool, name: str) -> AbstractContextManager[Report]:
    return shown(name) if progress else nullcontext(silent)


def _sampled(
    plan: Plan,
    tried: list[Neighbours],
    laws: list[tuple[Neighbours, Exact]],
    number: int,
    seed: int,
    progress: bool,
) -> Attack:
    """Choose the pair and the test on runs of their own, then count fresh runs.

    With few runs, or where each release is a run of its own, the order in which the pairs are given decides.
    """
    source = seeded(seed)
    sifted = tried[: _SIFTED if plan.procedure in BATCHED and not laws and number >= _MANY else 1]
    strongest = _by_law(laws) if laws else tried[0]
    if len(sifted) > 1:
        with _shown(progress, "comparing pairs") as report:
            strongest = _by_runs(plan, sifted, source, report)
    with _shown(progress, "choosing a test") as report:
        chosen = pilot(plan, strongest, _pilot_runs(plan, number), source, inside=True, report=report)
    with _shown(progress, "counting its errors") as report:
        return chosen.attack(number, source, report)


def _by_law(laws: list[tuple[Neighbours, Exact]]) -> Neighbours:
    """The pair whose enumerated laws have the largest total variation distance; of those that differ by a rounding the first.

    The epsilon at a small delta may rest on events so rare that no run shows them.
    """
    return max(laws, key=lambda each: float(f"{each[1].delta(0.0):.4g}"))[0]


def _by_runs(plan: Plan, sifted: list[Neighbours], source: Randomness, report: Report) -> Neighbours:
    """The pair whose releases a few runs tell apart best."""
    best, most = sifted[0], -1.0
    for done, pair in enumerate(sifted, 1):
        apart = pilot(plan, pair, _LEAST, source, inside=True).separation
        if apart > most:
            best, most = pair, apart
        report(done, len(sifted))
    return best


def delta_of(plan: Plan) -> float:
    """The plan's delta, or a millionth where it has none; 0 for a pure target."""
    if plan.target is not None and plan.target.delta is not None:
        return float(plan.target.delta)
    return _DELTA


def judged(
    plan: Plan,
    attack: Attack | None,
    laws: Sequence[Exact] = (),
    replays: Sequence[Replayed] = (),
    pairs: int = 1,
    level: float = 0.95,
    false_alarm: float = 1e-6,
) -> Audit:
    """What attacks prove about a plan's claim; `attack` is None where nothing was sampled."""
    claim, delta = Claim.of(plan.guarantee), delta_of(plan)
    rates = None if attack is None else attack.rates(level)
    worst = max(
        replays, key=lambda each: (not keeps_to(claim, each), bool(each.differences), each.worst.ratio), default=None
    )
    power, enough = math.inf, None
    if rates is not None:
        power = detectable_factor(claim, rates.runs, len(rates.thresholds), 1 - false_alarm)
        if power > _SMALL_FAULT:
            enough = enough_runs(claim, _SMALL_FAULT, len(rates.thresholds), 1 - false_alarm)
    refuting = {
        SAMPLING: attack is not None and claim.broken_by(attack.rates(1 - false_alarm)),
        ENUMERATION: any(law.breaks(plan.guarantee) for law in laws),
        REPLAY: not all(keeps_to(claim, each) for each in replays),
    }
    return Audit(
        guarantee=plan.guarantee,
        digest=plan.digest,
        procedure=plan.procedure,
        pair="" if attack is None else attack.pair.name,
        pairs=pairs,
        statistic="" if attack is None else attack.statistic,
        runs=0 if rates is None else rates.runs,
        level=level,
        false_alarm=false_alarm,
        delta=delta,
        mu=0.0 if rates is None else rates.mu,
        epsilon=0.0 if rates is None else rates.epsilon(delta),
        exact_epsilon=max((law.epsilon(delta) for law in laws), default=None),
        replayed=None if worst is None else str(worst),
        power=power,
        enough=enough,
        refuted_by=tuple(name for name, refutes in refuting.items() if refutes),
        points=() if rates is None else tuple(zip(rates.false.tolist(), rates.missed.tolist(), strict=True)),
    )


def keeps_to(claim: Claim, replayed: Replayed) -> bool:
    """Whether a replay keeps to what is declared, and to the claimed mu where there is one."""
    return replayed.holds and (claim.mu is None or replayed.spent <= claim.mu * (1 + ROOM))
