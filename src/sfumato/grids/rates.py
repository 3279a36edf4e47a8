"""The grid of rates: numbers in [floor, 1 - floor], cells equal in phi = arcsin(sqrt(theta)).

The posterior Beta(a, b) of a rate has a standard deviation of about 1/(2 sqrt(a + b)) in phi, for rare and common events
alike, so the number of cells follows from the public weight a + b. A cell is released as its middle in phi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.points import among
from sfumato.grids.size import most_cells, power_of_two

# Cell masses have their stated error up to a weight a + b of WEIGHT_OF_A_CELL times the square of the number of cells: half
# the cells, twice as wide, bear a quarter of the weight. Measured at 2^16 cells against multi-precision quadrature.
WEIGHT_OF_A_CELL = 1e9 / 2**32


def cells_for(weight: float) -> int:
    """Number of cells for posteriors of this total weight: 64 or more to one standard deviation where there is room."""
    return power_of_two(64 * math.pi * math.sqrt(weight), 1 << 12, most_cells())


def cells_for_tables(weight: float) -> int:
    """Number of cells where many tables are drawn, and fewer cells save time: 8 or more to one standard deviation."""
    return power_of_two(8 * math.pi * math.sqrt(weight), 1 << 10, most_cells())


@dataclass(frozen=True)
class RateGrid:
    """`size` cells of [floor, 1 - floor], equal in phi = arcsin(sqrt(theta))."""

    floor: float = 0.0
    size: int = field(default_factory=most_cells)
    coordinates = 1

    @cached_property
    def _span(self) -> tuple[float, float]:
        """First end and width of a cell, in phi."""
        start = math.asin(math.sqrt(self.floor))
        return start, (0.5 * math.pi - 2 * start) / self.size

    @cached_property
    def middles(self) -> Array:
        """Middles of the cells as rates: the public set from which every draw is taken."""
        start, step = self._span
        rates: Array = np.sin(start + (np.arange(self.size) + 0.5) * step) ** 2
        rates.setflags(write=False)
        return rates

    @cached_property
    def logit_edges(self) -> Array:
        """Edges of the cells in logit(theta) = 2 log tan(phi): the inner ones, and the two ends where they are finite."""
        start, step = self._span
        phi = start + np.arange(0 if self.floor > 0 else 1, self.size // 2) * step
        # Beyond pi/4 the cotangent of the complement replaces tan, so that the grid is symmetric to the last bit.
        left = 2.0 * np.log(np.tan(phi))
        return np.concatenate([left, [0.0], -left[::-1]])

    def rounded(self, values: Array) -> Array:
        """The middles of the cells that hold these values: what is released where an exact draw falls."""
        start, step = self._span
        place = np.floor((np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0))) - start) / step)
        return self.middles[np.clip(place, 0, self.size - 1).astype(np.int64)]

    def ends(self, values: Array) -> tuple[Array, Array]:
        """Lower and upper ends, as rates, of the cells that hold these values."""
        start, step = self._span
        phi = np.arcsin(np.sqrt(np.clip(values, 0.0, 1.0)))
        place = np.clip(np.floor((phi - start) / step), 0, self.size - 1)
        low, high = np.sin(start + place * step) ** 2, np.cos(0.5 * math.pi - start - (place + 1) * step) ** 2
        return low, np.where((place == self.size - 1) & (self.floor == 0), 1.0, high)

    def holds(self, values: Array) -> bool:
        """Whether all values are middles of cells."""
        return among(values.ravel(), self.middles)


# Cached: the arrays of a grid are computed once and used by later draws.
rate_grid = lru_cache(maxsize=16)(RateGrid)
