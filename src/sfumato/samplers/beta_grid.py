"""Exact draws of Beta(a, b), perhaps restricted to [floor, 1 - floor], on the public grid of rates.

Law: cell c of the grid has the probability integral over c of theta^(a-1) (1 - theta)^(b-1), normalised over the grid.
Method: each cell is integrated by Gauss-Legendre in x = logit(theta), where the log density

    a x - (a + b) log(1 + e^x)

is concave; it is written about its mode log(a/b), so that no large numbers cancel. The masses become whole numbers and
a uniform whole number picks a cell (`samplers.grid`).
Error: every mass is known to the relative error `mass_error`, a function of public numbers; the price includes it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array, log_mean_exp
from sfumato.errors import ArgumentError
from sfumato.grids.rates import WEIGHT_OF_A_CELL, RateGrid
from sfumato.samplers.grid import Integers, Masses, draw_cells, integer_weights, log_masses

# A smaller prior cell is so close to improper that the quadrature of the outer cells misses the stated error.
SMALLEST_CELL = 1e-6
# The largest weight and half a percent: a thousand million records have a prior too.
_ROOM = 1.005


def mass_error(weight: float, smallest: float, cells: int) -> float:
    """Bound on the relative error of every cell mass of Beta(a, b), a + b <= weight and a, b >= smallest: public numbers."""
    if not smallest >= SMALLEST_CELL:
        raise ArgumentError(f"a draw on the grid needs prior cells of at least {SMALLEST_CELL:g}; got {smallest:g}.")
    most = WEIGHT_OF_A_CELL * cells**2
    if not weight <= _ROOM * most:
        raise ArgumentError(
            f"a draw on the grid needs a total weight (n, or the prior's) of at most {most:g}; got {weight:g}."
        )
    return 1e-9 if weight <= 1e-2 * most else 1e-8


def nodes_for(weight: float, cells: int) -> int:
    """Quadrature nodes per cell: a function of the public weight, never of the count."""
    return 16 if weight <= 1e-2 * WEIGHT_OF_A_CELL * cells**2 else 32


def beta_masses(a: float, b: float, nodes: int, grid: RateGrid) -> Masses:
    """Log of the mass of every cell under Beta(a, b), up to a common constant."""
    edges = grid.logit_edges
    mode = math.log(a) - math.log(b)
    # A mode far beyond the floor would cost digits: then the density is written about the nearest edge.
    anchor = mode if grid.floor == 0 else min(max(mode, float(edges[0])), float(edges[-1]))
    first, second = (a / (a + b), b / (a + b)) if anchor == mode else (_logistic(anchor), _logistic(-anchor))
    return log_masses(lambda d: _shape(a, b, first, second, d), anchor, edges, nodes, closed=grid.floor > 0)


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _shape(a: float, b: float, first: float, second: float, d: Array) -> Array:
    """Log density in logit coordinates at distance d from an anchor with rates (first, second), relative to the anchor.

    Written from the side of the smaller rate, where the argument of the logarithm stays away from -1.
    """
    if first <= second:
        return np.asarray(a * d - (a + b) * log_mean_exp(first, d))
    return np.asarray(-b * d - (a + b) * log_mean_exp(second, -d))


def draw_beta(a: float, b: float, weight: float, grid: RateGrid, draws: int, source: Integers) -> Array:
    """Rates drawn from Beta(a, b) on the grid."""
    weights = integer_weights(beta_masses(a, b, nodes_for(weight, grid.size), grid))
    return grid.middles[draw_cells(weights, source, draws)]
