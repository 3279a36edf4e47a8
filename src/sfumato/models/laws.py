"""Posterior laws as plain values: what is to be drawn, and on which public grid. `samplers` draws from them.

Fields named by what the data determine (cells, rate, mean, logs, ones, zeros) are private; all others are public, the same
for every data set, so that the grid, the quadrature and the charge for its error do not depend on a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from sfumato.errors import FormatError
from sfumato.grids import Geometry, lattice, line, log_odds, positive, rates, sticks
from sfumato.grids.points import PointGrid, ProductGrid
from sfumato.grids.size import most_cells


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet(cells), drawn by stick-breaking. `weight` bounds the sum of the cells, `smallest` each from below.

    `grid` is the number of cells of the public grid of each share: fewer are faster where there are many tables.
    Two cells are a Beta; `single` then releases the first share alone, and `floor` > 0 restricts it to [floor, 1 - floor].
    """

    cells: tuple[float, ...]
    weight: float
    smallest: float
    floor: float = 0.0
    single: bool = False
    grid: int = field(default_factory=most_cells)

    @property
    def geometry(self) -> sticks.StickGrid:
        """The grid of rates, on which every stick is broken; a floor restricts two shares alone."""
        grid = rates.rate_grid(self.floor if len(self.cells) == 2 else 0.0, self.grid)
        return sticks.StickGrid(grid, len(self.cells), self.single)


@dataclass(frozen=True)
class Gamma:
    """Gamma(shape, rate) on a public grid of `grid` cells between `lower` and `upper`.

    `spacing` names the coordinate in which the cells are equal, and with it which parameter is public. "root", the square
    root, with `lower` 0: the rate is public and the data determine the shape (counts). "log": the shape is public and the
    data determine the rate (durations, precisions). `closed` restricts the law to [lower, upper], and `largest_rate`
    then bounds the rate over all data sets; otherwise the first cell extends to 0 and the last to infinity.
    """

    shape: float
    rate: float
    lower: float
    upper: float
    spacing: str
    closed: bool = False
    largest_rate: float = math.inf
    grid: int = field(default_factory=most_cells)

    @property
    def geometry(self) -> positive.PositiveGrid:
        """The grid of positive numbers."""
        return positive.positive_grid(self.spacing, self.lower, self.upper, self.closed, self.grid)

    @property
    def coarseness(self) -> float:
        """Width of a cell in standard deviations of the posterior, in the grid's coordinate: the same for every data set."""
        if self.spacing == positive.ROOT:
            return 2 * math.sqrt(self.rate * self.upper) / self.grid
        return self.geometry.length * math.sqrt(self.shape) / self.grid


@dataclass(frozen=True)
class Normal:
    """Independent normals in the coordinates of a public `basis` (None: the coordinates themselves), rounded to `grid`.

    `mean` is exact, a fraction per coordinate; the released vector is basis @ (whole multiples of grid).
    """

    mean: tuple[Fraction, ...]
    deviation: tuple[float, ...]
    grid: tuple[Fraction, ...]
    basis: tuple[tuple[float, ...], ...] | None = None

    @property
    def geometry(self) -> line.LineGrid:
        """Whole multiples of the steps, in the coordinates of the basis."""
        return line.LineGrid(self.grid, self.basis)


@dataclass(frozen=True)
class Finite:
    """One of finitely many public points, with weights exp(logs): logs are whole multiples of 2^-48, so they are exact."""

    logs: tuple[int, ...]
    points: tuple[tuple[float, ...], ...]

    @property
    def geometry(self) -> PointGrid:
        """The points themselves."""
        return PointGrid(self.points)


@dataclass(frozen=True)
class Lattice:
    """K shares floor + (1 - K floor) j_i/steps, whole j_i >= 0 that sum to `steps`, with weights prod share_i^(cells_i - 1).

    A finite family of public points above the floor; `weight` bounds the sum of the cells.
    """

    cells: tuple[float, ...]
    weight: float
    floor: float
    steps: int

    @property
    def geometry(self) -> lattice.ShareLattice:
        """The lattice of shares."""
        return lattice.ShareLattice(len(self.cells), self.floor, self.steps)


@dataclass(frozen=True)
class LogitNormal:
    """exp(-ones log(1 + e^-t) - zeros log(1 + e^t) - precision (t - centre)^2/2) on a public grid.

    `ones` and `zeros` are private; `total`, their sum, is the tempered number of records. The grid's inner cells lie
    between `lower` and `upper`, its outer two extend to infinity.
    """

    ones: float
    zeros: float
    total: float
    precision: float
    centre: float
    lower: float
    upper: float
    grid: int = field(default_factory=most_cells)

    @property
    def geometry(self) -> log_odds.LogOddsGrid:
        """The grid of log odds."""
        return log_odds.log_odds_grid(self.total, self.precision, self.lower, self.upper, self.grid)


@dataclass(frozen=True)
class Product:
    """Independent parts, drawn one after the other; their coordinates follow each other in this order.

    One replaced record changes at most `touched` parts (None: all); the others are the same numbers to the last bit.
    """

    parts: tuple[Law, ...]
    touched: int | None = None

    @property
    def geometry(self) -> Geometry:
        """The parts' grids beside each other."""
        return ProductGrid(tuple(part.geometry for part in self.parts))


Law: TypeAlias = "Dirichlet | Gamma | Normal | Finite | LogitNormal | Lattice | Product"

# Sizes for which the errors of cell masses were compared with multi-precision quadrature: powers of two.
_SIZES = tuple(1 << k for k in range(10, 17))


def resized(law: Law, size: int | None) -> Law:
    """The law on a grid of `size` cells, which a plan recorded; None, or the present size, changes nothing.

    Sizes differ where the rule for them (`grids`) was changed after a release was made. Tables of a network have several
    sizes, of which one is recorded, so they are not read with another rule.
    """
    if size is None or size == law.geometry.size:
        return law
    if isinstance(law, Product) and len({part.geometry.size for part in law.parts}) == 1:
        return replace(law, parts=tuple(resized(part, size) for part in law.parts))
    # The stated error of log odds holds for the present size and finer grids; those of rates and positive numbers follow it.
    coarser = isinstance(law, LogitNormal) and size < law.grid
    if coarser or size not in _SIZES or not isinstance(law, (Dirichlet, Gamma, LogitNormal)):
        raise FormatError(f"the plan records a grid of {size!r} cells; this version draws on {law.geometry.size}.")
    return replace(law, grid=size)
