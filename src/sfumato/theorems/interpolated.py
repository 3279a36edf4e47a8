"""The sharp theorem for potentials with kinks that are drawn on a public grid: interpolate, or charge the grid.

One dimension. F = q + c with q m-strongly convex and c convex; replace c by the line through its values at public nodes.
The interpolation of a convex function is convex, and that of a G-Lipschitz difference is G-Lipschitz: the sharp theorem holds
for the interpolated potentials with the same G and m. Between two nodes they are a parabola, so the mass of a cell is a
closed form, and a drawn cell is a post-processing of the exact draw.

Any dimension. A point of a grid so fine that U moves by at most e inside a cell has, up to a factor exp(+-2 e), the mass of
its cell under the exact law.

Derivations: docs/proofs/interpolated.md. Source: Gopi, Lee and Liu 2022, Theorem 4.
"""

from __future__ import annotations

import math

from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile
from sfumato.theorems._common import DRAWS, LOG_ERROR, POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Gopi, Lee and Liu 2022, Theorem 4"


theorem(
    "interpolated.grid_draw", "sharp theorem on a public grid", SOURCE,
    Hypothesis("convex", "convexity of every loss", "convex", "True", "Use a convex loss.", "loss"),
    Hypothesis("convex-domain", "convex public domain", "K", "True", "Truncate the prior to a box.", "prior"),
    Hypothesis("strong-convexity", "strong convexity of what is not interpolated", "m", POSITIVE,
               "Give the prior a positive precision: sf.priors.Gaussian(precision=...).", "prior"),
    Hypothesis("difference", "gradient difference of neighbours", "G", POSITIVE,
               "Declare a bound on the rows (data_norm, radius) or use a clipped loss.", "loss"),
    LOG_ERROR, DRAWS,
)  # fmt: skip


def grid_draw(
    *,
    difference: float,
    strong_convexity: float,
    convex: bool,
    convex_domain: bool,
    log_error: float,
    draws: int = 1,
    unit: str = "row",
) -> Guarantee:
    """G/sqrt(m) a draw, where the log of every drawn cell's mass is within `log_error` of an m-strongly log-concave law's.

    `strong_convexity` is m of the part of U that is kept as it is (the prior), not of what is interpolated. delta(eps) is
    exp(N e) delta_mu(eps - 2 N e) with mu = G sqrt(N/m).
    `difference` is G; `convex` and `convex_domain` are declared. Source: Gopi, Lee and Liu 2022, Theorem 4.
    """
    h = Hypotheses("interpolated.grid_draw")
    h.flags(convex=convex, convex_domain=convex_domain)
    m, g = h.numbers(strong_convexity=strong_convexity, difference=difference)
    error = h.number(log_error, "log-error")
    count = h.count(draws, "draws")
    mu = g / math.sqrt(m) * (1 + 8 * UNIT)
    curve = Profile("perturbed-gaussian", {"mu": mu, "draws": count, "error": error})
    return h.guarantee(curve, unit=unit, draws=count)


def cell_acceptance(*, slope: float, half_diagonal: float, gap: float = 0.0) -> float:
    """exp(-2 S r - gap): success of a trial that picks a cell by exp(-U) at its centre, a point in it, and keeps it with

    probability exp(-(U - U(centre)) - S r - gap/2). `slope` S is the Lipschitz constant of U_D for every D, `half_diagonal` r the
    distance from a cell's centre to its corner, `gap` twice the error of an exponent. Rounded down.
    Source: rejection sampling (von Neumann 1951); docs/proofs/interpolated.md.
    """
    h = Hypotheses("success of a trial in a cell", "von Neumann 1951")
    positive = "finite and greater than 0"
    s = h.number(slope, "slope of the potential", "S", positive, "Use a Lipschitz loss on a bounded domain.", "loss")
    r = h.number(half_diagonal, "half the diagonal of a cell", "r", positive, "Choose a public grid.")
    extra = h.number(gap, "errors of an exponent", "gap", "finite and 0 or greater", "Give a finite bound.")
    return math.exp(-2 * s * r - extra) * (1 - 1e-12)
