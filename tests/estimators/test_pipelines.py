"""Pipelines of accepted steps: what the estimator gets from the public steps, and the check at every fit."""

from __future__ import annotations

import pickle
import traceback
from collections import deque
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import FeatureUnion
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import (
    Binarizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import sfumato as sf
from sfumato.errors import ArgumentError, PublishError

SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "hours": sf.Number(0, 60),
        "sex": sf.Category(["m", "f"], missing="m"),
        "region": sf.Category(["north", "south", "west"], missing="north"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
NUMBERS = SCHEMA.only(["age", "hours"])
PRICE = {"epsilon": 1.0, "delta": 1e-6}


def people(count: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, count),
            "hours": rng.uniform(0, 60, count),
            "sex": rng.choice(["m", "f"], count),
            "region": rng.choice(["north", "south", "west"], count),
        }
    )
    return frame, (rng.uniform(size=count) < 1 / (1 + np.exp(-0.08 * (frame["age"] - 50)))).to_numpy().astype(int)


FRAME, ILL = people()


def private(**changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(**PRICE).set_params(**changes)


SCALER = sf.PublicScaler(NUMBERS)
CATEGORIES = {"categories": [[-0.5, 0.5]] * 2, "handle_unknown": "ignore", "sparse_output": False}

ACCEPTED = {
    "numbers": [SCALER],
    "products": [SCALER, PolynomialFeatures(2)],
    "norms": [SCALER, Normalizer()],
    "signs": [SCALER, Binarizer(threshold=0.1)],
    "declared categories": [SCALER, OneHotEncoder(**CATEGORIES)],
    "passed through": ["passthrough", SCALER, "passthrough"],
    "nested": [bare_pipeline(sf.make_pipeline(SCALER, Normalizer()), PolynomialFeatures())],
    "union": [FeatureUnion([("a", SCALER), ("b", bare_pipeline(SCALER, Normalizer())), ("c", "drop")])],
    "columns": [
        ColumnTransformer([("a", SCALER, ["age"]), ("b", "drop", ["hours"])], remainder="drop"),
        PolynomialFeatures((2, 2), include_bias=False),
    ],
    "empty column": [ColumnTransformer([("a", SCALER, ["age"]), ("b", sf.PublicEncoder(SCHEMA), [])])],
    "weights": [FeatureUnion([("a", SCALER), ("b", SCALER)], transformer_weights={"b": -3.0})],
    "largest": [SCALER, Normalizer(norm="max")],
}


@pytest.mark.planted
@pytest.mark.parametrize("case", sorted(ACCEPTED))
def test_steps_that_learn_nothing_are_fitted_and_no_row_passes_the_norm(case):
    frame = FRAME[["age", "hours"]].copy()
    frame.iloc[0] = [18.0, 60.0]
    frame.iloc[1] = [90.0, np.inf]
    pipe = sf.make_pipeline(*map(clone_step, ACCEPTED[case]), private(classes=[0, 1], missing_class=0)).fit(frame, ILL)
    norm = pipe[-1]._recipe.data_norm
    rows = pipe[:-1].transform(frame)
    longest = np.linalg.norm(np.asarray(rows, dtype=float), axis=1).max()
    # Products have the loosest bound, at most the root of 2 a degree: sum R^(2k) counts each mixed product twice.
    assert norm / 2 <= longest <= norm
    assert pipe.predict(frame).shape == (400,)
    assert pipe[-1].release_.verify() is pipe[-1].release_


def clone_step(step):
    return step if isinstance(step, str) else clone(step)


def test_the_estimator_takes_norm_names_and_classes_from_the_steps_and_keeps_its_parameters():
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private()).fit(FRAME, ILL)
    last = pipe[-1]
    assert (last.data_norm, last.bounds, last.classes) == (None, None, None)
    assert "_encoded_rows" not in vars(last)
    assert last.classes_.tolist() == [False, True]
    assert last._recipe.data_norm == pipe[0].data_norm_
    summary = str(last.release_.summary())
    assert all(name in summary for name in ("age", "sex=f", "region=south", "region=west"))
    assert pipe.feature_names_in_.tolist() == ["age", "hours", "sex", "region"]
    # Outside the pipeline nothing is known about its rows.
    with pytest.raises(ArgumentError, match=r"data_norm=1.0,"):
        last.fit(pipe[:-1].transform(FRAME), ILL)


