"""Logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models._rounding import product_up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss
from sfumato.privacy.gaussian_tail import UNIT

# max over t of max_z - min_z of z/(1 + exp(t z)), |z| <= 1. The minimum is -sigma(t), at z = -1; the maximum is s
# sigma(-s)/t with s sigma(s) = 1 once t >= s. The sum is largest at t = 4.0316: 1.05163399154533 (rounded up).
ONE_DIMENSION = 1.05163399154533
# W(1/e), Lambert: the largest value of u sigma(-u), reached at u = 1 + W(1/e).
PEAK = 0.27846454276107379


@dataclass(frozen=True)
class Logistic(ScalarLinkLoss):
    """phi(u, y) = log(1 + exp(-y u)), y in {-1, +1}.

    phi' = -y sigma(-y u), |phi'| < 1; phi'' <= 1/4. So L = r, M_l = r^2/4 and G/power = 2 r, approached for d >= 2 by
    two nearly opposite rows that a long theta gets both wrong. In d = 1 such rows do not exist: G/power = 1.05163 r
    exactly. On |theta| <= R, Delta = r R.
    """

    radius: float
    name = "logistic"
    compiled = 0, ()
    probabilistic = True
    likelihood = True
    link = "log odds"
    estimand = "the penalised maximum-likelihood fit of the log odds, the nearest one where no such model holds"
    ratio = "odds ratio"
    spec_name = "logistic"
    label_domain = SIGNS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """log(1 + exp(-y u))."""
        scores, labels = _scalar.arrays(u, y)
        return np.logaddexp(0.0, -labels * scores)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-y sigma(-y u)."""
        scores, labels = _scalar.arrays(u, y)
        return -labels * np.exp(-np.logaddexp(0.0, labels * scores))

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """sigma(u) sigma(-u), whatever the label."""
        scores, labels = _scalar.arrays(u, y)
        small = np.exp(-np.abs(labels * scores))  # at most 1, so that nothing overflows
        return np.minimum(small / (1.0 + small) ** 2, self.largest_curvature())

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r, G/power = 2 r (1.05163 r in one dimension), M_l = r^2/4, Delta = r R."""
        return _scalar.constants_of_slope(
            self,
            slope=1.0,
            curvature=0.25,
            bound=product_up(self.radius, _scalar.checked_radius(domain_radius)),
            difference=product_up(ONE_DIMENSION, self.radius) if dimension == 1 else None,
            convex=True,
        )

    def zero_slope(self) -> float:
        """1/2, for both labels."""
        return 0.5

    def mode_bound(self, power: float, n: int, precision: float) -> float | None:
        """The radius of `map_radius`, which some data set attains."""
        return map_radius(power, self.radius, precision / n)

    def predict(self, scores: FloatArray) -> FloatArray:
        """P(y = 1) = sigma(u)."""
        return _scalar.two_classes(np.exp(-np.logaddexp(0.0, -scores)))


def map_radius(power: float, radius: float, precision_per_record: float) -> float:
    """Radius R of the smallest ball that holds the mode of every data set under the prior N(0, (n b)^-1 I), rounded up.

    With rho the power, c the bound on the rows and b the prior's precision per record: at the mode b R^2 = rho mean_i u_i
    sigma(-u_i) with u_i = y_i theta.x_i <= c R, and u sigma(-u) is at most W(1/e), attained at u = 1 + W(1/e). So R =
    sqrt(W(1/e) rho/b) if c R >= 1 + W(1/e), else R is the root of R = (rho c/b) sigma(-c R).
    """
    rho, c, b = power, radius, precision_per_record
    flat = math.sqrt(PEAK * rho / b)
    if c * flat >= 1 + PEAK:
        return flat * (1 + 16 * UNIT)
    low, high = 0.0, min(flat, 0.5 * rho * c / b) * (1 + 16 * UNIT)
    # Bisection to neighbouring floats; the factors 1 + 16 u cover the rounding of the few operations.
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if middle * (1 + math.exp(c * middle)) >= rho * c / b:
            high = middle
        else:
            low = middle
    return high * (1 + 16 * UNIT)
