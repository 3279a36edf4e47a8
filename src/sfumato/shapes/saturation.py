"""A gradient of a loss whose curvature falls with the size of the scores, taken back to that of a quadratic loss.

For normal scores and a link with the curvature of a normal density the mean gradient at y, of records drawn at the optimum x,
is, up to a linear map,

    y (1 + b |y|^2)^(-1/2) - x (1 + b |x|^2)^(-1/2).

Along y its derivative is (1 + b |y|^2)^(-3/2), across it (1 + b |y|^2)^(-1/2), so the quotient of the two curvatures at the
published average gives b. Lengths are relative to the average's: |y| = 1 there. Positions that wander around the average with
total variance w add w to |y|^2, and the part of the optimum across the average adds its square to |x|^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.shapes.published import Array


@dataclass(frozen=True)
class Saturation:
    """The curvatures along and across the average, and the variance w of positions around it over its squared length."""

    along: float
    across: float
    wander: float

    @property
    def bend(self) -> float:
        """The b of the formula, 0 for a quadratic loss."""
        return max(self.across / self.along - 1.0, 0.0) if self.along > 0 else 0.0

    def force(self, place: float, extra: float) -> float:
        """The gradient's value for a vector of length `place` along the average and sqrt(extra) across it."""
        start = self.along * math.pow(1.0 + self.bend, 1.5)
        return start * place / math.sqrt(1.0 + self.bend * (place**2 + extra))


def straightened(loss: Saturation, u: Array, average: Array, mean: Array, spread: float) -> Array:
    """The u = C average - gradient that a quadratic loss with the same optimum would show.

    `mean` and `spread` are the optimum's posterior mean and total variance: the correction is read at them. Along the average
    the quadratic loss has the force along * (1 - place), across it the optimum's force has the curvature of the average.
    """
    square = float(average @ average)
    if not loss.bend > 0 or not square > 0:
        return u
    # Beyond these places the form of the link, not its curvature at the average, would decide.
    place = min(max(float(average @ mean) / square, 0.5), 2.0)
    part = mean - (float(average @ mean) / square) * average
    extra = (float(part @ part) + spread) / square
    # Where the optimum is as uncertain as the average is long, the correction is one by noise: it fades out.
    trust = 1.0 / (1.0 + 4.0 * extra**2)
    inside = float(average @ u) / square
    curved = loss.force(1.0, loss.wander) - loss.force(place, extra)
    scale = math.sqrt((1.0 + loss.bend * (place**2 + extra)) / (1.0 + loss.bend))
    along = inside + curved - loss.along * (1.0 - place)
    fixed: Array = scale * (u - inside * average) + along * average
    return u + trust * (fixed - u)
