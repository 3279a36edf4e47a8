"""Beta laws on the public grid of rates.

Cells are equal in phi = arcsin(sqrt(theta)): there the posterior of a rate is equally wide for rare and common events.
They are integrated in x = logit(theta), where the density is log-concave.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato._quadrature import Array, log_mean_exp
from sfumato.errors import ArgumentError
from sfumato.models.families._cells import LARGEST_WEIGHT
from sfumato.samplers.grid import CELLS, Integers, Masses, draw_cells, integer_weights, log_masses

# Below this a prior cell is so close to improper that its mass cannot be told to the stated error.
SMALLEST_CELL = 1e-6


def mass_error(weight: float, smallest: float, cells: int = CELLS) -> float:
    """Bound on the relative error of every cell mass of Beta(a, b), a + b <= weight and a, b >= smallest: public numbers.

    What counts is the width of a cell against that of the posterior, 1/(2 sqrt(weight)) in phi: half the cells, a quarter
    of the weight.
    """
    if not smallest >= SMALLEST_CELL:
        raise ArgumentError(f"a draw on the grid needs prior cells of at least {SMALLEST_CELL:g}; got {smallest:g}.")
    most = LARGEST_WEIGHT * (cells / CELLS) ** 2
    if not weight <= most:
        raise ArgumentError(
            f"a draw on the grid needs a total weight (n, or the prior's) of at most {most:g}; got {weight:g}."
        )
    return 1e-9 if weight <= 1e-2 * most else 1e-8


def nodes_for(weight: float, cells: int = CELLS) -> int:
    """Quadrature nodes per cell: a function of the public weight, never of the count."""
    return 16 if weight <= 1e-2 * LARGEST_WEIGHT * (cells / CELLS) ** 2 else 32


@lru_cache(maxsize=16)
def rate_grid(floor: float = 0.0, cells: int = CELLS) -> Array:
    """Middles of the cells as rates, in [floor, 1 - floor]: the public set from which every draw is taken."""
    start, step = _span(floor, cells)
    rates: Array = np.sin(start + (np.arange(cells) + 0.5) * step) ** 2
    rates.setflags(write=False)
    return rates


def _span(floor: float, cells: int) -> tuple[float, float]:
    start = math.asin(math.sqrt(floor))
    return start, (0.5 * math.pi - 2 * start) / cells


@lru_cache(maxsize=16)
def _edges(floor: float, cells: int) -> Array:
    """Edges of the cells in x = 2 log tan(phi): the inner ones, and the two ends where they are finite."""
    start, step = _span(floor, cells)
    phi = start + np.arange(0 if floor > 0 else 1, cells // 2) * step
    # tan beyond pi/4 by the cotangent of the complement, so that the grid is symmetric to the last bit.
    left = 2.0 * np.log(np.tan(phi))
    return np.concatenate([left, [0.0], -left[::-1]])


def beta_masses(a: float, b: float, nodes: int = 16, floor: float = 0.0, cells: int = CELLS) -> Masses:
    """Log of the mass of every cell under Beta(a, b), restricted to [floor, 1 - floor], up to a common constant."""
    edges = _edges(floor, cells)
    mode = math.log(a) - math.log(b)
    # A mode far beyond the floor would cost digits: then the density is written about the nearest edge.
    anchor = mode if floor == 0 else min(max(mode, float(edges[0])), float(edges[-1]))
    first, second = (a / (a + b), b / (a + b)) if anchor == mode else (_logistic(anchor), _logistic(-anchor))
    return log_masses(lambda d: _shape(a, b, first, second, d), anchor, edges, nodes, closed=floor > 0)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _shape(a: float, b: float, first: float, second: float, d: Array) -> Array:
    """Log density in logit coordinates at distance d from an anchor with rates (first, second), relative to the anchor.

    Written from the side of the smaller rate, where the argument of the logarithm stays away from -1.
    """
    if first <= second:
        return np.asarray(a * d - (a + b) * log_mean_exp(first, d))
    return np.asarray(-b * d - (a + b) * log_mean_exp(second, -d))


def draw_beta(
    a: float, b: float, weight: float, floor: float, draws: int, source: Integers, cells: int = CELLS
) -> Array:
    """Rates drawn from Beta(a, b) on the grid."""
    weights = integer_weights(beta_masses(a, b, nodes_for(weight, cells), floor, cells))
    return rate_grid(floor, cells)[np.array(draw_cells(weights, source, draws), dtype=np.int64)]
