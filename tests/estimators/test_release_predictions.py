"""A release made by an estimator predicts in the user's units, and agrees with the estimator's own predictions."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.estimators import (
    PrivateHuberRegressor,
    PrivateLinearRegression,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateQuantileRegressor,
)
from sfumato.queries import functionals, predict

RNG = np.random.default_rng(5)
X = pd.DataFrame({"age": RNG.uniform(20, 80, 3_000), "income": RNG.uniform(0, 5, 3_000)})
SCORE = 0.05 * (X["age"] - 50) - 0.5 * (X["income"] - 2.5)
NEW = pd.DataFrame({"age": [25.0, 50.0, 75.0], "income": [4.5, 2.0, 0.0]})
DECLARED = {"epsilon": 20.0, "delta": 1e-6, "bounds": [(20, 80), (0, 5)], "random_state": 3}
YES = RNG.random(3_000) < 1 / (1 + np.exp(-SCORE))
MONEY = np.clip(40 + 8 * SCORE + 3 * RNG.normal(size=3_000), 10, 90)
COUNTS = np.minimum(RNG.poisson(np.exp(1 + 0.3 * SCORE)), 20)


def fitted(kind, labels, **more):
    return kind(**{**DECLARED, **more}).fit(X, labels)


@pytest.mark.parametrize(
    ("kind", "labels", "more"),
    [
        (PrivateLinearRegression, MONEY, {"bounds_y": (10, 90)}),
        (PrivateLinearRegression, MONEY, {"bounds_y": (10, 90), "fit_intercept": False}),
        (PrivateLinearRegression, MONEY, {"bounds_y": (10, 90), "data_norm": 200.0, "bounds": None}),
        (PrivateHuberRegressor, MONEY, {"bounds_y": (10, 90)}),
        (PrivateQuantileRegressor, MONEY, {"bounds_y": (10, 90), "quantile": 0.7}),
        (PrivatePoissonRegressor, COUNTS, {"bounds_y": (0, 20)}),
        (PrivatePoissonRegressor, COUNTS, {"bounds_y": (0, 20), "fit_intercept": False}),
    ],
)
def test_means_are_those_of_the_estimator(kind, labels, more):
    made = fitted(kind, labels, **more)
    wanted = made.predict(NEW)
    assert np.ptp(wanted) > 1, "rows differ, so that a wrong scale would show"
    for rows in (NEW, NEW.to_numpy(), NEW.to_numpy().tolist(), NEW.to_dict("list"), NEW[["income", "age"]]):
        assert np.allclose(made.release_.predict(public_rows=rows), wanted, rtol=1e-9)
    given = made.release_.predict_interval(public_rows=NEW)
    assert np.allclose(given.estimate, wanted, rtol=2e-2)
    assert ((given.lower <= given.estimate) & (given.estimate <= given.upper)).all()


@pytest.mark.parametrize("labels", [YES.astype(int), np.where(YES, "well", "ill")])
def test_probabilities_are_those_of_the_estimator(labels):
    classes = sorted(set(labels.tolist()))
    made = fitted(PrivateLogisticRegression, labels, classes=classes, missing_class=classes[0])
    for rows in (NEW, NEW.to_numpy()):
        assert np.allclose(made.release_.predict_proba(public_rows=rows), made.predict_proba(NEW), rtol=1e-9)
        assert list(made.release_.predict(public_rows=rows)) == list(made.predict(NEW))
    assert np.allclose(
        made.release_.predict_interval(public_rows=NEW).estimate, made.predict_proba(NEW)[:, 1], rtol=1e-2
    )


def test_several_classes_and_votes_are_those_of_the_estimator():
    three = np.digitize(SCORE, [-0.7, 0.7])
    many = fitted(PrivateLogisticRegression, three, classes=[0, 1, 2], missing_class=0)
    assert np.allclose(many.release_.predict_proba(public_rows=NEW), many.predict_proba(NEW), rtol=1e-9)
    votes = fitted(PrivateLinearSVC, YES.astype(int), classes=[0, 1], missing_class=0)
    assert list(votes.release_.predict(public_rows=NEW)) == list(votes.predict(NEW))


def test_ends_of_a_mean_and_an_answer_are_in_the_user_s_units():
    """Labels from 10 to 90 were scaled to [-1, 1]: variances in the target's units are 1,600 times those of the model."""
    made = fitted(PrivateLinearRegression, MONEY, bounds_y=(10, 90)).release_
    documents = made.draws, made.plan, made.schema
    features = predict.encoded(predict.read(*documents), NEW)
    ends = 50 + 40 * functionals.ends(*documents, features, 0.9)
    given = made.predict_interval(public_rows=NEW)
    assert np.allclose([given.lower, given.upper], ends, rtol=1e-9)
    answer = made.predict_interval(public_rows=NEW, of="answer")
    deviation = functionals.deviations(*documents, features)
    scatter = 1600 * (functionals.residual_variance(made.draws, made.plan) + deviation**2)
    inside = (answer.lower > 10) & (answer.upper < 90)
    assert inside.all()
    assert np.allclose(answer.upper - answer.lower, 2 * 1.6448536 * np.sqrt(scatter), rtol=1e-6)
    covered = made.predict_interval(public_rows=X, of="answer")
    share = ((covered.lower <= MONEY) & (covered.upper >= MONEY)).mean()
    # 8 % of the residual variance is 1.4 % in coverage; four standard errors of a share of .9 over 3,000 rows are 2.2 %.
    assert abs(share - 0.9) < 0.036


