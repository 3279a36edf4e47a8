"""How many cells a grid has. Change a number here, and samplers, prices, readers and `verify` follow."""

from __future__ import annotations

import math

# Most cells of a one-dimensional grid: an exact draw adds up a whole number for each, so this bounds its time and memory.
MOST_CELLS = 1 << 16


def most_cells() -> int:
    """The present number of `MOST_CELLS`, for fields whose default it is."""
    return MOST_CELLS


def power_of_two(least: float, smallest: int, largest: int) -> int:
    """The smallest power of two of at least `least`, kept between `smallest` and `largest`."""
    return min(largest, max(smallest, 1 << math.ceil(math.log2(max(least, 1.0)))))
