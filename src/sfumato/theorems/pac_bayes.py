"""PAC-Bayes: what a Gibbs posterior promises about new data. Numbers, not privacy claims.

With n independent rows, risk R, empirical risk R_n and lambda = n beta (the exponent on the MEAN loss; beta, the power,
is the exponent on the SUM), the Gibbs posterior minimises E_rho R_n + KL(rho, pi)/lambda (C.4). If

    E_pi E exp(+-lambda (R - R_n)) <= exp(f)                                                          (C.5)

then E_G R <= E_G R_n + (f + KL(G, pi) + log(1/alpha))/lambda with probability 1 - alpha (C.6), and E_G R is at most
E_rho R + 2 (f + KL(rho, pi) + log(1/alpha))/lambda for every rho with probability 1 - 2 alpha (C.7).

THE RIGHT SIDE OF (C.6) IS COMPUTED FROM THE ROWS. The privacy of the draw does not cover it: publishing it needs a
charge of its own. (C.7) holds quantities of the unknown law and none of the rows.

Source: Alquier, Ridgway and Chopin 2015, as Theorem 18 of the supplement of Minami et al. 2016; Example 19 corrected.
"""

from __future__ import annotations

import math

from sfumato.privacy.gaussian_tail import UNIT
from sfumato.theorems._common import POSITIVE, POWER, RECORDS
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis
from sfumato.theorems.sharp import ROWS

SOURCE = "Minami et al. 2016, supplement Theorem 18"
_INDEPENDENT = Hypothesis("", "independent rows from one law", "D ~ P^n", "True", "Without it no such bound holds.")
_REGULARISATION = Hypothesis(
    "", "regularisation", "lambda_reg", POSITIVE,
    "The prior is N(0, I/(n lambda_reg)); give it a positive precision.", "prior",
)  # fmt: skip
_EXPONENT = Hypothesis(
    "", "exponent within the Gaussian integral", "n beta < n sqrt(2 lambda_reg)/r", "less than {}",
    "Lower the power or raise the regularisation; beyond this the integral diverges.",
)  # fmt: skip


def gibbs_objective(*, empirical_risk: float, divergence: float, n: int, power: float) -> float:
    """(C.4): E_rho R_n + KL(rho, pi)/(n beta), which the Gibbs posterior of this power minimises over all laws rho.

    Computed from the rows through `empirical_risk` (the mean over rows and rho): not releasable without its own charge.
    The paper prints 1/beta, which is right only for the exponent on the mean loss.
    `divergence` is KL(rho, pi), `power` beta. Source: Minami et al. 2016, supplement (C.4).
    """
    h = Hypotheses("Gibbs variational principle (C.4)", f"{SOURCE}, (C.4)")
    lam = _exponent(h, n, power)
    risk, kl = _risk_and_divergence(h, empirical_risk, divergence)
    return risk + kl / lam


def empirical_bound(
    *,
    empirical_risk: float,
    divergence: float,
    hoeffding: float,
    n: int,
    power: float,
    failure: float,
    independent: bool,
) -> float:
    """(C.6): with probability at least 1 - alpha the posterior's risk is at most what is returned; rounded up.

    `empirical_risk` is E_G R_n, `divergence` KL(G, pi), `hoeffding` f of (C.5), `failure` alpha. Both inputs come
    from the rows, so the answer is not releasable without its own charge.
    Source: Minami et al. 2016, supplement (C.6).
    """
    h = Hypotheses("PAC-Bayes bound (C.6)", f"{SOURCE}, (C.6)")
    return _bound(h, empirical_risk, divergence, hoeffding, n, power, failure, independent, factor=1.0)


def oracle_bound(
    *, risk: float, divergence: float, hoeffding: float, n: int, power: float, failure: float, independent: bool
) -> float:
    """(C.7): with probability at least 1 - 2 alpha the posterior's risk is at most what is returned; rounded up.

    E_rho R + 2 (f + KL(rho, pi) + log(1/alpha))/lambda, with no term computed from the rows. `risk` is E_rho R and
    `divergence` KL(rho, pi) of any law rho.
    Source: Minami et al. 2016, supplement (C.7).
    """
    h = Hypotheses("PAC-Bayes oracle bound (C.7)", f"{SOURCE}, (C.7)")
    return _bound(h, risk, divergence, hoeffding, n, power, failure, independent, factor=2.0)


