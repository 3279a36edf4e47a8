"""One-dimensional laws on a public grid: the mass of every cell as an integer, and exact inversion.

The probability of a cell is the INTEGRAL of the density over it, so a drawn cell is a post-processing of the exact draw.
Float differences of distribution functions are worthless in the tails; here each cell is integrated by Gauss-Legendre in
logit coordinates, where the density is log-concave, written about its mode. The relative error of every mass stays below
`mass_error(n)`, which the mechanism charges; the masses become integers, and a uniform integer below their sum picks one.

Cells are equal in phi = arcsin(sqrt(theta)): there the posterior of a rate is equally wide for rare and common events.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

import numpy as np

from sfumato._quadrature import Array, log_concave_panels
from sfumato.errors import ArgumentError

CELLS = 1 << 16
LARGEST_WEIGHT = 1e9
# Masses are scaled so that one of e^-690 of the largest is still a whole number with all its digits.
_SHIFT = 1200
_SMALLEST_LOG = -690.0
# Below this a prior cell is so close to improper that its mass cannot be told to the stated error.
SMALLEST_CELL = 1e-6


class Integers(Protocol):
    """A source of uniform integers."""

    def integers_below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound)."""


def mass_error(weight: float, smallest: float) -> float:
    """Bound on the relative error of every cell mass of Beta(a, b), a + b <= weight and a, b >= smallest: public numbers."""
    if not smallest >= SMALLEST_CELL:
        raise ArgumentError(f"a draw on the grid needs prior cells of at least {SMALLEST_CELL:g}; got {smallest:g}.")
    if not weight <= LARGEST_WEIGHT:
        raise ArgumentError(
            f"a draw on the grid needs a total weight (n, or the prior's) of at most {LARGEST_WEIGHT:g}; got {weight:g}."
        )
    return 1e-9 if weight <= 1e7 else 1e-8


def nodes_for(weight: float) -> int:
    """Quadrature nodes per cell: a function of the public weight, never of the count."""
    return 16 if weight <= 1e7 else 32


def rate_grid() -> Array:
    """Midpoints of the cells as rates: the public set from which every draw is taken."""
    phi = (np.arange(CELLS) + 0.5) * (0.5 * math.pi / CELLS)
    return np.asarray(np.sin(phi) ** 2, dtype=np.float64)


def _edges() -> Array:
    """Inner edges of the cells in x = logit(theta) = 2 log tan(phi)."""
    phi = np.arange(1, CELLS) * (0.5 * math.pi / CELLS)
    # tan near pi/2 by the cotangent of the complement, so that the grid is symmetric to the last bit.
    left = 2.0 * np.log(np.tan(phi[: CELLS // 2 - 1]))
    return np.concatenate([left, [0.0], -left[::-1]])


def beta_log_masses(a: float, b: float, nodes: int = 16) -> Array:
    """Log of the mass of every cell under Beta(a, b), up to a common constant."""
    edges = _edges()
    mode = math.log(a) - math.log(b)
    points, weights = np.polynomial.legendre.leggauss(nodes)
    half = 0.5 * np.diff(edges)[:, None]
    inner = _log_beta_shape(a, b, (edges[:-1, None] - mode) + half + half * points)
    top = inner.max(axis=1)
    with np.errstate(under="ignore"):
        middle = top + np.log((np.exp(inner - top[:, None]) * (half * weights)).sum(axis=1))
    return np.concatenate([[_log_tail(a, b, edges[0])], middle, [_log_tail(b, a, -edges[-1])]])


def _log_beta_shape(a: float, b: float, d: Array) -> Array:
    """Log density in logit coordinates at distance d from the mode, relative to the mode.

    Written from the side of the smaller cell, where the argument of the logarithm stays away from -1.
    """
    total = a + b
    with np.errstate(over="ignore"):
        if a <= b:
            return np.asarray(a * d - total * np.log1p(a / total * np.expm1(d)))
        return np.asarray(-b * d - total * np.log1p(b / total * np.expm1(-d)))


def _log_tail(a: float, b: float, edge: float) -> float:
    """Log of the mass to the left of `edge`, relative to the mode's density: the line reflected, panels as it falls."""
    mode = math.log(a) - math.log(b)
    start = np.array([mode - edge])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        points, weights = log_concave_panels(
            lambda t: _log_beta_shape(a, b, -t), start, None, np.zeros(1), np.array([mode])
        )
        logs = _log_beta_shape(a, b, -points)
        top = float(logs.max())
        return top + math.log(float((np.exp(logs - top) * weights).sum()))


def integer_weights(log_masses: Array) -> list[int]:
    """Return cumulative integer weights; every cell has a positive one, so no cell is impossible under any data set.

    Cells below e^-690 of the largest are raised to it: the ratio of two data sets' weights then lies between the true one
    and that of their largest cells, so no Renyi divergence grows, and what is added is less than 1e-290 of the mass.
    """
    relative = np.maximum(np.asarray(log_masses, dtype=np.float64) - log_masses.max(), _SMALLEST_LOG)
    weights = []
    for value in relative:
        mantissa, exponent = math.frexp(math.exp(value))
        weights.append(int(mantissa * 2.0**53) << (exponent - 53 + _SHIFT))
    return list(accumulate(weights))


def draw_cells(cumulative: Sequence[int], source: Integers, draws: int) -> list[int]:
    """Independent cells by exact inversion: the first whose cumulative weight exceeds a uniform integer."""
    return [bisect_right(cumulative, source.integers_below(cumulative[-1])) for _ in range(draws)]
