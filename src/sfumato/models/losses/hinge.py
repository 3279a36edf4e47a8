"""Hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss


@dataclass(frozen=True)
class Hinge(ScalarLinkLoss):
    """phi(u, y) = max(0, 1 - y u), y in {-1, +1}; `derivative` is the subgradient -y [y u < 1].

    L = r, G/power = 2 r (at theta = 0). Convex but not smooth: the sharp theorem covers it, since strong convexity
    there is a statement about chords (Minami et al. 2016 reach the same by a mollifier, Lemma 20); the last-iterate
    theorem does not.
    """

    radius: float
    name = "hinge"
    estimand = "the penalised fit of least hinge loss; the loss has a kink, and there are no intervals"
    compiled = 3, ()
    label_domain = SIGNS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """max(0, 1 - y u)."""
        scores, labels = _scalar.arrays(u, y)
        return np.maximum(0.0, 1.0 - labels * scores)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-y where y u < 1, else 0."""
        scores, labels = _scalar.arrays(u, y)
        return np.where(labels * scores < 1.0, -labels, 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r, G/power = 2 r, Delta = r R + min(1, r R); not smooth."""
        bound = _scalar.spread(self, 1.0, domain_radius, (-1.0, 1.0))
        return _scalar.constants_of_slope(self, slope=1.0, curvature=math.inf, bound=bound, convex=True)

    def mode_bound(self, power: float, n: int, precision: float) -> float | None:
        """Return sqrt(power n/m): at the mode m |theta|^2 = power sum_i -u_i phi'(u_i), and -u phi'(u) <= 1."""
        return math.sqrt(power * n / precision)
