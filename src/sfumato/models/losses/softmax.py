"""Softmax (multinomial logistic) loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError
from sfumato.models._rounding import product_up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import Labels, LabelSet
from sfumato.models.losses.protocol import FloatArray, Loss, Target

# The float nearest to sqrt(2) lies above it.
_SQRT2 = math.sqrt(2.0)


@dataclass(frozen=True)
class Softmax(Loss):
    """l(Theta, (x, y)) = log sum_k exp(s_k) - s_y, scores s = Theta x, Theta of shape (classes, features).

    The parameter is Theta flattened, so its dimension is classes * features. The gradient is (p - e_y) x' and
    |p - e_y|^2 = (1-p_y)^2 + sum_{k != y} p_k^2 <= 2, so L = sqrt(2) r and G/power = 2 sqrt(2) r (approached with two
    or more features). diag(p) - p p' has norm at most 1/2, so M_l = r^2/2. Labels are 0, ..., classes - 1.

    There is no clipped softmax: unlike a scalar link, scaling (p - e_y) x' down per record destroys convexity (for
    three classes the clipped field is not monotone), and with it the last-iterate theorem.
    """

    radius: float
    classes: int
    name = "softmax"
    probabilistic = True
    link = "log odds against the first class"
    estimand = "the penalised maximum-likelihood fit of log odds against the first class; there are no intervals"
    ratio = "odds ratio"
    spec_name = "multinomial"

    def __post_init__(self) -> None:
        """Check the radius and the number of classes."""
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))
        object.__setattr__(self, "classes", _validate.whole("classes", self.classes, minimum=2))

    @cached_property
    def label_domain(self) -> Labels:  # type: ignore[override]
        """0, ..., classes - 1."""
        return LabelSet(range(self.classes))

    @cached_property
    def outputs(self) -> int:  # type: ignore[override]
        """One score for each class."""
        return self.classes

    def value_at(self, scores: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return log sum_k exp(s_k) - s_y, the last axis of `scores` running over the classes."""
        s = self._relative(scores, y)
        top = s.max(axis=-1, keepdims=True)
        total: FloatArray = top[..., 0] + np.log(np.exp(s - top).sum(axis=-1))
        return total

    def residual(self, scores: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return p - e_y, of the shape of `scores`; the gradient in Theta is its outer product with x."""
        s = self._relative(scores, y)
        weights = np.exp(s - s.max(axis=-1, keepdims=True))
        difference: FloatArray = weights / weights.sum(axis=-1, keepdims=True) - self._indicator(y)
        return difference

    def slope_at(self, scores: FloatArray, y: ArrayLike) -> FloatArray:
        """The residual p - e_y."""
        return self.residual(scores, y)

    def predict(self, scores: FloatArray) -> FloatArray:
        """P(y = k) = exp(s_k)/sum_j exp(s_j)."""
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def _indicator(self, y: ArrayLike) -> FloatArray:
        return np.asarray(np.asarray(y)[..., None] == np.arange(self.classes), dtype=np.float64)

    def _relative(self, scores: ArrayLike, y: ArrayLike) -> FloatArray:
        # Scores minus that of the true class: the loss is their log-sum-exp, with no cancellation left.
        s = np.asarray(scores, dtype=np.float64)
        true = np.sum(np.where(self._indicator(y) > 0, s, 0.0), axis=-1, keepdims=True)
        return np.asarray(s - true, dtype=np.float64)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = sqrt(2) r, G/power = 2 sqrt(2) r, M_l = r^2/2; Delta from `_bound`."""
        if dimension is not None and dimension % self.classes:
            raise ArgumentError(
                f"dimension of a softmax model is classes * features, a multiple of {self.classes}; got {dimension}."
            )
        return Constants(
            lipschitz=product_up(_SQRT2, self.radius),
            difference=product_up(2.0, _SQRT2, self.radius),
            smoothness=product_up(0.5, self.radius, self.radius),
            strong_convexity=0.0,
            bound=self._bound(_scalar.checked_radius(domain_radius)),
            convex=True,
            smooth=True,
        )

    def _bound(self, domain_radius: float) -> float:
        """log(1 + (K-1) e^a) - log(1 + (K-1) e^-b), a = sqrt(2) r R, b = r R sqrt(K/(K-1)); exact for K = 2.

        The scores have norm at most r R, so no s_k - s_y exceeds a; and by Jensen's inequality sum_{k != y} exp(s_k -
        s_y) is at least (K-1) exp(mean_{k != y} s_k - s_y) >= (K-1) exp(-b).
        """
        longest = product_up(self.radius, domain_radius)
        if not 0 < longest < math.inf:
            return longest
        others = self.classes - 1
        a, b = _SQRT2 * longest, longest * math.sqrt(self.classes / others)
        most, least = float(np.logaddexp(0.0, math.log(others) + a)), float(np.logaddexp(0.0, math.log(others) - b))
        # An absolute error of a few ulp of the larger term covers logaddexp, log and the products.
        return most - least + 16 * 2.0**-53 * (most + least + 1.0)

    @classmethod
    def from_spec(cls, radius: float, target: Target) -> Softmax:
        """A class for each level of the target, which must have three or more."""
        if target.levels < 3:
            raise FormatError("a multinomial regression needs a Category of three levels or more as its target.")
        return cls(radius, classes=target.levels)
