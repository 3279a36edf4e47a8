"""Private logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.estimators._classifier import PrivateClassifier, one_score
from sfumato.models.losses import Logistic, Softmax

Array = NDArray[np.float64]


class PrivateLogisticRegression(PrivateClassifier):
    """Logistic regression under (epsilon, delta)-differential privacy; with more than two classes, multinomial.

    The released parameter is the tail average of a noisy-gradient path on the logistic (softmax) loss, whose steps are all
    paid for. Everything but the number of records comes from the declarations.

    epsilon, delta: the price of the fit. delta has no default: choose it far below one in the number of records.
    data_norm: the largest Euclidean norm of a row; or
    bounds: (lower, upper), a tuple of numbers or arrays, or a list of one pair per feature; features are scaled to
        [-1/2, 1/2], and data_norm, if given too, is then the norm of the scaled row.
    classes: the labels. missing_class: the one as which a label counts that is empty, unreadable or none of them.
    fit_intercept: whether there is a constant term. It is counted in the radius that the price rests on.
    rows: "clip" shortens rows longer than data_norm; "normalise" brings all rows, the constant included, to one norm.
    prior: a prior deviation: of the effect of a feature from its lower bound to its upper (without bounds, of the score of the
        longest row); or one of sf.priors in the model's own coordinates; or a public guess, `coef_` with `intercept_` last.
    persons: an sf.Persons where one person may have several rows; `fit` then takes their ids as `groups`, and the promise is to a
        person with all of their rows. Where rows are averaged the fit is `robust` too.
    unit: what a record is called in the promise and in the ledger, such as "patient"; by default "row", or "person" with persons.
    ledger, ledger_name, request_id: where the price is charged before anything is drawn.
    robust: whether the matrix of the scores is released too, for a tenth of the price: release_.interval(include="robust").
    allow_weak: whether an epsilon above 50 or a delta of 1/(10 n) or more is allowed; every form of the promise then states it.
    random_state: None for a private fit. A whole number makes a fit that can be repeated and is NOT PRIVATE.

    After `fit`: release_, plan_, guarantee_, classes_ (in increasing order), coef_ (1 or classes, features), intercept_,
    n_iter_, n_features_in_, feature_names_in_. coef_ is for predictions (the average of the noisy path); release_.summary() has
    estimates with intervals.
    """

    def _loss(self, classes: int) -> tuple[Any, int]:
        if classes == 2:
            return one_score(Logistic)
        return lambda radius: Softmax(radius=radius, classes=classes), classes

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, in the order of `classes_`."""
        scores = self._linear(X)
        return np.asarray(self.plan_.task.model.loss.predict(scores))
