"""What a falling curvature does to a path and to its gradients.

For normal scores and a link with the curvature of a normal density the mean gradient at y, of a record drawn at the optimum x,
is, up to a linear map,

    y (1 + b |y|^2)^(-1/2) - x (1 + b |x|^2)^(-1/2).

Along y its derivative is (1 + b |y|^2)^(-3/2), across it (1 + b |y|^2)^(-1/2): the quotient of the two curvatures at the
published average gives b. Lengths here are relative to the average's, so |y| = 1 there. Noise of variance w around the average
adds w to |y|^2, and the part m of the optimum across the average adds m to its |x|^2. A path on this loss starts fast and slows
down; a linear filter with the curvature at its end would take it to be far from its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.shapes.published import Array, Published

# Optima that are tried, relative to the average: beyond 4 the path says nothing about its end.
_TRIED = np.geomspace(0.5, 4.0, 121)
# The quotient of the curvatures along and across the average is kept above this: score deviations up to 5.
_LEAST = 0.1


@dataclass(frozen=True)
class Loss:
    """The loss along the average: curvatures along and across it, noise around the average, ridge term and centre."""

    along: float
    across: float
    wander: float
    ridge: float
    centre: float

    @property
    def bend(self) -> float:
        """The b of the module's formula, 0 for a quadratic loss."""
        return max(min(self.across / max(self.along, _LEAST * self.across, 1e-300), 1.0 / _LEAST) - 1.0, 0.0)

    @property
    def factor(self) -> float:
        """The curvature at the start."""
        return self.along * (1.0 + self.bend) ** 1.5

    def goal(self, place: Array | float, miss: float) -> Array | float:
        """The force towards an optimum at `place` along the average and sqrt(miss) across it."""
        return self.factor * place / np.sqrt(1.0 + self.bend * (place**2 + miss))

    def force(self, place: Array | float) -> Array | float:
        """The force at a position along the average, with the path's noise around it."""
        return self.factor * place / np.sqrt(1.0 + self.bend * (place**2 + self.wander))


def reach(published: Published, loss: Loss, miss: float) -> tuple[float, Array]:
    """The optimum along the average that the path's end implies over that of a quadratic loss; and the curvature's profile.

    The profile is the curvature across the average, step by step, over its value at the average.
    """
    flat = np.ones(published.steps)
    if not loss.bend > 0:
        return 1.0, flat
    goal = loss.goal(_TRIED, miss)
    y, v = np.zeros_like(_TRIED), np.zeros_like(_TRIED)
    path = np.zeros((published.steps, len(_TRIED)))
    for step in range(published.steps):
        path[step] = y
        v = published.momentum * v + loss.force(y) - goal + loss.ridge * (y - loss.centre)
        y = y - published.rate * v
    means = np.maximum.accumulate(path[-published.tail :].mean(axis=0))
    place = float(np.interp(1.0, means, np.arange(len(means))))
    nearest = path[:, round(place)]
    profile: Array = np.sqrt((1.0 + loss.bend) / (1.0 + loss.bend * (nearest**2 + loss.wander)))
    return float(np.interp(place, np.arange(len(means)), _TRIED)), profile


def straightened(loss: Loss, u: Array, unit: Array, length: float, place: float, miss: float) -> Array:
    """u = C average - gradient, with the gradient of the loss replaced by that of its tangent at the average.

    Along the average the tangent's u would be the curvature times `place`; across it the optimum's force is that of the
    average's curvature, scaled.
    """
    if not loss.bend > 0:
        return u
    inside = float(unit @ u)
    seen = loss.along - (loss.force(1.0) - loss.goal(place, miss))
    scale = np.sqrt((1.0 + loss.bend * (place**2 + miss)) / (1.0 + loss.bend))
    across = scale * (u - inside * unit)
    fixed: Array = across + (inside + length * (loss.along * place - float(seen))) * unit
    return fixed
