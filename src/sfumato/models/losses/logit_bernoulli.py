"""Bernoulli likelihood in logit form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ArgumentError
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import LABEL, FloatArray, ScalarLinkLoss


@dataclass(frozen=True)
class LogitBernoulli(ScalarLinkLoss):
    """l(theta, x) = -x theta + log(1 + e^theta), theta real, x in [0, 1]: the log odds of a rate (Minami Example 17).

    A scalar link whose record is its own label and whose only feature is the constant 1. |l'| = |sigma(theta) - x| <= 1
    and l'' <= 1/4. Two records differ by (x' - x) theta, so G/power = 1, not 2, and Delta = R on |theta| <= R.
    """

    name = "logit-bernoulli"
    estimand = "the log odds of the labels; there are no intervals"
    record = LABEL
    dimension = 1
    radius = 1.0
    positive = ()
    score_name = "log odds"
    label_domain = LabelInterval(0.0, 1.0)

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return y log(1 + e^-u) + (1 - y) log(1 + e^u), which is log(1 + e^u) - y u."""
        scores, labels = _scalar.arrays(u, y)
        return labels * np.logaddexp(0.0, -scores) + (1.0 - labels) * np.logaddexp(0.0, scores)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """sigma(u) - y."""
        scores, labels = _scalar.arrays(u, y)
        return np.exp(-np.logaddexp(0.0, -scores)) - labels

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = 1, G/power = 1, M_l = 1/4, Delta = R."""
        if dimension not in (None, 1):
            raise ArgumentError(f"dimension must be 1 for the logit-bernoulli loss; got {dimension!r}.")
        bound = _scalar.checked_radius(domain_radius)
        return _scalar.constants_of_slope(self, slope=1.0, curvature=0.25, bound=bound, difference=1.0, convex=True)

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Labels 1 with probability sigma(u), else 0."""
        share = 1 / (1 + np.exp(-np.clip(scores[:, 0], -500, 500)))
        return (rng.random(len(scores)) < share).astype(np.float64)
