"""Quadratic loss of a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models._rounding import product_up, up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.protocol import ROW, FloatArray, Loss
from sfumato.models.row_products import row_products


@dataclass(frozen=True)
class GaussianMean(Loss):
    """l(theta, x) = |theta - x|^2/2, |x| <= r (Minami Theorem 15).

    The gradient theta - x has no bound on R^d (L = r + R on |theta| <= R), but two of them differ by x' - x whatever
    theta is: G/power = 2 r. m_l = M_l = 1. Shifted by |x|^2/2, l is |theta|^2/2 - <theta, x>, so Delta = 2 r R.
    """

    radius: float
    name = "gaussian-mean"
    estimand = "the penalised mean of the rows; there are no intervals"
    record = ROW

    def value(self, theta: ArrayLike, x: ArrayLike) -> FloatArray:
        """|theta - x|^2/2 along the last axis."""
        residual = self.gradient(theta, x)
        value: FloatArray = 0.5 * np.sum(residual * residual, axis=-1)
        return value

    def gradient(self, theta: ArrayLike, x: ArrayLike) -> FloatArray:
        """Return theta - x."""
        parameter, row = _scalar.arrays(theta, x)
        return parameter - row

    def gradient_sum(self, rows: Any, theta: FloatArray) -> FloatArray:
        """Sum over the rows of theta - x at each of (points, d) parameters."""
        return np.asarray(rows.shape[0] * theta - np.asarray(rows.sum(axis=0)).ravel(), dtype=np.float64)

    def row_values(self, rows: Any, points: FloatArray, steady: bool = False) -> FloatArray:
        """-<theta, x>, shaped (rows, points): what depends on the record; |theta|^2/2 is public and left out."""
        return -row_products(rows, points, steady)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r + R, G/power = 2 r, m_l = M_l = 1, Delta = 2 r R."""
        largest = _scalar.checked_radius(domain_radius)
        return Constants(
            lipschitz=largest if math.isinf(largest) else up(Fraction(self.radius) + Fraction(largest)),
            difference=product_up(2.0, self.radius),
            smoothness=1.0,
            strong_convexity=1.0,
            bound=product_up(2.0, self.radius, largest),
            convex=True,
            smooth=True,
        )
