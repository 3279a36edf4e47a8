"""At a price where noise is nothing, each estimator finds what its loss is least at, in the user's units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import sfumato as sf

N, D = 600, 3
LOWER, UPPER = np.array([-1.0, 0.0, 10.0]), np.array([1.0, 4.0, 30.0])
RICH = {"epsilon": 2000.0, "delta": 1e-5, "allow_weak": True}


@pytest.fixture(scope="module")
def made():
    """Features in their bounds, and a linear signal of standard deviation about 1."""
    rng = np.random.default_rng(5)
    X = rng.uniform(LOWER, UPPER, size=(N, D))
    signal = 1.2 * X[:, 0] - 0.5 * (X[:, 1] - 2) + 0.08 * (X[:, 2] - 20)
    return X, signal, rng


def least(loss, start: np.ndarray) -> np.ndarray:
    """The minimiser of a mean loss, by a general optimiser in units where it is well conditioned."""
    return minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}).x


def affine(X: np.ndarray, parameter: np.ndarray) -> np.ndarray:
    return (X - (LOWER + UPPER) / 2) / (UPPER - LOWER) @ parameter[:-1] + parameter[-1]


def close(found: np.ndarray, oracle: np.ndarray, share: float = 0.05) -> bool:
    """Predictions agree up to a share of the spread of the oracle's."""
    return float(np.sqrt(np.mean((found - oracle) ** 2))) < share * float(oracle.std())


def huber(e, c):
    return np.where(np.abs(e) <= c, e**2 / 2, c * np.abs(e) - c**2 / 2)


def pinball(e, level, width):
    """Smoothed: e = prediction - label; slope clip(e/width, -level, 1 - level)."""
    low, high = -level * width, (1 - level) * width
    return np.where(
        e < low, -level * (e - low / 2), np.where(e > high, (1 - level) * (e - high / 2), e**2 / (2 * width))
    )


REGRESSIONS = [
    (sf.PrivateLinearRegression, {}, lambda e: huber(e, 5.0)),
    (sf.PrivateHuberRegressor, {}, lambda e: huber(e, 2.0)),
    (sf.PrivateHuberRegressor, {"clip": 1.0}, lambda e: huber(e, 1.0)),
    (sf.PrivateQuantileRegressor, {"quantile": 0.8}, lambda e: pinball(e, 0.8, 2.0)),
    (sf.PrivateQuantileRegressor, {"width": 1.0}, lambda e: pinball(e, 0.5, 1.0)),
]


@pytest.mark.planted
@pytest.mark.parametrize(("estimator", "arguments", "loss"), REGRESSIONS)
def test_regressors_find_the_least_loss_in_the_units_of_the_target(made, estimator, arguments, loss):
    X, signal, _ = made
    y = 50 + 2 * signal + np.random.default_rng(6).normal(size=N)
    best = least(lambda t: loss(affine(X, t) - y).mean(), np.array([0.0, 0.0, 0.0, 50.0]))
    fitted = estimator(**RICH, bounds=(LOWER, UPPER), bounds_y=(40, 60), **arguments).fit(X, y)
    oracle = affine(X, best)
    assert close(fitted.predict(X), oracle)
    assert np.allclose(fitted.predict(X), X @ fitted.coef_ + fitted.intercept_)
    assert not close(0.9 * (fitted.predict(X) - 50) + 50, oracle)
    assert not close(fitted.predict(X) + 0.2, oracle)
    assert fitted.coef_.shape == (D,)
    assert isinstance(fitted.intercept_, float)


