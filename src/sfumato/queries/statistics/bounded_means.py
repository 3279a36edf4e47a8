"""Means of bounded values, of all records or by group, from noisy totals, with nothing assumed about the law of the values.

In units of the range, with p a record's place between the bounds, a group's noisy totals are those of the number of records N,
of p - 1/2 (first) and of (p - 1/2)^2 (second). A mean mu is compared with them through

    D(mu) = first - (mu - 1/2) N,   of mean 0 and variance   d^2 + (mu - 1/2)^2 e^2 + N V(mu),

d and e being the deviations of the noise of the first total and of N, and N V(mu) = second - N (mu - 1/2)^2 the spread of the
values about mu; it is at least 0 and at most N mu (1 - mu) (Bhatia and Davis). The interval is the hull of every mu that is not
rejected, as Fieller's is for a ratio. The spread is estimated, so one more record is counted at a bound, and quantiles are
Student's with as many degrees of freedom as there are other records.

The estimate is the median of mu where all possible sizes and totals are equally likely before they are seen through the noise:
(N, (mu - 1/2) N) is flat on N >= 1 and 0 <= mu <= 1. Away from the bounds it is the ratio, at which D is 0. In small groups the
ratio is often beyond a bound, where no mean is, and the estimate is inside. Every interval reaches to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.models import _centred
from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.queries.statistics.protocol import Ends, Released

# Means between the bounds that are tried: an end is then known to within 1/4000 of the range, and refined by bisection.
_TRIED, _HALVINGS = 4001, 30
# Sizes over which the estimate is averaged, as deviations from the noisy size.
_SIZES = np.linspace(-6.0, 6.0, 41)


@dataclass(frozen=True)
class NoisyTotals:
    """The size of a group, the totals of p - 1/2 and of its square, all noisy, and the deviations of size and totals.

    `second` is None in releases of older versions, which hold the first total alone.
    """

    size: float
    first: float
    second: float | None
    size_noise: float
    noise: float

    def rejects(self, mean: Array, level: float, sampling: bool) -> Array:
        """By how much each mean is rejected, squared; at most 0 where it is not."""
        from scipy.special import ndtri, stdtrit

        away, size, z = mean - 0.5, max(self.size, 0.0), float(ndtri(0.5 + 0.5 * level))
        variance = self.noise**2 + (away * self.size_noise) ** 2
        if sampling:
            variance = variance + self._spread(mean, size)
            if self.second is not None:
                z = float(stdtrit(max(size - 1.0, 2.0), 0.5 + 0.5 * level))
        return np.asarray((self.first - away * self.size) ** 2 - z * z * variance)

    def _spread(self, mean: Array, size: Array | float) -> Array:
        """The spread of the values about a mean, with one more record at a bound where it is estimated."""
        widest = mean * (1 - mean)
        if self.second is None:
            return np.asarray(size * widest)
        return np.asarray(np.clip(self.second - size * (mean - 0.5) ** 2, 0.0, size * widest) + widest)

    def median(self, sampling: bool) -> float:
        """The estimate: given its size the mean is normal, cut to [0, 1]; a size weighs what lies there."""
        from scipy.optimize import brentq
        from scipy.special import ndtr

        size = self.size + self.size_noise * _SIZES
        weights, size = np.exp(-0.5 * _SIZES[size >= 1] ** 2), size[size >= 1]
        if not len(size):
            weights, size = np.ones(1), np.ones(1)
        ratio = 0.5 + self.first / size
        spread = self._spread(np.clip(ratio, 0.0, 1.0), size) if sampling else 0.0
        # From the side on which the difference of two tails does not cancel.
        scale = np.where(ratio < 0.5, -1.0, 1.0) * size / np.sqrt(self.noise**2 + spread)

        def below(mean: float) -> float:
            return float(weights @ np.abs(ndtr(scale * (mean - ratio)) - ndtr(-scale * ratio)))

        half = 0.5 * below(1.0)
        if half == 0:  # all of it beyond the bounds by forty deviations
            return float(np.clip(ratio @ weights / weights.sum(), 0.0, 1.0))
        return float(brentq(lambda mean: below(mean) - half, 0.0, 1.0, xtol=1e-12))

    def ends(self, level: float, sampling: bool) -> tuple[float, float]:
        """The hull of the estimate and of the means that are not rejected, between 0 and 1; at level 0 the estimate alone."""
        middle = self.median(sampling)
        if level == 0:
            return middle, middle
        low, high = self._kept(level, sampling)
        return min(low, middle), max(high, middle)

    def _kept(self, level: float, sampling: bool) -> tuple[float, float]:
        """The hull of the means that are not rejected; where all are, the nearest to the totals."""
        tried = np.linspace(0.0, 1.0, _TRIED)
        excess = self.rejects(tried, level, sampling)
        kept = np.flatnonzero(excess <= 0)
        if len(kept) == 0:
            kept = np.array([int(np.argmin(excess))])
        low, high = int(kept[0]), int(kept[-1])
        return (
            self._refined(tried[low - 1], tried[low], level, sampling) if low else 0.0,
            self._refined(tried[high + 1], tried[high], level, sampling) if high < _TRIED - 1 else 1.0,
        )

    def _refined(self, outside: float, inside: float, level: float, sampling: bool) -> float:
        for _ in range(_HALVINGS):
            middle = 0.5 * (outside + inside)
            if self.rejects(np.array([middle]), level, sampling)[0] <= 0:
                inside = middle
            else:
                outside = middle
        return float(outside)


def read(model: BoundedMean, prior: BoundedMean, released: Released) -> Ends:
    """The interval of the mean of all records; there is no prior."""
    n, noise = released.n, released.numbers.noise * model.sensitivity
    if released.totals is None:
        share = (float(released.draws[0, 0]) - model.lower) / (model.upper - model.lower)
        return _ends(model, [NoisyTotals(n, n * (share - 0.5), None, 0.0, noise)])
    first, second = released.totals.tolist()
    return _ends(model, [NoisyTotals(n, first - 0.5 * n, second, 0.0, noise)])


def read_groups(model: HiddenSizes, released: Released) -> Ends:
    """The intervals of the means of groups, whose sizes are noisy too."""
    own = model.model
    if not isinstance(own, BoundedMean) or released.totals is None:
        raise TypeError("means by group are read from their totals.")
    return _ends(own, group_totals(model, released))


def group_totals(model: HiddenSizes, released: Released) -> list[NoisyTotals]:
    """The noisy totals of each group."""
    own, rows = model.model, rows_by_group(model, released)
    sizes, size_noise = noisy_sizes(model, released, rows)
    squares = rows[:, 2] + sizes * _centred.middles(own)[1]
    noise = released.numbers.noise * model.sensitivity
    return [
        NoisyTotals(float(size), float(first), float(second), size_noise, noise)
        for size, first, second in zip(sizes, rows[:, 1], squares, strict=True)
    ]


def rows_by_group(model: HiddenSizes, released: Released) -> Array:
    """The noisy totals, a row for each group; of fewer groups than there are where a release is only simulated."""
    return np.asarray(released.totals, dtype=np.float64).reshape(-1, 1 + len(model.model.units))


def noisy_sizes(model: HiddenSizes, released: Released, rows: Array) -> tuple[Array, float]:
    """The noisy sizes of groups and their deviation; those of all groups are made to sum to n, which takes noise away."""
    noise = released.numbers.noise * model.sensitivity / float(model.presence)
    if model.weighted or len(rows) < len(model.levels):
        return _centred.sizes(model.model, rows, None, model.presence), noise
    return _centred.sizes(model.model, rows, released.n), float(noise * np.sqrt(1 - 1 / len(rows)))


def _ends(model: BoundedMean, groups: list[NoisyTotals]) -> Ends:
    width = model.upper - model.lower
    return lambda level, sampling: model.lower + width * np.array([each.ends(level, sampling) for each in groups]).T
