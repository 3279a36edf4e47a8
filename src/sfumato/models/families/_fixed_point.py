"""Real values as whole numbers: sums of them are exact, whatever the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError

# Largest whole number of a record: a block has 2^16 rows, so its sum is at most 2^62 and fits into 64 bits.
LARGEST_WHOLE = 1 << 46
# A record's value is rounded to this many steps between its bounds.
RESOLUTION = 1 << 40


def steps_between(values: Any, lower: float, upper: float) -> NDArray[np.int64]:
    """Whole numbers in [0, 2^40], the places of values between the bounds; clipped once more, whatever comes in."""
    share = (np.clip(np.asarray(values, dtype=np.float64), lower, upper) - lower) / (upper - lower)
    steps = np.rint(np.nan_to_num(share, nan=0.5) * RESOLUTION).astype(np.int64)
    return np.clip(steps, 0, RESOLUTION)


def whole_numbers(values: Any, bound: int) -> NDArray[np.int64]:
    """The values, each rounded to a whole number from 0 to `bound`; what is no number counts as 0."""
    numbers = np.nan_to_num(np.asarray(values, dtype=np.float64), nan=0.0)
    return np.rint(np.clip(numbers, 0, bound)).astype(np.int64)


def whole_total(values: Any, bound: int) -> NDArray[np.int64]:
    """The sum of whole numbers from 0 to `bound`."""
    return np.array([whole_numbers(values, bound).sum()], dtype=np.int64)


def whole_bound(name: str, value: Any) -> int:
    """A bound on whole numbers whose sum over one block of rows cannot overflow."""
    bound = _validate.whole(name, value)
    if bound > LARGEST_WHOLE:
        raise ArgumentError(f"{name} must be at most 2^46, so that sums of whole numbers are exact; got {bound}.")
    return bound
