"""Draws from tempered logistic posteriors, many at once: Hamiltonian Monte Carlo, and elliptical slices to compare it with.

Law of cell k: density proportional to exp(-power_k sum_i log(1 + exp(-y_i x_i.w)) - strength_k |w|^2/2) on |w| <= radius_k. All
cells of a training set share its rows, so a step of all chains is two matrix products. The chains run in the eigenvectors of
the rows' second moments, scaled by the diagonal of each cell's own Hessian at its mode, and start near that mode; Metropolis
corrections make the laws above invariant, whatever the scale. A simulation: nothing here is private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Arrays of numpy, or of CuPy where the rows are: every operation below exists in both.
Array = Any
# Trajectories before the step sizes are fixed, and after; their leapfrog steps, least and most.
ADAPT, SWEEPS = 40, 40
_FEWEST, _MOST = 5, 11
# Steps of the descent to the modes, a start for the chains.
_DESCENT = 60
# Mean acceptance that step sizes are adapted to: between .65 and .9 the cost of a draw hardly changes.
_ACCEPT = 0.8
# Reflections of one move; a trajectory with more is rejected, and so would be its reverse.
_REFLECTIONS = 100
# Shrinkages of one slice: each halves the bracket on average, so 100 would take it to 1e-30.
_SHRINKS = 100


@dataclass(frozen=True)
class Cells:
    """Power, strength of the prior and radius of the domain, a number each for every cell."""

    power: Array
    strength: Array
    radius: Array


def array_module() -> Any:
    """CuPy where it is installed and finds a GPU, else numpy."""
    try:
        import cupy
    except ImportError:
        return np
    return cupy if cupy.cuda.runtime.getDeviceCount() else np


class Posterior:
    """The potentials of all cells on one training set, in its eigenvectors."""

    def __init__(self, rows: Array, labels: Array, cells: Cells, xp: Any = np) -> None:
        self.xp, self.cells = xp, cells
        signed = rows * labels[:, None]
        self.values, self.basis = xp.linalg.eigh(signed.T @ signed)
        self.rows = signed @ self.basis
        self.mode = self._mode()
        curved = 1.0 / (4.0 * xp.cosh(0.5 * (self.rows @ self.mode)) ** 2)
        self.variance = 1.0 / (cells.power * ((self.rows**2).T @ curved) + cells.strength)

    def gradient(self, w: Array) -> tuple[Array, Array]:
        """Potential and gradient of every cell at w, one column for each."""
        xp, cells = self.xp, self.cells
        margins = self.rows @ w
        small = xp.exp(-xp.abs(margins))
        losses = (xp.log1p(small) + xp.maximum(-margins, 0.0)).sum(axis=0)
        slopes = -xp.where(margins >= 0, small, 1.0) / (1.0 + small)
        potential = cells.power * losses + 0.5 * cells.strength * (w * w).sum(axis=0)
        return potential, cells.power * (self.rows.T @ slopes) + cells.strength * w

    def _mode(self) -> Array:
        """Near the mode of each cell: descent preconditioned by the largest curvature, 1/4 of the rows' second moments."""
        xp, cells = self.xp, self.cells
        w = xp.zeros((self.rows.shape[1], len(cells.power)))
        step = 1.0 / (0.25 * xp.maximum(self.values, 0.0)[:, None] * cells.power + cells.strength)
        for _ in range(_DESCENT):
            w = self.inside(w - step * self.gradient(w)[1])
        return w

    def inside(self, w: Array) -> Array:
        """Points outside the radius are brought back to just within it."""
        length = self.xp.sqrt((w * w).sum(axis=0))
        return w * self.xp.minimum(1.0, 0.999 * self.cells.radius / self.xp.maximum(length, 1e-300))

    def start(self, rng: Any) -> Array:
        """Normal with the mode and the variances."""
        return self.inside(self.mode + self.xp.sqrt(self.variance) * rng.standard_normal(self.mode.shape))

    def coefficients(self, w: Array) -> Array:
        """The coefficients of the rows as they were given, one column for each cell."""
        return self.basis @ w


