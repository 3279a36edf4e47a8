"""The public grids on which values are released: their geometry, and how their size follows from public numbers.

One file a grid: `rates` (numbers in [0, 1]), `positive` (positive numbers), `log_odds` and `line` (real numbers), `sticks` and
`lattice` (shares that sum to 1), `points` (listed points). Samplers draw cells of these grids, prices bound the error of
their masses, intervals integrate a law over the cell that holds a released value, and `verify` checks that a released value
is a point of its grid; all of them use the same object, `law.geometry`.
"""

from __future__ import annotations

from typing import Protocol

from sfumato._quadrature import Array


class Geometry(Protocol):
    """The interface of a grid."""

    @property
    def coordinates(self) -> int:
        """Number of coordinates of one value."""

    @property
    def size(self) -> int | None:
        """Number of cells along one coordinate; None for a grid without ends or of listed points."""

    def holds(self, values: Array) -> bool:
        """Whether all values (draws, coordinates) are points of the grid."""


class OnGrid(Protocol):
    """A law whose draws lie on a grid."""

    @property
    def geometry(self) -> Geometry:
        """The grid, from the public fields of the law alone."""


def size_of(law: OnGrid) -> int | None:
    """Number of cells of the grid of a law, of the first part of a product; None where the grid has no such number."""
    return law.geometry.size
