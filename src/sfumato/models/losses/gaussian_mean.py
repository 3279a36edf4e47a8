"""Quadratic loss of a mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.models._rounding import product_up, up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.protocol import ROW, FloatArray


@dataclass(frozen=True)
class GaussianMean:
    """l(theta, x) = |theta - x|^2/2, |x| <= r (Minami Theorem 15).

    The gradient theta - x has no bound on R^d (L = r + R on |theta| <= R), but two of them differ by x' - x whatever
    theta is: G/power = 2 r. m_l = M_l = 1. Shifted by |x|^2/2, l is |theta|^2/2 - <theta, x>, so Delta = 2 r R.
    """

    radius: float
    name: ClassVar[str] = "gaussian-mean"
    record: ClassVar[str] = ROW
    dimension: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        """Check the radius."""
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))

    def value(self, theta: ArrayLike, x: ArrayLike) -> FloatArray:
        """|theta - x|^2/2 along the last axis."""
        residual = self.gradient(theta, x)
        value: FloatArray = 0.5 * np.sum(residual * residual, axis=-1)
        return value

    def gradient(self, theta: ArrayLike, x: ArrayLike) -> FloatArray:
        """Return theta - x."""
        parameter, row = _scalar.arrays(theta, x)
        return parameter - row

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r + R, G/power = 2 r, m_l = M_l = 1, Delta = 2 r R."""
        reach = _scalar.checked_radius(domain_radius)
        return Constants(
            lipschitz=reach if math.isinf(reach) else up(Fraction(self.radius) + Fraction(reach)),
            difference=product_up(2.0, self.radius),
            smoothness=1.0,
            strong_convexity=1.0,
            bound=product_up(2.0, self.radius, reach),
            convex=True,
            smooth=True,
        )

    def to_json(self) -> dict[str, Any]:
        """{"loss": "gaussian-mean", "radius": ...}."""
        return {"loss": self.name, "radius": self.radius}