def hamiltonian(target: Posterior, rng: Any, sweeps: int = SWEEPS, adapt: int = ADAPT) -> tuple[Array, Array]:
    """The last point of every cell's chain, and the mean acceptance after the adaptation."""
    xp = target.xp
    w = target.start(rng)
    potential, gradient = target.gradient(w)
    step = xp.full(w.shape[1], 0.3)
    accepted = xp.zeros(w.shape[1])
    for sweep in range(adapt + sweeps):
        p = rng.standard_normal(w.shape) / xp.sqrt(target.variance)
        count = int(rng.integers(_FEWEST, _MOST))
        size = step * (0.8 + 0.4 * rng.random(len(step)))
        before = potential + 0.5 * (target.variance * p * p).sum(axis=0)
        point, slope, left = w, gradient, xp.zeros(w.shape[1])
        for _ in range(count):
            p = p - 0.5 * size * slope
            point, p, left = _move(target, point, p, size, left)
            reached, slope = target.gradient(point)
            p = p - 0.5 * size * slope
        after = reached + 0.5 * (target.variance * p * p).sum(axis=0)
        chance = xp.where(left > 0, 0.0, xp.exp(xp.minimum(0.0, before - after)))
        kept = rng.random(len(step)) < chance
        w, gradient = xp.where(kept, point, w), xp.where(kept, slope, gradient)
        potential = xp.where(kept, reached, potential)
        if sweep < adapt:
            # Robbins and Monro's rule, with weights that decrease.
            step = xp.minimum(1.2, step * xp.exp((chance - _ACCEPT) * 2.0 / (sweep + 4.0) ** 0.6))
        else:
            accepted = accepted + chance / sweeps
    return w, accepted


def _move(target: Posterior, w: Array, p: Array, time: Array, left: Array) -> tuple[Array, Array, Array]:
    """Move along the velocity for `time`, reflecting at the radius; `left` is positive where reflections ran out."""
    xp, radius = target.xp, target.cells.radius
    for _ in range(_REFLECTIONS):
        v = target.variance * p
        a, b = (v * v).sum(axis=0), (w * v).sum(axis=0)
        inner = (w * w).sum(axis=0) - radius * radius
        meets = (xp.sqrt(xp.maximum(b * b - a * inner, 0.0)) - b) / a
        hits = meets < time
        gone = xp.where(hits, meets, time)
        w = w + gone * v
        time = time - gone
        if not bool(hits.any()):
            return w, p, left
        push = 2.0 * (w * v).sum(axis=0) / (target.variance * w * w).sum(axis=0)
        p = xp.where(hits, p - push * w, p)
    return w, p, left + time


def elliptical(target: Posterior, rng: Any, sweeps: int) -> Array:
    """The last point of chains that move by elliptical slices (Murray, Adams and MacKay 2010) about the start's normal law.

    The slice is of the density divided by that normal law, so it is nearly flat; points beyond the radius are outside it.
    """
    deviations = target.xp.sqrt(target.variance)
    return _slices(target, rng, sweeps, target.start(rng), target.mode, deviations, _excess(target))


def spherical(target: Posterior, rng: Any, sweeps: int) -> Array:
    """The same slices on a ball: w = radius g/|g| without its last two coordinates, g normal, is uniform on the ball."""
    xp, d, k = target.xp, *target.mode.shape
    radius = target.cells.radius

    def log_density(g: Array) -> Array:
        return -target.gradient(radius * g[:d] / xp.sqrt((g * g).sum(axis=0)))[0]

    g = _slices(target, rng, sweeps, rng.standard_normal((d + 2, k)), xp.zeros((d + 2, k)), 1.0, log_density)
    return radius * g[:d] / xp.sqrt((g * g).sum(axis=0))


def _excess(target: Posterior) -> Callable[[Array], Array]:
    """Log density less that of the normal law with the mode and the variances; -inf beyond the radius."""
    xp = target.xp

    def log_density(w: Array) -> Array:
        normal = 0.5 * ((w - target.mode) ** 2 / target.variance).sum(axis=0)
        outside = (w * w).sum(axis=0) > target.cells.radius**2
        return xp.where(outside, -xp.inf, normal - target.gradient(w)[0])

    return log_density


def _slices(
    target: Posterior, rng: Any, sweeps: int, w: Array, centre: Array, scale: Any, log_density: Callable[[Array], Array]
) -> Array:
    """Elliptical slices of exp(log_density) against the normal law with this centre and scale."""
    xp = target.xp
    level = log_density(w)
    for _ in range(sweeps):
        other = scale * rng.standard_normal(w.shape)
        threshold = level + xp.log(rng.random(w.shape[1]))
        angle = 2 * np.pi * rng.random(w.shape[1])
        low, high = angle - 2 * np.pi, angle
        point, reached = w, level
        waiting = xp.ones(w.shape[1], dtype=bool)
        for _ in range(_SHRINKS):
            turned = centre + (w - centre) * xp.cos(angle) + other * xp.sin(angle)
            height = log_density(turned)
            taken = waiting & (height > threshold)
            point, reached = xp.where(taken, turned, point), xp.where(taken, height, reached)
            waiting = waiting & ~taken
            if not bool(waiting.any()):
                break
            low, high = xp.where(angle < 0, angle, low), xp.where(angle >= 0, angle, high)
            angle = low + (high - low) * rng.random(w.shape[1])
        w, level = point, reached
    return w
