"""What an adversary can tell from posterior draws: limits on guessing which of two data sets was used.

Two kinds of statement live here. One limits EVERY adversary: success is at most (1 + TV)/2, and TV follows from a
divergence or from a privacy curve. The other (Lemma 12, Theorem 13) limits only an adversary who compares the
empirical measure of the draws on a finite partition with the two posteriors, and decides when their L1 distance
exceeds his error bound: a NECESSARY condition for that one method, neither sufficient nor a protection against others.

Numbers about an adversary's success are rounded up, numbers about his error down.
Source: Dimitrakakis et al. 2017, Lemmas 12 and 18, Theorem 13. Proofs: docs/proofs/distinguish.md.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.theorems._common import DRAWS, FAILURE
from sfumato.theorems._hypotheses import Hypotheses, Hypothesis

_PAPER = "Dimitrakakis et al. 2017, "
# More than the roundings of the few operations behind each number.
_UP, _DOWN = 1 + 1e-12, 1 - 1e-12
_ORDINARY = Hypothesis("", "ordinary curve", "curve", "not a metric curve",
                       "Say how far apart the two data sets are: curve.within(rho).")  # fmt: skip
_SMALL = Hypothesis("", "small partition", "m <= log2 sqrt(1/delta)", "at most {}",
                    "Use fewer cells, a smaller delta, or partition_error, which has no condition.")  # fmt: skip


def best_success(*, divergence: float, draws: int = 1) -> float:
    """Largest probability with which ANY adversary names the right one of two equally likely data sets from N draws.

    (1 + TV)/2 with TV <= min(sqrt(N KL/2), sqrt(1 - exp(-N KL))), the inequalities of Pinsker and of Bretagnolle and
    Huber; `divergence` is KL of one draw (metric.divergence, metric.stochastic_divergence), which adds over draws.
    Source: Pinsker's inequality; Bretagnolle and Huber 1979.
    """
    h = Hypotheses("success of every adversary", "Pinsker; Bretagnolle and Huber 1979")
    one = h.number(divergence, "divergence of one draw", "KL", "finite and 0 or greater", "Give a finite bound.")
    total = one * h.count(draws, DRAWS)
    variation = min(math.sqrt(total / 2), math.sqrt(-math.expm1(-total)))
    return min(1.0, (1 + variation) / 2 * _UP)


def best_success_under(*, promise: Curve | Guarantee, prior: float = 0.5) -> float:
    """Largest probability with which any adversary names the right one of two neighbours, under a privacy curve.

    With prior probability 1 - q >= 1/2 on one of them: (1 - q) + q delta(ln((1-q)/q)); for q = 1/2 that is
    (1 + delta(0))/2. `promise` is the curve or guarantee of everything released, `prior` either probability.
    Rounded up. Source: the definition of the hockey-stick divergence.
    """
    h = Hypotheses("success under a privacy curve", "the definition of the hockey-stick divergence")
    curve = promise.curve if isinstance(promise, Guarantee) else promise
    h.holds(not isinstance(curve, Metric), _ORDINARY, given="a Metric")
    p = h.number(prior, "prior probability", "p", "in (0, 1)", "Choose a probability such as 0.5.")
    q = min(p, 1 - p)
    return min(1.0, (1 - q + q * promise.delta(math.log((1 - q) / q))) * _UP)


def gaussian_trade_off(*, mu: float, level: float) -> float:
    """Smallest error of the second kind at level alpha against a mu-GDP release: T(alpha) = Phi(Phi^-1(1-alpha) - mu).

    Rounded down: no test of this level, whatever it computes, misses less often.
    `mu` is the Gaussian parameter of everything released, `level` alpha the error of the first kind.
    Source: Dong, Roth and Su 2022.
    """
    h = Hypotheses("Gaussian trade-off function", "Dong, Roth and Su 2022")
    m = h.number(mu, "Gaussian parameter", "mu", "finite and 0 or greater", "Give the mu of the release.")
    alpha = h.number(level, "level of the test", "alpha", "in [0, 1]", "Choose a level such as 0.05.")
    if alpha in (0.0, 1.0):
        return 1.0 - alpha
    z = -NormalDist().inv_cdf(alpha)
    x = z - m
    value = 0.5 * math.erfc(-x / math.sqrt(2))
    # x carries a few ulps of |z| + mu, and the logarithm of Phi has slope of at most |x| + 1.
    return max(0.0, value * (1 - 1e-14 * (1 + (abs(x) + 1) * (abs(z) + m))))


def minimax_error(*, separation: float, total_variation: float) -> float:
    """Any estimator of the data set errs by at least (separation/2) (1 - TV) in rho, on average, at its worse data set.

    `separation` is rho(S1, S2), twice the delta of Lemma 18; `total_variation` bounds TV of all released draws between
    one posterior (or mixture) from each side, so that 1 - TV bounds the affinity from below. Le Cam's method.
    Rounded down. Source: Dimitrakakis et al. 2017, Lemma 18.
    """
    h = Hypotheses("Le Cam's lower bound", _PAPER + "Lemma 18")
    apart = h.number(separation, "separation", "rho(S1, S2)", "finite and 0 or greater", "Give a distance.")
    tv = h.number(total_variation, "total variation", "TV", "in [0, 1]", "Give a total variation.")
    return apart / 2 * (1 - tv) * _DOWN


def empirical_error(*, draws: int, cells: int, delta: float) -> float:
    """With probability 1 - delta the empirical measure of N draws is within sqrt(3 ln(1/delta)/N) in L1 (Lemma 12).

    On a partition of m cells with m <= log2 sqrt(1/delta); the condition is part of the statement.
    `draws` is N, `cells` m, `delta` the failure probability; rounded up.
    Source: Dimitrakakis et al. 2017, Lemma 12.
    """
    h = Hypotheses("empirical measure on a small partition", _PAPER + "Lemma 12")
    return _small_partition(h, draws, cells, delta) * _UP


def partition_error(*, draws: int, cells: int, delta: float) -> float:
    """The same without a condition on m: sqrt(2 ln((2^m - 2)/delta)/N) (Weissman et al. 2003), at most 2.

    With probability 1 - delta the empirical measure of N `draws` on m `cells` is within this L1 distance of the law.
    Rounded up.
    Source: Weissman et al. 2003.
    """
    h = Hypotheses("empirical measure on a partition", "Weissman et al. 2003")
    n = h.count(draws, DRAWS)
    m = h.count(cells, "number of cells", "m", 2, "A partition has at least two cells.")
    risk = h.number(delta, FAILURE)
    log_subsets = m * math.log(2) + math.log1p(-(2.0 ** (1 - m)))
    return min(2.0, math.sqrt(2 * (log_subsets - math.log(risk)) / n) * _UP)


def necessary_distance_uniform(*, lipschitz: float, draws: int, cells: int, delta: float) -> float:
    """Under Assumption 1 an adversary who compares empirical measures NEEDS rho(x, y) >= 3 ln(1/delta)/(4 L N).

    Theorem 13's first display, which says "can distinguish if"; its proof shows "only if", and only for this method.
    `lipschitz` is L, `draws` N, `cells` and `delta` as for `empirical_error`; rounded down.
    Source: Dimitrakakis et al. 2017, Theorem 13.
    """
    h = Hypotheses("comparison of empirical measures, Assumption 1", _PAPER + "Theorem 13")
    slope = h.number(lipschitz, "uniform Lipschitz constant", "L", "finite and greater than 0", "Give L > 0.")
    return _small_partition(h, draws, cells, delta) ** 2 / (4 * slope) * _DOWN


def necessary_distance_stochastic(
    *, concentration: float, offset: float, log_ratio: float, draws: int, cells: int, delta: float
) -> float:
    """Under Assumption 2 the same adversary NEEDS rho(x, y) >= 3 ln(1/delta)/(2 N C (1 + 2 L0 + 1/c)).

    The last line of Theorem 13's proof; its second display has C + 2 L0/c in place of C (1 + 2 L0 + 1/c).
    `concentration` is c, `offset` L0, `log_ratio` ln C; `draws`, `cells` and `delta` as for `empirical_error`; rounded down.
    Source: Dimitrakakis et al. 2017, Theorem 13, as in its proof.
    """
    h = Hypotheses("comparison of empirical measures, Assumption 2", _PAPER + "Theorem 13, as in its proof")
    c = h.number(concentration, "concentration of the prior", "c", "finite and greater than 0", "Give c > 0.")
    shift = h.number(offset, "Lipschitz offset", "L0", "finite and 0 or greater", "Give 0 or more.")
    log_c = h.number(log_ratio, "log ratio of likelihoods", "ln C", "finite and 0 or greater", "Give ln C >= 0.")
    squared = _small_partition(h, draws, cells, delta) ** 2
    return squared / (2 * (1 + 2 * shift + 1 / c)) * math.exp(-log_c) * _DOWN


def _small_partition(h: Hypotheses, draws: int, cells: int, delta: float) -> float:
    n = h.count(draws, DRAWS)
    risk = h.number(delta, FAILURE)
    m = h.count(cells, "number of cells", "m", 1, "A partition has at least one cell.")
    limit = -math.log2(risk) / 2
    h.holds(m <= limit, _SMALL, given=m, bound=f"{limit:.6g}")
    return math.sqrt(-3 * math.log(risk) / n)
