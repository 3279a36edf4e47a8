"""Smoothed quantile loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models._rounding import inverse_up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import REALS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target


@dataclass(frozen=True)
class SmoothedQuantile(ScalarLinkLoss):
    """With e = u - y, y any real number: phi' = clip(e/w, -tau, 1 - tau), phi its integral from 0.

    The Moreau envelope of the quantile loss: the kink becomes a parabola on [-tau w, (1 - tau) w] and the least value
    stays at e = 0. |phi'| <= s = max(tau, 1 - tau), phi'' <= 1/w: L = s r, G/power = 2 s r, M_l = r^2/w. On |theta| <=
    R, Delta = 2 s r R.
    """

    radius: float
    quantile: float
    width: float
    name = "smoothed-quantile"
    positive = ("radius", "width")
    proportions = ("quantile",)
    compiled = 5, ("quantile", "width")
    link = "quantile"
    estimand = "the penalised fit of least smoothed quantile loss, off the quantile by a part of the smoothing width"
    effect_deviation = None
    spec_name = "quantile"
    spec_keys = ("quantile",)
    label_domain = REALS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """e^2/(2w) near 0, continued linearly."""
        scores, labels = _scalar.arrays(u, y)
        residual = scores - labels
        inside = np.clip(residual, -self.quantile * self.width, (1.0 - self.quantile) * self.width)
        value: FloatArray = (inside / self.width) * (residual - 0.5 * inside)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """clip((u - y)/w, -tau, 1 - tau)."""
        scores, labels = _scalar.arrays(u, y)
        inside = np.clip(scores - labels, -self.quantile * self.width, (1.0 - self.quantile) * self.width)
        return np.clip(inside / self.width, -self.quantile, 1.0 - self.quantile)

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """1/w where -tau w < u - y < (1 - tau) w, else 0."""
        scores, labels = _scalar.arrays(u, y)
        residual = scores - labels
        inside = (residual > -self.quantile * self.width) & (residual < (1.0 - self.quantile) * self.width)
        return np.where(inside, min(1.0 / self.width, self.largest_curvature()), 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = s r, G/power = 2 s r, M_l = r^2/w, Delta = 2 s r R with s = max(tau, 1 - tau)."""
        slope = max(self.quantile, 1.0 - self.quantile)
        bound = _scalar.slope_bound(self.radius, slope, domain_radius)
        curvature = inverse_up(self.width)
        return _scalar.constants_of_slope(self, slope=slope, curvature=curvature, bound=bound, convex=True)

    def label_limit(self, largest_score: float) -> float:
        """Where every slope is -tau or 1 - tau: the largest score plus w."""
        return largest_score + self.width

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Asymmetric Laplace labels, whose tau-quantile is the score."""
        return _scalar.asymmetric_laplace(scores[:, 0], self.quantile, rng)

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> SmoothedQuantile:
        """The median unless the spec gives a quantile, smoothed over a tenth of the range of the target."""
        half = (target.number.upper - target.number.lower) / 2
        return cls(radius, target.given("quantile", 0.5), width=half / 5)
