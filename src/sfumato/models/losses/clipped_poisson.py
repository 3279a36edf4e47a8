"""Poisson loss with a clipped derivative."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.models._rounding import up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import LabelInterval
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss, Target

# The label bound of a reclipped loss, in clips. Counts of mean m are reclipped at 3 sqrt(m) + m + 1; with normal scores of
# deviation 1 (1.5) and m up to 10, bounding the curvature at four clips takes at most .016 (.13) of its mean.
_REACH = 3.0


@dataclass(frozen=True)
class ClippedPoisson(ScalarLinkLoss):
    """phi(u, y) = e^u - y u (the log-likelihood without log y!), slope e^u - y clipped to [-c, c].

    phi is continued linearly above u = log(y + c) and, where y > c, below u = log(y - c). L = c r, G/power = 2 c r
    (approached for d >= 2). phi'' = e^u <= y + c where it is not 0, so M_l = r^2 (y_max + c) for labels in [0, y_max];
    without a declared `label_bound` there is no M_l, and theorems that need smoothness refuse.
    """

    radius: float
    clip: float
    label_bound: float | None = None
    name = "clipped-poisson"
    compiled = 6, ("clip",)
    link = "log rate"
    estimand = (
        "the penalised maximum-likelihood fit of log rates to counts cut at their bound, whether or not they "
        "scatter as a Poisson law does; a declared clip that many counts reach moves it"
    )
    ratio = "rate ratio"
    spec_name = "poisson"
    spec_keys = ("clip",)

    def __post_init__(self) -> None:
        """Check the radius, the clipping level and the label bound."""
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))
        object.__setattr__(self, "clip", _validate.positive("clip", self.clip))
        if self.label_bound is not None:
            object.__setattr__(self, "label_bound", _validate.positive("label_bound", self.label_bound))

    @cached_property
    def label_domain(self) -> LabelInterval:  # type: ignore[override]
        """[0, label_bound], or every number from 0 on."""
        return LabelInterval(0.0, math.inf if self.label_bound is None else self.label_bound)

    def _inside(self, scores: FloatArray, labels: FloatArray) -> FloatArray:
        """Move u into the range where the slope lies between -c and c."""
        excess = labels - self.clip
        lowest = np.where(excess > 0, np.log(np.where(excess > 0, excess, 1.0)), -np.inf)
        return np.minimum(np.maximum(scores, lowest), np.log(labels + self.clip))

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """e^u - y u inside, linear with slope +-c outside."""
        scores, labels = _scalar.arrays(u, y)
        inside = self._inside(scores, labels)
        value: FloatArray = np.exp(inside) - labels * inside + self.clip * np.abs(scores - inside)
        return value

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """clip(e^u - y, -c, c)."""
        scores, labels = _scalar.arrays(u, y)
        return np.clip(np.exp(self._inside(scores, labels)) - labels, -self.clip, self.clip)

    def curvature(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """e^u where |e^u - y| < c, else 0."""
        scores, labels = _scalar.arrays(u, y)
        inside = self._inside(scores, labels)
        return np.where(inside == scores, np.minimum(np.exp(inside), self.largest_curvature()), 0.0)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = c r, G/power = 2 c r, M_l = r^2 (c + y_max); Delta is the spread over the labels 0 and y_max.

        phi' falls with y, so phi(u, y) - phi(0, y) is extreme at y = 0 or y = y_max for every u, and the least value
        inside is at u = log y_max. Without a label bound the slope -c is approached everywhere and Delta = 2 c r R.
        """
        if self.label_bound is None:
            bound = _scalar.slope_bound(self.radius, self.clip, domain_radius)
            curvature = math.inf
        else:
            turning = math.log(self.label_bound)
            bound = _scalar.spread(self, self.clip, domain_radius, (0.0, self.label_bound), turning)
            curvature = up(Fraction(self.clip) + Fraction(self.label_bound))
        return _scalar.constants_of_slope(self, slope=self.clip, curvature=curvature, bound=bound, convex=True)

    @property
    def counted_labels(self) -> float | None:
        """The declared bound of the labels."""
        return self.label_bound

    def reclipped(self, clip: float) -> ClippedPoisson:
        """The same loss with slopes clipped at `clip`, if that is less, and a label bound of three clips at most.

        Labels may exceed that bound: slopes are clipped for any label, and a curvature e^u above the bound of the new loss
        counts as the bound.
        """
        if not clip < self.clip:
            return self
        bound = None if self.label_bound is None else min(self.label_bound, _REACH * clip)
        return replace(self, clip=clip, label_bound=bound)

    def simulate(self, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Poisson counts of mean e^u, at most the label bound."""
        # numpy's generator refuses means above 9e18; e^30 is 1e13.
        counts = rng.poisson(np.exp(np.clip(scores[:, 0], -30, 30)))
        return np.minimum(counts, self.label_domain.upper).astype(np.float64)

    def predict(self, scores: FloatArray) -> FloatArray:
        """The mean count e^u, at most the label bound."""
        most = self.label_bound
        return np.exp(scores if most is None else np.minimum(scores, math.log(most)))

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> ClippedPoisson:
        """The slope is clipped at the largest declared count, unless the spec gives clip."""
        most = target.number.upper
        return cls(radius, clip=target.given("clip", most), label_bound=most)
