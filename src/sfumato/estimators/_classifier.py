"""Base class of the classifiers. Their classes are declared, and as which of them a label counts that is none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin  # type: ignore[import-untyped]

from sfumato.errors import ArgumentError
from sfumato.estimators import _arguments
from sfumato.estimators._encoded import encoded_rows
from sfumato.estimators._fitting import PrivateLinear, Scores
from sfumato.estimators._persons import check_persons, declared_persons
from sfumato.estimators._tables import distinct_labels
from sfumato.models.losses import Loss
from sfumato.schema import Category
from sfumato.schema.columns import Column
from sfumato.schema.outcome import attempt

Array = NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateClassifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """A linear classifier whose classes are declared and never read from the labels."""

    classes: Any = None
    missing_class: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Publish a linear classifier of X (rows, features) with labels y; everything but n comes from declarations.

        X as given; what was done to it before is not known, and the release says so: a scaler that was fitted on the rows, or a
        wrapper that drew or changed them, is covered by no promise. Behind `sf.make_pipeline` the release names the public steps.
        groups: the ids of the rows, given exactly where `persons` is declared; n is then the declared number of persons.
        """
        given = groups is not None
        declared = attempt(self._declared, given)
        if declared.error is not None:
            del X, y, groups  # an error keeps no rows in its traceback
        column, classes, loss_of, scores = declared.get()
        read = attempt(self._read, X, y, groups, column, scores, partial(self._counted, column))
        del X, y, groups  # an error raised from here on keeps no rows in its traceback
        data, recipe = read.get()
        self._release(data, recipe, loss_of, scores)
        self.classes_ = classes
        return self

    def _declared(self, groups: bool) -> tuple[Column, NDArray[Any], Any, Scores]:
        """Check the declarations: the column of the labels, the classes, the loss by radius, and the scores."""
        _arguments.check_declared(self)
        check_persons(self, groups)
        column, classes = declared_classes(self)
        loss_of, outputs = self._loss(len(classes))
        return column, classes, loss_of, Scores(outputs)

    def _counted(self, column: Column, labels: Any) -> Any:
        """Return the labels unchanged. A fit with a seed is not private: it also refuses more labels than were declared."""
        levels = column.levels or ()
        if self.random_state is not None and (count := distinct_labels(column, labels)) > len(levels):
            head = "Only binary classification is supported. " if len(levels) == 2 else ""
            # All labels may differ, and then their number is that of the rows, which is private where persons are declared.
            many = f"{count} different labels and classes declares {len(levels)}"
            if declared_persons(self) is not None:
                many = f"more labels than the {len(levels)} that classes declares"
            raise ArgumentError(
                f"{head}y has {many}. (Only a fit with random_state, which is not private, looks at this: without it such labels "
                "count as the first class.)"
            )
        return labels

    def _loss(self, classes: int) -> tuple[Any, int]:
        """The loss as a function of the radius, and the number of scores per row."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (rows,) for two classes, positive for the second; else (rows, classes)."""
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With the few records of scikit-learn's checks the noise is as large as the signal.
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = self._many()
        return tags

    def _many(self) -> bool:
        """Whether the declared classes are more than two."""
        return self.classes is None or np.size(self.classes) > 2


def declared_classes(estimator: Any) -> tuple[Column, NDArray[Any]]:
    """The column of the labels and the classes in increasing order; labels that are none of them count as declared."""
    rows = encoded_rows(estimator)
    if estimator.classes is None and rows is not None and rows.target is not None and rows.target.levels is not None:
        return _target_classes(rows.target)
    if estimator.classes is None:
        raise _arguments.missing(
            estimator,
            "classes",
            "the list of labels.",
            "classes=[0, 1], missing_class=0,",
        )
    listed = np.asarray(estimator.classes).tolist() if isinstance(estimator.classes, np.ndarray) else estimator.classes
    if not isinstance(listed, list | tuple | range) or len(listed) < 2:
        raise ArgumentError(f"classes must be a list of two or more labels; got {estimator.classes!r}.")
    levels = [_level(label) for label in listed]
    fill = _level(estimator.missing_class)
    if fill is None:
        raise _arguments.missing(
            estimator,
            "missing_class",
            "as which class a label counts that is empty, unreadable or none of the classes.",
            f"missing_class={listed[0]!r},",
        )
    ordered = sorted(range(len(levels)), key=lambda place: _key(levels[place]))
    column = Category([levels[place] for place in ordered], missing=fill)
    if len(column.levels) > len(levels):  # a class of missing labels would be one that no loss counts
        raise ArgumentError(f"missing_class must be one of the classes {listed!r}; got {estimator.missing_class!r}.")
    return column, np.asarray([listed[place] for place in ordered])


def _target_classes(target: Column) -> tuple[Column, NDArray[Any]]:
    """The declared target of a pipeline's schema, its levels in increasing order."""
    if not isinstance(target, Category):
        return target, np.asarray(target.levels)
    ordered: Any = sorted(target.levels, key=_key)
    alias, kind = dict(target.alias), None if len({type(level) for level in ordered}) == 1 else object
    column = Category(ordered, missing=target.missing, alias=alias, fold_case=target.fold_case)
    return column, np.asarray(ordered, dtype=kind)


def _level(label: Any) -> Any:
    """A label as a level: 0.0 and False are the whole number 0."""
    if isinstance(label, bool | np.bool_) or (isinstance(label, float) and label.is_integer()):
        return int(label)
    return label


def _key(level: Any) -> tuple[bool, Any]:
    """Sort key: whole numbers by size, texts alphabetically. `Category` refuses a mixture of both."""
    return isinstance(level, str), level if isinstance(level, str | int | np.integer) else 0


def one_score(loss: Callable[..., Loss], **parameters: float) -> tuple[Any, int]:
    """A loss of one score per row, as a function of the radius."""
    return lambda radius: loss(radius=radius, **parameters), 1
