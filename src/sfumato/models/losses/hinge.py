"""Hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.models.constants import Constants
from sfumato.models.losses import _scalar
from sfumato.models.losses.labels import SIGNS, Labels
from sfumato.models.losses.protocol import LABELLED_ROW, FloatArray


@dataclass(frozen=True)
class Hinge:
    """phi(u, y) = max(0, 1 - y u), y in {-1, +1}; `derivative` is the subgradient -y [y u < 1].

    L = r, G/power = 2 r (at theta = 0). Convex but not smooth: the sharp theorem covers it, since strong convexity
    there is a statement about chords (Minami et al. 2016 reach the same by a mollifier, Lemma 20); the last-iterate
    theorem does not.
    """

    radius: float
    name: ClassVar[str] = "hinge"
    record: ClassVar[str] = LABELLED_ROW
    dimension: ClassVar[int | None] = None
    label_domain: ClassVar[Labels] = SIGNS

    def __post_init__(self) -> None:
        """Check the radius."""
        object.__setattr__(self, "radius", _validate.positive("radius", self.radius))

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
        return _scalar.constants_of_slope(radius=self.radius, slope=1.0, curvature=math.inf, bound=bound, convex=True)

    def to_json(self) -> dict[str, Any]:
        """{"loss": "hinge", "radius": ...}."""
        return {"loss": self.name, "radius": self.radius}
