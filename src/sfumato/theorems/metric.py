"""Posterior sampling under a distance rho between data sets: what a draw tells, by how smooth the likelihood is.

l(theta) is the Lipschitz constant of x -> log p_theta(x) under rho.

Assumption 1, l(theta) <= L for every theta: the log ratio of two posteriors is log p_theta(x)/p_theta(y) plus a
constant, so it lies in an interval of length 2 L rho, and a draw is (2L, 0)-private under rho.
Assumption 2, prior{l > t} <= exp(-c (t - L0)) for t >= L0, with C = sup p_theta(x)/phi(x) >= 1: a posterior has a
density of at most C against the prior, so l keeps its tail with L0 + ln(C)/c in place of L0. Everything below follows.

Composition of metric claims (Theorem 4) is the addition of `Metric` curves. A power r of the likelihood multiplies
l by r: L becomes r L, (L0, c) become (r L0, c/r), and C becomes at most C^max(1, r).

Source: Dimitrakakis, Nelson, Zhang, Mitrokotsa and Rubinstein, JMLR 18 (2017). Proofs: docs/proofs/metric.md.
"""

from __future__ import annotations

import math

from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.gaussian_tail import UNIT, bisect_down
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi
from sfumato.theorems._common import DRAWS, NOT_NEGATIVE, POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

_PAPER = "Dimitrakakis et al. 2017, "
_UP = 1 + 1e-12  # covers the rounding of the few operations behind each number


_UNIFORM = (
    Hypothesis(
        "lipschitz",
        "uniform Lipschitz constant",
        "L",
        NOT_NEGATIVE,
        "Exclude the parameters at which some data set has probability 0, or use Assumption 2 (stochastic_draws).",
        "likelihood",
    ),
    Hypothesis("power", "power", "r", POSITIVE, "Choose a positive power."),
)
_STOCHASTIC = (
    Hypothesis(
        "concentration",
        "concentration of the prior on smooth parameters",
        "c",
        POSITIVE,
        "Give less prior mass to sensitive parameters (sfumato.theorems.metric_finite.smooth_prior).",
        "prior",
    ),
    Hypothesis("offset", "Lipschitz offset", "L0", NOT_NEGATIVE, "Give 0 or more.", "prior"),
    Hypothesis(
        "log-ratio",
        "log ratio of maximal and marginal likelihood",
        "ln C",
        NOT_NEGATIVE,
        "Bound sup p_theta(x)/phi(x) for the WHOLE data set; it is at least 1 and grows with n.",
        "prior and likelihood",
    ),
    Hypothesis("power", "power", "r", POSITIVE, "Choose a positive power."),
)
_DISTANCE = (
    Hypothesis("distance", "distance between data sets", "rho", "a name such as '|x - y|'", "Say which one is meant."),
)
_RADIUS = (Hypothesis("rho", "largest distance between neighbours", "rho", NOT_NEGATIVE, "Bound the rows.", "schema"),)


theorem("metric.posterior_draws", "uniform Lipschitz theorem", _PAPER + "Theorem 8(1)", *_UNIFORM, *_DISTANCE, DRAWS)


def posterior_draws(
    *, lipschitz: float, distance: str, draws: int = 1, power: float = 1.0, unit: str = "row"
) -> Guarantee:
    """(2 N r L, 0)-privacy under rho for N draws: P(B|x) <= exp(2 N r L rho(x,y)) P(B|y) for every x, y and event B.

    `lipschitz` is L of Assumption 1 for the whole data set (by Lemma 5 that of one record, under the summed distance of
    the records), `distance` names rho, `power` is r. Theorem 8(1) and Corollary 10(1), with the power added.
    """
    h = Hypotheses("metric.posterior_draws")
    slope = _uniform(h, lipschitz, power)
    name = _distance(h, distance)
    n = _draws(h, draws)
    return h.guarantee(Metric(2 * n * slope * _UP, 0.0, name), "metric", unit, draws=n)


