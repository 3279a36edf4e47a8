"""Quantile (pinball) loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import REALS
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss


@dataclass(frozen=True)
class Quantile(ScalarLinkLoss):
    """With e = u - y, y any real number and quantile tau: phi = -tau e for e < 0, (1 - tau) e for e >= 0.

    Its mean is least where u is the tau-quantile of y. |phi'| <= s = max(tau, 1 - tau): L = s r and G/power = 2 s r,
    attained by two opposite rows on the steep side. Convex but not smooth. On |theta| <= R, Delta = 2 s r R.
    """

    radius: float
    quantile: float
    name = "quantile"
    proportions = ("quantile",)
    compiled = 4, ("quantile",)
    link = "quantile"
    estimand = "the penalised fit of least quantile loss; the loss has a kink, and there are no intervals"
    effect_deviation = None
    label_domain = REALS

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-tau e or (1 - tau) e."""
        scores, labels = _scalar.arrays(u, y)
        residual = scores - labels
        return np.maximum(-self.quantile * residual, (1.0 - self.quantile) * residual)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-tau for u < y, 1 - tau for u >= y (a subgradient at the kink)."""
        scores, labels = _scalar.arrays(u, y)
        return np.where(scores < labels, -self.quantile, 1.0 - self.quantile)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = s r, G/power = 2 s r, Delta = 2 s r R with s = max(tau, 1 - tau); not smooth."""
        slope = max(self.quantile, 1.0 - self.quantile)
        bound = _scalar.slope_bound(self.radius, slope, domain_radius)
        return _scalar.constants_of_slope(self, slope=slope, curvature=math.inf, bound=bound, convex=True)

    def label_limit(self, largest_score: float) -> float:
        """Where every score lies on the same side of the label: the largest score."""
        return largest_score

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Asymmetric Laplace labels, whose tau-quantile is the score."""
        return _scalar.asymmetric_laplace(scores[:, 0], self.quantile, rng)
