"""Langevin chains: pure steps on arrays of parameters, one row per chain.

    theta <- project_K(theta - h grad U(theta) + sqrt(2h) xi)

`last_iterate` returns the last state, whose final normal is an exact sample rounded to a public grid. `noisy_path` draws
every noisy gradient on its public grid and runs momentum and averages on those alone: what it returns is a function of
numbers that may all be published. Neither looks at the data but through `gradient`, which answers sums over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.samplers.bits import BufferedBits
from sfumato.samplers.normal import rounded_normal

Array = NDArray[np.float64]
Field = Callable[[Array], Array]
Report = Callable[[int, int], None]


def silent(done: int, steps: int) -> None:
    """Report nothing."""


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
    return Fraction(2) ** (math.frexp(math.sqrt(2 * step))[1] - 21)


@dataclass(frozen=True)
class Path:
    """The tail average of every chain (chains, d), and where asked for every noisy gradient (chains, steps, d)."""

    average: Array
    transcript: Array | None


def noisy_path(
    gradient: Field,
    project: Field,
    start: Array,
    rate: float,
    noise: float,
    momentum: float,
    steps: int,
    tail: int,
    source: Any,
    keep: bool = False,
    report: Report = silent,
) -> Path:
    """Descent on noisy mean gradients: velocity <- momentum velocity + g, theta <- theta - rate velocity.

    g is the mean gradient plus `noise` times a normal, rounded to the grid of `gradient_grid(noise)`; the average is over
    the last `tail` iterates.
    """
    grid = float(gradient_grid(noise))
    theta, velocity, total = start, np.zeros_like(start), np.zeros_like(start)
    kept: list[Array] = []
    for done in range(1, steps + 1):
        noisy = np.rint((gradient(theta) + noise * source.normal(theta.shape)) / grid) * grid
        velocity = momentum * velocity + noisy
        theta = project(theta - rate * velocity)
        if done > steps - tail:
            total = total + theta
        if keep:
            kept.append(noisy)
        report(done, steps)
    return Path(total / tail, np.stack(kept, axis=1) if keep else None)


def gradient_grid(noise: float) -> Fraction:
    """A power of two, about a millionth of the noise of one gradient."""
    return Fraction(2) ** (math.frexp(noise)[1] - 21)
