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
from numpy.typing import NDArray

from sfumato.errors import ArgumentError

Array = NDArray[np.float64]
CELLS = 1 << 16
LARGEST_WEIGHT = 1e9
# Masses are scaled so that one of e^-700 of the largest still has fifty digits; smaller ones get the weight 1.
_SHIFT = 1200
_SMALLEST_LOG = -740.0


class Integers(Protocol):
    """A source of uniform integers."""

    def integers_below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound)."""


def mass_error(weight: float) -> float:
    """Bound on the relative error of every cell mass of Beta(a, b) with a + b at most `weight`, a public number."""
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

    One form cancels where the share of the first cell times e^d is large, the mirrored one where the other is: since the
    shares add to 1, one of the two is always safe.
    """
    total = a + b
    with np.errstate(over="ignore"):
        up = a / total * np.expm1(d)
        direct = a * d - total * np.log1p(up)
        mirrored = -b * d - total * np.log1p(b / total * np.expm1(-d))
    return np.where(up < 1, direct, mirrored)


def _log_tail(a: float, b: float, edge: float) -> float:
    """Log of the mass to the left of `edge`, relative to the mode's density: panels laid out by how fast it falls."""
    mode = math.log(a) - math.log(b)
    start = edge - mode
    # Log-concave: beyond the edge it falls at least at the rate a (1 - theta) - b theta that it has there, or from the mode.
    peak = min(start, 0.0)
    top = float(_log_beta_shape(a, b, np.array([peak]))[0])
    rate = max(a - (a + b) / (1.0 + math.exp(-min(edge, 700.0))), 1e-3 * a)
    bend = math.sqrt(a * b / (a + b))
    unit = 1.0 / max(rate, 0.0 if start < 0 else bend)
    cuts = np.concatenate(
        [[0.0], unit * np.array([0.25, 0.5, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 27, 36, 50, 70, 100, 1000])]
    )
    points, weights = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(cuts)[:, None]
    offsets = cuts[:-1, None] + half + half * points
    with np.errstate(under="ignore"):
        values = np.exp(_log_beta_shape(a, b, start - offsets) - top)
    return top + math.log(float((values * half * weights).sum()))


def integer_weights(log_masses: Array) -> list[int]:
    """Return cumulative integer weights; every cell has at least 1, so no cell is impossible under any data set."""
    relative = np.asarray(log_masses, dtype=np.float64) - log_masses.max()
    weights = []
    for value in relative:
        mantissa, exponent = math.frexp(math.exp(max(value, _SMALLEST_LOG)))
        shift = exponent - 53 + _SHIFT
        scaled = int(mantissa * 2.0**53)
        weights.append(max(1, scaled << shift if shift >= 0 else scaled >> -shift) if value > _SMALLEST_LOG else 1)
    return list(accumulate(weights))


def draw_cells(cumulative: Sequence[int], source: Integers, draws: int) -> list[int]:
    """Independent cells by exact inversion: the first whose cumulative weight exceeds a uniform integer."""
    return [bisect_right(cumulative, source.integers_below(cumulative[-1])) for _ in range(draws)]
