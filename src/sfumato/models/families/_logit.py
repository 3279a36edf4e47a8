"""Log odds t with density exp(-ones log(1 + e^-t) - zeros log(1 + e^t) - precision (t - centre)^2/2): arithmetic.

It is strongly log-concave, with curvature total s(t) (1 - s(t)) + precision, s the logistic function. In the coordinate of
`grids.log_odds`, the integral of the root of that, every such law is about as wide as a standard normal.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sfumato.grids.log_odds import coordinate
from sfumato.models.families.family import Array

# Halvings of an interval of at most 1e14, after which it is shorter than the spacing of floats.
_HALVINGS = 110
# Nodes of a law, over this many units of the coordinate on both sides of its mode.
_NODES, _UNITS = 193, 12.0


def modes(ones: Array, zeros: Array, precision: Array | float, centre: Array | float) -> Array:
    """Where the density is largest, by a fixed number of halvings.

    The derivative ones s(-t) - zeros s(t) - precision (t - centre) falls. It is computed from the smaller of s(t) and s(-t),
    so that a small count keeps its digits beside a large one.
    """
    total = ones + zeros
    low, high = centre - zeros / precision, centre + ones / precision
    for _ in range(_HALVINGS):
        middle = low + 0.5 * (high - low)
        small = np.exp(-np.abs(middle))
        small = small / (1 + small)
        data = np.where(middle <= 0, ones - total * small, total * small - zeros)
        rising = data > precision * (middle - centre)
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.asarray(low + 0.5 * (high - low), dtype=np.float64)


@lru_cache(maxsize=64)
def span(total: float, precision: float, centre: float, units: float) -> tuple[float, float]:
    """A range that holds `units` prior deviations on both sides of every mode: from public numbers, for every count."""
    ends = modes(np.array([0.0, total]), np.array([total, 0.0]), precision, centre)
    room = units / precision**0.5
    return float(ends[0]) - room, float(ends[1]) + room


def log_density(natural: Array, t: Array) -> Array:
    """Unnormalised, of laws (..., 4) = (ones, zeros, precision, precision times centre) at points (..., m)."""
    ones, zeros, precision, pulled = (natural[..., i : i + 1] for i in range(4))
    data = -ones * np.logaddexp(0.0, -t) - zeros * np.logaddexp(0.0, t)
    return np.asarray(data - 0.5 * precision * (t - pulled / precision) ** 2, dtype=np.float64)


def nodes(natural: Array) -> tuple[Array, Array]:
    """Points (size, m) that cover each of the laws (size, 4), and log densities there less the log of their integral.

    For expectations alone. The laws share precision and centre; one coordinate serves all of about the same total.
    """
    totals = natural[:, 0] + natural[:, 1]
    # Totals within a factor of 2^(1/4) of each other share one coordinate, that of the largest.
    alike = np.round(4 * np.log2(np.maximum(totals, 1e-12)))
    precision = float(natural[0, 2])
    centre = float(natural[0, 3]) / precision
    middle = modes(natural[:, 0], natural[:, 1], precision, centre)
    t = np.empty((len(natural), _NODES))
    for kind in np.unique(alike):
        rows = np.flatnonzero(alike == kind)
        total = float(totals[rows].max())
        points, places = coordinate(total, precision, *span(total, precision, centre, _UNITS))
        wanted = np.interp(middle[rows], points, places)[:, None] + _UNITS * np.linspace(-1, 1, _NODES)
        t[rows] = np.interp(wanted, places, points)
    logs = log_density(natural, t)
    top = logs.max(axis=1, keepdims=True)
    mass = (np.exp(logs - top) * widths(t)).sum(axis=1, keepdims=True)
    return t, logs - top - np.log(mass)


def widths(t: Array) -> Array:
    """Weights of the trapezoid rule."""
    gaps = np.diff(t, axis=1)
    return np.asarray(0.5 * (np.pad(gaps, ((0, 0), (0, 1))) + np.pad(gaps, ((0, 0), (1, 0)))), dtype=np.float64)


def quantiles(natural: Array, levels: Array) -> Array:
    """The point of each law (size, 4) at its own level, by inversion between the nodes."""
    t, logs = nodes(natural)
    density = np.exp(logs)
    below = np.cumsum(0.5 * (density[:, 1:] + density[:, :-1]) * np.diff(t, axis=1), axis=1)
    below = np.pad(below / below[:, -1:], ((0, 0), (1, 0)))
    right = np.clip((below < levels[:, None]).sum(axis=1), 1, _NODES - 1)
    rows = np.arange(len(t))
    low, high = below[rows, right - 1], below[rows, right]
    share = (levels - low) / np.maximum(high - low, 1e-300)
    return np.asarray(t[rows, right - 1] + share * (t[rows, right] - t[rows, right - 1]), dtype=np.float64)
