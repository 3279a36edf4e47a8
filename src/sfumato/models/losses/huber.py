"""Huber loss, which is the clipped squared loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import REALS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target

# Deviation of normal noise over the clipping level: at 1.345 deviations Huber's estimate is 95 % efficient.
NOISE_SHARE = 1 / 1.345


@dataclass(frozen=True)
class Huber(ScalarLinkLoss):
    """With residual e = u - y and y any real number: phi = e^2/2 for |e| <= c, c |e| - c^2/2 beyond.

    phi' = clip(e, -c, c): clipping the gradient of the squared loss per record at c is this loss, so there is one class
    for both names. |phi'| <= c, phi'' <= 1: L = c r, G/power = 2 c r (attained in every dimension), M_l = r^2. Only the
    slope bounds what a record can do, so no bound on the labels is needed; on |theta| <= R, Delta = 2 c r R.
    """

    radius: float
    clip: float
    name = "huber"
    positive = ("radius", "clip")
    compiled = 1, ("clip",)
    spec_name = "linear"
    spec_keys = ("clip",)
    label_domain = REALS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """Half the squared residual, continued linearly beyond the clipping level."""
        scores, labels = _scalar.arrays(u, y)
        residual = scores - labels
        inside = np.clip(residual, -self.clip, self.clip)
        value: FloatArray = 0.5 * inside * inside + self.clip * np.abs(residual - inside)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """clip(u - y, -c, c)."""
        scores, labels = _scalar.arrays(u, y)
        return np.clip(scores - labels, -self.clip, self.clip)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = c r, G/power = 2 c r, M_l = r^2, Delta = 2 c r R."""
        bound = _scalar.slope_bound(self.radius, self.clip, domain_radius)
        return _scalar.constants_of_slope(self, slope=self.clip, curvature=1.0, bound=bound, convex=True)

    def label_limit(self, largest_score: float) -> float:
        """Where every residual is clipped: the largest score plus c."""
        return largest_score + self.clip

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Normal labels about the score, for whose deviation this clipping level is the usual choice."""
        return np.asarray(scores[:, 0] + NOISE_SHARE * self.clip * rng.normal(size=len(scores)))

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> Huber:
        """Residuals are clipped at half the range of the target, unless the spec gives clip."""
        return cls(radius, clip=target.given("clip", (target.number.upper - target.number.lower) / 2))
