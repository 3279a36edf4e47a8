"""What an attack is here: a plan, two neighbouring data sets, and one of three ways to show that a claim is false.

sampled      many releases on both data sets, told apart by a score; the errors of that test contradict the claim
enumerated   the probabilities of every point that a release can be, and the privacy curve that they give
replayed     both data sets after the same outputs: numbers that meet noise lie farther apart than declared, or than the price
             of all of them allows, or the control flow differs

Every attack is a function of (runs, false_alarm, seed). It accuses a sound procedure with probability `false_alarm` at most; the
last two ways never do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.auditing.attack import pilot
from sfumato.auditing.claims import Claim
from sfumato.auditing.error_rates import ErrorRates, error_rates, pilot_thresholds
from sfumato.auditing.exact import exact
from sfumato.auditing.loss_pairs import Exact, Losses, repeated
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.runs import Trial
from sfumato.auditing.shaped_parts import attack_part, part_prices
from sfumato.mechanisms.plan import Plan
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import named
from sfumato.procedures.outlook import Cost
from sfumato.randomness import seeded

SAMPLED, ENUMERATED, REPLAYED, REFUSED = "sampled", "enumerated", "replayed", "refused"
# Delta at which the epsilon of a claim without a mu is printed.
DELTA = 1e-6
# Most pilot runs by which a statistic and its thresholds are chosen: more change a bound little.
_PILOT = 1000


@dataclass(frozen=True)
class Outcome:
    """The result of one attack: the claimed mu (or epsilon), what was shown of it at least, and whether the claim is broken."""

    name: str
    claim: float
    shown: float
    runs: int
    broken: bool
    how: str


Attack = Callable[[int, float, int], Outcome]
Pairs = tuple[Neighbours, ...]


@dataclass(frozen=True)
class Killer:
    """A named attack. `least` and `most` runs are where it begins and ends; an attack that needs none has 0 of both."""

    name: str
    procedure: str
    how: str
    attack: Attack
    least: int = 0
    most: int = 0


def planned(name: str, model: Any, n: int, numbers: Any, draws: int = 1, keep: tuple[str, ...] = ()) -> Plan:
    """A plan with numbers that are written down, priced by its procedure: nothing is searched for."""
    procedure = named(name)
    price = procedure.price(model, n, draws, numbers)
    estimates = name in ("path", "shaped-path") or not getattr(model, "drawn", True)
    goal, expected = "estimate" if estimates else "draws", procedure.expected(model, n, numbers)
    return Plan(_MECHANISMS[name], name, model, n, draws, goal, keep, numbers, price, expected, Cost(1))


# A mechanism that plans each procedure.
_MECHANISMS = {
    "law": "exact", "noisy-totals": "noisy-statistics",
    "noisy-tables": "noisy-statistics", "last-iterate": "langevin", "path": "langevin-path",
    "shaped-path": "shaped-path", "shaped-chain": "shaped-langevin", "lattice": "exponential", "envelope": "exponential",
    "kinked-grid": "diffused", "reference-chain": "exponential",
}  # fmt: skip


def claimed(guarantee: Guarantee) -> float:
    """The mu of a guarantee; of a pure one its epsilon, of any other its epsilon at `DELTA`."""
    if _gaussian(guarantee):
        return float(guarantee.curve.mu or 0.0)
    return float(guarantee.epsilon(_delta(guarantee)))


def _gaussian(guarantee: Guarantee) -> bool:
    return guarantee.curve.kind == "gaussian" and not guarantee.slack


def _delta(guarantee: Guarantee) -> float:
    """0 for a pure guarantee, where its slack allows it; else `DELTA`."""
    pure = math.isfinite(guarantee.curve.epsilon(0.0))
    return max(guarantee.slack * 1e3, 0.0) if pure else DELTA


def sampled(plan: Callable[[], Plan], pair: Callable[[], Neighbours], inside: bool = False) -> Attack:
    """Releases on both data sets, told apart by a likelihood ratio or a trained test."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        source, released = seeded(seed), plan()
        made = pilot(released, pair(), min(runs, _PILOT), source, inside).attack(runs, source)
        return judged(released.guarantee, made.rates(1 - false_alarm), runs)

    return attack


