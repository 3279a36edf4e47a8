"""The sums of n rows, from a sketch of m public rows that stand for them: every sum is multiplied by n/m.

A procedure of regressions sees its rows only through sums divided by n, so on this engine it does what it would do on n rows of
the sketch's kind: the noise, the map and the steps are those of its plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.protocol import LabelScale
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]


class ScaledEngine:
    """An engine over m rows whose sums stand for n rows. Nothing that is computed with it is private, or a release."""

    def __init__(self, engine: Any, n: int) -> None:
        """`engine` is that of the sketch; n is the number of rows of the plan."""
        self.n, self.additions = n, engine.additions
        self.labels: tuple[str, ...] = engine.labels
        self.dimension: int = engine.dimension
        self._engine, self._factor = engine, n / engine.n

    def gradient(self, theta: Array) -> Array:
        """Sum of the gradients at each of (chains, d) parameters."""
        return np.asarray(self._factor * self._engine.gradient(theta))

    def moments(self, radius: float, label: LabelScale | None = None) -> Array:
        """Sum of the second moments of the rows."""
        return np.asarray(self._factor * self._engine.moments(radius, label))

    def residual_shares(self, theta: Array, edges: Array) -> Array:
        """How many rows have a residual in each cell."""
        return np.asarray(self._factor * self._engine.residual_shares(theta, edges))

    def weighed(self, matrix: Array, bend: float, loss: Loss | None = None) -> ScaledWeighed:
        """The same rows with weights."""
        return ScaledWeighed(self._engine.weighed(matrix, bend, loss), self.n, self._factor)


class ScaledWeighed:
    """Weighted rows whose sums stand for n rows."""

    def __init__(self, weighed: Any, n: int, factor: float) -> None:
        """`weighed` are the weighted rows of the sketch."""
        self.n, self.additions = n, weighed.additions
        self.labels: tuple[str, ...] = weighed.labels
        self.dimension: int = weighed.dimension
        self._weighed, self._factor = weighed, factor

    def gradient(self, theta: Array) -> Array:
        """Sum of the weighted gradients."""
        return np.asarray(self._factor * self._weighed.gradient(theta))

    def second_sums(self, theta: Array, scores: bool) -> tuple[Array, Array | None, float]:
        """Sums of curvatures and of squared scores."""
        curved, squared, scale = self._weighed.second_sums(theta, scores)
        return self._factor * curved, None if squared is None else self._factor * squared, self._factor * scale