def test_answers_of_counts_are_whole_in_the_user_s_units():
    made = fitted(PrivatePoissonRegressor, COUNTS, bounds_y=(0, 20)).release_
    answer = made.predict_interval(public_rows=X, of="answer")
    assert (answer.lower == np.rint(answer.lower)).all()
    assert (answer.upper == np.rint(answer.upper)).all()
    assert answer.upper.max() <= 20
    share = ((answer.lower <= COUNTS) & (answer.upper >= COUNTS)).mean()
    # Counts are whole, so that an interval may hold more than nine in ten; four standard errors below it.
    assert 0.9 - 4 * math.sqrt(0.09 / 3_000) < share < 0.99


def test_numbers_outside_the_bounds_are_clipped_and_counted_and_texts_refused():
    made = fitted(PrivateLinearRegression, MONEY, bounds_y=(10, 90)).release_
    outside = made.predict_interval(public_rows={"age": [100.0, 50.0], "income": [1.0, None]})
    assert outside.note == ("1 cell of age lies outside 20 to 80 and was clipped; 1 empty cell of income counts as 2.5")
    inside = made.predict_interval(public_rows={"age": [80.0, 50.0], "income": [1.0, 2.5]})
    assert np.array_equal(outside.estimate, inside.estimate)
    with pytest.raises(
        ArgumentError, match=r"row 2 .*column 'income': 'much' is no finite number; income runs from 0 to 5"
    ):
        made.predict(public_rows={"age": [30.0, 50.0], "income": [1.0, "much"]})
    with pytest.raises(ArgumentError, match="lacks column 'income'"):
        made.predict(public_rows={"age": [30.0]})
    with pytest.raises(ArgumentError, match="X must have 2 columns, age, income; got 3"):
        made.predict(public_rows=np.zeros((1, 3)))


def test_normalised_rows_with_an_appended_constant_are_refused_and_others_agree():
    labels = YES.astype(int)
    with pytest.raises(ArgumentError, match="use the estimator's own predict"):
        fitted(PrivateLogisticRegression, labels, classes=[0, 1], missing_class=0, rows="normalise").release_.predict(
            public_rows=NEW
        )
    made = fitted(
        PrivateLogisticRegression, labels, classes=[0, 1], missing_class=0, rows="normalise", fit_intercept=False
    )
    assert np.allclose(made.release_.predict_proba(public_rows=NEW), made.predict_proba(NEW), rtol=1e-9)


def test_a_release_of_an_older_version_has_no_units_and_is_refused():
    made = fitted(PrivateLinearRegression, MONEY, bounds_y=(10, 90)).release_
    old = sf.Schema.from_json(made.schema["document"])
    bare = sf.Schema.vector(2, old.data_norm, old.columns["target"], old.name, old.unit, old.rows)
    with pytest.raises(ArgumentError, match="use the estimator's own predict"):
        predict.read(made.draws, made.plan, {**made.schema, "document": bare.to_json()})
