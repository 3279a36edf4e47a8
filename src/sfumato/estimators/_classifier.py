"""Classifiers: a declared list of classes, of which the first is what a label that is none of them counts as."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.estimators import _arguments
from sfumato.estimators._fitting import PrivateLinear, Scores
from sfumato.estimators._tables import distinct_labels
from sfumato.models.losses import Loss
from sfumato.schema import Category
from sfumato.schema.outcome import attempt

Array = NDArray[np.float64]


class PrivateClassifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """A linear classifier of declared classes."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float | None = None,
        *,
        data_norm: float | None = None,
        bounds: Any = None,
        classes: Any = None,
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
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.rows = rows
        self.prior = prior
        self.ledger = ledger
        self.ledger_name = ledger_name
        self.request_id = request_id
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Publish a linear classifier of X (rows, features) with labels y; everything but n comes from declarations."""
        _arguments.check_declared(self)
        column, classes = declared_classes(self)
        loss_of, outputs = self._loss(len(classes))
        scores = Scores(outputs)
        read = attempt(self._read, X, y, column, scores, partial(self._seen, column))
        del X, y  # an error raised from here on keeps no rows in its traceback
        data, recipe = read.get()
        self._release(data, recipe, loss_of, scores)
        self.classes_ = classes
        return self

    def _seen(self, column: Category, labels: Any) -> Any:
        """Return the labels as they are. Those of a fit with a seed, which protects nobody, are also counted."""
        if self.random_state is not None:
            _check_seeded_labels(distinct_labels(column, labels), len(column.levels))
        return labels

    def _loss(self, classes: int) -> tuple[Any, int]:
        """The loss for a radius, and how many scores a row has."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (rows,) for two classes, positive for the second; else (rows, classes)."""
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        found = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[found])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Among few records the noise is as large as what there is to learn.
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = self._many()
        return tags

    def _many(self) -> bool:
        """Whether the declared classes are more than two."""
        return self.classes is None or np.size(self.classes) > 2


def declared_classes(estimator: Any) -> tuple[Category, NDArray[Any]]:
    """Return the column of the labels and the classes in increasing order; the first one declared stands for the rest."""
    if estimator.classes is None:
        raise _arguments.missing(
            estimator,
            "classes",
            "the list of labels; a label that is none of them counts as the first.",
            "classes=[0, 1],",
        )
    listed = np.asarray(estimator.classes).tolist() if isinstance(estimator.classes, np.ndarray) else estimator.classes
    if not isinstance(listed, list | tuple | range) or len(listed) < 2:
        raise ArgumentError(f"classes must be a list of two or more labels; got {estimator.classes!r}.")
    levels = [_level(label) for label in listed]
    ordered = sorted(range(len(levels)), key=lambda place: _key(levels[place]))
    column = Category([levels[place] for place in ordered], missing=levels[0])
    return column, np.asarray([listed[place] for place in ordered])


def _level(label: Any) -> Any:
    """A label as a level: 0.0 and False are the whole number 0."""
    if isinstance(label, bool | np.bool_) or (isinstance(label, float) and label.is_integer()):
        return int(label)
    return label


def _key(level: Any) -> tuple[bool, Any]:
    """Order whole numbers by size and texts by their letters; levels of two kinds are refused by the column."""
    return isinstance(level, str), level if isinstance(level, str | int | np.integer) else 0


def _check_seeded_labels(found: int, classes: int) -> None:
    """A seeded fit protects nobody and may say what a private one must not: y has more labels than were declared."""
    if found > classes:
        head = "Only binary classification is supported. " if classes == 2 else ""
        raise ArgumentError(
            f"{head}y has {found} different labels and classes declares {classes}. (Only a fit with random_state, which is "
            "not private, looks at this: without it such labels count as the first class.)"
        )


def one_score(loss: Callable[..., Loss], **parameters: float) -> tuple[Any, int]:
    """A loss of one score per row, as a function of the radius."""
    return lambda radius: loss(radius=radius, **parameters), 1
