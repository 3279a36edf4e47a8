"""Minami's route: concentration of the log ratio through the logarithmic Sobolev inequality.

U_D m-strongly convex gives the inequality with constant 1/m; the log ratio of neighbouring posteriors is G-Lipschitz,
G = 2 beta L. With k = G^2/(2m) = 2 L^2 beta^2/m: KL <= k and P[log ratio >= eps] <= exp(-(eps - k)^2/(4k)), eps > k.
These are kept as named results, to be compared with; `sharp` is never worse and is what the library releases under.

A hinge is allowed: convolving a convex loss with a smooth bump (Lemma 20) keeps L and m and makes it smooth; the
bounds do not see the width of the bump, so they hold in its limit 0. No bump is ever computed.

Source: Minami, Arai, Sato and Nakagawa, "Differential Privacy without Sensitivity", NIPS 2016, with its supplement; the
workshop version for Corollary 8(i). Where the printed statements are false they are refused or narrowed, with a reason.
"""

from __future__ import annotations

import math
from typing import NoReturn

from sfumato.errors import AssumptionError
from sfumato.privacy.gaussian_tail import UNIT, gaussian_mu
from sfumato.theorems._common import RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis, theorem
from sfumato.theorems._log_sobolev_tails import (
    CONSTANTS,
    DIVERGENCE,
    PAPER,
    SHARP,
    check_constants,
    check_divergence,
    check_target,
    shrunk,
    tail_of,
)
from sfumato.theorems._log_sobolev_tails import concentration as concentration
from sfumato.theorems._log_sobolev_tails import eta as eta
from sfumato.theorems._log_sobolev_tails import kl_bound as kl_bound
from sfumato.theorems._log_sobolev_tails import largest_power_tail_bound as largest_power_tail_bound
from sfumato.theorems._log_sobolev_tails import tail_bound as tail_bound
from sfumato.theorems._log_sobolev_tails import tail_condition as tail_condition
from sfumato.theorems.sharp import ROWS, gaussian_mean

_WITHIN_THEOREM_7 = Hypothesis(
    "", "epsilon within the reach of Theorem 7", "eps <= 2(1+2l-sqrt(2l(1+2l)))", "at most {}",
    f"Use largest_power_tail_bound, which inverts (6) at every epsilon. {SHARP}",
)  # fmt: skip
_CLASSICAL = Hypothesis(
    "", "epsilon within the classical range", "eps <= 4 log 2", "at most 2.77259",
    "Use gaussian_mean_power or sharp.gaussian_mean, which hold at every epsilon.",
)  # fmt: skip


def corollary_8_limit(*, delta: float) -> float:
    """Largest eps at which Corollary 8(ii) follows from (6): 2(1 + 2l - sqrt(2l(1 + 2l))) = 2/(1 + sqrt(2l/(1 + 2l))).

    Always between 1 and 2, and about 1.01 at the usual delta; rounded down.
    l = log(1/delta). Beyond it the power of (7) exceeds what the tail bound (6) allows.
    Source: Minami et al. 2016, Corollary 8, corrected.
    """
    h = Hypotheses("validity of Corollary 8(ii)", f"{PAPER}, Corollary 8, corrected")
    _, log_inverse = check_target(h, 1.0, delta)
    return 2.0 / (1.0 + math.sqrt(2 * log_inverse / (1 + 2 * log_inverse))) * (1 - 8 * UNIT)


theorem("log_sobolev.corollary_8", "Corollary 8(ii)", f"{PAPER}, Corollary 8, with its missing condition", *CONSTANTS)


def corollary_8(*, epsilon: float, delta: float, lipschitz: float, strong_convexity: float, convex: bool) -> float:
    """Corollary 8(ii), (7): beta = eps/(2L) sqrt(m_pi/(1 + 2 log(1/delta))), rounded down, eps <= corollary_8_limit.

    Printed for every eps; it is false from eps = 8.08, 8.99, 9.34 at delta = 1e-3, 1e-5, 1e-6 (linear losses, Gaussian
    prior), so beyond what (6) proves it is refused.
    `lipschitz` is L, `strong_convexity` m_pi. Source: Minami et al. 2016, Corollary 8(ii).
    """
    h = Hypotheses("log_sobolev.corollary_8")
    big_l, m = check_constants(h, lipschitz, strong_convexity, convex)
    eps, log_inverse = check_target(h, epsilon, delta)
    limit = corollary_8_limit(delta=delta)
    h.holds(eps <= limit, _WITHIN_THEOREM_7, given=eps, bound=f"{limit:.9g}")
    return eps / (2 * big_l) * math.sqrt(m / (1 + 2 * log_inverse)) * (1 - 16 * UNIT)


def corollary_8_workshop(*, epsilon: float) -> NoReturn:
    """Corollary 8(i) of the workshop version: refused, it is false.

    It claims (eps, exp(-(1 + eps)/4)) at beta = sqrt(m_pi eps/(2 L^2)). There k = eps, where (6) bounds nothing; linear
    losses have mu = sqrt(2 eps) and break the claim from eps = 3.11 on (at 5: claimed 0.223, true 0.384).
    Source: the workshop version of Minami et al. 2016, Corollary 8(i).
    """
    name, remedy = "Corollary 8(i), workshop version", f"At its power the bound (6) is void. {SHARP}"
    claim = f"a claim at eps = {epsilon:.6g} that is false from 3.11 on"
    raise AssumptionError(name, "a statement with a proof", "delta = exp(-(1 + eps)/4)", "proved", claim, remedy)


theorem("log_sobolev.theorem_10", "Theorem 10", f"{PAPER}, Theorem 10", *DIVERGENCE)


