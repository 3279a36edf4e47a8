"""What a price buys, in widths of intervals: simulated from the prior with a fixed public seed, before any record is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.models.families._vectors import Vectors
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.grouped import Grouped
from sfumato.queries import _coordinates, _vectors, intervals
from sfumato.queries.hidden import parameter_belief

_SEED = 20_260_101
# Invented releases behind one expected width: most families lay their truths out at equal steps of probability.
_RELEASES = 32


def expected_width(plan: Any, level: float, releases: int = _RELEASES) -> float:
    """Mean width of the intervals that releases of this plan will have, over coordinates and over data from the prior.

    Draws are sketched in floats from the planned law; nothing private is near.
    """
    model, n = plan.model, plan.n
    intervals.refuse_without(model)
    numbers = _coordinates.chosen({"parameters": dict(plan.parameters)})
    if isinstance(model, BoundedMean):
        ends = _vectors.bounded_mean(
            0.5 * (model.lower + model.upper),
            n,
            (model.lower, model.upper),
            numbers[2] * model.sensitivity,
            level,
            True,
        )
        return ends[1] - ends[0]
    rng = np.random.default_rng(_SEED)
    _, kept = model.simulate(rng, releases, n)
    power, strength, noise = numbers
    if noise > 0:
        kept = kept + noise * model.sensitivity * rng.standard_normal(kept.shape)
        if model.tells_totals:
            laws = [law for row in kept for law in intervals.noisy_group(model, model, n, noise, row)]
            return float(np.mean([np.diff(law.share_ends(level)) for law in laws]))
        kept = model.feasible(kept, n)
    found = []
    for row in kept:
        natural = model.natural(np.tile(row, (plan.draws, 1)), n, power, strength)
        found.append(_mean_width(model, n, numbers, model.sketch(rng, natural), level))
    return float(np.mean(found))


def _mean_width(model: Any, n: int, numbers: tuple[float, float, float], draws: Array, level: float) -> float:
    if isinstance(model, Vectors):
        _, deviation = _vectors.vector_law(model, model, n, numbers, draws, True)
        ends = _vectors.normal_ends(np.zeros_like(deviation), deviation, level)
        return float(np.mean(ends[1] - ends[0]))
    tail = 0.5 * (1 - level)
    widths = []
    if isinstance(model, Grouped):  # what is invented is one group of average size
        laws = intervals.tempered_group(model, model, n, numbers, draws)
        return float(np.mean([np.diff(law.share_ends(level)) for law in laws]))
    for statistic in intervals.statistics(model, model, n, numbers, draws):
        belief = parameter_belief(statistic)
        widths.append(belief.quantile(1 - tail) - belief.quantile(tail))
    return float(np.mean(widths))


@dataclass(frozen=True)
class WidthPlan:
    """The cheapest plan found whose expected interval is narrow enough, beside what no privacy would give."""

    plan: Any
    epsilon: float
    delta: float
    draws: int
    level: float
    width: float
    wanted: float
    tried: tuple[tuple[float, int, float], ...]

    def __str__(self) -> str:
        said = [
            f"epsilon {self.epsilon:.4g} at delta {self.delta:g} with {self.draws} draw{'s' * (self.draws > 1)}: "
            f"{100 * self.level:g} % intervals of expected width {self.width:.4g} (asked for {self.wanted:g}), "
            "averaged over the prior",
            f"mechanism {self.plan.mechanism}",
            "tried: " + ", ".join(f"epsilon {e:.3g} x {d}: {w:.3g}" for e, d, w in self.tried),
        ]
        return "\n".join(said)


def cheapest(
    plan_at: Callable[[float, int], Any],
    width: float,
    level: float,
    delta: float,
    draws: int,
    limits: tuple[float, float],
) -> WidthPlan:
    """The smallest epsilon between the limits, to about 3 %, whose expected width is at most `width`: halving in the log.

    The width is simulated with one seed for every price, so it falls with epsilon but for small steps where the mechanism
    changes; what is returned was itself found narrow enough.
    """
    tried: list[tuple[float, int, float]] = []

    def at(epsilon: float) -> tuple[Any, float]:
        plan = plan_at(epsilon, draws)
        found = expected_width(plan, level)
        tried.append((epsilon, draws, found))
        return plan, found

    low, high = limits
    best, found = at(high)
    if found > width:
        raise CalibrationError(
            f"at epsilon {high:g} the expected width is still {found:.4g}, above {width:g}. Ask for a wider interval, or "
            "plan with more records: part of the width is sampling error, which no price buys off."
        )
    least, smallest = at(low)
    if smallest <= width:
        best, found, high = least, smallest, low
    else:
        while high / low > 1.03:
            middle = math.sqrt(low * high)
            plan, seen = at(middle)
            if seen <= width:
                best, found, high = plan, seen, middle
            else:
                low = middle
    return WidthPlan(best, high, delta, draws, level, found, width, tuple(tried))


def fewest_draws(
    plan_at: Callable[[float, int], Any], width: float, level: float, delta: float, epsilon: float, most: int = 1024
) -> WidthPlan:
    """The number of draws, among powers of two, whose intervals are expected narrowest at one price; fewest if several meet it.

    More draws share the price, so each is noisier: of a tempered posterior a few are best, of noisy totals any number costs
    the same and their spread averages out.
    """
    tried: list[tuple[float, int, float]] = []
    best: tuple[float, int, Any] | None = None
    draws = 1
    while draws <= most:
        plan = plan_at(epsilon, draws)
        found = expected_width(plan, level)
        tried.append((epsilon, draws, found))
        if found <= width:
            return WidthPlan(plan, epsilon, delta, draws, level, found, width, tuple(tried))
        if best is None or found < best[0]:
            best = (found, draws, plan)
        elif draws >= 4 * best[1]:
            break
        draws *= 2
    narrowest = "none" if best is None else f"{best[0]:.4g} with {best[1]} draws"
    raise CalibrationError(
        f"no number of draws gives a width of {width:g} at epsilon {epsilon:g}; narrowest: {narrowest}."
    )


def restricted_prior_curve(
    lipschitz: Callable[[Array], Array],
    prior: Array,
    points: Array,
    draws: int,
    responses: int,
    queries: int,
    risk: float,
) -> list[tuple[float, float]]:
    """Theorem 17's trade-off: (epsilon, mean loss of answers) as the prior on `points` is restricted to Theta_L, L rising.

    `lipschitz` gives the Lipschitz constant of each point, `prior` their probabilities. The price is 2 L N, the loss
    2 (1 - prior mass of Theta_L) plus the sampling error of N draws; both are public.
    """
    from sfumato.theorems.sampling_error import restricted_prior_release

    constants = np.asarray(lipschitz(points), dtype=np.float64)
    weights = np.asarray(prior, dtype=np.float64)
    if constants.shape != weights.shape or not math.isclose(float(weights.sum()), 1.0, rel_tol=1e-9):
        raise ArgumentError(
            "give one Lipschitz constant and one probability per point; the probabilities must sum to 1."
        )
    found = []
    possible = np.unique(constants[np.isfinite(constants) & (constants > 0)])
    # Constants that differ by a rounding error are one step of the curve: the largest of them.
    steps = possible[np.append(np.diff(possible) > 1e-9 * possible[:-1], True)]
    for bound in steps:
        mass = min(1.0, float(weights[constants <= bound].sum()))
        if mass <= 0:
            continue
        release = restricted_prior_release(
            lipschitz=float(bound), mass=mass, prior_restricted=True, distance="hamming", draws=draws,
            responses=responses, queries=queries, delta=risk,
        )  # fmt: skip
        found.append((2 * float(bound) * draws, release.mean_loss))
    return found
