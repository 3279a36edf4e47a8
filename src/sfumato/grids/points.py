"""Grids of listed points, products of grids, and whether numbers are among the points of a rising list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids import Geometry

# Points that come from sines, roots or logarithms may differ in their last digits between machines: a value may be off by a
# billionth of a cell, and by a few thousand rounding errors (2^-53) of its own size.
_SHARE_OF_A_CELL, ROUNDING = 1e-9, 1e-12


def among(values: Array, points: Array) -> bool:
    """Whether all values are among these rising points, up to a billionth of a cell."""
    right = np.clip(np.searchsorted(points, values), 1, len(points) - 1)
    low, high = points[right - 1], points[right]
    away = np.minimum(np.abs(values - low), np.abs(values - high))
    return bool((away <= _SHARE_OF_A_CELL * (high - low) + ROUNDING * np.abs(values)).all())


@dataclass(frozen=True)
class PointGrid:
    """Finitely many listed points, compared exactly."""

    points: Sequence[tuple[float, ...]]
    size = None

    @property
    def coordinates(self) -> int:
        """Coordinates of one point."""
        return len(self.points[0])

    def holds(self, values: Array) -> bool:
        """Whether every row is one of the points."""
        points = set(self.points)
        return all(tuple(value) in points for value in values.tolist())


@dataclass(frozen=True)
class ProductGrid:
    """Grids beside each other, each with its own columns."""

    parts: Sequence[Geometry]

    @property
    def coordinates(self) -> int:
        """Sum over the parts."""
        return sum(part.coordinates for part in self.parts)

    @property
    def size(self) -> int | None:
        """Size of the first part."""
        return self.parts[0].size

    def columns(self, values: Array) -> list[tuple[Geometry, Array]]:
        """Each part with its columns of the values."""
        ends = np.cumsum([part.coordinates for part in self.parts])
        return list(zip(self.parts, np.split(values, ends[:-1], axis=1), strict=True))

    def holds(self, values: Array) -> bool:
        """Whether every part holds its columns."""
        return all(part.holds(columns) for part, columns in self.columns(values))
