"""Exact inversion of one-dimensional laws on a public grid.

Law: the probability of a cell is the INTEGRAL of the density over it, so a drawn cell is a post-processing of an exact draw.
Method: differences of float distribution functions lose all digits in the tails, so each cell is integrated by
Gauss-Legendre in a coordinate in which the density is log-concave, written about its mode. The masses become integers, and
a uniform integer below their sum picks a cell.
Error: the relative error of every mass is below the bound that the caller states and includes in the price; the integers
keep 53 binary digits of a mass.

Cells whose density is below e^-720 of the peak are not integrated: they get the floor weight, e^-690 of the largest.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato._quadrature import Array, gauss_legendre, log_concave_panels

# Masses are scaled so that one of e^-690 of the largest is still a whole number with all its digits.
_SHIFT = 1200
_SMALLEST_LOG = -690.0
# A density below e^-720 of the peak gives a mass below e^-690 of the largest, because cell widths differ by at most e^20.
_NEGLIGIBLE = -720.0
# A cell over which the density falls by more than e^12 is integrated in finer panels.
_STEEP = 12.0
# e^-690 as a whole number on the same scale.
_FLOOR_WEIGHT = int(math.frexp(math.exp(_SMALLEST_LOG))[0] * 2.0**53) << (
    math.frexp(math.exp(_SMALLEST_LOG))[1] - 53 + _SHIFT
)


class Integers(Protocol):
    """A source of uniform integers."""

    def integers_below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound)."""


@dataclass(frozen=True)
class Masses:
    """Log masses of a run of cells, up to a common constant; all others of the `cells` have the floor weight."""

    first: int
    logs: Array
    cells: int

    def everywhere(self) -> Array:
        """Log masses of all cells, minus infinity where they were not integrated."""
        full = np.full(self.cells, -np.inf)
        full[self.first : self.first + len(self.logs)] = self.logs
        return full


def log_masses(shape: Callable[[Array], Array], mode: float, edges: Array, nodes: int, closed: bool = False) -> Masses:
    """Log of the mass of every cell between `edges`, for a density log-concave in this coordinate.

    `shape(d)` is the log density at distance d from its unconstrained `mode`, 0 there. Unless `closed`, two more cells
    extend from the outer edges to infinity.
    """
    low, high = _window(shape, mode, edges)
    points, weights = gauss_legendre(nodes)
    run = edges[low : high + 1]
    half = 0.5 * np.diff(run)[:, None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        inner = shape((run[:-1, None] - mode) + half + half * points)
        top = inner.max(axis=1, initial=-np.inf)
        logs = top + np.log((np.exp(inner - top[:, None]) * (half * weights)).sum(axis=1))
        ends = shape(run - mode)
    lowest = np.minimum(ends[:-1], ends[1:])
    for cell in np.flatnonzero(np.maximum(top, np.maximum(ends[:-1], ends[1:])) - lowest > _STEEP):
        drop = float(min(top[cell] - lowest[cell], -_NEGLIGIBLE))
        logs[cell] = _log_steep(shape, float(run[cell]) - mode, 2 * float(half[cell, 0]), drop)
    if closed:
        return Masses(low, logs, len(edges) - 1)
    if low == 0:
        logs = np.concatenate([[_log_tail(lambda t: shape(-t), -mode, -edges[0])], logs])
    if high == len(edges) - 1:
        logs = np.concatenate([logs, [_log_tail(shape, mode, edges[-1])]])
    return Masses(low + 1 if low > 0 else 0, logs, len(edges) + 1)


def _log_steep(shape: Callable[[Array], Array], start: float, width: float, drop: float) -> float:
    """Log mass of one cell over which the density falls by more than e^12, by Gauss-Legendre on finer panels.

    There are few such cells, since the density falls by e^720 in all.
    """
    panels = 1 << math.ceil(math.log2(8 * drop / _STEEP))
    points, weights = gauss_legendre(16)
    half = 0.5 * width / panels
    places = (start + width * (np.arange(panels) / panels))[:, None] + half + half * points
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        inner = shape(places)
        top = float(inner.max())
        return top + math.log(float((np.exp(inner - top) * (half * weights)).sum()))


def _window(shape: Callable[[Array], Array], mode: float, edges: Array) -> tuple[int, int]:
    """First and last edge between which the density is above e^-720 of its largest value on the grid."""
    nearest = min(max(mode, float(edges[0])), float(edges[-1])) - mode
    with np.errstate(over="ignore", invalid="ignore"):
        top = float(shape(np.array([nearest]))[0]) if edges[0] > mode or edges[-1] < mode else 0.0
        at_edges = shape(edges - mode) - top
    # A cell is kept if the density is large enough at one of its edges, or if the mode lies inside it.
    alive = np.flatnonzero(at_edges > _NEGLIGIBLE)
    place = int(np.searchsorted(edges, mode))
    low = min([place - 1, *(int(i) - 1 for i in alive[:1])])
    high = max([place, *(int(i) + 1 for i in alive[-1:])])
    return max(0, min(low, len(edges) - 2)), min(len(edges) - 1, max(high, 1))


def _log_tail(shape: Callable[[Array], Array], mode: float, edge: float) -> float:
    """Log of the mass beyond `edge`, relative to the density at the mode, on panels laid out by how it falls."""
    start = np.array([edge - mode])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        points, weights = log_concave_panels(shape, start, None, np.zeros(1), np.array([-mode]))
        logs = shape(points)
        top = float(logs.max())
        return top + math.log(float((np.exp(logs - top) * weights).sum()))


@dataclass(frozen=True)
class Weights:
    """Cumulative whole-number weights of a run of cells, between two runs of cells with the floor weight."""

    first: int
    cumulative: list[int]
    cells: int

    @property
    def total(self) -> int:
        """Sum over all cells."""
        return self.cumulative[-1] + (self.cells - len(self.cumulative)) * _FLOOR_WEIGHT

    def cell_at(self, place: int) -> int:
        """The cell that holds a whole number below the total, if cells lie end to end with their weights as lengths."""
        before = self.first * _FLOOR_WEIGHT
        if place < before:
            return place // _FLOOR_WEIGHT
        if place - before < self.cumulative[-1]:
            return self.first + bisect_right(self.cumulative, place - before)
        return self.first + len(self.cumulative) + (place - before - self.cumulative[-1]) // _FLOOR_WEIGHT


def integer_weights(masses: Masses) -> Weights:
    """Whole-number weights; every cell has a positive one, so no cell is impossible under any data set.

    Cells below e^-690 of the largest are raised to it: the ratio of two data sets' weights then lies between the true one
    and that of their largest cells, so no Renyi divergence grows, and the added mass is less than 1e-290.
    """
    relative = np.maximum(masses.logs - masses.logs.max(), _SMALLEST_LOG)
    mantissas, exponents = np.frexp(np.exp(relative))
    digits = (mantissas * 2.0**53).astype(np.int64).tolist()
    shifts = (exponents - 53 + _SHIFT).tolist()
    return Weights(masses.first, list(accumulate(d << s for d, s in zip(digits, shifts, strict=True))), masses.cells)


def draw_cells(weights: Weights, source: Integers, draws: int) -> NDArray[np.int64]:
    """Independent cells by exact inversion: the one in which a uniform integer below the total falls."""
    total = weights.total
    return np.array([weights.cell_at(source.integers_below(total)) for _ in range(draws)], dtype=np.int64)
