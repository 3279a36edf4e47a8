"""Minami's route: concentration of the log ratio through the logarithmic Sobolev inequality.

U_D m-strongly convex gives the inequality with constant 1/m; the log ratio of neighbouring posteriors is G-Lipschitz,
G = 2 beta L. With k = G^2/(2m) = 2 L^2 beta^2/m: KL <= k and P[log ratio >= eps] <= exp(-(eps - k)^2/(4k)), eps > k.
These are kept as named results, to be compared with; `sharp` is never worse and is what the library releases under.

A hinge is allowed: convolving a convex loss with a smooth bump (Lemma 20) keeps L and m and makes it smooth; the
bounds do not see the width of the bump, so they hold in its limit 0. No bump is ever computed.

Source: Minami, Arai, Sato and Nakagawa, "Differential Privacy without Sensitivity", NIPS 2016, with its supplement; the
workshop version for Corollary 8(i). Where the printed statements are false they are refused or narrowed, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

from sfumato.errors import ArgumentError, AssumptionError
from sfumato.privacy.gaussian_tail import TINY, UNIT, gaussian_mu
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.profiles import Profile
from sfumato.theorems._common import POSITIVE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems.sharp import gaussian_mean

PAPER = "Minami et al. 2016"
_SHARP = "Use sharp.gibbs_draw, whose curve holds at every epsilon and is never worse."
# Largest relative corrections tried when a closed form is rounded to the private side.
_SHRINKS = tuple(10.0**-k for k in range(15, 5, -1))


_CONSTANTS = (
    Hypothesis(
        "convex",
        "convexity of every loss",
        "convex",
        "True",
        "Use a convex loss; without it the posterior need not be log-concave.",
        "loss",
    ),
    Hypothesis(
        "lipschitz",
        "Lipschitz constant of the loss",
        "L",
        POSITIVE,
        "Declare a bound on the rows (data_norm, radius) or use a clipped loss.",
        "loss",
    ),
    Hypothesis(
        "strong-convexity",
        "strong convexity of the potential",
        "m",
        POSITIVE,
        "Give the prior a positive precision: sf.priors.Gaussian(precision=...).",
        "prior",
    ),
)
_DIVERGENCE = (
    *_CONSTANTS,
    Hypothesis("power", "power", "beta", POSITIVE, "Choose a positive power."),
)


theorem(
    "log_sobolev.tail_condition",
    "tail of the log ratio (Theorem 5)",
    f"{PAPER}, Theorem 5",
    Hypothesis(
        "every-ordered-pair", "tail bound for every ordered pair", "D, D'", "True", "Bound both directions.", "declared"
    ),
    Hypothesis("epsilon", "epsilon", "eps", POSITIVE, "Ask for a positive epsilon."),
    Hypothesis("tail", "tail of the log ratio", "delta", "in [0, 1]", "Give a probability."),
)


def tail_condition(
    *, epsilon: float, tail: float, every_ordered_pair: bool, adjacency: str = "replace-one", unit: str = "row"
) -> Guarantee:
    """Theorem 5: P_D[log dP_D/dP_D' >= eps] <= delta for every ordered pair of neighbours gives (eps, delta).

    For an event A: P_D(A) <= P_D(A, ratio < e^eps) + delta <= e^eps P_D'(A) + delta. `tail` is that delta, and
    `every_ordered_pair` declares that it bounds both directions of every pair. Only this one point is claimed.
    """
    h = Hypotheses("log_sobolev.tail_condition")
    h.flag(every_ordered_pair, "every-ordered-pair")
    eps = h.number(epsilon, "epsilon")
    delta = h.number(tail, "tail")
    return h.guarantee(Profile("approximate", {"epsilon": eps, "delta": delta}), adjacency, unit)


def concentration(*, lipschitz: float, log_sobolev: float, deviation: float) -> float:
    """(19): mu[F >= E F + t] <= exp(-t^2/(2 L^2 D)) for an L-Lipschitz F under a law with log-Sobolev constant D.

    Rounded up. With L = 2 beta L_loss and D = 1/m it is (21), the tail of the log ratio beyond the divergence.
    """
    h = Hypotheses("concentration by log-Sobolev (19)", f"{PAPER}, equation (19)")
    big_l = h.number(lipschitz, "Lipschitz constant", "L", "finite and greater than 0", "Give a positive constant.")
    big_d = h.number(log_sobolev, "log-Sobolev constant", "D", "finite and greater than 0", "Use 1/m, m the curvature.")
    t = h.number(deviation, "deviation", "t", "finite and greater than 0", "Ask for a positive deviation.")
    return _exp_up(t / big_l * (t / big_l) / (2 * big_d))


theorem("log_sobolev.kl_bound", "divergence by log-Sobolev (24)", f"{PAPER}, equation (24)", *_DIVERGENCE)


def kl_bound(*, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """(24): KL(G_D, G_D') <= 2 L^2 beta^2/m, rounded up: (18) applied to the square root of the density ratio."""
    h = Hypotheses("log_sobolev.kl_bound")
    return _divergence(h, power, lipschitz, strong_convexity, convex)


theorem(
    "log_sobolev.tail_bound",
    "tail bound (Theorem 7)",
    f"{PAPER}, Theorem 7 with Theorem 5",
    *_DIVERGENCE,
    Hypothesis("epsilon", "epsilon", "eps", POSITIVE, "Ask for a positive epsilon."),
    Hypothesis(
        "epsilon-beyond",
        "epsilon beyond the divergence bound",
        "eps > 2 L^2 beta^2/m",
        "greater than {}",
        f"Lower the power: (6) says nothing here. {_SHARP}",
    ),
)


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
    paper's beta <= 1 and non-negative loss are not used by its proof and not asked for.
    """
    h = Hypotheses("log_sobolev.tail_bound")
    k = _divergence(h, power, lipschitz, strong_convexity, convex)
    eps = h.number(epsilon, "epsilon")
    h.holds(eps > k, "epsilon-beyond", given=eps, bound=f"{k:.9g}")
    return h.guarantee(Profile("approximate", {"epsilon": eps, "delta": _tail(eps, k)}), adjacency, unit)


def eta(*, epsilon: float, delta: float) -> float:
    """(B.9): the largest k with exp(-(eps - k)^2/(4k)) <= delta, eps > k; rounded down.

    eta = eps + 2l - 2 sqrt(l (eps + l)) = (eps/(sqrt(l + eps) + sqrt(l)))^2, l = log(1/delta); no cancellation.
    """
    h = Hypotheses("inverse of the tail bound (B.9)", f"{PAPER}, supplement (B.9)")
    eps, log_inverse = _target(h, epsilon, delta)
    root = eps / (math.sqrt(log_inverse + eps) + math.sqrt(log_inverse))
    return root * root * (1 - 16 * UNIT)


theorem("log_sobolev.largest_power_tail_bound", "largest power of the tail bound", f"{PAPER}, Theorem 7", *_CONSTANTS)


def largest_power_tail_bound(
    *, epsilon: float, delta: float, lipschitz: float, strong_convexity: float, convex: bool
) -> float:
    """Largest power that (6) allows at (eps, delta): beta = sqrt(m eta(eps, delta)/2)/L, rounded down and re-verified.

    `strong_convexity` must not depend on the power: it is m_pi, of -log prior.
    """
    k = eta(epsilon=epsilon, delta=delta)
    h = Hypotheses("log_sobolev.largest_power_tail_bound")
    big_l, m = _constants(h, lipschitz, strong_convexity, convex)
    return _shrunk(math.sqrt(0.5 * k * m) / big_l, lambda beta: _tail(epsilon, _k(beta, big_l, m)) <= delta)


def corollary_8_limit(*, delta: float) -> float:
    """Largest eps at which Corollary 8(ii) follows from (6): 2(1 + 2l - sqrt(2l(1 + 2l))) = 2/(1 + sqrt(2l/(1 + 2l))).

    Always between 1 and 2, and about 1.01 at the usual delta; rounded down.
    """
    h = Hypotheses("validity of Corollary 8(ii)", f"{PAPER}, Corollary 8, corrected")
    _, log_inverse = _target(h, 1.0, delta)
    return 2.0 / (1.0 + math.sqrt(2 * log_inverse / (1 + 2 * log_inverse))) * (1 - 8 * UNIT)


theorem("log_sobolev.corollary_8", "Corollary 8(ii)", f"{PAPER}, Corollary 8, with its missing condition", *_CONSTANTS)


def corollary_8(*, epsilon: float, delta: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """Corollary 8(ii), (7): beta = eps/(2L) sqrt(m_pi/(1 + 2 log(1/delta))), rounded down, eps <= corollary_8_limit.

    Printed for every eps; it is false from eps = 8.08, 8.99, 9.34 at delta = 1e-3, 1e-5, 1e-6 (linear losses, Gaussian
    prior), so beyond what (6) proves it is refused.
    """
    h = Hypotheses("log_sobolev.corollary_8")
    big_l, m = _constants(h, lipschitz, strong_convexity, convex)
    eps, log_inverse = _target(h, epsilon, delta)
    limit = corollary_8_limit(delta=delta)
    h.holds(
        eps <= limit,
        "epsilon within the reach of Theorem 7",
        "eps <= 2(1+2l-sqrt(2l(1+2l)))",
        f"at most {limit:.9g}",
        eps,
        f"Use largest_power_tail_bound, which inverts (6) at every epsilon. {_SHARP}",
    )
    return eps / (2 * big_l) * math.sqrt(m / (1 + 2 * log_inverse)) * (1 - 16 * UNIT)


def corollary_8_workshop(*, epsilon: float) -> NoReturn:
    """Corollary 8(i) of the workshop version: refused, it is false.

    It claims (eps, exp(-(1 + eps)/4)) at beta = sqrt(m_pi eps/(2 L^2)). There k = eps, where (6) says nothing; linear
    losses have mu = sqrt(2 eps) and break the claim from eps = 3.11 on (at 5: claimed 0.223, true 0.384).
    """
    raise AssumptionError(
        "Corollary 8(i), workshop version",
        "a statement with a proof",
        "delta = exp(-(1 + eps)/4)",
        "proved",
        f"a claim at eps = {epsilon:.6g} that is false from 3.11 on",
        f"At its power the bound (6) is void. {_SHARP}",
    )


theorem("log_sobolev.theorem_10", "Theorem 10", f"{PAPER}, Theorem 10", *_DIVERGENCE)


def theorem_10(*, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> NoReturn:
    """Theorem 10 and Corollary 11: refused, the universal constant C in (9) has no stated value.

    Assumption 9(i) is also reversed (the ball must be large, R >= kappa + alpha sqrt(d/m_pi)). The sharp theorem covers
    the same posterior, restricted to any convex K, with no constant; the refusal quotes its price.
    """
    h = Hypotheses("log_sobolev.theorem_10")
    mu = math.sqrt(2 * _divergence(h, power, lipschitz, strong_convexity, convex))
    raise AssumptionError(
        h.theorem,
        "known universal constant",
        "C",
        "stated",
        "unspecified in the paper",
        f"Use sharp.gibbs_draw with m = n m_l beta + m_pi on the ball: {mu:.6g}-GDP here.",
    )


def logistic_power(*, epsilon: float, delta: float, radius: float, precision: float, intercept: bool) -> float:
    """(13) corrected: Corollary 8(ii) for logistic regression, features |z| <= r, prior N(0, I/precision).

    With an intercept the loss sees (z, 1), so L = sqrt(r^2 + 1); the paper prints r, which understates the cost.
    """
    h = Hypotheses("Corollary 8(ii) for logistic regression", f"{PAPER}, section 3.3")
    r = h.number(radius, "bound on the rows", "r", "finite and greater than 0", "Declare data_norm.", origin="schema")
    big_l = (math.hypot(r, 1.0) if intercept else r) * (1 + 2 * UNIT)
    return corollary_8(epsilon=epsilon, delta=delta, lipschitz=big_l, strong_convexity=precision, convex=True)


def gaussian_mechanism_power(*, epsilon: float, delta: float, radius: float, n: int) -> float:
    """(B.7): beta = eps^2 n/(8 r^2 log(2/delta)) for the Gaussian mean, flat prior, eps <= 4 log 2; rounded down.

    There mu = eps/s, s^2 = 2 log(2/delta), and the tail Phi(-(s - eps/(2s))) <= exp(-(s^2 - eps)/2)/2 =
    exp(eps/2) delta/4 is at most delta for eps <= 4 log 2. Printed for every eps; false at 9.8 for delta = 1e-6.
    """
    h = Hypotheses("Gaussian mechanism (B.7)", f"{PAPER}, supplement (B.7)")
    eps, log_inverse = _target(h, epsilon, delta)
    h.holds(
        eps <= 4 * math.log(2),
        "epsilon within the classical range",
        "eps <= 4 log 2",
        "at most 2.77259",
        eps,
        "Use gaussian_mean_power or sharp.gaussian_mean, which hold at every epsilon.",
    )
    r, count = _mean_constants(h, radius, n)
    return eps * eps * count / (8 * r * r * (log_inverse + math.log(2))) * (1 - 16 * UNIT)


def gaussian_mean_power(*, epsilon: float, delta: float, radius: float, n: int, precision: float = 0.0) -> float:
    """(B.8): the largest power that (B.4) allows for the Gaussian mean, |x| <= r, prior precision lambda; rounded down.

    2 r^2 beta^2/(n beta + lambda) <= eta(eps, delta), which for lambda = 0 is beta = n eta/(2 r^2).
    """
    h = Hypotheses("Gaussian mean by log-Sobolev (B.8)", f"{PAPER}, supplement Theorem 15 and (B.8)")
    power = _mean_power(h, eta(epsilon=epsilon, delta=delta), radius, n, precision)

    def holds(beta: float) -> bool:
        k = 2 * (radius * beta) * (radius * beta) / (n * beta + precision) * (1 + 8 * UNIT)
        return _tail(epsilon, k) <= delta

    return _shrunk(power, holds)


def gaussian_mean_exact_power(*, epsilon: float, delta: float, radius: float, n: int, precision: float = 0.0) -> float:
    """Largest power at which the Gaussian mean is (eps, delta): 2 beta r/sqrt(n beta + lambda) <= mu(eps, delta).

    An equality (`sharp.gaussian_mean`), hence at least (B.7) and (B.8); rounded down.
    """
    h = Hypotheses("Gaussian mean, exact", f"{PAPER}, supplement Theorem 15, made exact")
    eps, _ = _target(h, epsilon, delta)
    mu = gaussian_mu(eps, delta)
    power = _mean_power(h, 0.5 * mu * mu, radius, n, precision)

    def holds(beta: float) -> bool:
        return gaussian_mean(power=beta, radius=radius, n=n, precision=precision).delta(eps) <= delta

    return _shrunk(power, holds)


def _mean_constants(h: Hypotheses, radius: float, n: int) -> tuple[float, int]:
    r = h.number(radius, "bound on the rows", "r", "finite and greater than 0", "Declare data_norm.", origin="schema")
    return r, h.count(n, "number of records", "n", 1, "State the public number of records.")


def _mean_power(h: Hypotheses, k: float, radius: float, n: int, precision: float) -> float:
    """Largest beta with 2 r^2 beta^2 <= k (n beta + lambda): the positive root, with both terms of one sign."""
    r, count = _mean_constants(h, radius, n)
    lam = h.number(precision, "prior precision", "lambda", "finite and 0 or greater", "Use a precision of 0 or more.")
    linear = k * count
    return (linear + math.sqrt(linear * linear + 8 * r * r * k * lam)) / (4 * r * r)


def _tail(epsilon: float, k: float) -> float:
    """The right side of (6), rounded up; 1 where it says nothing."""
    if epsilon <= k:
        return 1.0
    gap = (epsilon - k) * (1 - 2 * UNIT)
    return _exp_up(gap * gap / (4 * k) * (1 - 4 * UNIT))


def _shrunk(power: float, holds: Callable[[float], bool]) -> float:
    """Largest of a few powers just below a closed form for which the claim itself has been checked."""
    found = next((power * (1 - shrink) for shrink in _SHRINKS if holds(power * (1 - shrink))), None)
    if found is None:
        raise ArgumentError(f"epsilon and delta must allow a power that floats can represent; got {power!r}.")
    return found


def _exp_up(exponent: float) -> float:
    """exp(-exponent) rounded up, never 0: the exponent itself may be off by a few units of rounding."""
    return min(1.0, max(math.exp(-exponent) * (1 + UNIT * (8.0 + 8.0 * min(exponent, 800.0))), TINY))


def _target(h: Hypotheses, epsilon: float, delta: float) -> tuple[float, float]:
    """Check (eps, delta) and return eps and log(1/delta)."""
    eps = h.number(epsilon, "epsilon", "eps", "finite and greater than 0", "Ask for a positive epsilon.")
    return eps, -math.log(h.number(delta, "delta", "delta", "in (0, 1)", "Ask for a delta strictly between 0 and 1."))


def _constants(h: Hypotheses, lipschitz: float, strong_convexity: float, convex: bool) -> tuple[float, float]:
    """Check Assumption 6 as far as the proof uses it, and return L and m."""
    h.flag(convex, "convex")
    big_l = h.number(lipschitz, "lipschitz")
    m = h.number(strong_convexity, "strong-convexity")
    return big_l, m


def _divergence(h: Hypotheses, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """Check the constants and return k = 2 L^2 beta^2/m, rounded up."""
    big_l, m = _constants(h, lipschitz, strong_convexity, convex)
    beta = h.number(power, "power")
    return _k(beta, big_l, m)


def _k(power: float, lipschitz: float, strong_convexity: float) -> float:
    return 2 * (lipschitz * power) * (lipschitz * power) / strong_convexity * (1 + 8 * UNIT)
