"""One declared instance of every estimator, and data that suits it."""

from __future__ import annotations

import numpy as np

import sfumato as sf

# So large an epsilon that a check on ten records can tell what was learned.
DECLARED = {"epsilon": 300.0, "delta": 1e-5, "data_norm": 2.0, "allow_weak": True}

CLASSIFIERS = [
    sf.PrivateLogisticRegression(**DECLARED, classes=[0, 1], missing_class=0),
    sf.PrivateLinearSVC(**DECLARED, classes=[0, 1], missing_class=0),
]
REGRESSORS = [
    sf.PrivateLinearRegression(**DECLARED, bounds_y=(-3, 3)),
    sf.PrivateHuberRegressor(**DECLARED, bounds_y=(-3, 3)),
    sf.PrivateQuantileRegressor(**DECLARED, bounds_y=(-3, 3)),
    sf.PrivatePoissonRegressor(**DECLARED, bounds_y=(0, 10)),
]
ESTIMATORS = CLASSIFIERS + REGRESSORS


def name(estimator) -> str:
    return type(estimator).__name__


def rows(count: int = 60, width: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features, and labels that every estimator takes: 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(count, width))
    return X, (X[:, 0] + 0.3 * rng.normal(size=count) > 0).astype(int)
