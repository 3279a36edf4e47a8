"""Lower confidence bounds on what a release gives away, from the error rates of a test.

A test accuses where its score reaches a threshold. Its rates of false accusations and of misses are bounded above by Clopper
and Pearson's method, at all thresholds together: the level is divided by their number (Bonferroni), and they are chosen from
other runs than those that are counted. Every claim about the mechanism then has to allow the pair of rates. If a mechanism is
mu-GDP, no test has misses below Phi(Phi^-1(1 - a) - mu) at a rate a of false accusations, so

    mu >= Phi^-1(1 - a) - Phi^-1(b)      at every threshold with rates at most (a, b),
    epsilon >= log((1 - b - delta)/a)    and the same with a and b exchanged.

Sources: Dong, Roth and Su 2022 (trade-off functions); Jagielski, Ullman and Oprea 2020 (lower bounds by Clopper-Pearson).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError

Array = NDArray[np.float64]
# Thresholds that are tried: quantiles of the scores of pilot runs, these many in each tail and in the middle, on both data sets.
# Fewer miss the best threshold, more cost confidence: half as many or twice as many change a bound by 3 % or less.
_TAIL, _MIDDLE = 5, 9
# The outermost threshold leaves about this many pilot runs beyond it.
_RAREST = 6
# Thresholds between two samples that hardly overlap: the best one lies there, where neither has a quantile.
_BETWEEN = 3


@dataclass(frozen=True, eq=False)
class ErrorRates:
    """Upper bounds on false accusations and misses at every threshold, valid together with probability `level`."""

    thresholds: Array
    false: Array
    missed: Array
    runs: int
    level: float

    @property
    def mu(self) -> float:
        """Lower bound on mu, 0 where the errors prove none."""
        from scipy.special import ndtri

        with np.errstate(invalid="ignore"):
            bounds = -ndtri(self.false) - ndtri(self.missed)
        return float(max(0.0, np.nan_to_num(bounds, nan=0.0, posinf=math.inf).max()))

    def epsilon(self, delta: float) -> float:
        """Lower bound on epsilon at this delta, for accusations and for acquittals."""
        best = 0.0
        for rare, other in ((self.false, self.missed), (self.missed, self.false)):
            hits = 1 - other - delta
            proving = hits > rare
            if proving.any():
                best = max(best, float(np.log(hits[proving] / rare[proving]).max()))
        return best


def pilot_thresholds(first: Array, second: Array) -> Array:
    """Thresholds from the scores of pilot runs on both data sets: quantiles, denser in the tails, ties joined.

    Bounds on mu are best at thresholds near the middle. Those on epsilon are best far in a tail, where a few of the pilot runs lie.
    Where the two samples hardly overlap, the best threshold lies between them.
    """
    rarest = min(0.02, _RAREST / min(len(first), len(second)))
    tails = np.geomspace(rarest, 0.05, _TAIL)
    levels = np.concatenate([tails, np.linspace(0.1, 0.9, _MIDDLE), 1 - tails])
    parts = [np.quantile(scores, levels) for scores in (first, second)]
    low, high = np.quantile(first, 1 - rarest), np.quantile(second, rarest)
    if low < high:
        parts.append(np.linspace(low, high, _BETWEEN + 2)[1:-1])
    return np.unique(np.concatenate(parts))


def error_rates(first: Array, second: Array, thresholds: Array, level: float = 0.95) -> ErrorRates:
    """Bounds on the error rates of the test that accuses (says "the second data set") where a score reaches a threshold.

    `first` and `second` are scores of independent runs on the two data sets; `thresholds` must not depend on them. At each
    threshold two rates are bounded, each at the level (1 - level)/(2 thresholds).
    """
    if len(first) == 0 or len(second) == 0 or len(thresholds) == 0:
        raise ArgumentError("an audit needs scores of both data sets and at least one threshold.")
    share = (1 - level) / (2 * len(thresholds))
    ordered_first, ordered_second = np.sort(first), np.sort(second)
    accused = len(first) - np.searchsorted(ordered_first, thresholds, side="left")
    missed = np.searchsorted(ordered_second, thresholds, side="left")
    return ErrorRates(
        np.asarray(thresholds, dtype=np.float64),
        upper_bound(accused, len(first), share),
        upper_bound(missed, len(second), share),
        min(len(first), len(second)),
        level,
    )


def upper_bound(counts: NDArray[np.int64] | int, runs: int, share: float) -> Array:
    """Clopper and Pearson's upper bound on a probability: at the bound, `counts` or fewer of `runs` happen with chance `share`."""
    from scipy.special import betaincinv

    k = np.asarray(counts, dtype=np.float64)
    inside = np.minimum(k, runs - 1)
    return np.where(k >= runs, 1.0, betaincinv(inside + 1, runs - inside, 1 - share))
