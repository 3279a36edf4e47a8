"""Private Poisson regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.estimators._fitting import Scores
from sfumato.estimators._regressor import Labels, PrivateRegressor
from sfumato.models.losses import ClippedPoisson, Loss
from sfumato.schema import Number

# With an intercept, counts are measured in units of a quarter of their bound, so that the start (score 0) predicts a count
# between the extremes. The default `clip` is a quarter of the bound.
_UNIT, _CLIP = 0.25, 0.25


@dataclass(eq=False, repr=False, kw_only=True)
class PrivatePoissonRegressor(PrivateRegressor):
    """Regression of counts with a logarithmic link, under (epsilon, delta)-differential privacy.

    The mean count is exp(coef . x + intercept). The gradient of the Poisson likelihood is unbounded: the residual of a
    record counts at most as `clip`, which keeps the loss convex.

    bounds_y: (0, the largest count); counts beyond are clipped, and no prediction is larger.
    clip: in counts; by default a quarter of the largest count. The other arguments and the attributes are those of
        `PrivateLinearRegression`; `coef_` and `intercept_` are on the logarithmic scale.
    """

    clip: float | None = None

    def _labels(self, bounds: Number) -> Labels:
        if bounds.lower < 0:
            raise ArgumentError(f"bounds_y of counts must not be below 0; got {self.bounds_y!r}.")
        # e^u - y = unit (e^(u - log unit) - y/unit): other units move the intercept and nothing else.
        unit = bounds.upper * _UNIT if self.fit_intercept else 1.0
        return Labels(bounds, 0.0, unit, 0.0, bounds.upper / unit, Scores(1, math.log(unit), 1.0))

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        clip = labels.high * _CLIP if self.clip is None else _validate.positive("clip", self.clip) / labels.unit
        return lambda radius: ClippedPoisson(radius=radius, clip=clip, label_bound=labels.high)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted mean counts, at most the declared bound."""
        scores = self._linear(X)[:, 0]
        return np.asarray(np.exp(np.minimum(scores, math.log(self._bounds.upper))))
