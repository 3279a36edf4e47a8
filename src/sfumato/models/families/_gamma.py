"""Arithmetic of Gamma posteriors, for the families of counts, durations and precisions.

A posterior is (shape, rate) along the last axis. Trimmed ones, restricted to [lower, upper], are integrated in
u = log(theta/c), c the mode clipped to the range, where they are log-concave.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato import _validate
from sfumato._quadrature import log_concave_panels
from sfumato.errors import ArgumentError
from sfumato.models.families.family import Array
from sfumato.models.laws import Gamma

# Widest cell of the public grid, in standard deviations of the posterior, that is still drawn.
WIDEST_CELL = 4.0
# Below this a prior is so close to improper that the mass next to 0 cannot be computed to the stated error.
SMALLEST_SHAPE = 1e-6
# Largest prior strength that is searched, as for the other families (`Family.strongest`).
_STRONGEST = 1e9
# What lies further out than e^-40 of the peak, or than e^600 below the mode, falls to the first and the last cell.
_OUTSIDE, _FARTHEST = 40.0, 600.0
# Laws that are integrated at a time: about 600 quadrature points each, a few megabytes.
_ROWS = 512


def checked_shape(value: object) -> float:
    """A prior shape that the grid can draw."""
    shape = _validate.positive("shape", value)
    if shape < SMALLEST_SHAPE:
        raise ArgumentError(f"shape must be at least {SMALLEST_SHAPE:g}, so that it can be drawn; got {shape!r}.")
    return shape


def log_range(shape: float, smallest_rate: float, largest_rate: float) -> tuple[float, float]:
    """Ends, as logarithms, between which Gamma(shape, rate) lies for every rate between the two, but for e^-40."""
    left = min(_FARTHEST, _solved(lambda u: shape * (math.expm1(-u) + u)))
    right = _solved(lambda u: shape * (math.expm1(u) - u))
    low, high = math.log(shape) - math.log(largest_rate) - left, math.log(shape) - math.log(smallest_rate) + right
    # Both ends must have an ordinary float as their exponential: e^709 overflows and e^-708 is the smallest normal float.
    if not -650 < high < 700:
        raise ArgumentError(
            f"theta would be as large as e^{high:.0f}, which overflows floats: change the unit of the records."
        )
    return max(low, -690.0), high


def _solved(depth: Callable[[float], float]) -> float:
    """Where a rising function of u > 0 reaches 40, from above."""
    low, high = 0.0, 1e-6
    while depth(high) < _OUTSIDE and high < 600:
        low, high = high, 2 * high
    # Thirty halvings; the upper end is returned, which only widens the range.
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if depth(middle) < _OUTSIDE else (low, middle)
    return high


def strongest(law_at: Callable[[float], Gamma]) -> float:
    """Largest strength, up to a factor of two, up to which the grid can draw the law at every strength."""
    # 0.8 is a margin below the widest cell that can be drawn.
    strength = 1.0
    while strength < _STRONGEST and law_at(2 * strength).coarseness <= 0.8 * WIDEST_CELL:
        strength *= 2
    return min(strength, _STRONGEST)


def divergence(first: Array, second: Array) -> Array:
    """KL of Gamma(first) from Gamma(second)."""
    from scipy.special import digamma, gammaln

    (k, b), (m, c) = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    gap = (k - m) * digamma(k) - gammaln(k) + gammaln(m) + m * (np.log(b) - np.log(c)) + k * (c - b) / b
    return np.asarray(np.maximum(0.0, gap), dtype=np.float64)


def sketch(rng: np.random.Generator, natural: Array) -> Array:
    """One float draw from each, in logarithms, so that tiny shapes do not underflow before they are divided."""
    shape, rate = natural[..., 0], natural[..., 1]
    # Gamma(k) is Gamma(k + 1) times U^(1/k), U uniform; e^-700 is still a normal float.
    logs = np.log(rng.gamma(shape + 1.0)) + np.log(rng.random(shape.shape)) / shape - np.log(rate)
    return np.asarray(np.exp(np.maximum(logs, -700.0)), dtype=np.float64)


def quantiles(levels: Array, shape: float, rate: float) -> Array:
    """Quantiles of one Gamma, kept away from 0."""
    from scipy.stats import gamma

    return np.asarray(np.maximum(gamma.ppf(levels, shape) / rate, 1e-300), dtype=np.float64)


def matched_total(rng: np.random.Generator, n: int, mean: Array, variance: Array) -> Array:
    """Sums of n independent non-negative terms: Gamma draws with the same two moments, which exponential sums have exactly."""
    # A statistic without variance would divide by 0.
    spread = np.maximum(variance, 1e-12 * mean * mean)
    return np.asarray(rng.gamma(n * mean * mean / spread) * spread / mean, dtype=np.float64)


# --- restricted to [lower, upper] ------------------------------------------------------------------------------------


def _trimmed_panels(natural: Array, lower: float, upper: float) -> tuple[Array, Array, Array, Array]:
    """The clipped mode c, points u, their shares of the mass, and the log of the integral of exp(log density - its value at c)."""
    shape, rate = natural[:, 0], natural[:, 1]
    mode = np.clip(shape / rate, lower, upper)
    beyond = rate * mode - shape

    def log_density(u: Array) -> Array:
        grown = np.expm1(np.minimum(u, 700.0))
        return np.asarray(shape[:, None] * (u - grown) - beyond[:, None] * grown)

    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        points, weights = log_concave_panels(
            log_density, np.log(lower / mode), np.log(upper / mode), np.zeros_like(mode), -np.log(rate * mode)
        )
        masses = np.exp(log_density(points)) * weights
    total = masses.sum(axis=1)
    return mode, points, masses / total[:, None], np.log(total)


def _in_rows(evaluate: Callable[..., Array], natural: Array, *others: Array) -> Array:
    """Evaluate (rows, 2) and what belongs to them a few rows at a time, to bound memory."""
    flat = natural.reshape(-1, 2)
    rest = [np.asarray(other).reshape(len(flat), -1) for other in others]
    parts = [
        evaluate(flat[k : k + _ROWS], *(other[k : k + _ROWS] for other in rest)) for k in range(0, len(flat), _ROWS)
    ]
    return np.concatenate(parts).reshape(natural.shape[:-1])


def trimmed_divergence(first: Array, second: Array, lower: float, upper: float) -> Array:
    """KL of two Gamma laws restricted to [lower, upper]."""

    def evaluate(one: Array, other: Array) -> Array:
        """KL divergence of rows of natural parameters, by quadrature over the panels of the first."""
        c, u, share, log_one = _trimmed_panels(one, lower, upper)
        e, _, _, log_other = _trimmed_panels(other, lower, upper)
        shape, rate = one[:, 0] - other[:, 0], one[:, 1] - other[:, 1]
        # Both log densities about c: their difference at c, and how it changes from there.
        apart = other[:, 0] * np.log(e / c) - other[:, 1] * (e - c) + log_other - log_one
        moved = shape * (share * u).sum(axis=1) - rate * c * (share * np.expm1(u)).sum(axis=1)
        return np.asarray(np.maximum(0.0, apart + moved))

    return _in_rows(evaluate, first, np.broadcast_to(second, first.shape))


def trimmed_sketch(levels: Array, natural: Array, lower: float, upper: float) -> Array:
    """Quantiles at the given levels, one of each law, to the nearest point of the quadrature."""

    def evaluate(rows: Array, level: Array) -> Array:
        mode, points, share, _ = _trimmed_panels(rows, lower, upper)
        place = (np.cumsum(share, axis=1) < level).sum(axis=1)
        u = np.take_along_axis(points, np.minimum(place, points.shape[1] - 1)[:, None], axis=1)[:, 0]
        return np.asarray(np.clip(mode * np.exp(u), lower, upper))

    return _in_rows(evaluate, natural, levels)


def trimmed_quantiles(levels: Array, shape: float, rate: float, lower: float, upper: float) -> Array:
    """Quantiles of one restricted law at many levels."""
    mode, points, share, _ = _trimmed_panels(np.array([[shape, rate]]), lower, upper)
    middle = np.cumsum(share[0]) - 0.5 * share[0]
    return np.asarray(np.clip(mode * np.exp(np.interp(levels, middle, points[0])), lower, upper))