def test_names_pass_through_data_frames_too():
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private()).set_output(transform="pandas").fit(FRAME, ILL)
    assert pipe[-1].feature_names_in_.tolist() == ["age", "hours", "sex=f", "region=south", "region=west"]
    assert "region=south" in str(pipe[-1].release_.summary())
    assert pipe.predict_proba(FRAME).shape == (400, 2)


def test_a_number_as_target_gives_the_bounds_of_the_labels():
    schema = SCHEMA.only(["age", "hours"], target="hours")
    for estimator in (sf.PrivateLinearRegression(**PRICE), sf.PrivatePoissonRegressor(**PRICE)):
        pipe = sf.make_pipeline(sf.PublicScaler(schema), estimator).fit(FRAME[["age"]], FRAME["hours"])
        assert pipe[-1]._bounds.upper == 60.0
        assert pipe.predict(FRAME[["age"]]).shape == (400,)
    other = sf.PublicScaler(SCHEMA.only(["hours", "age"], target="age"))
    of_two = ColumnTransformer([("one", sf.PublicScaler(schema), ["age"]), ("two", other, ["hours"])])
    for steps in (sf.PublicScaler(NUMBERS), of_two):  # no target, or two different ones
        with pytest.raises(ArgumentError, match=r"bounds_y=.0, 100.,"):
            sf.make_pipeline(steps, sf.PrivateLinearRegression(**PRICE)).fit(FRAME[["age", "hours"]], ILL)


def test_texts_as_labels_and_more_classes():
    levels = sf.Schema(
        {"age": sf.Number(18, 90), "y": sf.Category(["north", "west", "east"], missing="west")}, target="y"
    )
    labels = np.where(FRAME["age"] < 40, "north", np.where(FRAME["age"] < 60, "east", "somewhere"))
    pipe = sf.make_pipeline(sf.PublicScaler(levels), private(epsilon=300.0, allow_weak=True)).fit(
        FRAME[["age"]], labels
    )
    assert pipe.classes_.tolist() == ["east", "north", "west"]
    assert set(pipe.predict(pd.DataFrame({"age": [18.0, 90.0]}))) == {"north", "west"}


def test_what_the_estimator_declares_goes_first():
    own = sf.make_pipeline(SCALER, private(data_norm=0.25, classes=[0, 1], missing_class=0)).fit(
        FRAME[["age", "hours"]], ILL
    )
    assert own[-1]._recipe.data_norm == 0.25
    assert own[-1].classes_.tolist() == [0, 1]
    with pytest.raises(ArgumentError, match=r"data_norm=1.0,"):
        sf.make_pipeline("passthrough", private(classes=[0, 1], missing_class=0)).fit(FRAME[["age", "hours"]], ILL)


@pytest.mark.planted
def test_the_steps_are_checked_again_at_every_fit():
    pipe = sf.make_pipeline(sf.PublicScaler(NUMBERS), private(classes=[0, 1], missing_class=0))
    pipe.set_params(publicscaler=StandardScaler())
    with pytest.raises(ArgumentError, match=r"'publicscaler' .StandardScaler."):
        pipe.fit(FRAME[["age", "hours"]], ILL)
    coded = sf.make_pipeline(sf.PublicScaler(NUMBERS))
    coded.steps.append(("more", StandardScaler()))
    for fit in (coded.fit, coded.fit_transform):
        with pytest.raises(ArgumentError, match=r"'more' .StandardScaler."):
            fit(FRAME[["age", "hours"]])


