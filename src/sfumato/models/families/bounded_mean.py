"""A mean of bounded values, with nothing assumed about their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._columns import number_within
from sfumato.models.families._fixed_point import RESOLUTION, steps_between
from sfumato.models.families.family import Array, Family
from sfumato.schema import Schema

# Distances from the middle are squared with 20 of their 40 bits, so that the squares of a block fit into 64.
_SHIFT = 20
_HALF_STEP = 1 << (_SHIFT - 1)


@dataclass(frozen=True, repr=False)
class BoundedMean(Family):
    """The mean of records in [lower, upper]; values outside were clipped when the data set was made.

    Its first total is a sum of whole numbers, round((x - lower)/(upper - lower) 2^40), which no order of summation changes:
    the records' places p between the bounds, in units of the range. Its second total is that of (p - 1/2)^2, from which the
    spread of the values is read. It takes no noise beyond that of the first: two records that are the whole range apart have
    the same square (docs/proofs/groups.md). There is no posterior: the released mean is an estimate.
    """

    groupable = True

    lower: float
    upper: float
    name = "BoundedMean"
    quantity = "mean"
    drawn = False
    of_person_means = True

    def __post_init__(self) -> None:
        low, high = _validate.finite("lower", self.lower), _validate.finite("upper", self.upper)
        if not low < high:
            raise ArgumentError(f"upper must be greater than lower; got lower={low!r} and upper={high!r}.")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def possible(self) -> tuple[float, float]:
        """Means of values between the bounds."""
        return self.lower, self.upper

    @property
    def labels(self) -> tuple[str, ...]:
        """One number, the mean."""
        return ("mean",)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Sums of whole numbers in [0, 2^40], two per record: its place, and the square of its distance from the middle."""
        places = steps_between(block[columns[0]], self.lower, self.upper)
        away = np.abs(2 * places - RESOLUTION)
        # Half a step is rounded outwards, so that a distance is never off by more than what lacks to its largest value.
        coarse = (away + _HALF_STEP) >> _SHIFT
        return np.array([places.sum(), (coarse * coarse).sum()], dtype=np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """One range is 2^40 steps; the largest square, a quarter, is 2^40 steps too."""
        return (Fraction(1, RESOLUTION), Fraction(1, 4 * RESOLUTION))

    @property
    def spans(self) -> tuple[int, ...]:
        """The range, and the largest square."""
        return (RESOLUTION, RESOLUTION)

    @property
    def reach(self) -> Fraction:
        """At a bound both totals are farthest from their middles: sqrt(1/4 + 1/64) < 33/64."""
        return Fraction(33, 64)

    @property
    def presence(self) -> Fraction:
        """The largest 256th with 2 (presence^2 + reach^2) <= 1: changing the group moves no more than changing the value."""
        return Fraction(123, 256)

    @property
    def sensitivity(self) -> float:
        """One record moves the first total by at most the whole range, and both together by no more."""
        return 1.0

    def feasible(self, totals: Array, n: int) -> Array:
        """The noisy total unchanged: clipping it would bias estimates of means near the bounds."""
        return totals

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column whose mean is estimated: the target, or the only one there is."""
        return (
            number_within(schema, self.lower, self.upper, self.name, f"BoundedMean({self.lower:g}, {self.upper:g})"),
        )

    def updated(self, totals: Sequence[Fraction], n: int) -> BoundedMean:
        """Refuse: there is no prior."""
        raise ArgumentError(
            "BoundedMean has no prior that public records could change; use NormalMean, or publish both means."
        )

    def estimate(self, totals: Sequence[Fraction], n: int) -> list[float]:
        """The mean that belongs to a (noisy) total in units of the range: lower + (upper - lower) total/n."""
        low, high = Fraction(self.lower), Fraction(self.upper)
        return [float(low + (high - low) * totals[0] / n)]

    def widest(self, n: int) -> Array:
        """Half of the records at each bound."""
        return np.array([0.5 * n, 0.25 * n])

    def estimate_error(self, n: int, deviation: float) -> float:
        """Noise of the total, as a share of n ranges."""
        return (self.upper - self.lower) * deviation / n
