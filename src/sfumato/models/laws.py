"""The laws that posteriors take, as plain values: what is to be drawn, on which public grid. Drawing is the samplers' work.

Fields named by what the data determine (cells, rate, mean, logs) are private; all others are public and the same for
every data set, so that the grid, the quadrature and the charge for its error do not depend on a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet(cells), drawn by breaking a stick. `weight` bounds the sum of the cells, `smallest` each from below.

    `grid` is the number of cells of the public grid of each share: fewer are faster where there are many tables.
    Two cells are a Beta; `single` then releases the first share alone, and `floor` > 0 restricts it to [floor, 1 - floor].
    """

    cells: tuple[float, ...]
    weight: float
    smallest: float
    floor: float = 0.0
    single: bool = False
    grid: int = 1 << 16


@dataclass(frozen=True)
class Gamma:
    """Gamma(shape, rate) on the public grid between `lower` and `upper`.

    `closed` restricts the law to [lower, upper]; otherwise the first cell reaches to 0 and the last to infinity.
    `spacing` names the coordinate in which the cells are equal: "log", or "root" (the square root). `weight` bounds the
    shape over all data sets.
    """

    shape: float
    rate: float
    lower: float
    upper: float
    spacing: str
    weight: float
    closed: bool = False


@dataclass(frozen=True)
class Normal:
    """Independent normals in the coordinates of a public `basis` (None: the coordinates themselves), rounded to `grid`.

    `mean` is exact, a fraction per coordinate; the released vector is basis @ (whole multiples of grid).
    """

    mean: tuple[Fraction, ...]
    deviation: tuple[float, ...]
    grid: tuple[Fraction, ...]
    basis: tuple[tuple[float, ...], ...] | None = None


@dataclass(frozen=True)
class Finite:
    """One of finitely many public points, with weights exp(logs): logs are whole multiples of 2^-48, so they are exact."""

    logs: tuple[int, ...]
    points: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class LogitNormal:
    """exp(ones t - total log(1 + e^t) - precision (t - centre)^2/2) on a public grid of `cells` equal cells.

    `total` bounds nothing private: it is the tempered number of records.
    """

    ones: float
    total: float
    precision: float
    centre: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Product:
    """Independent parts, drawn one after the other; coordinates are theirs in order.

    One replaced record changes at most `touched` parts (None: all); the others are the same numbers to the last bit.
    """

    parts: tuple[Law, ...]
    touched: int | None = None


Law: TypeAlias = "Dirichlet | Gamma | Normal | Finite | LogitNormal | Product"
