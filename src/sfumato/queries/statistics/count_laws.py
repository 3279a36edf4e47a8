"""Shares of records that were counted with normal noise, when the number n of all records is public.

The cells of a table are divided into sets: the share of one set, or the share of one set within a larger one. Noise of summed
cells adds up: a sum of m noisy counts has m times the variance of one. With k the records of the own set, l those of the rest
of the row (empty for a plain share) and n - k - l all others,

    y1 = k + N(0, v1),    y2 = l + N(0, v2),    y3 = n - k - l + N(0, v3),

which are independent, and the share theta of the own set is Beta(h1 + k, h2 + l) given the counts. The posterior is a mixture
of these Betas over the possible counts. Nothing else is assumed about how the records fall into cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.queries.statistics.groups import CountLaw
from sfumato.queries.statistics.protocol import DECLARED, REFERENCE, Tails, moved, noisy_tails
from sfumato.queries.statistics.whole_runs import whole_runs

# Deviations of a count to each side of its estimate, and how many runs of whole numbers make a deviation; fewer in two
# dimensions, where their product counts: sums of a normal density at half deviations are exact to 1e-30.
_WINDOW, _RUNS = 7.0, 6
_WINDOW_2, _RUNS_2 = 5.5, 2
# A run is at most this part of its distance from 0, next to which the prior is steep.
_NEAR = 6
# Mixtures of more components are merged, where their means differ by less than this part of a deviation.
_FEW, _EQUAL = 150, 0.05
# Betas with a parameter below this are skewed: two moments do not describe a mixture of them.
_SKEWED = 8.0
# A window is widened until the weights at its edges are below the first; parts of a mixture below the second are left out.
_EDGE, _NOTHING = 1e-8, 1e-8
_WIDENINGS = 40


@dataclass(frozen=True)
class Noisy:
    """A noisy count of records with the variance of its noise; infinite where it was not counted."""

    count: float
    variance: float

    def joined(self, other: Noisy) -> Noisy:
        """Two independent noisy counts of the same records, weighted by their precisions."""
        if math.isinf(other.variance):
            return self
        if math.isinf(self.variance):
            return other
        both = 1 / (1 / self.variance + 1 / other.variance)
        return Noisy(both * (self.count / self.variance + other.count / other.variance), both)

    def rest(self, n: int) -> Noisy:
        """The noisy count of all other records, from this one and n."""
        return replace(self, count=n - self.count)


@dataclass(frozen=True, eq=False)
class ShareLaw:
    """The posterior of a share, and the probabilities by which a share of exactly 0 or 1 is rejected (`protocol.moved`)."""

    counts: CountLaw
    tails: Tails = DECLARED

    @cached_property
    def shares(self) -> CountLaw:
        """The mixture of Betas itself, of many counts merged into few."""
        return _merged(self.counts)

    def share_ends(self, level: float) -> tuple[float, float]:
        """Ends of the interval of the true share."""
        return moved(self.shares.share_quantile, level, self.tails)

    def share_median(self) -> float:
        """The posterior median of the share."""
        return self.shares.share_quantile(0.5)

    def rows_ends(self, level: float) -> tuple[float, float]:
        """Ends of the interval of the posterior mean that the rows themselves would give."""
        return self.counts.rows_ends(level)


def share_law(own: Noisy, others: Noisy, n: int, prior: tuple[float, float] = REFERENCE) -> ShareLaw:
    """The law of a set's share among n records, from the noisy counts of the set and of all others."""
    seen = own.joined(others.rest(n))
    tails = noisy_tails(seen.count, n - seen.count, (math.sqrt(seen.variance),) * 2)
    if seen.count <= n / 2:
        return _judged(_counts_of(seen, n, prior), prior, tails)
    # Runs are finest next to 0: the rarer side is counted.
    law = _counts_of(seen.rest(n), n, (prior[1], prior[0]))
    return _judged(replace(law, own=law.rest, rest=law.own, prior=prior), prior, tails)


def _judged(law: CountLaw, prior: tuple[float, float], tails: Tails) -> ShareLaw:
    return ShareLaw(law, tails) if prior is REFERENCE else ShareLaw(law)


