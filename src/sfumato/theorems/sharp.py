"""The sharp theorem: the exact price of one draw from a strongly log-concave Gibbs posterior.

K convex and public; F and F' both m-strongly convex on K; F - F' G-Lipschitz on K. Then exp(-F) against exp(-F') on K
is (G/sqrt(m))-GDP, and linear losses with a Gaussian prior attain it.

Source: Gopi, Lee and Liu, "Private Convex Optimization via Exponential Mechanism", COLT 2022, Theorems 4 and 13.
With F = power * sum of losses - log prior it replaces, with better constants, Minami et al. 2016 Theorems 7, 10 and 15
and Geumlek et al. 2017 Theorems 16 and 17.
"""

from __future__ import annotations

import math

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._common import DIFFERENCE, DRAWS, NOT_NEGATIVE, POSITIVE, POWER, RECORDS, STRONG_CONVEXITY
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

SOURCE = "Gopi, Lee and Liu 2022, Theorem 4"
ROWS = Hypothesis("radius", "bound on the rows", "r", POSITIVE, "Declare data_norm.", "schema")
_CONVEX = "Use a convex loss, or a mechanism priced by its path ('langevin-path'), which needs no convexity."


theorem(
    "sharp.gibbs_draw", "sharp theorem", SOURCE,
    Hypothesis("convex", "convexity of every loss", "convex", "True", _CONVEX, "loss"),
    Hypothesis("convex-domain", "convex public domain", "K", "True", "Truncate the prior to a ball or a box.", "prior"),
    STRONG_CONVEXITY, DIFFERENCE, DRAWS,
)  # fmt: skip


def gibbs_draw(
    *,
    difference: float,
    strong_convexity: float,
    convex: bool,
    convex_domain: bool,
    draws: int = 1,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Mu = G/sqrt(m) for one draw, sqrt(draws) times that for independent draws from the same posterior.

    `difference` is G, the Lipschitz constant of U_D - U_D' over all neighbours; `strong_convexity` is m, of U_D for every
    D; `convex` and `convex_domain` are declared by the loss and the prior. Restriction to a convex K keeps m.
    Source: Gopi, Lee and Liu 2022, Theorems 4 and 13.
    """
    h = Hypotheses("sharp.gibbs_draw")
    h.flags(convex=convex, convex_domain=convex_domain)
    m, g = h.numbers(strong_convexity=strong_convexity, difference=difference)
    count = h.count(draws, "draws")
    return h.guarantee(Gaussian(g / math.sqrt(m) * math.sqrt(count) * (1 + 8 * UNIT)), adjacency, unit, draws=count)


theorem(
    "sharp.gaussian_mean", "sharp theorem (Gaussian mean)",
    "Minami et al. 2016, Theorem 15, with Gopi, Lee and Liu 2022",
    POWER, ROWS, RECORDS,
    Hypothesis("precision", "prior precision", "lambda", NOT_NEGATIVE, "Use a precision of 0 or more."),
    DRAWS,
)  # fmt: skip


def gaussian_mean(
    *, power: float, radius: float, n: int, precision: float, draws: int = 1, unit: str = "row"
) -> Guarantee:
    """Minami Theorem 15 made exact: quadratic loss |theta - x|^2/2, rows |x| <= r, prior N(0, 1/lambda).

    mu = 2 beta r / sqrt(n beta + lambda), an equality: the posterior is normal with that shift in standard deviations.
    `power` is beta, `radius` r, `precision` lambda; `draws` independent draws cost sqrt(draws) times as much.
    Source: Minami et al. 2016, Theorem 15; Dong, Roth and Su 2022.
    """
    h = Hypotheses("sharp.gaussian_mean")
    beta, r = h.numbers(power=power, radius=radius)
    count = h.count(n, "records")
    lam = h.number(precision, "precision")
    k = h.count(draws, "draws")
    mu = 2 * beta * r / math.sqrt(count * beta + lam) * math.sqrt(k)
    return h.guarantee(Gaussian(mu * (1 + 8 * UNIT)), unit=unit, draws=k)
