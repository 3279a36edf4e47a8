"""The average of a noisy path with momentum, as a linear filter of its target and of its noise.

On a quadratic loss of curvature C with optimum x and a ridge term P towards c, the path

    v <- momentum v + C (y - x) + P (y - c) + noise,    y <- y - rate v,    y = v = 0 at first

splits along the eigenvectors of C + P. Along an eigenvalue a the average of the last `tail` positions at which a gradient was
taken is r(a) (C x + P c) + sum_s h_s noise_s, with r the average's answer to a constant force of 1 and h_s its answer to a
single force -1 at step s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """Answers of the tail average along each eigenvalue.

    `force`: r; `slope`: its derivative in the eigenvalue; `spread`: sum_s h_s^2, the variance of the average at unit noise;
    `shared`: (1/tail) sum of h_s over the tail, the covariance of the average with the mean noise of the tail; `wander`: the
    mean variance of the tail's positions around their average, at unit noise.
    """

    force: Array
    slope: Array
    spread: Array
    shared: Array
    wander: Array


def responses(curvature: Array, rate: float, momentum: float, steps: int, tail: int) -> Response:
    """The answers of the tail average at the given eigenvalues of C + P; O(steps * size)."""
    force, slope = _constant(curvature, rate, momentum, steps, tail)
    lags = _impulse(curvature, rate, momentum, steps)
    spread, shared = np.zeros_like(curvature), np.zeros_like(curvature)
    for step in range(steps):
        # Noise of this step moves the positions after it; positions steps - tail to steps - 1 are averaged.
        first = max(steps - tail - step, 1)
        moved = (lags[steps - 1 - step] - lags[first - 1]) / tail
        spread += moved**2
        if step >= steps - tail:
            shared += moved / tail
    # The position at step t carries the noises of lags 1 to t.
    single = np.cumsum(np.diff(lags, axis=0, prepend=0.0) ** 2, axis=0)[steps - tail :].mean(axis=0)
    return Response(force, slope, spread, shared, np.maximum(single - spread, 0.0))


def _constant(curvature: Array, rate: float, momentum: float, steps: int, tail: int) -> tuple[Array, Array]:
    """r(a) and r'(a): the recursion under a force of 1, and its derivative carried along."""
    y, v, dy, dv, force, slope = (np.zeros_like(curvature) for _ in range(6))
    for step in range(steps):
        if step >= steps - tail:
            force += y / tail
            slope += dy / tail
        v = momentum * v + curvature * y - 1.0
        dv = momentum * dv + y + curvature * dy
        y = y - rate * v
        dy = dy - rate * dv
    return force, slope


def _impulse(curvature: Array, rate: float, momentum: float, steps: int) -> Array:
    """Sums over lags 1 to k of the position k steps after a single noise of 1 in the gradient; row k, k = 0 to steps - 1."""
    sums = np.zeros((steps, curvature.size))
    y, v = np.zeros_like(curvature), np.ones_like(curvature)
    for lag in range(1, steps):
        y = y - rate * v
        v = momentum * v + curvature * y
        sums[lag] = sums[lag - 1] + y
    return sums


def divided(points: Array, values: Array, slopes: Array) -> Array:
    """Divided differences (f(a_i) - f(a_j))/(a_i - a_j); the mean slope where two points nearly coincide (Loewner)."""
    gap = points[:, None] - points[None, :]
    # Below a millionth of the points the difference of values is mostly rounding.
    same = np.abs(gap) <= 1e-6 * (np.abs(points)[:, None] + np.abs(points)[None, :])
    rise = values[:, None] - values[None, :]
    ratio: Array = np.where(same, 0.5 * (slopes[:, None] + slopes[None, :]), rise / np.where(same, 1.0, gap))
    return ratio