def _counts_of(seen: Noisy, n: int, prior: tuple[float, float]) -> CountLaw:
    """The possible counts of a set among n records with their weights, given its noisy count."""
    deviation = math.sqrt(seen.variance)
    low, high = _window(seen.count, deviation, n, _WINDOW)
    for _ in range(_WIDENINGS):
        k, width = whole_runs(low, high, deviation / _RUNS, _NEAR)
        logs = _log_counts(k, n - k, prior) + np.log(width) - 0.5 * ((k - seen.count) / deviation) ** 2
        weights = _weights(logs)
        step = _WINDOW * deviation
        short = weights[0] > _EDGE and low > 0, weights[-1] > _EDGE and high < n
        if not any(short):
            break
        low, high = max(low - step, 0.0) if short[0] else low, min(high + step, float(n)) if short[1] else high
    return _mixture(k, n - k, weights, prior)


def row_law(
    own: Noisy,
    rest: Noisy,
    others: Noisy,
    n: int,
    prior: tuple[float, float] = REFERENCE,
    row: tuple[float, float] = REFERENCE,
) -> ShareLaw:
    """The law of a set's share within its row of hidden size; `row` is the prior of the row's share of all records.

    `others` of infinite variance says nothing: then the row has any size up to n.
    """
    k0, l0, spread = _row_estimate(own, rest, others, n)
    deviations = np.sqrt(np.diag(spread))
    ends = [_window(float(at), float(d), n, _WINDOW_2) for at, d in zip((k0, l0), deviations, strict=True)]
    for _ in range(_WIDENINGS):
        (k, wide_k), (m, wide_m) = (
            whole_runs(*end, float(d) / _RUNS_2, _NEAR) for end, d in zip(ends, deviations, strict=True)
        )
        first, second = np.meshgrid(k, m, indexing="ij")
        logs = _log_counts(first, second, prior) + _log_size(first + second, n, row)
        logs += np.log(wide_k)[:, None] + np.log(wide_m)
        logs -= 0.5 * ((first - own.count) ** 2 / own.variance + (second - rest.count) ** 2 / rest.variance)
        logs -= 0.5 * (n - first - second - others.count) ** 2 / others.variance
        if not np.isfinite(logs.max()):
            ends = [(0.0, end[1]) for end in ends]  # every point of the window sums to more than n
            continue
        weights = _weights(logs)
        edges = (weights[0].max(), weights[-1].max()), (weights[:, 0].max(), weights[:, -1].max())
        wider = [_wider(end, edge, float(d), n) for end, edge, d in zip(ends, edges, deviations, strict=True)]
        if wider == ends:
            break
        ends = wider
    else:
        raise ArgumentError(f"no {n:,} records have counts near these noisy ones: the release was edited.")
    tails = noisy_tails(k0, l0, (float(deviations[0]), float(deviations[1])))
    return _judged(_mixture(first.ravel(), second.ravel(), weights.ravel(), prior), prior, tails)


def count_ends(share: ShareLaw, level: float) -> tuple[float, float]:
    """Ends of the interval of the number of records itself, the noise alone: whole numbers, to the far side of a run."""
    counts, reached = _by_count(share.counts)
    tail, last = 0.5 * (1 - level), len(counts) - 1
    first = min(int(np.searchsorted(reached, tail, side="right")), last)
    final = min(int(np.searchsorted(reached, 1 - tail)), last)
    # A run reaches half way to the middle of the next one.
    low = 0.5 * (counts[first] + counts[first - 1]) if first > 0 else counts[0]
    high = 0.5 * (counts[final] + counts[final + 1]) if final < last else counts[-1]
    return float(math.ceil(low)), float(math.floor(high))


def count_median(share: ShareLaw) -> float:
    """The median of the number of records."""
    counts, reached = _by_count(share.counts)
    return float(np.rint(counts[min(int(np.searchsorted(reached, 0.5)), len(counts) - 1)]))


def _by_count(law: CountLaw) -> tuple[Array, Array]:
    """The possible numbers of records in order, and the probability of at most so many."""
    counts, places = np.unique(law.own, return_inverse=True)
    return counts, np.cumsum(np.bincount(places.ravel(), weights=law.weights))


