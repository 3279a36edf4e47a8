"""Posterior sampling under a distance when the likelihood is smooth for most parameters only (Assumption 2).

l(theta) is the Lipschitz constant of x -> log p_theta(x) under rho. Assumption 2: prior{l > t} <= exp(-c (t - L0)) for
t >= L0, and C = sup p_theta(x)/phi(x) >= 1 bounds the density of every posterior against the prior. Then l has the same
tail under every posterior, with L0 + ln(C)/c in place of L0.

A power r of the likelihood multiplies l by r: (L0, c) become (r L0, c/r), and C becomes at most C^max(1, r). The
functions are public as `sfumato.theorems.metric.*`; Assumption 1 is in that module.

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
from sfumato.theorems._common import DISTANCE, DRAWS, NOT_NEGATIVE, POSITIVE, RADIUS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

_PAPER = "Dimitrakakis et al. 2017, "
_UP = 1 + 1e-12  # covers the rounding of the few operations behind each number

_STOCHASTIC = (
    Hypothesis("concentration", "concentration of the prior on smooth parameters", "c", POSITIVE,
               "Give less prior mass to sensitive parameters (sfumato.theorems.metric_finite.smooth_prior).", "prior"),
    Hypothesis("offset", "Lipschitz offset", "L0", NOT_NEGATIVE, "Give 0 or more.", "prior"),
    Hypothesis("log-ratio", "log ratio of maximal and marginal likelihood", "ln C", NOT_NEGATIVE,
               "Bound sup p_theta(x)/phi(x) for the WHOLE data set; it is at least 1 and grows with n.",
               "prior and likelihood"),
    Hypothesis("power", "power", "r", POSITIVE, "Choose a positive power."),
)  # fmt: skip


theorem("metric.stochastic_divergence", "robustness under Assumption 2", _PAPER + "Theorem 7(2)", *_STOCHASTIC, RADIUS)


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
    return _jeffreys(c, shift, log_c, h.number(rho, "rho"))


theorem(
    "metric.stochastic_draws", "stochastic Lipschitz theorem", _PAPER + "Theorem 8(2)", *_STOCHASTIC, DISTANCE, DRAWS
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
    name = h.distance(distance)
    n = h.count(draws, "draws")
    mass = 2.0 if log_c >= math.log(2) else math.exp(log_c)
    slope = mass * _mean_of_top(c, shift, log_c, mass)
    return h.guarantee(Metric(0.0, 0.5 * math.sqrt(n * slope) * _UP, f"sqrt({name})"), "metric", unit, draws=n)


theorem(
    "metric.stochastic_draws_within", "stochastic Lipschitz theorem (total variation)", _PAPER + "Theorem 8(2)",
    *_STOCHASTIC, RADIUS, DRAWS,
)  # fmt: skip


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
    `concentration` is c, `offset` L0, `log_ratio` ln C of Assumption 2 for the whole data set; `rho` is the largest distance
    of two data sets that are neighbours by `adjacency`. Source: Dimitrakakis et al. 2017, Theorem 8(2), sharpened.
    """
    h = Hypotheses("metric.stochastic_draws_within")
    c, shift, log_c = _stochastic(h, concentration, offset, log_ratio, power)
    total = _jeffreys(c, shift, log_c, h.number(rho, "rho"))
    n = h.count(draws, "draws")
    curve = Profile("approximate", {"epsilon": 0.0, "delta": total_variation(jeffreys=n * total)})
    return h.guarantee(curve, adjacency, unit, draws=n)


theorem(
    "metric.stochastic_renyi_within", "stochastic Lipschitz theorem (Renyi)",
    _PAPER + "Assumption 2; docs/proofs/metric.md",
    *_STOCHASTIC, RADIUS, DRAWS,
    Hypothesis("orders", "distance small against the concentration", "rho/c", "at most 1e12",
               "Use a closer neighbour relation or a prior that puts less mass on sensitive parameters."),
)  # fmt: skip


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
    radius = h.number(rho, "rho")
    n = h.count(draws, "draws")
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
    `jeffreys` is J, the symmetrised divergence; the answer is in [0, 1].
    Proof: docs/proofs/metric.md.
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


def _stochastic(
    h: Hypotheses, concentration: float, offset: float, log_ratio: float, power: float
) -> tuple[float, float, float]:
    """Check (c, L0, ln C) and return them for the likelihood raised to the power."""
    c, shift, log_c, r = h.numbers(concentration=concentration, offset=offset, log_ratio=log_ratio, power=power)
    return c / r, shift * r, log_c * max(1.0, r)
