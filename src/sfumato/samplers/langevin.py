"""Langevin chains on arrays of parameters, one row per chain.

    theta <- project_K(theta - h grad U(theta) + sqrt(2h) xi),    xi standard normal

`last_iterate` returns the last state. Its final normal is an exact sample rounded to a public grid; the normals before it
are floats of 53 digits, which the theorem's guarantee names as an assumption. `noisy_path` adds noise to every gradient,
rounds it to a public grid, and runs momentum and averages on the noisy gradients alone: its result is a function of
numbers that may all be published. Both use the data only through `gradient`, which gives sums over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.line import spacing
from sfumato.samplers.bits import BufferedBits
from sfumato.samplers.normal import rounded_normal

Field = Callable[[Array], Array]
Report = Callable[[int, int], None]
# Parameters are clipped to this, far beyond any sensible value, so that no chain becomes infinite.
_FARTHEST = 1e100


def silent(done: int, steps: int) -> None:
    """The default report of progress: none."""


def last_iterate(
    gradient: Field,
    project: Field,
    start: Array,
    step: float,
    steps: int,
    source: Any,
    report: Report = silent,
) -> Array:
    """The last of `steps` iterates of every chain, on the public grid of `ending_grid(step)`; start is (chains, d)."""
    theta = start
    scale = math.sqrt(2 * step)
    for done in range(1, steps):
        theta = project(theta - step * gradient(theta) + scale * source.normal(theta.shape))
        report(done, steps)
    mean = theta - step * gradient(theta)
    bits, grid = BufferedBits(source), ending_grid(step)
    flat = [float(rounded_normal(bits, float(value), scale, grid) * grid) for value in mean.ravel()]
    report(steps, steps)
    return project(np.array(flat).reshape(mean.shape))


def ending_grid(step: float) -> Fraction:
    """A power of two, about a millionth of the last normal's deviation."""
    return spacing(math.sqrt(2 * step))


@dataclass(frozen=True)
class Path:
    """The tail average of every chain (chains, d), and where asked for every noisy gradient (chains, steps, d)."""

    average: Array
    transcript: Array | None


@dataclass(frozen=True)
class Recursion:
    """The public recursion: velocity <- momentum velocity + g + pull(theta), theta <- project(theta - rate velocity).

    `pull` and `project` are the prior's, public functions; the average is over the last `tail` of `steps` iterates.
    """

    pull: Field
    project: Field
    start: Array
    rate: float
    momentum: float
    steps: int
    tail: int

    @classmethod
    def of(cls, prior: Any, n: int, chains: int, dimension: int, numbers: Mapping[str, Any]) -> Recursion:
        """The recursion of a plan with these recorded numbers, for running its chains and for checking a transcript."""
        start = np.zeros(dimension) if prior.start is None else np.array(prior.start)
        return cls(
            lambda theta: prior.gradient(theta) / n,
            lambda theta: bounded(prior.project(theta)),
            np.tile(start, (chains, 1)),
            float(numbers["learning_rate"]),
            float(numbers["momentum"]),
            int(numbers["steps"]),
            int(numbers["tail"]),
        )

    def run(self, noisy: Callable[[Array, int], Array]) -> Array:
        """Tail average of every chain, with the gradients `noisy(theta, step)`."""
        theta, velocity, total = self.start, np.zeros_like(self.start), np.zeros_like(self.start)
        for done in range(1, self.steps + 1):
            velocity = self.momentum * velocity + noisy(theta, done) + self.pull(theta)
            theta = self.project(theta - self.rate * velocity)
            if done > self.steps - self.tail:
                total = total + theta
        return np.asarray(total / self.tail)

    def retrace(self, transcript: Array) -> Array:
        """The tail average that follows from published gradients (chains, steps, d)."""
        return self.run(lambda theta, done: transcript[:, done - 1])


def noisy_path(
    gradient: Field, recursion: Recursion, noise: float, source: Any, keep: bool = False, report: Report = silent
) -> Path:
    """Descent on noisy gradients: `gradient` plus `noise` times a normal, rounded to the grid of `gradient_grid(noise)`."""
    grid = float(gradient_grid(noise))
    kept: list[Array] = []

    def noisy(theta: Array, done: int) -> Array:
        rounded: Array = np.rint((gradient(theta) + noise * source.normal(theta.shape)) / grid) * grid
        if keep:
            kept.append(rounded)
        report(done, recursion.steps)
        return rounded

    average = recursion.run(noisy)
    return Path(average, np.stack(kept, axis=1) if keep else None)


def bounded(theta: Array) -> Array:
    """Parameters without NaN, clipped so that no chain becomes infinite."""
    return np.clip(np.nan_to_num(theta, nan=0.0), -_FARTHEST, _FARTHEST)


def gradient_grid(noise: float) -> Fraction:
    """A power of two, about a millionth of the noise of one gradient."""
    return spacing(noise)
