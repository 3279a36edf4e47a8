"""Complementary log-log loss with a clipped derivative."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import BITS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target

# Clipping level of a spec file: reached where a label 0 had a probability of 1 in 55.
_CLIP = 4.0
# For y = 1, phi'' = t (t e^t - e^t + 1)/(e^t - 1)^2 with t = e^u is largest at t = 1.8605: 0.41253161891..., rounded
# up.
POSITIVE_CURVATURE = 0.4126


def _positive_slope(t: FloatArray) -> FloatArray:
    """t/(e^t - 1) for t >= 0: from 1 down to 0."""
    # e^700 is near the largest float; the slope there is 0 to all digits.
    bounded = np.minimum(t, 700.0)
    return np.where(bounded > 0, bounded / np.expm1(np.where(bounded > 0, bounded, 1.0)), 1.0)


def _positive_value(u: FloatArray) -> FloatArray:
    """-log(1 - exp(-e^u)), as -u - log((1 - e^-t)/t) on the left, where it grows like -u."""
    # Beyond u = 6 the value is exp(-e^u) < 1e-175.
    t = np.exp(np.minimum(u, 6.0))
    safe = np.where(t > 0, t, 1.0)
    left = -u - np.log(np.where(t > 0, -np.expm1(-safe) / safe, 1.0))
    return np.where(u < 0, left, -np.log1p(-np.exp(-np.maximum(t, 1.0))))


@lru_cache(maxsize=256)
def _positive_clip_point(clip: float) -> float:
    """Score u at which the slope for y = 1 is `clip`, by bisection in t; minus infinity from clip = 1 on."""
    return -math.inf if clip >= 1 else math.log(_scalar.crossing(_positive_slope, clip, 0.0, 700.0))


@dataclass(frozen=True)
class ClippedCloglog(ScalarLinkLoss):
    """P(y = 1) = 1 - exp(-e^u): phi(u, 0) = e^u and phi(u, 1) = -log(1 - exp(-e^u)), slopes clipped at c.

    For y = 1, -1 < phi' < 0 and phi'' <= 0.41254; for y = 0 phi' = phi'' = e^u has no bound, so phi is continued
    linearly from u = log c on (and for y = 1 as well where c < 1). L = c r, G/power = 2 c r (approached for d >= 2),
    M_l = r^2 max(c, 0.4126). Geumlek et al. 2017 take the slope as bounded by 1.
    """

    radius: float
    clip: float
    name = "clipped-cloglog"
    positive = ("radius", "clip")
    compiled = 7, ("clip",)
    probabilistic = True
    link = "log cumulative hazard"
    estimand = "the penalised complementary log-log fit with slopes clipped at a declared level that few rows reach"
    ratio = "hazard ratio"
    spec_name = "cloglog"
    spec_keys = ("clip",)
    label_domain = BITS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The negative log-likelihood, linear beyond the clipping points."""
        scores, labels = _scalar.arrays(u, y)
        below = np.minimum(scores, math.log(self.clip))
        above = np.maximum(scores, _positive_clip_point(self.clip))
        negative = np.exp(below) + self.clip * (scores - below)
        positive = _positive_value(above) + self.clip * (above - scores)
        return np.where(labels > 0.5, positive, negative)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """min(c, e^u) for y = 0, -min(c, t/(e^t - 1)) for y = 1, t = e^u."""
        scores, labels = _scalar.arrays(u, y)
        negative = np.minimum(self.clip, np.exp(np.minimum(scores, math.log(self.clip))))
        positive = -np.minimum(self.clip, _positive_slope(np.exp(np.minimum(scores, 7.0))))
        return np.where(labels > 0.5, positive, negative)

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """e^u for y = 0 and s (t/(1 - e^-t) - 1) for y = 1, t = e^u and s = t/(e^t - 1); 0 where the slope is clipped."""
        scores, labels = _scalar.arrays(u, y)
        level = math.log(self.clip)
        negative = np.where(scores <= level, np.exp(np.minimum(scores, level)), 0.0)
        # From u = 6.5 on the slope is below 1e-280.
        t = np.exp(np.minimum(scores, 6.5))
        safe = np.where(t > 0, t, 1.0)
        bent = np.where(t > 0, _positive_slope(t) * (safe / -np.expm1(-safe) - 1.0), 0.0)
        positive = np.where(scores > _positive_clip_point(self.clip), bent, 0.0)
        return np.clip(np.where(labels > 0.5, positive, negative), 0.0, self.largest_curvature())

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = c r, G/power = 2 c r, M_l = r^2 max(c, 0.4126); Delta is the spread of phi(u, y) - phi(0, y)."""
        bound, curvature = (
            _scalar.spread(self, self.clip, domain_radius, (0.0, 1.0)),
            max(self.clip, POSITIVE_CURVATURE),
        )
        return _scalar.constants_of_slope(self, slope=self.clip, curvature=curvature, bound=bound, convex=True)

    def predict(self, scores: FloatArray) -> FloatArray:
        """P(y = 1) = 1 - exp(-e^u)."""
        return _scalar.two_classes(-np.expm1(-np.exp(np.minimum(scores, 7.0))))

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> ClippedCloglog:
        """The slope is clipped at 4, unless the spec gives clip."""
        return cls(radius, target.given("clip", _CLIP))
