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


@dataclass(frozen=True, repr=False)
class BoundedMean(Family):
    """The mean of records in [lower, upper]; values outside were clipped when the data set was made.

    Its total is a sum of whole numbers, round((x - lower)/(upper - lower) 2^40), which no order of summation changes
    and one replaced record moves by at most 2^40: a total of the records' places between the bounds, in units of the range.
    There is no posterior: the released mean is an estimate.
    """

    lower: float
    upper: float
    name = "BoundedMean"
    quantity = "mean"
    drawn = False

    def __post_init__(self) -> None:
        low, high = _validate.finite("lower", self.lower), _validate.finite("upper", self.upper)
        if not low < high:
            raise ArgumentError(f"upper must be greater than lower; got lower={low!r} and upper={high!r}.")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def labels(self) -> tuple[str, ...]:
        """One number, the mean."""
        return ("mean",)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum of whole numbers in [0, 2^40], one per record."""
        return np.array([steps_between(block[columns[0]], self.lower, self.upper).sum()], dtype=np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """One range is 2^40 steps."""
        return (Fraction(1, RESOLUTION),)

    @property
    def sensitivity(self) -> float:
        """One record moves the total by at most the whole range."""
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

    def estimate_error(self, n: int, deviation: float) -> float:
        """Noise of the total, as a share of n ranges."""
        return (self.upper - self.lower) * deviation / n