def test_a_union_that_passes_columns_through_is_fitted_again_and_has_a_norm():
    """A fitted FeatureUnion keeps a step of its own in place of "passthrough"."""
    union = FeatureUnion([("coded", "passthrough"), ("normalised", Normalizer())])
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), union, private(random_state=1))
    twice = [pipe.fit(FRAME, ILL).named_steps["privatelogisticregression"] for _ in range(2)]
    assert twice[0].coef_.shape == (1, 10)
    norm = sf.PublicEncoder(SCHEMA).fit(FRAME).data_norm_
    assert pipe.named_steps["privatelogisticregression"]._recipe.data_norm == pytest.approx(
        np.hypot(norm, 1.0), rel=1e-9
    )


def test_a_list_is_read_by_a_public_step_alone_and_a_fit_has_no_parameters():
    rows = FRAME[["age", "hours"]].to_numpy().tolist()
    assert sf.make_pipeline(SCALER, private(classes=[0, 1], missing_class=0)).fit([*rows[:-1], "odd"], ILL).predict(
        rows
    ).shape == (400,)
    with pytest.raises(ArgumentError, match=r"persons are declared, .*__groups; got .*__sample_weight"):
        sf.make_pipeline(SCALER, private()).fit(FRAME, ILL, privatelogisticregression__sample_weight=1)


@pytest.mark.parametrize(
    "first", [ColumnTransformer([("a", sf.PublicScaler(bounds=(0, 90)), [0])]), FeatureUnion([("a", SCALER)])]
)
@pytest.mark.parametrize("odd", [[1.0, 2.0], [1.0], None, "x", [[1.0], [2.0]], {"a": 1.0}])
def test_what_scikit_learn_would_make_an_array_is_refused_alike_whatever_one_row_is(first, odd):
    rows = [*FRAME[["age", "hours"]].to_numpy().tolist()[:9], odd]
    coder = sf.make_pipeline(clone(first))
    fitted = clone(coder).fit(FRAME[["age", "hours"]])
    whole = sf.make_pipeline(clone(first), private(classes=[0, 1], missing_class=0))
    made = np.empty(10, dtype=object)
    made[:] = rows
    for X in (rows, tuple(rows), made, deque(rows), csr_array(np.ones((10, 2)))):
        for read in (coder.fit, coder.fit_transform, fitted.transform, lambda X: whole.fit(X, ILL[:10])):
            with pytest.raises(
                ArgumentError, match="X must be a data frame or an array of two dimensions where the first"
            ):
                read(X)


def test_an_error_keeps_no_rows_in_its_traceback():
    X, y = FRAME[["age", "hours"]], ILL
    good, coder = (
        sf.make_pipeline(SCALER, private(classes=[0, 1], missing_class=0)),
        sf.make_pipeline(SCALER, PolynomialFeatures()),
    )
    columns = sf.make_pipeline(ColumnTransformer([("a", SCALER, ["age"])]), private(classes=[0, 1], missing_class=0))
    failing = [
        lambda: clone(good).set_params(publicscaler=StandardScaler()).fit(X, y),
        lambda: good.fit(X, y, privatelogisticregression__sample_weight=y),
        lambda: columns.fit(X.to_numpy().tolist(), y),
        lambda: clone(good).set_params(publicscaler__bounds=(1, 1)).fit(X, y),
        lambda: clone(good).set_params(privatelogisticregression__delta=None).fit(X, y),
        lambda: clone(coder).set_params(polynomialfeatures__degree=-1).fit(X, y),
        lambda: clone(coder).set_params(polynomialfeatures__degree=-1).fit_transform(X, y),
        lambda: clone(coder).set_params(publicscaler=StandardScaler()).fit_transform(X, y),
    ]
    for fit in failing:
        with pytest.raises(ArgumentError) as caught:
            fit()
        frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][2:]
        values = [each for frame in frames for value in frame.f_locals.values() for each in (*inside(value), value)]
        assert not [
            value for value in values if isinstance(value, np.ndarray | pd.DataFrame | list) and len(value) == 400
        ]


