"""A Bayesian linear model of the mean gradient as a function of the parameter, given noisy gradients.

The mean gradient of a scalar-link loss is linear in the distribution of the records, g(theta) = sum_j w_j phi'(x_j . theta,
y_j) x_j, with weights w over records. Put records (x_j, y_j) at public places that fill the declared domain, and about the
even weights a normal law with the mean and the covariance of a Dirichlet law,

    w ~ N(1/J, kappa (I - 11'/J)/J),    kappa = 1,

wide enough that any single record could be the whole table. A gradient that was published at theta is g(theta) plus a normal
of known deviation, and theta is a function of the gradients before it; so the likelihood is a product of normal densities
and the posterior of w is normal, in closed form. It bends where the loss bends: a straight line through the gradients
of a logistic path would be off by more than their noise.

Weights may be negative: only the gradient and its slope near the optimum are used, never a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato._quadrature import Array

# Gradients that become rows of the linear model at a time, to bound memory.
_BLOCK = 64


@dataclass(frozen=True)
class PseudoRecords:
    """Records at public places: rows (records, d), labels (records,), and the loss.

    `bend` is the length of score over which the slope of the loss can change by its bound; derivatives in the score are
    central differences over a twentieth of it, which is defined for a loss with kinks too.
    """

    loss: Any
    rows: Array
    labels: Array
    bend: float

    def slopes(self, theta: Array) -> Array:
        """Slope of the loss, at every parameter and for every record: (parameters, records)."""
        return np.asarray(self.loss.derivative(theta @ self.rows.T, self.labels), dtype=np.float64)

    def gradient(self, weights: Array, theta: Array) -> Array:
        """Mean gradient under each of the weights at the parameter beside it: (draws, d)."""
        return np.asarray((weights * self.slopes(theta)) @ self.rows)

    def hessian(self, weights: Array, theta: Array) -> Array:
        """Its derivative, symmetric: (draws, d, d)."""
        scores, width = theta @ self.rows.T, self.bend / 20
        above = self.loss.derivative(scores + width, self.labels)
        below = self.loss.derivative(scores - width, self.labels)
        return self.moments(weights * (above - below) / (2 * width))

    def moments(self, weights: Array) -> Array:
        """sum_j w_j x_j x_j' for each of the weights: (draws, d, d)."""
        d = self.rows.shape[1]
        products = (self.rows[:, :, None] * self.rows[:, None, :]).reshape(-1, d * d)
        return np.asarray((weights @ products).reshape(-1, d, d))


def spread_records(
    loss: Any, dimension: int, intercept: float, labels: tuple[float, float], slope: float, curvature: float
) -> PseudoRecords:
    """Records that fill the ball of the loss's radius, in pairs of opposite rows, the constant feature appended.

    A symmetric matrix of size d has d(d+1)/2 entries: there are eight times as many records, and 400 more for how the
    slope bends. Finite label sets alternate their two ends; labels in an interval are spread over it.
    """
    count = 400 + 4 * dimension * (dimension + 1)
    rng = np.random.default_rng(20_160)  # public places: always the same
    features = dimension - (1 if intercept else 0)
    radius = math.sqrt(max(loss.radius**2 - intercept**2, 0.0))
    half = rng.normal(size=(count // 2, features))
    half *= (
        radius * np.sqrt(rng.random((count // 2, 1))) / np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-300)
    )
    rows = np.concatenate([half, -half])
    if intercept:
        rows = np.column_stack([rows, np.full(count, intercept)])
    low, high = labels
    finite = hasattr(loss.label_domain, "values")
    places = np.arange(count) % 2 if finite else rng.random(count)
    return PseudoRecords(loss, rows, np.asarray(low + (high - low) * places, dtype=np.float64), slope / curvature)


def draw_weights(
    records: PseudoRecords, theta: Array, gradients: Array, noise: float, draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Posterior mean (1, records) and `draws` posterior draws, in opposite pairs, of the weights behind noisy gradients.

    `theta` and `gradients` are (gradients, d). With w = 1/J + P z/sqrt(J), P the projection off the constant vector and
    z standard normal, the precision of z is I + B'B/noise^2 for the linear map B from z to the gradients.
    """
    from scipy.linalg import solve_triangular

    count = len(records.rows)
    precision, pulled = np.eye(count), np.zeros(count)
    for first in range(0, len(theta), _BLOCK):
        part = slice(first, first + _BLOCK)
        effect = (records.slopes(theta[part])[:, None, :] * records.rows.T).reshape(-1, count) / noise
        even = effect.mean(axis=1)
        effect = (effect - even[:, None]) / math.sqrt(count)
        precision += effect.T @ effect
        pulled += effect.T @ (gradients[part].ravel() / noise - even)
    factor = np.linalg.cholesky(precision)
    half = solve_triangular(factor, pulled, lower=True)
    centre = solve_triangular(factor.T, half)
    away = solve_triangular(factor.T, rng.normal(size=(count, (draws + 1) // 2))).T

    def weights(z: Array) -> Array:
        return np.asarray(1 / count + (z - z.mean(axis=1, keepdims=True)) / math.sqrt(count))

    return weights(centre[None]), weights(np.concatenate([centre + away, centre - away]))
