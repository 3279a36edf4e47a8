"""Logistic loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.models._rounding import product_up
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS, Labels
from sfumato.models.losses.protocol import LABELLED_ROW, FloatArray

# max over t of max_z - min_z of z/(1 + exp(t z)), |z| <= 1. The minimum is -sigma(t), at z = -1; the maximum is s
# sigma(-s)/t with s sigma(s) = 1 once t >= s. The sum is largest at t = 4.0316: 1.05163399154533 (rounded up).
ONE_DIMENSION = 1.05163399154533


@dataclass(frozen=True)
class Logistic:
    """phi(u, y) = log(1 + exp(-y u)), y in {-1, +1}.

    phi' = -y sigma(-y u), |phi'| < 1; phi'' <= 1/4. So L = r, M_l = r^2/4 and G/power = 2 r, approached for d >= 2 by
    two nearly opposite rows that a long theta gets both wrong. In d = 1 such rows do not exist: G/power = 1.05163 r
    exactly. On |theta| <= R, Delta = r R.
    """

    radius: float
    name: ClassVar[str] = "logistic"
    record: ClassVar[str] = LABELLED_ROW
    dimension: ClassVar[int | None] = None
    label_domain: ClassVar[Labels] = SIGNS

    def __post_init__(self) -> None:
        """Check the radius."""
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))

    def value(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """log(1 + exp(-y u))."""
        scores, labels = _scalar.arrays(u, y)
        return np.logaddexp(0.0, -labels * scores)

    def derivative(self, u: ArrayLike, y: ArrayLike) -> FloatArray:
        """-y sigma(-y u)."""
        scores, labels = _scalar.arrays(u, y)
        return -labels * np.exp(-np.logaddexp(0.0, labels * scores))

    def constants(self, dimension: int | None = None, domain_radius: float = math.inf) -> Constants:
        """L = r, G/power = 2 r (1.05163 r in one dimension), M_l = r^2/4, Delta = r R."""
        return _scalar.constants_of_slope(
            radius=self.radius,
            slope=1.0,
            curvature=0.25,
            bound=product_up(self.radius, _scalar.checked_radius(domain_radius)),
            difference=product_up(ONE_DIMENSION, self.radius) if dimension == 1 else None,
            convex=True,
        )

    def to_json(self) -> dict[str, Any]:
        """{"loss": "logistic", "radius": ...}."""
        return {"loss": self.name, "radius": self.radius}
