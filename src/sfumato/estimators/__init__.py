"""Private regression and classification with the interface of scikit-learn. Nothing here is read from the data."""

from __future__ import annotations

from sfumato.estimators.huber_regressor import PrivateHuberRegressor
from sfumato.estimators.linear_regression import PrivateLinearRegression
from sfumato.estimators.linear_svc import PrivateLinearSVC
from sfumato.estimators.logistic_regression import PrivateLogisticRegression
from sfumato.estimators.pipelines import check_pipeline, make_pipeline
from sfumato.estimators.poisson_regressor import PrivatePoissonRegressor
from sfumato.estimators.public_encoder import PublicEncoder
from sfumato.estimators.public_scaler import PublicScaler
from sfumato.estimators.quantile_regressor import PrivateQuantileRegressor

__all__ = [
    "PrivateHuberRegressor",
    "PrivateLinearRegression",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "PrivateQuantileRegressor",
    "PublicEncoder",
    "PublicScaler",
    "check_pipeline",
    "make_pipeline",
]
