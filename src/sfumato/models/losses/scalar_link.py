"""A user's own scalar-link loss, whose declared constants are attacked before it is accepted."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models._rounding import product_up, up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar, pairs
from sfumato.models.losses.attack import attack_link
from sfumato.models.losses.labels import LabelInterval, Labels, LabelSet
from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss

Link = Callable[[FloatArray, FloatArray], ArrayLike]


@dataclass(frozen=True)
class ScalarLink(ScalarLinkLoss):
    """l(theta, (x, y)) = value(<theta, x>, y), |x| <= radius, with constants that you declare and construction attacks.

    `value` and `derivative` (of value, in u) take two arrays of one shape and return an array of that shape. `labels`
    is a finite list of numbers, or a bounded `LabelInterval`. You declare |derivative| <= derivative_bound, that the
    derivative is non-decreasing (`convex`) and that its difference quotients are at most curvature_bound (None: not
    smooth). Construction searches |u| <= search_radius and the labels for a witness against each of these, and raises
    `LossRejected` with it. A search is no proof: between its points and beyond `search_radius` the declaration is
    trusted.

    A derivative that reaches its bound up to rounding passes: engines clip it to the bound.

    In one dimension two smaller numbers may be declared, which are attacked too: |derivative(0, y)| <=
    `derivative_bound_at_zero`, and `difference_bound`, which is not below the distance of the gradients of any two records
    at one theta, for |x| <= 1. In more dimensions opposite rows are 2 derivative_bound apart.

    L = derivative_bound r, G/power = 2 derivative_bound r (difference_bound r in one dimension), M_l = curvature_bound r^2,
    Delta = 2 derivative_bound r R.
    """

    value_function: Link
    derivative_function: Link
    label_domain: Labels
    radius: float
    derivative_bound: float
    curvature_bound: float | None
    convex: bool
    name: str
    derivative_bound_at_zero: float
    difference_bound: float
    search_radius: float

    def __init__(
        self,
        value: Link,
        derivative: Link,
        labels: Labels | Iterable[float],
        radius: float,
        derivative_bound: float,
        curvature_bound: float | None = None,
        *,
        convex: bool,
        name: str = "custom",
        search_radius: float = 1e4,
        derivative_bound_at_zero: float | None = None,
        difference_bound: float | None = None,
    ) -> None:
        """Check the arguments, then attack the loss."""
        if not callable(value) or not callable(derivative):
            raise ArgumentError(f"value and derivative must be functions of (u, y); got {value!r} and {derivative!r}.")
        if not isinstance(convex, bool):
            raise ArgumentError(f"convex must be True or False; got {convex!r}.")
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"name must be a non-empty string; got {name!r}.")
        if not (isinstance(search_radius, (int, float)) and search_radius >= 1):
            raise ArgumentError(f"search_radius must be 1 or greater; got {search_radius!r}.")
        curvature = None if curvature_bound is None else _validate.positive("curvature_bound", curvature_bound)
        steepest = _validate.positive("derivative_bound", derivative_bound)
        at_zero, most = derivative_bound_at_zero, difference_bound
        zero = (
            steepest if at_zero is None else min(steepest, _validate.non_negative("derivative_bound_at_zero", at_zero))
        )
        # Gradients of a convex loss in one dimension fill at most [-zero, steepest] or its mirror image.
        apart = up(Fraction(steepest) + Fraction(zero if convex else steepest))
        parts = {
            "value_function": value,
            "derivative_function": derivative,
            "label_domain": _label_domain(labels),
            "radius": _validate.positive("radius", radius),
            "derivative_bound": steepest,
            "curvature_bound": curvature,
            "convex": convex,
            "name": name,
            "search_radius": _validate.finite("search_radius", search_radius),
            "derivative_bound_at_zero": zero,
            "difference_bound": apart if most is None else min(apart, _validate.positive("difference_bound", most)),
        }
        vars(self).update(parts)
        attack_link(self)
        pairs.attack(self, 1, math.inf)

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The user's value."""
        scores, labels = np.broadcast_arrays(*_scalar.arrays(u, y))
        return np.asarray(self.value_function(scores, labels), dtype=np.float64)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """The user's derivative."""
        scores, labels = np.broadcast_arrays(*_scalar.arrays(u, y))
        return np.asarray(self.derivative_function(scores, labels), dtype=np.float64)

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """The declared bounds times the powers of the radius."""
        return _scalar.constants_of_slope(
            self,
            slope=self.derivative_bound,
            curvature=math.inf if self.curvature_bound is None else self.curvature_bound,
            bound=_scalar.slope_bound(self.radius, self.derivative_bound, domain_radius),
            difference=product_up(self.difference_bound, self.radius) if dimension == 1 else None,
            convex=self.convex,
        )

    def zero_slope(self) -> float:
        """As declared."""
        return self.derivative_bound_at_zero

    @property
    def fingerprint(self) -> str:
        """Hash of the derivative at fixed points to nine digits, so that two functions give plans of different digests."""
        ends = (
            self.label_domain.values
            if isinstance(self.label_domain, LabelSet)
            else (self.label_domain.lower, self.label_domain.upper)
        )
        u = np.concatenate([np.linspace(-5.0, 5.0, 41), [-self.search_radius, self.search_radius]])
        slopes = [f"{slope:.9g}" for label in ends for slope in self.derivative(u, np.full(u.shape, label))]
        return hashlib.sha256(",".join(slopes).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return what was declared; the functions themselves are not stored, only their fingerprint."""
        return {
            "loss": "custom",
            "name": self.name,
            "labels": self.label_domain.to_json(),
            "radius": self.radius,
            "derivative_bound": self.derivative_bound,
            "curvature_bound": self.curvature_bound,
            "convex": self.convex,
            "search_radius": self.search_radius,
            "derivative_bound_at_zero": self.derivative_bound_at_zero,
            "difference_bound": self.difference_bound,
            "fingerprint": self.fingerprint,
        }


def _label_domain(labels: Labels | Iterable[float]) -> Labels:
    domain = labels if isinstance(labels, (LabelSet, LabelInterval)) else LabelSet(labels)
    if isinstance(domain, LabelInterval) and not domain.bounded:
        raise ArgumentError(f"labels must be a finite list or a bounded LabelInterval, to be searched; got {domain}.")
    return domain
