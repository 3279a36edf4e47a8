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
from sfumato.theorems._hypotheses import Hypotheses

SOURCE = "Gopi, Lee and Liu 2022, Theorem 4"
_CONVEX = "Use a convex loss, or a mechanism priced by its path ('langevin-path'), which needs no convexity."


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
    """
    h = Hypotheses("sharp theorem", SOURCE)
    h.flag(convex, "convexity of every loss", "convex", "True", _CONVEX, origin="loss")
    h.flag(convex_domain, "convex public domain", "K", "True", "Truncate the prior to a ball or a box.", origin="prior")
    m = h.number(
        strong_convexity,
        "strong convexity of the potential",
        "m",
        "finite and greater than 0",
        "Give the prior a positive precision: sf.priors.Gaussian(precision=...).",
        origin="prior and loss",
    )
    g = h.number(
        difference,
        "gradient difference of neighbours",
        "G",
        "finite and 0 or greater",
        "Declare a bound on the rows (data_norm, radius) or use a clipped loss.",
        origin="loss",
    )
    count = h.count(draws, "number of draws", "N", 1, "Ask for at least one draw.")
    return h.guarantee(Gaussian(g / math.sqrt(m) * math.sqrt(count) * (1 + 8 * UNIT)), adjacency, unit, draws=count)


def gaussian_mean(
    *, power: float, radius: float, n: int, precision: float, draws: int = 1, unit: str = "row"
) -> Guarantee:
    """Minami Theorem 15 made exact: quadratic loss |theta - x|^2/2, rows |x| <= r, prior N(0, 1/lambda).

    mu = 2 beta r / sqrt(n beta + lambda), an equality: the posterior is normal with that shift in standard deviations.
    """
    h = Hypotheses("sharp theorem (Gaussian mean)", "Minami et al. 2016, Theorem 15, with Gopi, Lee and Liu 2022")
    beta = h.number(power, "power", "beta", "finite and greater than 0", "Choose a positive power.")
    r = h.number(radius, "bound on the rows", "r", "finite and greater than 0", "Declare data_norm.", origin="schema")
    count = h.count(n, "number of records", "n", 1, "State the public number of records.")
    lam = h.number(precision, "prior precision", "lambda", "finite and 0 or greater", "Use a precision of 0 or more.")
    k = h.count(draws, "number of draws", "N", 1, "Ask for at least one draw.")
    mu = 2 * beta * r / math.sqrt(count * beta + lam) * math.sqrt(k)
    return h.guarantee(Gaussian(mu * (1 + 8 * UNIT)), unit=unit, draws=k)
