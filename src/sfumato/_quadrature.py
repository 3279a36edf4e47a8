"""Gauss-Legendre panels for log-concave densities, laid out by how far the density has dropped.

Used wherever a mass must have a stated relative error: the profiles of pairs, truncated posteriors, grid cells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@functools.cache
def gauss_legendre(nodes: int) -> tuple[Array, Array]:
    """Points in (-1, 1) and weights of this many nodes, worked out once: NumPy solves for eigenvalues at every call."""
    points, weights = np.polynomial.legendre.leggauss(nodes)
    for array in (points, weights):
        array.setflags(write=False)
    return points, weights


# Twelve nodes integrate polynomials up to degree 23; the panels are short enough that the rest is below rounding.
_GAUSS_NODES, _GAUSS_WEIGHTS = gauss_legendre(12)
# Panels in units of the distance over which the density drops by a factor e: fine near the peak, out to e^-45.
_PANELS = np.array([0.5, 1, 1.5, 2, 3, 4, 5, 6, 7, 9, 12, 16, 22, 30, 45])
# Where log(1 + exp(x)) and exp(x) bend, whatever the scale of the density.
_BENDS = np.array([0, 1, 2, 3, 4.5, 6, 8, 11, 15, 20, 27, 36])
# Where 1 - exp(-x) bends.
_LAYER = np.array([1.0, 3.0, 7.0, 15.0, 36.0])
# Both signs of the bends.
_FIXED = np.concatenate([-_BENDS[:0:-1], _BENDS])
# Left and right of a centre.
_SIDES = np.array([-1.0, 1.0])


def _drop_distances(log_density: Callable[[Array], Array], centre: Array) -> Array:
    """Distances to the left and right of `centre` at which a log-concave density has dropped by a factor e.

    Both to within a factor 1.2, shaped (entries, 2), and searched together: a density of few points costs its call, not them.
    """
    top = log_density(centre[:, None])
    # A prior cell of 1e-9 has a tail a billion wide: search every scale that a float has room for.
    low, high = (np.full((len(centre), 2), np.log(end)) for end in (1e-12, 1e300))
    for _ in range(14):
        middle = 0.5 * (low + high)
        dropped = ~(top - log_density(centre[:, None] + _SIDES * np.exp(middle)) <= 1.0)
        low, high = np.where(dropped, low, middle), np.where(dropped, middle, high)
    return np.asarray(np.exp(high), dtype=np.float64)


def log_concave_panels(
    log_density: Callable[[Array], Array],
    lower: Array,
    upper: Array | None,
    mode: Array,
    origin: Array,
    layer: Array | None = None,
) -> tuple[Array, Array]:
    """Points and weights, (entries, points), that integrate a log-concave density over (lower, upper) to rounding.

    `mode` is the peak on the whole line (it is clipped to the interval), `origin` where the fixed bends stand;
    `upper` None means infinity; `layer` is a length above `lower` over which another factor bends. Mass where the density is
    below e^-45 of its peak is left out.
    """
    centre = np.maximum(lower, mode) if upper is None else np.clip(mode, lower, upper)
    dropped = _drop_distances(log_density, centre)
    left, right = centre[:, None] - dropped[:, :1] * _PANELS, centre[:, None] + dropped[:, 1:] * _PANELS
    low = np.maximum(lower, left[:, -1])[:, None]
    high = right[:, -1:] if upper is None else np.minimum(upper, right[:, -1])[:, None]
    edges = np.concatenate([left, centre[:, None], right, origin[:, None] + _FIXED], axis=1)
    if layer is not None:
        edges = np.concatenate([edges, lower[:, None] + layer[:, None] * _LAYER], axis=1)
    edges = np.sort(np.clip(edges, low, high), axis=1)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]
    points = (edges[:, :-1, None] + half + half * _GAUSS_NODES).reshape(len(lower), -1)
    return points, (half * _GAUSS_WEIGHTS).reshape(len(lower), -1)


def log_mean_exp(share: Array | float, d: Array) -> Array:
    """Log of 1 + share (e^d - 1), for every d: e^d itself overflows at 709, where a tiny prior cell still has mass."""
    part = np.asarray(share, dtype=np.float64)
    near = np.log1p(part * np.expm1(np.minimum(d, 30.0)))
    if not (d > 30.0).any():
        return np.asarray(near, dtype=np.float64)
    far = d + np.log(part) + np.log1p((1 - part) / part * np.exp(-np.maximum(d, 30.0)))
    return np.where(d <= 30.0, near, far)
