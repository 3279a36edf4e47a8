"""Inexact samplers: what total variation costs, and how many Langevin steps buy a given one.

If the sampler that runs is within gamma in total variation of an exact mechanism, FOR EVERY data set, then

    delta(eps) = delta_exact(eps) + (1 + e^eps) gamma.

Neither GDP nor Renyi survives such slack, so it is carried apart from the curve and summed over draws. The Langevin
schedule is sound and astronomical (10^16 steps for a regression on 32,561 rows at gamma = 1e-3): `finite_step` prices
the chain as it is run, with no slack. Its start N(argmin U_D, I/M) depends on the data, which is fine for a claim
about total variation at each D and forbidden in `finite_step`, where two neighbours must start alike.

Source: Minami et al. 2016, Propositions 12 and 13; Wang et al. 2015, Proposition 3; Dalalyan 2014, Corollary 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import TRUST, Guarantee
from sfumato.privacy.statements import joined
from sfumato.theorems._common import POSITIVE, STRONG_CONVEXITY
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Minami et al. 2016, Proposition 12"
_SMOOTHNESS = Hypothesis(
    "", "smoothness of the potential", "M", POSITIVE, "Use a smooth loss (a smoothed hinge or quantile).", "prior and loss"
)  # fmt: skip


theorem(
    "inexact.approximate_sampler", "approximate sampler (Proposition 12)", SOURCE,
    Hypothesis("every-data-set", "total variation bounded for every data set", "sup_D TV", "True",
               "A diagnostic on the data at hand is no such bound; use finite_step, which needs none.", "sampler"),
    Hypothesis("total-variation", "total variation of one draw", "gamma", "in [0, 1]", "Give a distance in [0, 1]."),
    Hypothesis("adjacency", "ordinary neighbours", "adjacency", "replace-one or replace-entry",
               "Take .within(rho) of the metric curve first: slack does not scale with the distance."),
)  # fmt: skip


def approximate_sampler(guarantee: Guarantee, *, total_variation: float, every_data_set: bool) -> Guarantee:
    """Proposition 12: the guarantee of an exact mechanism, weakened for a sampler within `total_variation` of it.

    rho'_D(A) <= rho_D(A) + gamma <= e^eps rho_D'(A) + delta + gamma <= e^eps rho'_D'(A) + delta + (1 + e^eps) gamma.
    `total_variation` is gamma of ONE draw, the rounding of the computer included; N draws carry N gamma. The trust
    falls to "proved with slack". (The NIPS text lost a comma in its conclusion, and (D.8) the gamma of its first
    step.)
    """
    h = Hypotheses("inexact.approximate_sampler")
    h.flag(every_data_set, "every-data-set")
    gamma = h.number(total_variation, "total-variation")
    h.holds(guarantee.adjacency != "metric", "adjacency", given=guarantee.adjacency)
    slack = min(1.0, guarantee.slack + guarantee.draws * gamma * (1 + 4 * UNIT))
    name, source, assumptions = h.stated()
    return replace(
        guarantee,
        slack=slack,
        theorem=joined(guarantee.theorem, name),
        source=joined(guarantee.source, source),
        assumptions=guarantee.assumptions + assumptions,
        trust=TRUST[max(TRUST.index(guarantee.trust), TRUST.index("proved with slack" if slack else "proved"))],
    )


@dataclass(frozen=True)
class Schedule:
    """A Langevin run that ends within `total_variation` of its target: `steps` of size `step`, `horizon` in all."""

    horizon: float
    step: float
    steps: int
    total_variation: float


def langevin_schedule(
    *, strong_convexity: float, smoothness: float, dimension: int, total_variation: float, argmin_error: float = 0.0
) -> Schedule:
    """Proposition 13, corrected: a run from N(argmin U_D, I/M) that ends within gamma of exp(-U_D) for every D.

    S = (4 log(1/gamma) + d log(M/m) + 2 M e^2)/(2m),  T = ceil(S M^2 S d/gamma^2),  h = S/T <= gamma^2/(M^2 S d).
    `argmin_error` is a bound e on the distance of the start's centre from the true minimum. (17) prints m_pi where
    m_pi^2 belongs: for m_pi < 1 that is too few steps, and the chain stops short of its horizon.
    """
    source = "Minami et al. 2016, Proposition 13; Dalalyan 2014, Corollary 1"
    h = Hypotheses("Langevin schedule (Proposition 13)", source)
    m, big_m = h.number(strong_convexity, STRONG_CONVEXITY), h.number(smoothness, _SMOOTHNESS)
    h.holds(m <= big_m, "smoothness at least strong convexity", "m <= M", f"at most M = {big_m:.6g}", m, "Check them.")
    d = h.count(dimension, "dimension", "d", 2, "The theorem is stated for two dimensions or more; add a dummy one.")
    gamma = h.number(total_variation, "total variation", "gamma", "in (0, 1)", "Ask for a distance below 1/2.")
    h.holds(gamma < 0.5, "total variation below one half", "gamma", "less than 1/2", gamma, "Ask for less.")
    e = h.number(argmin_error, "error of the minimiser", "e", "finite and 0 or greater", "Give a bound of 0 or more.")
    horizon = (4 * math.log(1 / gamma) + d * math.log(big_m / m) + 2 * big_m * e * e) / (2 * m) * (1 + 16 * UNIT)
    ratio = horizon * big_m / gamma
    exact = ratio * ratio * d * (1 + 16 * UNIT)
    h.holds(exact < 1e300, "a number of steps that can be counted", "T", "less than 1e300", exact, "Use finite_step.")
    steps = math.ceil(exact)
    return Schedule(horizon, horizon / steps, steps, gamma)
