"""Regressors: declared bounds of the target, by which labels are scaled before the loss sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin  # type: ignore[import-untyped]

from sfumato.estimators import _arguments
from sfumato.estimators._fitting import PrivateLinear, Scores
from sfumato.models.losses import Loss
from sfumato.schema import Number
from sfumato.schema.encoding import encode
from sfumato.schema.outcome import attempt
from sfumato.schema.read_rows import open_labels

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """Labels in [lower, upper] as (y - shift)/unit, in [low, high]; scores of the model back by `scores`."""

    bounds: Number
    shift: float
    unit: float
    low: float
    high: float
    scores: Scores

    def column(self) -> Number:
        """The target that the model sees."""
        return Number(self.low, self.high)

    def scaled(self, y: Any) -> Array:
        """Clip to the declared bounds (no number: their middle), then scale."""
        count, read = open_labels("y", self.bounds, y)
        values = encode(self.bounds, read(0, count)).values
        return np.asarray(np.clip((values - self.shift) / self.unit, self.low, self.high))


def symmetric(bounds: Number, centred: bool) -> Labels:
    """Labels in [-1, 1] about the middle of the bounds; about 0 where there is no intercept to hold the middle."""
    middle = bounds.lower / 2 + bounds.upper / 2 if centred else 0.0
    half = max(bounds.upper - middle, middle - bounds.lower)
    return Labels(bounds, middle, half, -1.0, 1.0, Scores(1, middle, half))


class PrivateRegressor(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """A linear regression on a target with declared bounds."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        data_norm: float | None = None,
        bounds: Any = None,
        bounds_y: Any = None,
        fit_intercept: bool = True,
        rows: str = "clip",
        prior: Any = None,
        ledger: Any = None,
        ledger_name: str | None = None,
        request_id: str | None = None,
        random_state: int | None = None,
    ) -> None:
        """Keep the arguments as they are; `fit` checks them."""
        self.epsilon = epsilon
        self.delta = delta
        self.data_norm = data_norm
        self.bounds = bounds
        self.bounds_y = bounds_y
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.prior = prior
        self.ledger = ledger
        self.ledger_name = ledger_name
        self.request_id = request_id
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Publish a linear regression of X (rows, features) on y; everything but n comes from declarations."""
        _arguments.check_declared(self)
        labels = self._labels(_arguments.label_bounds(self))
        loss_of = self._loss(labels)
        read = attempt(self._read, X, y, labels.column(), labels.scores, labels.scaled)
        del X, y  # an error raised from here on keeps no rows in its traceback
        data, recipe = read.get()
        self._release(data, recipe, loss_of, labels.scores)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])
        return self

    def _labels(self, bounds: Number) -> Labels:
        return symmetric(bounds, self.fit_intercept)

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        """The loss for a radius, on scaled labels."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Predicted values of the target, in its own units."""
        return self._linear(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Among few records the noise is as large as what there is to learn.
        tags.regressor_tags.poor_score = True
        return tags
