"""Independent oracles on a one-dimensional grid: densities by quadrature, chains by propagation. No code of the library."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq


def normalised(log_density: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Density on an equally spaced grid from an unnormalised log density."""
    mass = np.exp(log_density - log_density.max())
    return mass / CubicSpline(x, mass).integrate(x[0], x[-1])


def hockey_stick(p: np.ndarray, q: np.ndarray, x: np.ndarray, epsilon: float) -> float:
    """Largest of both directions of the integral of max(p - e^eps q, 0), by splines: fourth order, kinks resolved."""
    return max(_positive_part(p - np.exp(epsilon) * q, x), _positive_part(q - np.exp(epsilon) * p, x))


def _positive_part(values: np.ndarray, x: np.ndarray) -> float:
    spline = CubicSpline(x, values)
    changes = np.flatnonzero((values[:-1] > 0) != (values[1:] > 0))
    cuts = [x[0], *(brentq(spline, x[i], x[i + 1], xtol=1e-15) for i in changes), x[-1]]
    return float(sum(max(spline.integrate(a, b), 0.0) for a, b in pairwise(cuts)))


def last_iterate(gradient, x: np.ndarray, step: float, steps: int, start: float, wall=None) -> np.ndarray:
    """Density of the last of `steps` Langevin iterates on the grid `x`; `wall` keeps every earlier iterate below it.

    The first step is an exact normal; later ones integrate against normal transition densities (trapezoid rule, which
    is exact to rounding for such smooth, decaying integrands). Under a wall the projected iterate has an atom there,
    carried apart; the last step is left unprojected, which can only help the attacker.
    """
    spacing = x[1] - x[0]
    deviation = np.sqrt(2 * step)

    def density_from(points: np.ndarray) -> np.ndarray:
        mean = points - step * gradient(points)
        return np.exp(-0.5 * ((x[None, :] - mean[:, None]) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi))

    density = density_from(np.array([start]))[0]
    if steps == 1:
        return density
    transition = density_from(x) * spacing
    from_wall = None if wall is None else density_from(np.array([wall]))[0]
    for _ in range(steps - 1):
        if wall is None:
            density = density @ transition
        else:
            inside = x < wall
            atom = density[~inside].sum() * spacing
            density = np.where(inside, density, 0.0) @ transition + atom * from_wall
    return density