def theorem_10(*, power: float, lipschitz: float, strong_convexity: float, convex: bool) -> NoReturn:
    """Theorem 10 and Corollary 11: refused, the universal constant C in (9) has no stated value.

    Assumption 9(i) is also reversed (the ball must be large, R >= kappa + alpha sqrt(d/m_pi)). The sharp theorem covers
    the same posterior, restricted to any convex K, with no constant; the refusal quotes its price.
    Source: Minami et al. 2016, Theorem 10 and Corollary 11.
    """
    h = Hypotheses("log_sobolev.theorem_10")
    mu = math.sqrt(2 * check_divergence(h, power, lipschitz, strong_convexity, convex))
    remedy = f"Use sharp.gibbs_draw with m = n m_l beta + m_pi on the ball: {mu:.6g}-GDP here."
    raise AssumptionError(h.entry.name, "known universal constant", "C", "stated", "unspecified in the paper", remedy)


def logistic_power(*, epsilon: float, delta: float, radius: float, precision: float, intercept: bool) -> float:
    """(13) corrected: Corollary 8(ii) for logistic regression, features |z| <= r, prior N(0, I/precision).

    With an intercept the loss sees (z, 1), so L = sqrt(r^2 + 1); the paper prints r, which understates the cost.
    `radius` is r, `intercept` says whether one is appended; `epsilon` and `delta` as for `corollary_8`.
    Source: Minami et al. 2016, section 3.3.
    """
    h = Hypotheses("Corollary 8(ii) for logistic regression", f"{PAPER}, section 3.3")
    r = h.number(radius, ROWS)
    big_l = (math.hypot(r, 1.0) if intercept else r) * (1 + 2 * UNIT)
    return corollary_8(epsilon=epsilon, delta=delta, lipschitz=big_l, strong_convexity=precision, convex=True)


def gaussian_mechanism_power(*, epsilon: float, delta: float, radius: float, n: int) -> float:
    """(B.7): beta = eps^2 n/(8 r^2 log(2/delta)) for the Gaussian mean, flat prior, eps <= 4 log 2; rounded down.

    There mu = eps/s, s^2 = 2 log(2/delta), and the tail Phi(-(s - eps/(2s))) <= exp(-(s^2 - eps)/2)/2 =
    exp(eps/2) delta/4 is at most delta for eps <= 4 log 2. Printed for every eps; false at 9.8 for delta = 1e-6.
    `radius` is r, the bound on the rows. Source: Minami et al. 2016, supplement (B.7).
    """
    h = Hypotheses("Gaussian mechanism (B.7)", f"{PAPER}, supplement (B.7)")
    eps, log_inverse = check_target(h, epsilon, delta)
    h.holds(eps <= 4 * math.log(2), _CLASSICAL, given=eps)
    r, count = _mean_constants(h, radius, n)
    return eps * eps * count / (8 * r * r * (log_inverse + math.log(2))) * (1 - 16 * UNIT)


def gaussian_mean_power(*, epsilon: float, delta: float, radius: float, n: int, precision: float = 0.0) -> float:
    """(B.8): the largest power that (B.4) allows for the Gaussian mean, |x| <= r, prior precision lambda; rounded down.

    2 r^2 beta^2/(n beta + lambda) <= eta(eps, delta), which for lambda = 0 is beta = n eta/(2 r^2).
    `radius` is r, `n` the number of rows, `precision` lambda.
    Source: Minami et al. 2016, supplement Theorem 15 and (B.8).
    """
    h = Hypotheses("Gaussian mean by log-Sobolev (B.8)", f"{PAPER}, supplement Theorem 15 and (B.8)")
    power = _mean_power(h, eta(epsilon=epsilon, delta=delta), radius, n, precision)

    def holds(beta: float) -> bool:
        k = 2 * (radius * beta) * (radius * beta) / (n * beta + precision) * (1 + 8 * UNIT)
        return tail_of(epsilon, k) <= delta

    return shrunk(power, holds)


def gaussian_mean_exact_power(*, epsilon: float, delta: float, radius: float, n: int, precision: float = 0.0) -> float:
    """Largest power at which the Gaussian mean is (eps, delta): 2 beta r/sqrt(n beta + lambda) <= mu(eps, delta).

    An equality (`sharp.gaussian_mean`), hence at least (B.7) and (B.8); rounded down.
    mu(eps, delta) is the largest mu of a Gaussian curve through the target; arguments as for `gaussian_mean_power`.
    Source: Minami et al. 2016, supplement Theorem 15, made exact.
    """
    h = Hypotheses("Gaussian mean, exact", f"{PAPER}, supplement Theorem 15, made exact")
    eps, _ = check_target(h, epsilon, delta)
    mu = gaussian_mu(eps, delta)
    power = _mean_power(h, 0.5 * mu * mu, radius, n, precision)

    def holds(beta: float) -> bool:
        return gaussian_mean(power=beta, radius=radius, n=n, precision=precision).delta(eps) <= delta

    return shrunk(power, holds)


def _mean_constants(h: Hypotheses, radius: float, n: int) -> tuple[float, int]:
    return h.number(radius, ROWS), h.count(n, RECORDS)


def _mean_power(h: Hypotheses, k: float, radius: float, n: int, precision: float) -> float:
    """Largest beta with 2 r^2 beta^2 <= k (n beta + lambda): the positive root, with both terms of one sign."""
    r, count = _mean_constants(h, radius, n)
    lam = h.number(precision, "prior precision", "lambda", "finite and 0 or greater", "Use a precision of 0 or more.")
    linear = k * count
    return (linear + math.sqrt(linear * linear + 8 * r * r * k * lam)) / (4 * r * r)