def bounded_hoeffding(*, loss_range: float, n: int, power: float) -> float:
    """Return f of (C.5) for a loss in an interval of length B at every theta: lambda^2 B^2/(8n), rounded up.

    f bounds the logarithm of E exp(lambda (R - R_n)) for every theta, by Hoeffding's lemma for each of n independent rows.
    The answer is the `hoeffding` of `empirical_bound` and `oracle_bound`.
    Source: Minami et al. 2016, supplement (C.5).
    """
    h = Hypotheses("Hoeffding condition, bounded loss", f"{SOURCE}, (C.5)")
    lam = _exponent(h, n, power)
    width = h.number(loss_range, "range of the loss", "B", "finite and 0 or greater", "Bound the loss.", origin="loss")
    return lam * width * (lam * width) / (8 * n) * (1 + 16 * UNIT)


def hinge_exponent_limit(*, n: int, radius: float, regularisation: float) -> float:
    """Return n sqrt(2 lambda_reg)/r, where the exponents of `hinge_hoeffding` end (printed: 2 sqrt(lambda_reg n)/r).

    r bounds the rows and the prior is N(0, (n lambda_reg)^-1 I). At this exponent the expectation of (C.5) under the prior
    becomes infinite, so no bound exists from it on.
    Source: Minami et al. 2016, supplement Example 19, corrected.
    """
    h = Hypotheses("Hoeffding condition, hinge loss", f"{SOURCE}, Example 19, corrected")
    r, reg, count = _hinge(h, n, radius, regularisation)
    return count * math.sqrt(2 * reg) / r * (1 - 8 * UNIT)


def hinge_hoeffding(*, n: int, power: float, radius: float, regularisation: float, dimension: int) -> float:
    """Example 19 corrected: f of (C.5) for the hinge loss, rows |z| <= r, prior N(0, (n lambda_reg)^-1 I); rounded up.

    f = lambda^2/(4n) - (d/2) log(1 - r^2 lambda^2/(2 lambda_reg n^2)),  lambda < n sqrt(2 lambda_reg)/r.
    The loss has range 1 + r|theta|, its square is at most 2 + 2 r^2 |theta|^2; Hoeffding, then the Gaussian integral.
    The paper prints 4 for the 2 and drops the d; false in one dimension (n = 20, lambda_reg = 0.01, lambda = 2: it
    says 0.194, the expectation is 0.265).
    """
    h = Hypotheses("Hoeffding condition, hinge loss", f"{SOURCE}, Example 19, corrected")
    r, reg, count = _hinge(h, n, radius, regularisation)
    lam = _exponent(h, n, power)
    d = h.count(dimension, "dimension", "d", 1, "State the number of coordinates.")
    limit = hinge_exponent_limit(n=n, radius=radius, regularisation=regularisation)
    h.holds(lam < limit, _EXPONENT, given=lam, bound=f"{limit:.9g}")
    share = r * lam / (count * math.sqrt(2 * reg)) * (1 + 8 * UNIT)
    # 1 - share^2 in factors, so that no digit is lost near the limit; log1p of a small share loses none either.
    log_term = math.log1p(share) + math.log1p(-share) if share < 1 else -math.inf
    return (lam * lam / (4 * count) - 0.5 * d * log_term) * (1 + 32 * UNIT)


def _hinge(h: Hypotheses, n: int, radius: float, regularisation: float) -> tuple[float, float, int]:
    return h.number(radius, ROWS), h.number(regularisation, _REGULARISATION), h.count(n, RECORDS)


def _exponent(h: Hypotheses, n: int, power: float) -> float:
    """Lambda = n beta, the exponent on the mean loss."""
    return h.count(n, RECORDS) * h.number(power, POWER)


def _risk_and_divergence(h: Hypotheses, risk: float, divergence: float) -> tuple[float, float]:
    value = h.number(risk, "risk", "R", "finite", "Give the expected loss.")
    kl = h.number(divergence, "divergence from the prior", "KL", "finite and 0 or greater", "Give a divergence.")
    return value, kl


def _bound(
    h: Hypotheses,
    risk: float,
    divergence: float,
    hoeffding: float,
    n: int,
    power: float,
    failure: float,
    independent: bool,
    factor: float,
) -> float:
    h.flag(independent, _INDEPENDENT)
    lam = _exponent(h, n, power)
    value, kl = _risk_and_divergence(h, risk, divergence)
    f = h.number(hoeffding, "Hoeffding function", "f", "finite", "Take it from hinge_hoeffding or bounded_hoeffding.")
    alpha = h.number(failure, "failure probability", "alpha", "in (0, 1)", "Choose a probability.")
    excess = factor * (f + kl - math.log(alpha)) / lam
    return value + excess + 16 * UNIT * (abs(value) + abs(excess))
