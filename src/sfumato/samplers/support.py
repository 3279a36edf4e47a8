"""Whether released values are points of the public grid of their law (`sfumato.grids`)."""

from __future__ import annotations

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids import Geometry
from sfumato.grids.line import LineGrid, multiples
from sfumato.grids.points import ROUNDING, PointGrid, ProductGrid
from sfumato.grids.positive import PositiveGrid
from sfumato.models.laws import Law

__all__ = ["in_support", "multiples", "on_grid"]


def on_grid(law: Law, values: Array) -> bool:
    """Whether values (draws, coordinates) are points of the law's grid, which depends on its public fields alone."""
    grid = law.geometry
    return values.shape[1] == grid.coordinates and grid.holds(values)


def in_support(law: Law, values: Array) -> bool:
    """Whether values are possible under some number of records: a weaker check, for when n and so the grid is unknown."""
    return values.shape[1] == law.geometry.coordinates and _possible(law.geometry, values)


def _possible(grid: Geometry, values: Array) -> bool:
    """Numbers of the right sign, within the bounds of the grid."""
    if isinstance(grid, PositiveGrid):
        low, high = (grid.lower, grid.upper) if grid.closed else (0.0, np.inf)
        return bool(((values >= low * (1 - ROUNDING)) & (values <= high * (1 + ROUNDING)) & (values > 0)).all())
    if isinstance(grid, ProductGrid):
        return all(_possible(part, columns) for part, columns in grid.columns(values))
    # Fewer records have a wider normal law on a coarser grid of powers of two, whose points are all points of this one.
    return grid.holds(values) if isinstance(grid, (LineGrid, PointGrid)) else True