def by_value(plan: Callable[[], Plan], pair: Callable[[], Neighbours]) -> Attack:
    """Releases on both data sets, told apart by the mean of their first coordinates, along which the likelihood ratio rises."""
    return _scored(plan, pair, False, lambda rows: rows[:, :, 0].mean(axis=1))


def contrasted(plan: Callable[[], Plan], pair: Callable[[], Neighbours]) -> Attack:
    """Noisy totals on both data sets, told apart by the first less the second: noise that both share would cancel."""
    return _scored(plan, pair, True, lambda rows: rows[:, 0, 0] - rows[:, 0, 1])


def _scored(
    plan: Callable[[], Plan], pair: Callable[[], Neighbours], inside: bool, score: Callable[[np.ndarray], np.ndarray]
) -> Attack:
    """Releases shaped (runs, draws, coordinates), told apart by a score that is written down."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released, both, source = plan(), pair(), seeded(seed)
        few = min(runs, _PILOT)
        scores = []
        for data in (both.first, both.second):
            trial = Trial.of(released, data, inside)
            flat = np.concatenate([draws.flat() for draws in trial.releases(few + runs, source)])
            scores.append(score(flat.reshape(few + runs, -1, flat.shape[1])))
        if scores[0][:few].mean() > scores[1][:few].mean():
            scores = [-each for each in scores]
        thresholds = pilot_thresholds(scores[0][:few], scores[1][:few])
        rates = error_rates(scores[0][few:], scores[1][few:], thresholds, 1 - false_alarm)
        return judged(released.guarantee, rates, runs)

    return attack


def part(plan: Callable[[], Plan], pair: Callable[[], Neighbours], name: str) -> Attack:
    """One part of a shape-first path, after the same published history."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released = plan()
        made = attack_part(released, pair(), name, runs, seeded(seed), min(runs, _PILOT))
        return judged(part_prices(released)[name], made.rates(1 - false_alarm), runs)

    return attack


def judged(guarantee: Guarantee, rates: ErrorRates, runs: int) -> Outcome:
    """What error rates say of a claim."""
    claim = Claim.of(guarantee)
    shown = rates.mu if claim.mu is not None else rates.epsilon(_delta(guarantee))
    return Outcome("", claimed(guarantee), shown, runs, claim.broken_by(rates), SAMPLED)


def enumerated(plan: Callable[[], Plan], pair: Callable[[], Neighbours]) -> Attack:
    """The probabilities of all that a release can be, as they are drawn."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released = plan()
        curve = exact(released, pair())
        if curve is None:
            raise ValueError(f"a release of {released.procedure!r} has no list of its probabilities here.")
        return _of_curve(released.guarantee, curve)

    return attack


def listed(plan: Callable[[], Plan], pair: Callable[[], Neighbours], logs: Callable[[Plan, Any], np.ndarray]) -> Attack:
    """The law that a sampler stands for, listed by `logs(plan, data set)`: log weights of the same points on both data sets.

    For draws by trials and by chains that are assumed to have converged: their price is that of this law.
    """

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released, both = plan(), pair()
        weights = [logs(released, data) for data in (both.first, both.second)]
        losses = Losses.of(*(each - each.max() - math.log(np.exp(each - each.max()).sum()) for each in weights))
        return _of_curve(released.guarantee, Exact.of(repeated(losses, released.draws), both.name))

    return attack


def _of_curve(guarantee: Guarantee, curve: Exact) -> Outcome:
    shown = curve.mu if _gaussian(guarantee) else curve.epsilon(_delta(guarantee))
    return Outcome("", claimed(guarantee), shown, 0, curve.breaks(guarantee), ENUMERATED)


def replayed(plan: Callable[[], Plan], pairs: Callable[[], Pairs], engine: str | None = None) -> Attack:
    """The same outputs on both data sets of every pair; the outcome is that of the first that shows a fault, or of the nearest."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        from sfumato.auditing.replay import replay

        released, best = plan(), (0.0, 0.0, 0.0)
        for both in pairs():
            seen = replay(released, both, seed, engine)
            worst = seen.worst
            spent, price = (seen.spent, seen.price) if seen.price else (worst.shift, worst.allowed)
            if not seen.holds:
                return Outcome("", price, spent, 0, True, REPLAYED)
            best = max(best, (spent / price if price else 0.0, spent, price))
        return Outcome("", best[2], best[1], 0, False, REPLAYED)

    return attack
