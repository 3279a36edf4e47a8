"""The exponential mechanism: pure privacy for posteriors whose loss has a bounded difference.

If |L(theta, D) - L(theta, D')| <= Delta for every theta and all neighbours, the posterior exp(-beta L(theta, D))
pi(theta) changes its log density by a function of range 2 beta Delta (plus a constant): it is 2 beta
Delta-bounded-range, hence (2 beta Delta, 0), for EVERY base measure pi, convex or not, discrete or not.

As Lipschitz maps (supplement A): d_DP(P, Q) = sup_A |log P(A) - log Q(A)| makes (eps, 0)-privacy the statement that
D -> P_D is eps-Lipschitz from the Hamming distance; the mechanism is D -> L(., D) (Delta-Lipschitz into the sup norm)
followed by the Gibbs map f -> exp(-beta f) pi (2 beta-Lipschitz), and the constants multiply.

Source: McSherry and Talwar 2007 and Wang, Fienberg and Smola 2015, as Theorems 3 and 4 of Minami et al. 2016; bounded
range by Cesar and Rogers 2021. OPS (one posterior sample) is Wang et al.'s name for the ball-truncated case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.losses.logistic import map_radius
from sfumato.privacy.curves import BoundedRange
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import DRAWS, NOT_NEGATIVE, POSITIVE, POWER, PRECISION_PER_RECORD
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

_CONVEX = Hypothesis("", "convexity of the loss", "convex", "True", "Choose the ball by other means.", "loss")
_RADIUS = Hypothesis("radius", "bound on the rows", "c", POSITIVE, "Declare data_norm.", "schema")
_BALL = Hypothesis("ball", "radius of the ball", "R_T", POSITIVE, "Truncate the prior.", "prior")

theorem(
    "exponential.exponential_mechanism", "exponential mechanism (Theorem 3)",
    "Minami et al. 2016, Theorem 3; Cesar and Rogers 2021",
    POWER,
    Hypothesis("sensitivity", "sensitivity of the summed loss", "Delta", NOT_NEGATIVE,
               "Bound the loss or truncate the prior to a ball; an unbounded loss needs the sharp theorem.", "loss"),
    DRAWS,
)  # fmt: skip


def exponential_mechanism(
    *, power: float, sensitivity: float, draws: int = 1, adjacency: str = "replace-one", unit: str = "row"
) -> Guarantee:
    """Theorem 3: bounded range eps = 2 beta Delta for one draw, and the composition of as many for several.

    `sensitivity` is Delta, the largest change of the summed loss at any theta when one record is replaced.
    `power` is beta. No convexity is needed, and any base measure is allowed.
    Source: Minami et al. 2016, Theorem 3; bounded range by Cesar and Rogers 2021.
    """
    h = Hypotheses("exponential.exponential_mechanism")
    beta, delta = h.numbers(power=power, sensitivity=sensitivity)
    k = h.count(draws, "draws")
    return h.guarantee(k * BoundedRange(2 * beta * delta * (1 + 4 * UNIT)), adjacency, unit, draws=k)


def bounded_loss_sensitivity(*, lower: float, upper: float) -> float:
    """Theorem 4(a): lower <= loss <= upper for every theta and record gives Delta = upper - lower, rounded up.

    |loss| <= A is lower = -A, upper = A and Delta = 2A; a loss in [0, A] has Delta = A, half of what the paper charges.
    The answer is the `sensitivity` of `exponential_mechanism`.
    Source: Minami et al. 2016, Theorem 4(a).
    """
    h = Hypotheses("bounded loss (Theorem 4a)", "Minami et al. 2016, Theorem 4(a)")
    remedy = "Bound the loss on the whole domain, or truncate the prior to a ball."
    low = h.number(lower, "lower bound of the loss", "lower", "finite", remedy, origin="loss")
    high = h.number(upper, "upper bound of the loss", "upper", "finite", remedy, origin="loss")
    h.holds(low <= high, "ordered bounds", "lower <= upper", f"at most upper = {high:.6g}", low, "Swap the bounds.")
    return (high - low) * (1 + 2 * UNIT)


def lipschitz_composition(*, sensitivity: float, power: float, distance: int = 1) -> float:
    """(A.2): d_DP of the posteriors of data sets `distance` replacements apart is at most distance * Delta * 2 beta.

    Delta is the Lipschitz constant of D -> L(., D), 2 beta that of the Gibbs map; rounded up.
    `sensitivity` is Delta, `power` beta, `distance` the number of replaced records.
    Source: Minami et al. 2016, supplement A.
    """
    h = Hypotheses("composition of two Lipschitz maps (A.2)", "Minami et al. 2016, supplement A")
    delta = h.number(sensitivity, "sensitivity of the summed loss", "Delta", "finite and 0 or greater", "Bound it.")
    beta = h.number(power, POWER)
    k = h.count(distance, "Hamming distance", "d_H", 0, "Count the replaced records.")
    return k * delta * 2 * beta * (1 + 4 * UNIT)


def dp_distance(p: ArrayLike, q: ArrayLike) -> float:
    """(A.1) for two laws on finitely many points: max_i |log p_i - log q_i|, infinite unless they share their support.

    The supremum over all events is attained at one point, because a ratio of sums lies between the ratios of its terms.
    `p` and `q` list the probabilities of the same points in the same order.
    Source: Minami et al. 2016, supplement (A.1).
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if np.any((first > 0) != (second > 0)):
        return math.inf
    seen = first > 0
    return float(np.max(np.abs(np.log(first[seen]) - np.log(second[seen])), initial=0.0))


