"""The tail of the log ratio of neighbouring posteriors, through the logarithmic Sobolev inequality (Minami's route).

U_D m-strongly convex gives the inequality with constant 1/m; the log ratio of neighbouring posteriors is G-Lipschitz,
G = 2 beta L. With k = G^2/(2m) = 2 L^2 beta^2/m: KL <= k and P[log ratio >= eps] <= exp(-(eps - k)^2/(4k)), eps > k.
The functions are public as `sfumato.theorems.log_sobolev.*`, beside the corollaries that follow from them.

Source: Minami, Arai, Sato and Nakagawa, "Differential Privacy without Sensitivity", NIPS 2016, with its supplement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from sfumato.errors import ArgumentError
from sfumato.privacy.gaussian_tail import TINY, UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile
from sfumato.theorems._common import POSITIVE, POWER, STRONG_CONVEXITY
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem

PAPER = "Minami et al. 2016"
SHARP = "Use sharp.gibbs_draw, whose curve holds at every epsilon and is never worse."
# Largest relative corrections tried when a closed form is rounded to the private side.
_SHRINKS = tuple(10.0**-k for k in range(15, 5, -1))


EPSILON = Hypothesis("epsilon", "epsilon", "eps", POSITIVE, "Ask for a positive epsilon.")
CONSTANTS = (
    Hypothesis("convex", "convexity of every loss", "convex", "True",
               "Use a convex loss; without it the posterior need not be log-concave.", "loss"),
    Hypothesis("lipschitz", "Lipschitz constant of the loss", "L", POSITIVE,
               "Declare a bound on the rows (data_norm, radius) or use a clipped loss.", "loss"),
    replace(STRONG_CONVEXITY, origin="prior"),
)  # fmt: skip
DIVERGENCE = (*CONSTANTS, POWER)


theorem(
    "log_sobolev.tail_condition", "tail of the log ratio (Theorem 5)", f"{PAPER}, Theorem 5",
    Hypothesis("every-ordered-pair", "tail bound for every ordered pair", "D, D'", "True", "Bound both directions.",
               "declared"),
    EPSILON,
    Hypothesis("tail", "tail of the log ratio", "delta", "in [0, 1]", "Give a probability."),
)  # fmt: skip


def tail_condition(
    *, epsilon: float, tail: float, every_ordered_pair: bool, adjacency: str = "replace-one", unit: str = "row"
) -> Guarantee:
    """Theorem 5: P_D[log dP_D/dP_D' >= eps] <= delta for every ordered pair of neighbours gives (eps, delta).

    For an event A: P_D(A) <= P_D(A, ratio < e^eps) + delta <= e^eps P_D'(A) + delta. `tail` is that delta, and
    `every_ordered_pair` declares that it bounds both directions of every pair. Only this one point is claimed.
    Source: Minami et al. 2016, Theorem 5.
    """
    h = Hypotheses("log_sobolev.tail_condition")
    h.flag(every_ordered_pair, "every-ordered-pair")
    eps, delta = h.numbers(epsilon=epsilon, tail=tail)
    return h.guarantee(Profile("approximate", {"epsilon": eps, "delta": delta}), adjacency, unit)


def concentration(*, lipschitz: float, log_sobolev: float, deviation: float) -> float:
    """(19): mu[F >= E F + t] <= exp(-t^2/(2 L^2 D)) for an L-Lipschitz F under a law with log-Sobolev constant D.

    Rounded up. With L = 2 beta L_loss and D = 1/m it is (21), the tail of the log ratio beyond the divergence.
    `lipschitz` is L, `log_sobolev` is D (1/m for an m-strongly log-concave law), `deviation` is t > 0.
    Source: Minami et al. 2016, equation (19) (Herbst's argument).
    """
    h = Hypotheses("concentration by log-Sobolev (19)", f"{PAPER}, equation (19)")
    big_l = h.number(lipschitz, "Lipschitz constant", "L", "finite and greater than 0", "Give a positive constant.")
    big_d = h.number(log_sobolev, "log-Sobolev constant", "D", "finite and greater than 0", "Use 1/m, m the curvature.")
    t = h.number(deviation, "deviation", "t", "finite and greater than 0", "Ask for a positive deviation.")
    return _exp_up(t / big_l * (t / big_l) / (2 * big_d))


theorem("log_sobolev.kl_bound", "divergence by log-Sobolev (24)", f"{PAPER}, equation (24)", *DIVERGENCE)


def kl_bound(*, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """(24): KL(G_D, G_D') <= 2 L^2 beta^2/m, rounded up: (18) applied to the square root of the density ratio.

    G_D is the Gibbs posterior with potential U_D = beta (sum of losses) - log prior, m-strongly convex for every D
    (`strong_convexity`); `lipschitz` is L of one record's loss, `power` is beta, and `convex` is declared by the loss.
    Source: Minami et al. 2016, equation (24).
    """
    h = Hypotheses("log_sobolev.kl_bound")
    return check_divergence(h, power, lipschitz, strong_convexity, convex)


theorem(
    "log_sobolev.tail_bound", "tail bound (Theorem 7)", f"{PAPER}, Theorem 7 with Theorem 5",
    *DIVERGENCE, EPSILON,
    Hypothesis("epsilon-beyond", "epsilon beyond the divergence bound", "eps > 2 L^2 beta^2/m", "greater than {}",
               f"Lower the power: (6) says nothing here. {SHARP}"),
)  # fmt: skip


def tail_bound(
    *,
    power: float,
    lipschitz: float,
    strong_convexity: float,
    epsilon: float,
    convex: bool,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Theorem 7, bound (6): (eps, delta) with delta = exp(-(eps - k)^2/(4k)), k = 2 L^2 beta^2/m, for eps > k.

    `strong_convexity` is m of U_D for every D (the prior's m_pi suffices), `lipschitz` is L of one record's loss. The
    paper's beta <= 1 and non-negative loss are not used by its proof and not required.
    `power` is beta; `convex` is declared by the loss. Source: Minami et al. 2016, Theorem 7 with Theorem 5.
    """
    h = Hypotheses("log_sobolev.tail_bound")
    k = check_divergence(h, power, lipschitz, strong_convexity, convex)
    eps = h.number(epsilon, "epsilon")
    h.holds(eps > k, "epsilon-beyond", given=eps, bound=f"{k:.9g}")
    return h.guarantee(Profile("approximate", {"epsilon": eps, "delta": tail_of(eps, k)}), adjacency, unit)


def eta(*, epsilon: float, delta: float) -> float:
    """(B.9): the largest k with exp(-(eps - k)^2/(4k)) <= delta, eps > k; rounded down.

    eta = eps + 2l - 2 sqrt(l (eps + l)) = (eps/(sqrt(l + eps) + sqrt(l)))^2, l = log(1/delta); no cancellation.
    The tail bound (6) holds at (`epsilon`, `delta`) exactly when its k = 2 L^2 beta^2/m is at most eta.
    Source: Minami et al. 2016, supplement (B.9).
    """
    h = Hypotheses("inverse of the tail bound (B.9)", f"{PAPER}, supplement (B.9)")
    eps, log_inverse = check_target(h, epsilon, delta)
    root = eps / (math.sqrt(log_inverse + eps) + math.sqrt(log_inverse))
    return root * root * (1 - 16 * UNIT)


theorem("log_sobolev.largest_power_tail_bound", "largest power of the tail bound", f"{PAPER}, Theorem 7", *CONSTANTS)


def largest_power_tail_bound(
    *, epsilon: float, delta: float, lipschitz: float, strong_convexity: float, convex: bool
) -> float:
    """Largest power that (6) allows at (eps, delta): beta = sqrt(m eta(eps, delta)/2)/L, rounded down and re-verified.

    `strong_convexity` must not depend on the power: it is m_pi, of -log prior.
    `lipschitz` is L of one record's loss; `convex` is declared by the loss.
    Source: Minami et al. 2016, Theorem 7 solved for beta.
    """
    k = eta(epsilon=epsilon, delta=delta)
    h = Hypotheses("log_sobolev.largest_power_tail_bound")
    big_l, m = check_constants(h, lipschitz, strong_convexity, convex)
    return shrunk(math.sqrt(0.5 * k * m) / big_l, lambda beta: tail_of(epsilon, _k(beta, big_l, m)) <= delta)


def tail_of(epsilon: float, k: float) -> float:
    """The right side of (6), rounded up; 1 where it bounds nothing."""
    if epsilon <= k:
        return 1.0
    gap = (epsilon - k) * (1 - 2 * UNIT)
    return _exp_up(gap * gap / (4 * k) * (1 - 4 * UNIT))


def shrunk(power: float, holds: Callable[[float], bool]) -> float:
    """Largest of a few powers just below a closed form for which the claim itself has been checked."""
    checked = next((power * (1 - shrink) for shrink in _SHRINKS if holds(power * (1 - shrink))), None)
    if checked is None:
        raise ArgumentError(f"epsilon and delta must allow a power that floats can represent; got {power!r}.")
    return checked


def _exp_up(exponent: float) -> float:
    """exp(-exponent) rounded up, never 0: the exponent itself may be off by a few units of rounding."""
    return min(1.0, max(math.exp(-exponent) * (1 + UNIT * (8.0 + 8.0 * min(exponent, 800.0))), TINY))


def check_target(h: Hypotheses, epsilon: float, delta: float) -> tuple[float, float]:
    """Check (eps, delta) and return eps and log(1/delta)."""
    eps = h.number(epsilon, EPSILON)
    return eps, -math.log(h.number(delta, "delta", "delta", "in (0, 1)", "Ask for a delta strictly between 0 and 1."))


def check_constants(h: Hypotheses, lipschitz: float, strong_convexity: float, convex: bool) -> tuple[float, float]:
    """Check Assumption 6 as far as the proof uses it, and return L and m."""
    h.flag(convex, "convex")
    big_l, m = h.numbers(lipschitz=lipschitz, strong_convexity=strong_convexity)
    return big_l, m


def check_divergence(h: Hypotheses, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """Check the constants and return k = 2 L^2 beta^2/m, rounded up."""
    big_l, m = check_constants(h, lipschitz, strong_convexity, convex)
    beta = h.number(power, "power")
    return _k(beta, big_l, m)


def _k(power: float, lipschitz: float, strong_convexity: float) -> float:
    return 2 * (lipschitz * power) * (lipschitz * power) / strong_convexity * (1 + 8 * UNIT)
