"""The variance of a label around its mean, from what a shape-first linear regression publishes.

A record with residual e and mapped row y has the weight v = min(1, 1/|y|, b/|y|^2). Published with noise are

    tau = E v^2 clip(e, c)^2 |y|^2    and    C = E v 1{|e| < c} y y'.

Where e is independent of the row, tau = E clip(e, c)^2 E v^2|y|^2 and tr C = P(|e| < c) E v|y|^2. For normal e both functions
of the clipped residual follow from the deviation s. Weights are below 1, so tau/tr C alone is below the variance, by a factor
of about 2.5. The mean of v^2|y|^2 is that of min(L, 1, b^2/L) with L = |y|^2. L is taken to have a gamma law, whose mean is that
of the published moments and whose spread is such that the mean of v|y|^2 = min(L, sqrt L, b) is tr C/P(|e| < c).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.shapes.curvature import cleaned, estimate, positive
from sfumato.shapes.published import Array, Published

# Passes of the fixed point: in simulated regressions ten reach the fifth digit.
_PASSES = 20
# Points of equal probability of the gamma law: ten times as many move the variance by 1e-4 of itself.
_POINTS = 200
# Squared coefficients of variation of |y|^2 that are tried, from equal rows to those of heavy tails (1: exponential).
_SPREADS = np.concatenate([[1e-4], np.linspace(0.02, 2.0, 100)])
# The deviation is sought up to this multiple of the clipping level; beyond, a clipped residual no longer depends on it.
_WIDEST = 4.0


def residual_variance(published: Published, clip: float, bend: float) -> float:
    """s^2 of normal residuals for which tau and C are as published.

    `clip` is the level c of the path's loss and `bend` the number b of its weights. Noise may make tau negative: it is
    replaced by its mean given that it is positive. What lies beyond the clip is known by the normal law alone: clipped at
    1.5, simulated residuals of variance 1 give 1.0 where normal, 0.8 for Student's t with 5 degrees of freedom, 1.4 where uniform.
    """
    size = len(published.values)
    # The scale is one noisy number; the trace of a noisy matrix sums as many as it has columns.
    noise = published.score_noise * math.sqrt(size if published.score_matrix is not None else 1)
    tau = float(positive(np.array([published.score_scale]), np.array([noise]))[0])
    trace = float(estimate(published).values.sum())
    scales = np.einsum("ij,ij->j", published.vectors, published.matrix @ published.vectors)
    lengths = _squared_lengths(float(cleaned(published) @ scales**2))
    once = np.minimum(np.minimum(lengths, np.sqrt(lengths)), bend).mean(axis=1)
    twice = np.minimum(np.minimum(lengths, 1.0), bend**2 / lengths).mean(axis=1)
    deviation = clip / 2
    for _ in range(_PASSES):
        inside = _kept(deviation / clip)
        place = int(np.abs(once - trace / inside).argmin())
        deviation = _deviation(tau / float(twice[place]), clip)
    return deviation**2


def _squared_lengths(mean: float) -> Array:
    """Points (spreads, points) of gamma laws of this mean, of equal probability, for each of the squared spreads."""
    from scipy.special import gammaincinv

    shapes = 1.0 / _SPREADS[:, None]
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    points: Array = np.maximum(mean, 1e-300) * gammaincinv(shapes, levels[None, :]) / shapes
    return np.maximum(points, 1e-300)


def _kept(ratio: float) -> float:
    """P(|e| < 1) for normal e of deviation `ratio`."""
    return math.erf(1.0 / (ratio * math.sqrt(2.0))) if ratio > 0 else 1.0


def _clipped_square(ratio: float) -> float:
    """E clip(e, 1)^2 for normal e of deviation `ratio`: rises from 0 to 1."""
    if ratio <= 0:
        return 0.0
    t = 1.0 / ratio
    density = math.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return ratio**2 * (math.erf(t / math.sqrt(2.0)) - 2.0 * t * density) + math.erfc(t / math.sqrt(2.0))


def _deviation(square: float, clip: float) -> float:
    """The deviation of normal residuals whose clipped square has this mean, by bisection."""
    low, high = 0.0, _WIDEST
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _clipped_square(middle) * clip**2 < square else (low, middle)
    return clip * high