def test_regression_under_normalise_finds_the_least_loss_of_normalised_rows(made):
    X, signal, _ = made
    y = 50 + 2 * signal
    rows = np.column_stack([(X - (LOWER + UPPER) / 2) / (UPPER - LOWER), np.full(N, np.sqrt(D) / 4)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    best = least(lambda t: huber(rows @ t * 10 + 50 - y, 5.0).mean(), np.zeros(D + 1))
    fitted = sf.PrivateLinearRegression(**RICH, bounds=(LOWER, UPPER), bounds_y=(40, 60), rows="normalise").fit(X, y)
    assert close(fitted.predict(X), rows @ best * 10 + 50)


@pytest.mark.planted
@pytest.mark.parametrize("clip", [None, 3.0])
def test_counts_are_found_on_the_logarithmic_scale(made, clip):
    X, signal, _ = made
    y = np.random.default_rng(7).poisson(np.exp(1.5 + 0.4 * signal))
    c = 10.0 if clip is None else clip

    def loss(t):
        u = affine(X, t)
        inside = np.clip(u, np.log(np.maximum(y - c, 1e-300)), np.log(y + c))
        return (np.exp(inside) - y * inside + c * np.abs(u - inside)).mean()

    best = affine(X, least(loss, np.zeros(D + 1)))
    fitted = sf.PrivatePoissonRegressor(**RICH, bounds=(LOWER, UPPER), bounds_y=(0, 40), clip=clip).fit(X, y)
    assert close(X @ fitted.coef_ + fitted.intercept_, best)
    assert np.allclose(fitted.predict(X), np.exp(X @ fitted.coef_ + fitted.intercept_))
    assert fitted.predict(np.full((1, D), 1e6)).max() <= 40
    assert not close(np.log(2 * fitted.predict(X)), best)


LINKS = [
    (sf.PrivateLogisticRegression, lambda s: np.logaddexp(0, -s)),
    (sf.PrivateLinearSVC, lambda s: np.where(s >= 1, 0, np.where(s <= 0, 0.5 - s, (1 - s) ** 2 / 2))),
]


@pytest.mark.parametrize(("estimator", "loss"), LINKS)
@pytest.mark.parametrize("classes", [[0, 1], ["yes", "no"], [True, False], [-1.0, 1.0]])
def test_two_classes_are_found_whatever_they_are_called(made, estimator, loss, classes):
    X, signal, _ = made
    second = signal + np.random.default_rng(8).logistic(size=N) * 0.5 > 0
    ordered = sorted(classes)
    y = np.where(second, ordered[1], ordered[0])
    sign = np.where(second, 1.0, -1.0)
    best = affine(X, least(lambda t: loss(sign * affine(X, t)).mean(), np.zeros(D + 1)))
    fitted = estimator(**RICH, bounds=(LOWER, UPPER), classes=classes, missing_class=classes[0]).fit(X, y)
    assert fitted.classes_.tolist() == ordered
    assert close(fitted.decision_function(X), best, 0.1)
    assert np.allclose(fitted.decision_function(X), X @ fitted.coef_[0] + fitted.intercept_[0])
    assert fitted.coef_.shape == (1, D)
    assert fitted.score(X, y) > 0.8
    if hasattr(fitted, "predict_proba"):
        assert np.allclose(fitted.predict_proba(X)[:, 1], 1 / (1 + np.exp(-fitted.decision_function(X))))


def test_more_classes_are_found_by_one_softmax(made):
    X, signal, _ = made
    y = np.digitize(signal + 0.3 * np.random.default_rng(9).normal(size=N), [-0.5, 0.5])
    names = np.array(["low", "middle", "high"])

    def scores(t):
        return np.column_stack([affine(X, part) for part in t.reshape(3, D + 1)])

    best = least(lambda t: -log_softmax(scores(t), axis=1)[np.arange(N), y].mean(), np.zeros(3 * (D + 1)))
    fitted = sf.PrivateLogisticRegression(**RICH, bounds=(LOWER, UPPER), classes=list(names), missing_class="low").fit(
        X, names[y]
    )
    assert fitted.classes_.tolist() == ["high", "low", "middle"]
    proba, oracle = fitted.predict_proba(X), np.exp(log_softmax(scores(best), axis=1))[:, [2, 0, 1]]
    assert np.abs(proba - oracle).mean() < 0.02
    assert np.abs(proba[:, [1, 0, 2]] - oracle).mean() > 0.2
    assert np.allclose(proba.sum(axis=1), 1)
    assert fitted.coef_.shape == (3, D)
    assert fitted.decision_function(X).shape == (N, 3)
    assert np.array_equal(fitted.predict(X), fitted.classes_[proba.argmax(axis=1)])


def test_without_an_intercept_the_model_goes_through_the_origin(made):
    X, _, _ = made
    y = X @ [1.0, -0.5, 0.1]
    fitted = sf.PrivateLinearRegression(**RICH, bounds=(LOWER, UPPER), bounds_y=(-4, 4), fit_intercept=False).fit(X, y)
    assert fitted.intercept_ == 0
    assert close(fitted.predict(X), y)
    sign = np.where(y > 0, 1, 0)
    flat = sf.PrivateLogisticRegression(
        **RICH, bounds=(LOWER, UPPER), classes=[0, 1], missing_class=0, fit_intercept=False
    ).fit(X, sign)
    assert flat.intercept_.tolist() == [0.0]
    counts = np.random.default_rng(10).poisson(np.exp(0.3 * y))
    poisson = sf.PrivatePoissonRegressor(**RICH, bounds=(LOWER, UPPER), bounds_y=(0, 10), fit_intercept=False)
    assert poisson.fit(X, counts).intercept_ == 0


def test_a_public_guess_is_the_mean_of_the_prior_in_the_models_coordinates(made):
    """The coefficients of 50 + 2 signal, written in the user's units, are where the chain starts."""
    X, signal, _ = made
    y = 50 + 2 * signal
    guess = np.array([2.4, -1.0, 0.16, 50 + 2.0 - 3.2])
    fitted = sf.PrivateLinearRegression(**RICH, bounds=(LOWER, UPPER), bounds_y=(40, 60), prior=guess).fit(X, y)
    mean = np.array(fitted.plan_.model.prior.mean)
    scaled = (X - (LOWER + UPPER) / 2) / (UPPER - LOWER)
    constant = np.sqrt(D) / 4
    assert np.allclose(50 + 10 * (scaled @ mean[:D] + constant * mean[D]), y)
    assert np.allclose(fitted.predict(X), y, atol=0.05)
    classes = [0, 1, 2]
    many = sf.PrivateLogisticRegression(
        1.0, 1e-6, data_norm=1.0, classes=classes, missing_class=classes[0], prior=np.ones((3, D + 1))
    )
    assert many.fit(X, np.zeros(N)).plan_.model.prior.mean == (1.0, 1.0, 1.0, 2.0) * 3


def test_a_prior_of_the_models_own_coordinates_is_used_as_it_is(made):
    X, signal, _ = made
    prior = sf.priors.Gaussian(precision=3.0)
    fitted = sf.PrivateLogisticRegression(1.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0, prior=prior).fit(
        X, signal > 0
    )
    assert fitted.plan_.model.prior == prior
