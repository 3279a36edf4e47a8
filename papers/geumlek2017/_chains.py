"""Draws from tempered logistic posteriors, many at once: Hamiltonian Monte Carlo, and a random walk to compare it with.

Law of cell k: density proportional to exp(-power_k sum_i log(1 + exp(-y_i x_i.w)) - strength_k |w|^2/2) on |w| <= radius_k. All
cells of a training set share its rows, so a step of all chains is two matrix products. The chains run in the eigenvectors of
the rows' second moments, scaled by the diagonal of each cell's own Hessian at its mode, and start near that mode; Metropolis
corrections make the laws above invariant, whatever the scale. A simulation: nothing here is private.
"""

from __future__ import annotations

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
# The same for a random walk in many dimensions (Roberts, Gelman and Gilks 1997).
_ACCEPT_WALK = 0.234
# Reflections of one move; a trajectory with more is rejected, and so would be its reverse.
_REFLECTIONS = 100


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

    def potential(self, w: Array) -> Array:
        """Potential of every cell at w, one column for each."""
        margins = self.rows @ w
        losses = (self.xp.log1p(self.xp.exp(-self.xp.abs(margins))) + self.xp.maximum(-margins, 0.0)).sum(axis=0)
        return self.cells.power * losses + 0.5 * self.cells.strength * (w * w).sum(axis=0)

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


def random_walk(target: Posterior, rng: Any, steps: int) -> Array:
    """The last point of random-walk Metropolis chains of ONE cell, which use no gradient and start at 0.

    Proposals are normal with the inverse of the Hessian at the mode; their scale is adapted in the first half of the steps.
    """
    xp, cells = target.xp, target.cells
    d, count = target.mode.shape
    curved = cells.power[0] / (4.0 * xp.cosh(0.5 * (target.rows @ target.mode[:, :1])) ** 2)
    hessian = (target.rows * curved).T @ target.rows + cells.strength[0] * xp.eye(d)
    root = xp.linalg.inv(xp.linalg.cholesky(hessian)).T
    w = xp.zeros((d, count))
    potential = target.potential(w)
    scale = xp.full(count, 2.4 / np.sqrt(d))
    for step in range(steps):
        point = w + scale * (root @ rng.standard_normal((d, count)))
        reached = xp.where((point * point).sum(axis=0) > cells.radius**2, xp.inf, target.potential(point))
        kept = xp.log(rng.random(count)) < potential - reached
        w, potential = xp.where(kept, point, w), xp.where(kept, reached, potential)
        if step < steps // 2:
            scale = scale * xp.exp((kept - _ACCEPT_WALK) / (step + 10.0) ** 0.6)
    return w
