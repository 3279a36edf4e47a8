"""The grid of log odds t: cells equal in the integral of sqrt(total s(t) s(-t) + precision + 1), s the logistic function.

The posterior of log odds with `total` records and a normal prior of this precision has the curvature
total s(t) s(-t) + precision, so in this coordinate it is about as wide as a standard normal for every count. The 1 keeps each
cell narrow against the bend of log(1 + e^t), however weak the prior. The outer two cells extend to infinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.points import among

# Points at which the coordinate is tabulated; between them it is interpolated, which moves edges and changes no mass.
_POINTS = 1 << 14


def coordinate(total: float, precision: float, lower: float, upper: float, least: float = 0.0) -> tuple[Array, Array]:
    """Points t and the coordinate there, the integral of sqrt(total s(t) s(-t) + precision + least)."""
    # Equally spaced, and once more between -40 and 40, where the curvature of the counts changes.
    points = np.unique(
        np.concatenate([np.linspace(lower, upper, _POINTS), np.clip(np.linspace(-40, 40, _POINTS), lower, upper)])
    )
    small = np.exp(-np.abs(points))
    height = np.sqrt(total * small / (1 + small) ** 2 + precision + least)
    lengths = 0.5 * (height[1:] + height[:-1]) * np.diff(points)
    return points, np.concatenate([[0.0], np.cumsum(lengths)])


@dataclass(frozen=True)
class LogOddsGrid:
    """`size` cells, the inner ones between `lower` and `upper`."""

    total: float
    precision: float
    lower: float
    upper: float
    size: int
    coordinates = 1

    @cached_property
    def _coordinate(self) -> tuple[Array, Array]:
        return coordinate(self.total, self.precision, self.lower, self.upper, least=1.0)

    @property
    def width(self) -> float:
        """Width of a cell in the coordinate, in standard deviations of the narrowest posterior."""
        return float(self._coordinate[1][-1]) / self.size

    @cached_property
    def edges(self) -> Array:
        """Inner edges of the cells."""
        points, places = self._coordinate
        edges: Array = np.interp(np.linspace(0.0, places[-1], self.size - 1), places, points)
        edges.setflags(write=False)
        return edges

    @cached_property
    def middles(self) -> Array:
        """The value as which each cell is released: its middle, and for the two outer cells their finite edge."""
        inner = self.edges
        values: Array = np.concatenate([inner[:1], 0.5 * (inner[:-1] + inner[1:]), inner[-1:]])
        values.setflags(write=False)
        return values

    def holds(self, values: Array) -> bool:
        """Whether all values are released values of cells."""
        return among(values.ravel(), self.middles)


# Cached: the arrays of a grid are computed once and used by later draws.
log_odds_grid = lru_cache(maxsize=8)(LogOddsGrid)
