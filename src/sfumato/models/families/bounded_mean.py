"""A mean of bounded values, with nothing assumed about their spread."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._columns import only_column
from sfumato.schema import Number, Schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A record's value is rounded to this many steps between the bounds, so that sums of whole numbers are exact.
RESOLUTION = 1 << 40


@dataclass(frozen=True)
class BoundedMean:
    """The mean of records in [lower, upper]; values outside were clipped when the data set was made.

    Its statistic is a sum of whole numbers, round((x - lower)/(upper - lower) 2^40), which no order of summation changes
    and one replaced record moves by at most 2^40.
    """

    lower: float
    upper: float
    name = "BoundedMean"

    def __init__(self, lower: float, upper: float) -> None:
        low, high = _validate.finite("lower", lower), _validate.finite("upper", upper)
        if not low < high:
            raise ArgumentError(f"upper must be greater than lower; got lower={low!r} and upper={high!r}.")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    def statistic(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Whole numbers in [0, 2^40], one per record; clipped once more, so that the bound holds whatever comes in."""
        import numpy as np

        share = (np.clip(values, self.lower, self.upper) - self.lower) / (self.upper - self.lower)
        steps = np.rint(np.nan_to_num(share, nan=0.5) * RESOLUTION).astype(np.int64)
        return np.clip(steps, 0, RESOLUTION)

    def column(self, schema: Schema) -> str:
        """Name of the Number column whose mean is asked for: the target, or the only one there is."""
        name = only_column(schema, Number, self.name)
        column = schema.columns[name]
        if isinstance(column, Number) and not (self.lower <= column.lower and column.upper <= self.upper):
            raise ArgumentError(
                f"the bounds of column {name!r} are [{column.lower:g}, {column.upper:g}] in the schema and the model's are "
                f"[{self.lower:g}, {self.upper:g}]: the model's must contain them. "
                f"Use BoundedMean({column.lower:g}, {column.upper:g})."
            )
        return name

    def mean_of(self, total: Fraction, n: int) -> float:
        """The mean that belongs to a (noisy) total in units of the range: lower + (upper - lower) total/n."""
        low, high = Fraction(self.lower), Fraction(self.upper)
        return float(low + (high - low) * total / n)

    def to_json(self) -> dict[str, Any]:
        """Name and public numbers."""
        return {"family": self.name, "lower": self.lower, "upper": self.upper}

    def __repr__(self) -> str:
        return f"BoundedMean(lower={self.lower:g}, upper={self.upper:g})"
