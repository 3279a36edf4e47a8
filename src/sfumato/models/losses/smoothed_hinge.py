"""Smoothed hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models._rounding import inverse_up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target


@dataclass(frozen=True)
class SmoothedHinge(ScalarLinkLoss):
    """The hinge with its kink replaced by a parabola of width w: with s = y u and y in {-1, +1},

        phi = 0 for s >= 1,   (1 - s)^2/(2w) for 1 - w <= s <= 1,   1 - s - w/2 below;

    the Moreau envelope of the hinge (Rennie's smooth hinge at w = 1), at most w/2 below it. |phi'| <= 1, phi'' <= 1/w:
    L = r, G/power = 2 r, M_l = r^2/w.
    """

    radius: float
    width: float
    name = "smoothed-hinge"
    estimand = "the penalised fit of least smoothed hinge loss: it separates two classes; coefficients are no log odds"
    positive = ("radius", "width")
    compiled = 2, ("width",)
    spec_name = "svm"
    label_domain = SIGNS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """Integral of the smoothed slope."""
        scores, labels = _scalar.arrays(u, y)
        gap = 1.0 - labels * scores
        inside = np.clip(gap, 0.0, self.width)
        value: FloatArray = 0.5 * inside * (inside / self.width) + np.maximum(gap - self.width, 0.0)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-y clip((1 - y u)/w, 0, 1)."""
        scores, labels = _scalar.arrays(u, y)
        return -labels * (np.clip(1.0 - labels * scores, 0.0, self.width) / self.width)

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """1/w where 0 < 1 - y u < w, else 0."""
        scores, labels = _scalar.arrays(u, y)
        gap = 1.0 - labels * scores
        return np.where((gap > 0.0) & (gap < self.width), min(1.0 / self.width, self.largest_curvature()), 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r, G/power = 2 r, M_l = r^2/w, Delta = phi(-r R) - phi(r R)."""
        bound = _scalar.spread(self, 1.0, domain_radius, (-1.0, 1.0))
        return _scalar.constants_of_slope(self, slope=1.0, curvature=inverse_up(self.width), bound=bound, convex=True)

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> SmoothedHinge:
        """A width of half the margin."""
        return cls(radius, width=0.5)
