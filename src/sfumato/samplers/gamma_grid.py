"""Exact draws of Gamma(K, rate) on the public grid of positive numbers: rates of counts and of durations, precisions.

Law: the probability of a cell is the integral over it of the Gamma density, normalised over the grid.
Method: each cell is integrated by Gauss-Legendre in y = log(theta/reference), where the log density about the mode,

    K (d - expm1(d)),    d = y - log(K/(rate reference)),

is concave; the masses become whole numbers and a uniform whole number picks a cell (`samplers.grid`).
Error: `mass_error`, the sum of a bound on the quadrature error over Bernstein ellipses and of the counted roundings. The
edges are floats, taken as exact. Edges, quadrature nodes and error follow from the public fields of the law alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.grids.positive import LOG, ROOT, PositiveGrid
from sfumato.models.families._gamma import WIDEST_CELL
from sfumato.models.laws import Gamma
from sfumato.samplers.grid import Integers, Masses, draw_cells, integer_weights, log_masses

# A cell is integrated if its density is above e^-725 of the peak; below, it has the floor weight under every data set.
_DEEP = 725.0
# Over a cell the density falls by e^-(2 * 400) at most: if it falls by more, all cells behind it have the floor weight.
_STEEPEST = 400.0
# Numbers of quadrature nodes that are tried, and the largest error that the chosen number may have.
_NODES = (16, 32, 64, 128)
_QUADRATURE = 1e-11
# Stated error of the quadrature, of the two open cells and of the sum over the nodes: ten times the quadrature error.
_STATED = 1e-10


def mass_error(law: Gamma) -> float:
    """Bound on the relative error of every cell mass, from the public fields of the law; too coarse a grid is refused."""
    nodes_for(law)
    return _STATED + _rounding(law)


def nodes_for(law: Gamma) -> int:
    """Quadrature nodes per cell: the fewest whose derived error is below 1e-11 in every cell under every data set."""
    if law.spacing not in (ROOT, LOG) or (law.spacing == ROOT) != (law.lower == 0) or law.closed > (law.lower > 0):
        raise ArgumentError(f"spacing must be 'root' from lower = 0, or 'log' between positive bounds; got {law!r}.")
    if not law.coarseness <= WIDEST_CELL:
        raise ArgumentError(
            f"a draw on a grid of {law.grid:,} cells needs cells of at most {WIDEST_CELL:g} standard deviations of the "
            f"posterior; here they are {law.coarseness:.3g}. Declare tighter bounds, or use fewer records."
        )
    outside = law.largest_rate * law.upper if law.closed else 0.0
    return _fewest_nodes(law.geometry, _public(law), outside)


def _public(law: Gamma) -> float:
    """The parameter that does not depend on the data: rate times upper end, or shape."""
    return law.rate * law.upper if law.spacing == ROOT else law.shape


@lru_cache(maxsize=256)
def _fewest_nodes(grid: PositiveGrid, public: float, outside: float) -> int:
    half, slope, curvature, _ = _blocks(grid, public)
    if outside > 0:  # the mode may lie outside of the grid, and the density be steep at its edge
        slope = np.maximum(slope, np.minimum(max(public, outside), _STEEPEST / half))
        curvature = public + slope
    for nodes in _NODES:
        if float(_quadrature_error(nodes, half, slope, curvature).max()) <= _QUADRATURE:
            return nodes
    raise ArgumentError(
        f"no quadrature here integrates a grid of {grid.size:,} cells between {grid.lower:g} and {grid.upper:g} to the stated "
        "error: declare tighter bounds."
    )


def _blocks(grid: PositiveGrid, public: float) -> tuple[Array, Array, Array, Array]:
    """For blocks of cells: half width w, largest slope s, largest K e^d and largest |y|, over all data sets that matter.

    With f = K (expm1(d) - d) <= 725 at the edge of the cell nearer to the mode, the slope |K - K e^d| there is at most
    725 + sqrt(1450 K); given A = K e^d instead (equal in the root), K <= A exp(1 + W((725/A - 1)/e)), W Lambert's function.
    """
    cells = grid.size
    if grid.spacing == LOG:
        half = np.array([0.5 * grid.length / cells])
        steep = np.array([_DEEP + math.sqrt(2 * _DEEP * public)])
        slope = steep + (public + steep) * np.expm1(2 * half)
        return half, slope, public + slope, half * cells
    from scipy.special import lambertw

    first = np.unique(np.floor(1.2 ** np.arange(0.0, math.log(cells) / math.log(1.2))))
    last = np.append(first[1:], cells)
    half = np.log1p(1 / first)
    top = public * (last / cells) ** 2
    shape = top * np.exp(1 + lambertw((_DEEP / top - 1) / math.e).real)
    return half, shape - top - top * np.expm1(-2 * half), top, -2 * np.log(first / cells)


def _quadrature_error(nodes: int, half: Array, slope: Array, curvature: Array) -> Array:
    """Relative error of Gauss-Legendre on a cell: the best over Bernstein ellipses rho.

    About the middle of a cell log f = s z - A (e^z - 1 - z). On the ellipse its real part is at most
    s w a + A e^(w a) (w b)^2/2, a and b = (rho +- 1/rho)/2, and the integral is at least
    2 sinh(s w)/(s w) exp(-A e^w w^2/2); the error is at most (64/15) max|f| rho^(2 - 2N)/(1 - rho^-2).
    """
    rho = np.geomspace(1.03, 80.0, 90)
    a, b = 0.5 * (rho + 1 / rho), 0.5 * (rho - 1 / rho)
    w, drop = half[:, None], (slope * half)[:, None]
    bend = curvature[:, None] * w * w
    grown = drop + np.log(-np.expm1(-2 * drop)) - np.log(2 * drop)
    bound = drop * a - grown + 0.5 * bend * (np.exp(w * a) * b * b + np.exp(w))
    bound += math.log(32 / 15) - (2 * nodes - 2) * np.log(rho) - np.log1p(-(rho**-2.0))
    return np.asarray(np.exp(np.minimum(bound.min(axis=1), 700.0)), dtype=np.float64)


def _rounding(law: Gamma) -> float:
    """Rounding error of a mass, twice the counted roundings of the parameters, the mode and the exponents.

    A parameter or mode that is off by a relative e moves a log mass by e |K - K e^d|, at most `slope`, or by e K |d|, at
    most `depth`; products |K - K e^d| |d| are at most 52 times 725 more than that (shapes of at least 1e-6).
    """
    _, slope, curvature, place = _blocks(law.geometry, _public(law))
    depth = 55 * _DEEP + np.sqrt(3 * _DEEP * (curvature + slope))
    return float(2.0**-51 * ((10 + 2 * place) * slope + 10 * depth).max())


def gamma_masses(law: Gamma, nodes: int) -> Masses:
    """Log of the mass of every cell up to a common constant."""
    edges, reference, shape = law.geometry.log_edges, law.geometry.reference, law.shape
    ratio = shape / law.rate / reference
    anchor = math.log(ratio) if 0 < ratio < math.inf else math.inf if ratio > 0 else -math.inf
    beyond = 0.0
    if law.closed and not edges[0] <= anchor <= edges[-1]:
        # The density is written about the edge next to the mode: about a mode far outside it would lose its digits.
        anchor = float(edges[0] if anchor < edges[0] else edges[-1])
        beyond = law.rate * reference * math.exp(anchor) - shape

    def log_density(d: Array) -> Array:
        grown = np.expm1(np.minimum(d, 700.0))
        return np.asarray(shape * (d - grown) - beyond * grown)

    return log_masses(log_density, anchor, edges, nodes, closed=law.closed)


def draw_gamma(law: Gamma, draws: int, source: Integers) -> Array:
    """Independent draws from the law, each one of the public values."""
    weights = integer_weights(gamma_masses(law, nodes_for(law)))
    return law.geometry.middles[draw_cells(weights, source, draws)]