def summed(counts: Array, chosen: NDArray[np.bool_], variance: float) -> Noisy:
    """The noisy count of a set of cells; the noise of all of them adds up."""
    return Noisy(float(counts[chosen].sum()), variance * int(np.count_nonzero(chosen)))


def nothing() -> Noisy:
    """A count that was not made."""
    return Noisy(0.0, math.inf)


def joined(parts: Sequence[Noisy]) -> Noisy:
    """Independent noisy counts of the same records in several tables."""
    both = parts[0]
    for part in parts[1:]:
        both = both.joined(part)
    return both


def _row_estimate(own: Noisy, rest: Noisy, others: Noisy, n: int) -> tuple[float, float, Array]:
    """Least-squares counts of the own set and of the rest of its row, and their covariance, before counts are bounded."""
    third = 0.0 if math.isinf(others.variance) else 1 / others.variance
    precision = np.array([[1 / own.variance + third, third], [third, 1 / rest.variance + third]])
    known = np.array([own.count / own.variance, rest.count / rest.variance]) + third * (n - others.count)
    spread = np.linalg.inv(precision)
    k, m = spread @ known
    return float(k), float(m), spread


def _window(centre: float, deviation: float, n: int, width: float) -> tuple[float, float]:
    """The counts within so many deviations of an estimate, in [0, n]; next to an end at least as wide."""
    inside = min(max(centre, 0.0), float(n))
    low, high = inside - width * deviation, inside + width * deviation
    return max(low, 0.0), min(max(high, 1.0), float(n))


def _wider(ends: tuple[float, float], edge: tuple[float, float], deviation: float, n: int) -> tuple[float, float]:
    low, high = ends
    step = _WINDOW_2 * deviation
    if edge[0] > _EDGE and low > 0:
        low = max(low - step, 0.0)
    if edge[1] > _EDGE and high < n:
        high = min(high + step, float(n))
    return low, high


def _weights(logs: Array) -> Array:
    return np.asarray(np.exp(logs - logs.max()), dtype=np.float64)


def _mixture(own: Array, rest: Array, weights: Array, prior: tuple[float, float]) -> CountLaw:
    kept = weights > _NOTHING
    return CountLaw(own[kept], rest[kept], weights[kept] / weights[kept].sum(), prior)


def _merged(law: CountLaw) -> CountLaw:
    """The same mixture with Betas of nearly equal means replaced by one of their common mean and variance.

    Means are equal within a small part of the mixture's deviation, on the arcsine scale, on which a share's deviation hardly
    depends on the share. Few components are left as they are, and so are Betas of small counts, which are skewed.
    """
    if len(law.own) <= _FEW:
        return law
    a, b = law.prior[0] + law.own, law.prior[1] + law.rest
    skewed = np.minimum(a, b) < _SKEWED
    mean = a / (a + b)
    second = mean * (1 - mean) / (a + b + 1) + mean**2
    angle = np.arcsin(np.sqrt(mean))
    spread = math.sqrt(law.weights @ (angle - law.weights @ angle) ** 2 + law.weights @ (0.25 / (a + b + 1)))
    apart = -1.0 - np.arange(len(angle))
    _, group = np.unique(np.where(skewed, apart, np.floor(angle / (_EQUAL * spread))), return_inverse=True)
    total, first, square = (
        np.bincount(group.ravel(), weights=law.weights * each) for each in (np.ones_like(mean), mean, second)
    )
    middle = first / total
    size = middle * (1 - middle) / (square / total - middle**2) - 1
    return CountLaw(middle * size, (1 - middle) * size, np.asarray(total, dtype=np.float64), (0.0, 0.0))


def _log_counts(own: Array, rest: Array, prior: tuple[float, float]) -> Array:
    """Log probability of two counts given their sum, a beta-binomial law, up to a constant of the prior."""
    from scipy.special import betaln, gammaln

    orders = gammaln(own + rest + 1) - gammaln(own + 1) - gammaln(rest + 1)
    return np.asarray(orders + betaln(prior[0] + own, prior[1] + rest))


def _log_size(size: Array, n: int, prior: tuple[float, float]) -> Array:
    """Log probability of the size of a row among n records; minus infinity above n."""
    inside = np.minimum(size, float(n))
    return np.asarray(np.where(size <= n, _log_counts(inside, n - inside, prior), -np.inf))
