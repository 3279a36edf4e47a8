"""`sf.audit`: attack a plan before anybody relies on it, and say what was proved and what would have been seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

from sfumato import _validate
from sfumato.auditing.attack import Attack, pilot
from sfumato.auditing.candidates import candidates
from sfumato.auditing.claims import Claim
from sfumato.auditing.exact import Exact, exact
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.power import detectable_factor
from sfumato.auditing.replay import Replayed, replay
from sfumato.auditing.result import Audit
from sfumato.auditing.runs import BATCHED
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.progress import shown
from sfumato.randomness import Randomness, seeded
from sfumato.samplers.langevin import silent
from sfumato.schema import Schema

# Of pairs in the order of how promising they are: how many have their laws enumerated, are replayed, and are compared by runs.
_LISTED, _REPLAYED, _SIFTED = 12, 12, 4
# Runs a side by which pairs are compared; the test of the strongest is trained on a fourth of `runs`, and on no fewer than these.
_LEAST, _PILOT = 100, 4
# Runs a side where many releases are drawn in one pass, and where each is a run of its own.
_TOGETHER, _ONE_BY_ONE = 10_000, 400
# A draw of this procedure takes seconds, and its promise already says what it assumes: it is replayed and not sampled.
_TOO_SLOW = "reference-chain"
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
    law of a release is a finite grid it is enumerated, without sampling. (3) Outputs are frozen and the plan is replayed
    on both data sets: every number that meets noise is compared with what is declared, and the control flow too.

    `broken` is True where the claim is refuted; a true claim is called broken with probability `false_alarm` at most. Data
    sets are worst cases of the model, random and odd ones, and one found by search, unless `pairs` are given. `schema` is needed
    where the model does not fix its columns. The runs are seeded: an audit can be repeated. `runs` is 10,000 where many
    releases are drawn in one pass, and 400 else.
    """
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if plan.guarantee.adjacency == "metric":
        raise ArgumentError("a guarantee about a distance between data sets is not audited; plan under 'replace-one'.")
    number = _runs(plan) if runs is None else _validate.whole("runs", runs, minimum=20)
    _validate.between("level", level, 0.5, 1 - 1e-12)
    _validate.between("false_alarm", false_alarm, 1e-300, 0.5)
    source = seeded(seed)
    tried = list(pairs) if pairs is not None else candidates(plan, schema, seed)
    if not tried:
        raise ArgumentError("pairs must hold at least one sf.Neighbours; leave it out for worst cases of the model.")
    laws = [(pair, law) for pair in tried[:_LISTED] if (law := exact(plan, pair)) is not None]
    replays = [replay(plan, pair, seed) for pair in tried[: 2 if plan.procedure == _TOO_SLOW else _REPLAYED]]
    attack = None
    if plan.procedure != _TOO_SLOW:
        strongest = _strongest(plan, tried, laws, source)
        chosen = pilot(plan, strongest, max(_LEAST, number // _PILOT), source, inside=True)
        with shown() if progress else nullcontext(silent) as report:
            attack = chosen.attack(number, source, report)
    return judged(plan, attack, [law for _, law in laws], replays, len(tried), level, false_alarm)


def _runs(plan: Plan) -> int:
    return _TOGETHER if plan.procedure in (*BATCHED, "noisy-totals") else _ONE_BY_ONE


def _strongest(
    plan: Plan, tried: list[Neighbours], laws: list[tuple[Neighbours, Exact]], source: Randomness
) -> Neighbours:
    """The pair that is told apart best: by its enumerated law, or by a few runs on each of the most promising."""
    if laws:
        return max(laws, key=lambda each: each[1].epsilon(delta_of(plan)))[0]
    sifted = tried[:_SIFTED]
    if len(sifted) == 1:
        return sifted[0]
    return max((pilot(plan, pair, _LEAST, source, True) for pair in sifted), key=lambda each: each.separation).pair


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
    worst = max(replays, key=lambda each: (bool(each.differences), each.worst.ratio), default=None)
    sampled_broken = attack is not None and claim.broken_by(attack.rates(1 - false_alarm))
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
        power=math.inf
        if rates is None
        else detectable_factor(claim, rates.runs, len(rates.thresholds), 1 - false_alarm),
        broken=sampled_broken or any(law.breaks(plan.guarantee) for law in laws) or not all(r.holds for r in replays),
        points=() if rates is None else tuple(zip(rates.false.tolist(), rates.missed.tolist(), strict=True)),
    )
