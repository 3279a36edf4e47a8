"""Base class of the regressors. Labels are clipped to the declared bounds of the target and scaled before the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin  # type: ignore[import-untyped]

from sfumato.estimators import _arguments
from sfumato.estimators._fitting import PrivateLinear, Scores
from sfumato.estimators._persons import check_persons
from sfumato.models.losses import Loss
from sfumato.schema import Number
from sfumato.schema.encoding import encode
from sfumato.schema.outcome import attempt
from sfumato.schema.read_rows import open_labels

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """Scaling of labels: (y - shift)/unit lies in [low, high]. `scores` converts the model's scores back."""

    bounds: Number
    shift: float
    unit: float
    low: float
    high: float
    scores: Scores

    def column(self) -> Number:
        """The column of the scaled labels."""
        return Number(self.low, self.high)

    def scaled(self, y: Any) -> Array:
        """Clip the labels to the declared bounds, then scale; a label that is no number counts as the middle."""
        count, read = open_labels("y", self.bounds, y)
        values = encode(self.bounds, read(0, count)).values
        return np.asarray(np.clip((values - self.shift) / self.unit, self.low, self.high))


def symmetric(bounds: Number, centred: bool) -> Labels:
    """Scale labels to [-1, 1] about the middle of the bounds; about 0 if there is no intercept to absorb the middle."""
    middle = bounds.lower / 2 + bounds.upper / 2 if centred else 0.0
    half = max(bounds.upper - middle, middle - bounds.lower)
    return Labels(bounds, middle, half, -1.0, 1.0, Scores(1, middle, half))


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRegressor(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """A linear regression on a target with declared bounds."""

    bounds_y: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Publish a linear regression of X (rows, features) on y; everything but n comes from declarations.

        X as given; what was done to it before is not known, and the release says so: a scaler that was fitted on the rows, or a
        wrapper that drew or changed them, is covered by no promise. Behind `sf.make_pipeline` the release names the public steps.
        groups: the ids of the rows, given exactly where `persons` is declared; n is then the declared number of persons.
        """
        given = groups is not None
        declared = attempt(self._declared, given)
        if declared.error is not None:
            del X, y, groups  # an error keeps no rows in its traceback
        bounds, labels = declared.get()
        loss_of = self._loss(labels)
        read = attempt(self._read, X, y, groups, labels.column(), labels.scores, labels.scaled)
        del X, y, groups  # an error raised from here on keeps no rows in its traceback
        data, recipe = read.get()
        self._release(data, recipe, loss_of, labels.scores)
        self.coef_ = self.coef_[0]
        self.intercept_ = float(self.intercept_[0])
        self._bounds = bounds
        return self

    def _declared(self, groups: bool) -> tuple[Number, Labels]:
        """Check the declarations: the bounds of the labels, and how these are scaled."""
        _arguments.check_declared(self)
        check_persons(self, groups)
        bounds = _arguments.label_bounds(self)
        return bounds, self._labels(bounds)

    def _labels(self, bounds: Number) -> Labels:
        return symmetric(bounds, self.fit_intercept)

    def _loss(self, labels: Labels) -> Callable[[float], Loss]:
        """The loss of scaled labels, as a function of the radius."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Predicted values of the target, in its own units."""
        return self._linear(X)[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With the few records of scikit-learn's checks the noise is as large as the signal.
        tags.regressor_tags.poor_score = True
        return tags
