"""The grid of positive numbers: cells between two public bounds, equal in sqrt(theta) or in log(theta).

Equal roots, from 0 up, suit a Gamma posterior whose rate is public (counts); equal logarithms one whose shape is public
(durations, precisions): there the posterior is about equally wide for every data set. Unless the grid is closed, its
first cell extends to 0 and its last to infinity. A cell is released as its middle in that coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.points import among

# Names of the two coordinates, as laws and released plans hold them.
ROOT, LOG = "root", "log"


@dataclass(frozen=True)
class PositiveGrid:
    """`size` cells between `lower` and `upper`, equal in the coordinate named by `spacing`."""

    spacing: str
    lower: float
    upper: float
    closed: bool
    size: int
    coordinates = 1

    @property
    def length(self) -> float:
        """log(upper) - log(lower)."""
        return math.log(self.upper) - math.log(self.lower)

    @property
    def reference(self) -> float:
        """The value at which y = log(theta/reference) is 0: the upper end, or the middle in the logarithm."""
        return self.upper if self.spacing == ROOT else math.sqrt(self.lower) * math.sqrt(self.upper)

    @cached_property
    def middles(self) -> Array:
        """Middles of the cells: the public set from which every draw is taken."""
        place = (np.arange(self.size) + 0.5) / self.size
        if self.spacing == ROOT:
            values: Array = self.upper * place**2
        else:
            values = self.reference * np.exp(0.5 * self.length * (2 * place - 1))
        values.setflags(write=False)
        return values

    @cached_property
    def log_edges(self) -> Array:
        """Edges of the cells in y = log(theta/reference): the inner ones, and the two ends of a closed grid."""
        place = np.arange(0 if self.closed else 1, self.size + 1 if self.closed else self.size) / self.size
        if self.spacing == ROOT:
            return np.asarray(2 * np.log(place), dtype=np.float64)
        return np.asarray(0.5 * self.length * (2 * place - 1), dtype=np.float64)

    def rounded(self, values: Array) -> Array:
        """The middles of the cells that hold these values: what is released where an exact draw falls."""
        if self.spacing == ROOT:
            place = np.floor(np.sqrt(values / self.upper) * self.size)
        else:
            place = np.floor((np.log(values) - math.log(self.lower)) / self.length * self.size)
        return np.asarray(self.middles[np.clip(place, 0, self.size - 1).astype(np.int64)])

    def ends(self, values: Array) -> tuple[Array, Array]:
        """Lower and upper ends of the cells that hold these values; the outer cells are open unless the grid is closed."""
        if self.spacing == ROOT:
            place = np.clip(np.floor(np.sqrt(values / self.upper) * self.size), 0, self.size - 1)
            low, high = self.upper * (place / self.size) ** 2, self.upper * ((place + 1) / self.size) ** 2
        else:
            away = (np.log(values) - math.log(self.lower)) / self.length
            place = np.clip(np.floor(away * self.size), 0, self.size - 1)
            low, high = (self.lower * np.exp((place + k) / self.size * self.length) for k in (0, 1))
        if self.closed:
            return low, high
        return np.where(place == 0, 0.0, low), np.where(place == self.size - 1, np.inf, high)

    def holds(self, values: Array) -> bool:
        """Whether all values are middles of cells."""
        return among(values.ravel(), self.middles)


# Cached: the arrays of a grid are computed once and used by later draws.
positive_grid = lru_cache(maxsize=16)(PositiveGrid)
