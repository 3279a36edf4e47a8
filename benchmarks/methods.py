"""The fits that `utility.py` compares: each takes (rows, labels, epsilon, seed) and returns a function that scores rows.

Rows have norm at most 1 and contain their constant. Sfumato's own fits ignore the seed: their noise cannot be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfumato as sf
from sfumato.estimators import PrivateLinearRegression, PrivateLogisticRegression

# Of published comparisons, above 1/(10 n) here: the default's own runs allow it by name.
DELTA = 1e-5
Score = Callable[[Any], Any]
Method = Callable[[Any, Any, float, int], Score]


def linear_score(theta: Any) -> Score:
    """Scores of rows under one parameter."""
    return lambda rows: rows @ theta


def logistic_estimator(rows: Any, labels: Any, epsilon: float, classes: list[Any]) -> PrivateLogisticRegression:
    """The estimator as a stranger would use it on rows whose norm is known to be at most 1."""
    known: dict[str, Any] = {"data_norm": 1.0, "classes": classes, "fit_intercept": False}
    model = PrivateLogisticRegression(epsilon, DELTA, allow_weak=True, **known)
    return model.fit(rows, labels)


def default_logistic(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """Sfumato's default for two classes."""
    return logistic_estimator(rows, labels, epsilon, [-1.0, 1.0]).decision_function


def default_linear(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """Sfumato's default linear regression, labels declared to lie in [-1, 1]."""
    known: dict[str, Any] = {"data_norm": 1.0, "bounds_y": (-1.0, 1.0), "fit_intercept": False}
    model = PrivateLinearRegression(epsilon, DELTA, allow_weak=True, **known)
    return model.fit(rows, labels).predict


def published(model: sf.Gibbs, target: Any, rows: Any, labels: Any, epsilon: float, **choices: Any) -> Score:
    """The mean of what a plan for this model publishes."""
    schema = sf.Schema.vector(rows.shape[1], data_norm=1.0, target=target)
    plan = sf.plan(model, len(rows), epsilon, DELTA, allow_weak=True, **choices)
    return linear_score(sf.publish(plan, sf.Dataset.from_arrays(rows, labels, schema=schema)).mean())


def estimators_model(loss: Any, d: int) -> sf.Gibbs:
    """The model of an estimator: its prior weighs as much as a twenty-fifth of one record."""
    return sf.Gibbs(loss, sf.priors.Gaussian(loss.constants(d).smoothness / 25), d)


def plain_logistic(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """The plain noisy-gradient path, in the rows' own coordinates."""
    model = estimators_model(sf.losses.Logistic(radius=1.0), rows.shape[1])
    choices = {"mechanism": "langevin-path", "goal": "estimate"}
    return published(model, sf.Category([-1, 1], missing=-1), rows, labels.astype(int), epsilon, **choices)


def plain_linear(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """The plain path on squares; a residual counts at most as a quarter of the width of the labels' bounds."""
    model = estimators_model(sf.losses.Huber(radius=1.0, clip=0.5), rows.shape[1])
    choices = {"mechanism": "langevin-path", "goal": "estimate"}
    return published(model, sf.Number(-1, 1), rows, labels, epsilon, **choices)


def tempered(mechanism: str) -> Method:
    """One draw of the diffused or concentrated posterior, run by the chain at its own price; prior precision n/1000."""

    def fit(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
        n, d = rows.shape
        model = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(1e-3 * n), d)
        return published(
            model, sf.Category([-1, 1], missing=-1), rows, labels.astype(int), epsilon, mechanism=mechanism
        )

    return fit


def rival(module: Any, setting: dict[str, Any]) -> Method:
    """A rival's fit at one setting."""

    def fit(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
        return linear_score(module.fit(rows, labels, epsilon, DELTA, seed, **setting))

    return fit


def free_logistic(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """Logistic regression without privacy."""
    found = LogisticRegression(C=100.0, fit_intercept=False, max_iter=2000).fit(rows, labels)
    return linear_score(found.coef_[0])


def free_linear(rows: Any, labels: Any, epsilon: float, seed: int) -> Score:
    """Least squares without privacy."""
    return linear_score(LinearRegression(fit_intercept=False).fit(rows, labels).coef_)


def classified(scores: Any, labels: Any, free: Any) -> dict[str, float]:
    """Quantities of a logistic regression on held-out rows; `free` are the scores of the fit without privacy."""
    return {
        "test error": float(np.mean(np.where(scores > 0, 1.0, -1.0) != labels)),
        "log-likelihood": -float(np.logaddexp(0, -labels * scores).mean()),
        "coefficient error": float(np.sqrt(np.mean((scores - free) ** 2))),
    }


def regressed(scores: Any, labels: Any, free: Any) -> dict[str, float]:
    """Quantities of a linear regression on held-out rows."""
    return {
        "R^2": 1 - float(np.mean((labels - scores) ** 2) / np.var(labels)),
        "coefficient error": float(np.sqrt(np.mean((scores - free) ** 2))),
    }