def inside(value) -> list:
    """What a dictionary, or the arguments of a postponed call, hold."""
    if isinstance(value, partial):
        return [*value.args, *value.keywords.values()]
    return list(value.values()) if isinstance(value, dict) else []


@pytest.mark.planted
def test_a_fault_of_the_steps_is_shown_in_their_words_and_one_of_a_cell_is_withheld(monkeypatch):
    columns = ColumnTransformer([("a", sf.PublicScaler(SCHEMA), ["agee"])])
    with pytest.raises(ArgumentError, match=r"cannot read X: .* columns? of the dataframe"):
        sf.make_pipeline(columns, private()).fit(FRAME, ILL)
    with pytest.raises(ArgumentError, match="cannot read X: The 'degree' parameter of PolynomialFeatures must be"):
        sf.make_pipeline(SCALER, PolynomialFeatures(-1), private()).fit(FRAME[["age", "hours"]].to_numpy(), ILL)

    def quoting(self, X):
        if len(X) > 1:
            raise RuntimeError("secret cell")
        return X

    monkeypatch.setattr(PolynomialFeatures, "transform", quoting)
    with pytest.raises(ArgumentError, match=r"failed with RuntimeError\. The message is withheld") as caught:
        sf.make_pipeline(SCALER, PolynomialFeatures(), private()).fit(FRAME[["age", "hours"]], ILL)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_pipeline_is_cloned_pickled_and_cross_validated():
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private(epsilon=300.0, allow_weak=True))
    assert np.isfinite(cross_val_score(pipe, FRAME, ILL, cv=2)).all()
    fitted = clone(pipe).fit(FRAME, ILL)
    back = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(back.predict_proba(FRAME), fitted.predict_proba(FRAME))
    assert fitted.score(FRAME, ILL) > 0.6


def test_a_repeated_request_under_another_coding_is_refused(tmp_path):
    """The digest of the declarations is part of the schema's name, so that the ledger compares them."""
    book = sf.Ledger.open(tmp_path / "budget.db")
    book.register("survey", epsilon=3.0, delta=1e-5)
    named = {"ledger": book, "ledger_name": "survey", "request_id": "one", "classes": [0, 1], "missing_class": 0}
    X = FRAME[["age", "hours"]]
    first = sf.make_pipeline(sf.PublicScaler(bounds=(0, 90)), private(**named)).fit(X, ILL)
    again = sf.make_pipeline(sf.PublicScaler(bounds=(0, 90)), private(**named)).fit(X, ILL)
    assert np.array_equal(first[-1].coef_, again[-1].coef_)
    with pytest.raises(PublishError, match="another plan or schema"):
        sf.make_pipeline(sf.PublicScaler(bounds=(0, 100)), private(**named)).fit(X, ILL)


def test_a_pipeline_learns_what_the_estimators_own_bounds_learn():
    """Behind PublicScaler the rows are those of the estimator's own bounds, so a fit with the same seed is the same."""
    X = FRAME[["age", "hours"]]
    bounds = ([18, 0], [90, 60])
    own = private(classes=[0, 1], missing_class=0, bounds=bounds, random_state=3).fit(X, ILL)
    pipe = sf.make_pipeline(SCALER, private(classes=[0, 1], missing_class=0, random_state=3)).fit(X, ILL)
    scale = np.array([72.0, 60.0])
    assert pipe[-1]._recipe.radius == pytest.approx(own._recipe.radius, rel=1e-11)
    assert pipe[-1].coef_[0] == pytest.approx(own.coef_[0] * scale, rel=1e-6)
    assert pipe.predict_proba(X) == pytest.approx(own.predict_proba(X), rel=1e-6)