theorem(
    "metric.posterior_draws_within",
    "uniform Lipschitz theorem (bounded range)",
    _PAPER + "Theorem 8(1), with Cesar and Rogers 2021",
    *_UNIFORM,
    *_RADIUS,
    DRAWS,
)


def posterior_draws_within(
    *,
    lipschitz: float,
    rho: float,
    draws: int = 1,
    power: float = 1.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """N draws, for neighbours at distance at most rho: each draw has bounded range 2 r L rho.

    Bounded range gives N (r L rho)^2/2-zCDP and a whole (eps, delta) curve, where the paper has pure 2 N r L rho only.
    `rho` is the largest distance between two data sets that differ as `adjacency` says. Theorem 8(1), sharpened.
    """
    h = Hypotheses("metric.posterior_draws_within")
    slope = _uniform(h, lipschitz, power)
    radius = _radius(h, rho)
    n = _draws(h, draws)
    return h.guarantee(n * BoundedRange(2 * slope * radius * _UP), adjacency, unit, draws=n)


theorem("metric.divergence", "robustness under Assumption 1", _PAPER + "Theorem 7(1)", *_UNIFORM, *_RADIUS)


def divergence(*, lipschitz: float, rho: float, power: float = 1.0) -> float:
    """KL(posterior given x || posterior given y) <= min(2 r L rho, (r L rho)^2 / 2) at distance at most rho.

    Theorem 7(1) is the first term; the second is eta^2/8 for a log ratio within an interval of length eta = 2 r L rho.
    """
    h = Hypotheses("metric.divergence")
    reach = _uniform(h, lipschitz, power) * _radius(h, rho)
    return min(2 * reach, reach * reach / 2) * _UP


theorem(
    "metric.restricted_prior_draws",
    "restricted prior (Corollary 9 as it holds)",
    _PAPER + "Theorem 17(a)",
    Hypothesis(
        "prior-restricted",
        "prior restricted to Theta_L",
        "xi(Theta_L)",
        "True",
        "Set the prior to 0 outside Theta_L, or claim metric.stochastic_renyi_within; Corollary 9 is false as printed.",
        "prior",
    ),
    *_UNIFORM,
    *_DISTANCE,
    DRAWS,
)


def restricted_prior_draws(
    *, lipschitz: float, prior_restricted: bool, distance: str, draws: int = 1, power: float = 1.0, unit: str = "row"
) -> Guarantee:
    """(2 N r L, 0)-privacy under rho when the prior is RESTRICTED to Theta_L = {theta : l(theta) <= L}.

    This is what is true of Corollary 9, which claims the same "with prior probability 1 - exp(-c (L - L0))" for an
    unrestricted prior: its event does not depend on theta, so it has probability 0 or 1, and a family with one
    parameter outside Theta_L breaks it. Restriction (or rejection until the draw is in Theta_L) is public and costs
    nothing more. Without it, `stochastic_renyi_within` gives the honest tail.
    """
    h = Hypotheses("metric.restricted_prior_draws")
    h.flag(prior_restricted, "prior-restricted")
    slope = _uniform(h, lipschitz, power)
    name = _distance(h, distance)
    n = _draws(h, draws)
    return h.guarantee(Metric(2 * n * slope * _UP, 0.0, name), "metric", unit, draws=n)


theorem(
    "metric.stochastic_divergence", "robustness under Assumption 2", _PAPER + "Theorem 7(2)", *_STOCHASTIC, *_RADIUS
)


def stochastic_divergence(
    *, concentration: float, offset: float, log_ratio: float, rho: float, power: float = 1.0
) -> float:
    """KL(x||y) + KL(y||x) <= 2 v rho [L0 + (1 + ln(C/2v))/c], v the total variation: a bound on KL in both directions.

    v solves artanh(v) = (rho/2) [L0 + (1 + ln(C/2v))/c], capped at min(1, C/2). `concentration` is c, `offset` L0,
    `log_ratio` ln C. Replaces Theorem 7(2): never above C (L0 + 1/c) rho, which for c > 1 is less than half of what is
    printed, and it needs neither c > 1 nor a chain of intermediate data sets.
    """
    h = Hypotheses("metric.stochastic_divergence")
    c, shift, log_c = _stochastic(h, concentration, offset, log_ratio, power)
    return _jeffreys(c, shift, log_c, _radius(h, rho))


theorem(
    "metric.stochastic_draws",
    "stochastic Lipschitz theorem",
    _PAPER + "Theorem 8(2)",
    *_STOCHASTIC,
    *_DISTANCE,
    DRAWS,
)


def stochastic_draws(
    *,
    concentration: float,
    offset: float,
    log_ratio: float,
    distance: str,
    draws: int = 1,
    power: float = 1.0,
    unit: str = "row",
) -> Guarantee:
    """(0, delta) under sqrt(rho) for N draws and EVERY pair of data sets, 4 delta^2 = N t [L0 + (1 + ln(C/t))/c].

    Here t = min(2, C). Total variation v of the N draws satisfies 4 v^2 <= N J(rho) and J(rho) <= t [...] rho for all
    rho, so no distance has to be declared. Vacuous at distance 1 when delta >= 1 (`Guarantee.vacuous`). Theorem 8(2)
    and Corollary 10(2) with explicit and smaller constants; N enters as sqrt(N) and not as N.
    """
    h = Hypotheses("metric.stochastic_draws")
    c, shift, log_c = _stochastic(h, concentration, offset, log_ratio, power)
    name = _distance(h, distance)
    n = _draws(h, draws)
    mass = 2.0 if log_c >= math.log(2) else math.exp(log_c)
    slope = mass * _mean_of_top(c, shift, log_c, mass)
    return h.guarantee(Metric(0.0, 0.5 * math.sqrt(n * slope) * _UP, f"sqrt({name})"), "metric", unit, draws=n)


theorem(
    "metric.stochastic_draws_within",
    "stochastic Lipschitz theorem (total variation)",
    _PAPER + "Theorem 8(2)",
    *_STOCHASTIC,
    *_RADIUS,
    DRAWS,
)


def stochastic_draws_within(
    *,
    concentration: float,
    offset: float,
    log_ratio: float,
    rho: float,
    draws: int = 1,
    power: float = 1.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """(0, v) for N draws and neighbours at distance at most rho: 4 v artanh(v) = N J, J of `stochastic_divergence`.

    Total variation v nearly linear in rho for small rho, where Theorem 8(2) has its square root.
    """
    h = Hypotheses("metric.stochastic_draws_within")
    c, shift, log_c = _stochastic(h, concentration, offset, log_ratio, power)
    total = _jeffreys(c, shift, log_c, _radius(h, rho))
    n = _draws(h, draws)
    curve = Profile("approximate", {"epsilon": 0.0, "delta": total_variation(jeffreys=n * total)})
    return h.guarantee(curve, adjacency, unit, draws=n)


theorem(
    "metric.stochastic_renyi_within",
    "stochastic Lipschitz theorem (Renyi)",
    _PAPER + "Assumption 2; docs/proofs/metric.md",
    *_STOCHASTIC,
    *_RADIUS,
    DRAWS,
    Hypothesis(
        "orders",
        "distance small against the concentration",
        "rho/c",
        "at most 1e12",
        "Use a closer neighbour relation or a prior that puts less mass on sensitive parameters.",
    ),
)


def stochastic_renyi_within(
    *,
    concentration: float,
    offset: float,
    log_ratio: float,
    rho: float,
    draws: int = 1,
    power: float = 1.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Renyi(1 + s c/rho) <= N (rho/c) [2 c L0 + 2 ln C + 1 - ln(1-s)/s] for 0 < s < 1: what Assumption 2 really buys.

    Under every posterior l is at most L0 + ln(C)/c + Exponential(c), and ln phi(y)/phi(x) <= rho E[l | y]. Hence also,
    for one draw and L >= L0, eps = rho [L + L0 + (1 + ln C)/c] with delta = C exp(-c (L - L0)): the shape that
    Corollary 9 was after. Nothing is claimed at orders of 1 + c/rho and above. Not in the paper.
    """
    h = Hypotheses("metric.stochastic_renyi_within")
    c, shift, log_c = _stochastic(h, concentration, offset, log_ratio, power)
    radius = _radius(h, rho)
    n = _draws(h, draws)
    if radius == 0:
        return h.guarantee(BoundedRange(0.0), adjacency, unit, draws=n)
    curve: dict[float, float] = {}
    for share in [2.0**-k for k in range(10, 1, -1)] + [1 - 2.0**-k for k in range(1, 31)]:
        order = 1 + share * c / radius
        s = (order - 1) * radius / c * _UP  # again from the rounded order, so that the pair listed is one that holds
        if 0 < s < 1 and order < math.inf:
            curve[order] = n * radius / c * (2 * c * shift + 2 * log_c + 1 - math.log1p(-s) / s) * _UP
    h.holds(bool(curve), "orders", given=radius / c)
    return h.guarantee(Renyi(curve.keys(), curve.values()), adjacency, unit, draws=n)


def total_variation(*, jeffreys: float) -> float:
    """Largest total variation v of two laws with KL(P||Q) + KL(Q||P) <= J: the root of 4 v artanh(v) = J, rounded up.

    Attained by two-point laws; never above sqrt(J)/2, which is Pinsker's inequality used in both directions.
    """
    h = Hypotheses("total variation from the symmetrised divergence", "docs/proofs/metric.md")
    bound = h.number(jeffreys, "symmetrised divergence", "J", "finite and 0 or greater", "Give a finite bound.")
    top = 1 - UNIT
    if bound == 0:
        return 0.0
    if 4 * top * math.atanh(top) < bound:
        return 1.0
    start = min(top, 0.5 * math.sqrt(bound) * _UP)
    return min(1.0, bisect_down(lambda v: 4 * v * math.atanh(v) >= bound, 0.0, start, relative=1e-14) * _UP)


def _mean_of_top(c: float, shift: float, log_c: float, mass: float) -> float:
    """L0 + (1 + ln(C/mass))/c: mean of l over the most sensitive part of a measure of this mass and density <= C."""
    return (shift + (1 + log_c - math.log(mass)) / c) * _UP


def _jeffreys(c: float, shift: float, log_c: float, rho: float) -> float:
    """Bound on KL(x||y) + KL(y||x) under Assumption 2; see `stochastic_divergence`."""
    if rho == 0:
        return 0.0
    cap = 2 * (1 - UNIT) if log_c >= math.log(2) else math.exp(log_c)

    def beyond(mass: float) -> bool:
        return 2 * math.atanh(mass / 2) >= rho * _mean_of_top(c, shift, log_c, mass)

    mass = bisect_down(beyond, 0.0, cap, relative=1e-14) if beyond(cap) else cap
    return mass * rho * _mean_of_top(c, shift, log_c, mass) * _UP


def _uniform(h: Hypotheses, lipschitz: float, power: float) -> float:
    slope = h.number(lipschitz, "lipschitz")
    return slope * h.number(power, "power")


def _stochastic(
    h: Hypotheses, concentration: float, offset: float, log_ratio: float, power: float
) -> tuple[float, float, float]:
    """Check (c, L0, ln C) and return them for the likelihood raised to the power."""
    c = h.number(concentration, "concentration")
    shift = h.number(offset, "offset")
    log_c = h.number(log_ratio, "log-ratio")
    r = h.number(power, "power")
    return c / r, shift * r, log_c * max(1.0, r)


def _distance(h: Hypotheses, distance: str) -> str:
    named = isinstance(distance, str) and bool(distance.strip())
    h.holds(named, "distance", given=distance)
    return distance


def _radius(h: Hypotheses, rho: float) -> float:
    return h.number(rho, "rho")


def _draws(h: Hypotheses, draws: int) -> int:
    return h.count(draws, "draws")