theorem(
    "exponential.ops_draw", "one posterior sample on a ball",
    "Wang, Fienberg and Smola 2015; Minami et al. 2016, Theorem 4(b)",
    _RADIUS, _BALL,
)  # fmt: skip


def ops_draw(
    *, power: float, radius: float, ball: float, difference: float, draws: int = 1, unit: str = "row"
) -> Guarantee:
    """One posterior sample (OPS): the prior truncated to |theta| <= R_T makes every scalar-link loss bounded.

    Rows |x| <= c keep u = theta.x in [-c R_T, c R_T]. `difference` is Delta, the loss's largest difference there, from
    `scalar_link_difference` or `bounded_loss_sensitivity`: it depends on the loss and so has no default. Logistic:
    log((1 + e^a)/(1 + e^-a)) = a, so Delta = c R_T and eps = 2 rho c R_T; Geumlek et al. print twice that. `radius` is c
    with the intercept included. On a ball with a Gaussian prior the sharp theorem applies as well.
    """
    h = Hypotheses("exponential.ops_draw")
    h.numbers(radius=radius, ball=ball)
    claim = exponential_mechanism(power=power, sensitivity=difference, draws=draws, unit=unit)
    h.inherit(claim)
    return h.guarantee(claim.curve, unit=unit, draws=claim.draws)


def scalar_link_difference(
    *, loss: Callable[[float], float], radius: float, ball: float, convex: bool, minimum: float | None = None
) -> float:
    """Largest difference of a convex margin loss phi(y theta.x), y = +-1, over |x| <= c, |theta| <= R_T; rounded up.

    A convex phi is largest at an end of [-a, a], a = c R_T. `minimum` is a lower bound of phi there; None declares phi
    non-increasing, smallest at a. The logistic loss gives a.
    `loss` is phi, `radius` c, `ball` R_T; `convex` is declared. Source: Wang, Fienberg and Smola 2015.
    """
    h = Hypotheses("difference of a scalar-link loss", "Wang, Fienberg and Smola 2015")
    h.flag(convex, replace(_CONVEX, remedy="Use bounded_loss_sensitivity."))
    c = h.number(radius, _RADIUS)
    a = c * h.number(ball, _BALL) * (1 + 2 * UNIT)
    left, right = float(loss(-a)), float(loss(a))
    least = right if minimum is None else h.number(minimum, "smallest loss", "minimum", "finite", "Give a lower bound.")
    top = max(left, right)
    h.holds(least <= top, "smallest loss below the ends", "minimum", f"at most {top:.6g}", least, "Check the loss.")
    return top - least + 16 * UNIT * (abs(top) + abs(least))


def logistic_map_radius(*, power: float, radius: float, precision_per_record: float) -> float:
    """Smallest public ball that holds the MAP of logistic regression, prior N(0, (n b)^-1 I), for every data set.

    At the MAP b R^2 = rho mean_i u_i sigma(-u_i) with u_i = y_i theta.x_i <= c R, and u sigma(-u) peaks at W(1/e) =
    0.27846: R = sqrt(0.27846 rho/b) if c R >= 1.27846, else the root of R = (rho c/b) sigma(-c R). Both are attained
    by n equal rows. Rounded up. (Geumlek et al. call c/b the smallest such ball: 1000 where this is 16.687.)
    """
    h = Hypotheses("ball that holds the MAP", "stationarity of the penalised likelihood")
    rho, c, b = _map_constants(h, power, radius, precision_per_record)
    return map_radius(rho, c, b)


def scalar_link_map_radius(
    *,
    slope: Callable[[float], float],
    slope_bound: float,
    power: float,
    radius: float,
    precision_per_record: float,
    convex: bool,
    cells: int = 4096,
) -> float:
    """A public ball that holds the MAP for any convex margin loss with derivative `slope`, |slope| <= `slope_bound`.

    b R^2 = rho mean_i (-u_i phi'(u_i)) <= rho max_{|u| <= c R} (-u phi'(u)) =: rho H(c R). From R = rho c B/b the
    iteration R <- sqrt(rho H(c R)/b) falls to the largest root and every iterate is a valid radius. H is bounded cell
    by cell using that phi' is monotone, so the answer is never too small, and 0.3 % too large at the default `cells`.
    """
    h = Hypotheses("ball that holds the MAP", "stationarity of the penalised likelihood")
    h.flag(convex, _CONVEX)
    bound = h.number(slope_bound, "bound on the slope", "B", "finite and greater than 0", "Use a clipped loss.", "loss")
    rho, c, b = _map_constants(h, power, radius, precision_per_record)
    count = h.count(cells, "number of cells", "cells", 1, "Use at least one cell.")
    ball = rho * c * bound / b * (1 + 16 * UNIT)
    while True:
        # Geometric cells: the bound on each is off by its ratio at most, wherever the peak lies.
        edges = [0.0] + [c * ball * 10.0 ** (-9.0 * (1 - k / count)) for k in range(count + 1)]
        peak = max(right * max(-float(slope(left)), float(slope(-left)), 0.0) for left, right in pairwise(edges))
        better = math.sqrt(rho * peak / b) * (1 + 16 * UNIT)
        if better >= ball * (1 - 1e-9):
            return min(ball, better)
        ball = better


def _map_constants(h: Hypotheses, power: float, radius: float, precision: float) -> tuple[float, float, float]:
    rho = h.number(power, "power", "rho", "finite and greater than 0", "Choose a positive power.")
    c = h.number(radius, _RADIUS)
    return rho, c, h.number(precision, PRECISION_PER_RECORD)
