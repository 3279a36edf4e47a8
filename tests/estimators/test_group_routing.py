"""Ids of persons on their way to a fit: through pipelines, cross-validation and searches, with metadata routing and without."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from estimator_cases import ESTIMATORS, name
from group_cases import AVERAGE, IDS, MOST, ROWS, WHO, N, declared, logistic, visits
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

import sfumato as sf
from sfumato.errors import ArgumentError

X, Y = visits()
FRAME = pd.DataFrame({"age": 54 + 36 * X[:, 0], "hours": 30 + 30 * X[:, 1], "sex": np.where(X[:, 2] > 0, "f", "m")})
SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "hours": sf.Number(0, 60),
        "sex": sf.Category(["m", "f"], missing="m"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
    persons=AVERAGE,
)
PRICE = {"epsilon": 300.0, "delta": 1e-5, "allow_weak": True}
STEP = "privatelogisticregression"
NAMED = f"{STEP}__groups"


def private(**changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(**PRICE, random_state=3).set_params(**changes)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_every_estimator_asks_for_groups_and_gets_its_fold_of_them(estimator):
    with config_context(enable_metadata_routing=True):
        asking = declared(estimator).set_fit_request(groups=True)
        assert np.isfinite(cross_val_score(asking, X, Y, cv=GroupKFold(2), params={"groups": IDS})).all()
        with pytest.raises(UnsetMetadataPassedError, match="groups"):
            cross_val_score(declared(estimator), X, Y, cv=GroupKFold(2), params={"groups": IDS})
    plain = cross_val_score(declared(estimator), X, Y, groups=IDS, cv=GroupKFold(2), params={"groups": IDS})
    assert np.isfinite(plain).all()


def test_a_search_passes_groups_to_every_fit_and_each_is_for_the_declared_persons():
    grid = {"epsilon": [1.0, 300.0]}
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(logistic().set_fit_request(groups=True), grid, cv=GroupKFold(2)).fit(X, Y, groups=IDS)
    assert search.best_estimator_.plan_.n == N
    alone = logistic(epsilon=search.best_params_["epsilon"]).fit(X, Y, groups=IDS)
    np.testing.assert_array_equal(search.best_estimator_.coef_, alone.coef_)


def test_a_fold_with_the_declared_count_has_absent_persons_and_one_with_its_own_has_none():
    """What the page says: in a fold of half the persons the others count as rows of missing cells."""
    train = WHO < N // 2
    fold = logistic().fit(X[train], Y[train], groups=IDS[train])
    absent = np.full((N // 2, 3), np.nan)
    ids = [*IDS[train], *np.unique(IDS[~train])]
    filled = logistic().fit(np.vstack([X[train], absent]), [*Y[train], *[None] * (N // 2)], groups=ids)
    np.testing.assert_array_equal(fold.coef_, filled.coef_)
    assert fold.plan_.n == N
    own = logistic(replace(AVERAGE, count=N // 2)).fit(X[train], Y[train], groups=IDS[train])
    assert own.plan_.n == N // 2
    assert not np.allclose(own.coef_, fold.coef_, rtol=0.01)


@pytest.mark.planted
def test_a_pipeline_passes_groups_to_its_estimator():
    bounds = {"data_norm": None, "bounds": (-1, 1)}
    own = logistic(**bounds).fit(X, Y, groups=IDS)
    pipe = sf.make_pipeline(sf.PublicScaler(bounds=(-1, 1)), private(classes=[0, 1], missing_class=0, persons=AVERAGE))
    fitted = clone(pipe).fit(X, Y, **{NAMED: IDS})
    assert fitted[-1].plan_.n == N
    np.testing.assert_allclose(fitted.predict_proba(X), own.predict_proba(X), rtol=1e-6)
    with config_context(enable_metadata_routing=True):
        asking = clone(pipe)
        asking[-1].set_fit_request(groups=True)
        np.testing.assert_array_equal(asking.fit(X, Y, groups=IDS)[-1].coef_, fitted[-1].coef_)
        with pytest.raises(TypeError, match="sample_weight"):
            asking.fit(X, Y, sample_weight=Y)
    for given in ({"groups": IDS}, {NAMED: IDS, f"{STEP}__sample_weight": Y}):
        with pytest.raises(ArgumentError, match=rf"fit takes X, y and, where persons are declared, {NAMED}; got"):
            clone(pipe).fit(X, Y, **given)
    with pytest.raises(ArgumentError, match="fit takes X and y alone; got groups"):
        sf.make_pipeline(sf.PublicScaler(bounds=(-1, 1))).fit(X, Y, groups=IDS)


@pytest.mark.parametrize("routing", [True, False], ids=["routing", "by name"])
def test_a_search_around_a_pipeline_passes_groups_too(routing):
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), PolynomialFeatures(2), private())
    given = {"groups": IDS} if routing else {"groups": IDS, NAMED: IDS}
    with config_context(enable_metadata_routing=routing):
        if routing:
            pipe[-1].set_fit_request(groups=True)
        search = GridSearchCV(pipe, {f"{STEP}__epsilon": [1.0, 300.0]}, cv=GroupKFold(2)).fit(FRAME, Y, **given)
    assert search.best_estimator_[-1].plan_.n == N
    assert search.predict(FRAME).shape == (ROWS,)


def test_a_bare_pipeline_passes_groups_by_the_name_of_the_step():
    pipe = bare_pipeline(FunctionTransformer(lambda rows: rows / 2), logistic(data_norm=1.0))
    np.testing.assert_array_equal(
        pipe.fit(X, Y, **{NAMED: IDS})[-1].coef_, logistic(data_norm=1.0).fit(X / 2, Y, groups=IDS).coef_
    )


@pytest.mark.planted
def test_the_estimator_takes_persons_from_the_schema_of_the_steps():
    """A schema that says that a person may have several rows is never read as one about rows."""
    pipe = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private())
    with pytest.raises(ArgumentError, match=NAMED):
        pipe.fit(FRAME, Y)
    fitted = pipe.fit(FRAME, Y, **{NAMED: IDS})
    assert (fitted[-1].persons, fitted[-1].plan_.n) == (None, N)
    assert fitted[-1].guarantee_.adjacency == "replace-person"
    same = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private(persons=AVERAGE)).fit(FRAME, Y, **{NAMED: IDS})
    np.testing.assert_array_equal(same[-1].coef_, fitted[-1].coef_)
    own = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private(persons=sf.Persons("patient", rule="first", count=N + 5)))
    assert own.fit(FRAME, Y, **{NAMED: IDS})[-1].plan_.n == N + 5
    bare = bare_pipeline(sf.PublicEncoder(SCHEMA), private(data_norm=1.0, classes=[0, 1], missing_class=0))
    with pytest.raises(ArgumentError, match="a bare Pipeline does not hand them on"):
        sf.check_pipeline(bare)
    sf.check_pipeline(bare.set_params(**{f"{STEP}__persons": AVERAGE}))


@pytest.mark.planted
def test_schemas_of_different_persons_are_refused():
    other = sf.Schema({"age": sf.Number(18, 90)}, persons=sf.Persons("household", most=MOST, count=N))
    pipe = sf.make_pipeline(
        sf.PublicEncoder(SCHEMA), bare_pipeline(sf.PublicScaler(other)), private(classes=[0, 1], missing_class=0)
    )
    with pytest.raises(ArgumentError, match="different persons"):
        pipe.fit(FRAME, Y, **{NAMED: IDS})
    reduced = replace(AVERAGE, rule="reduce", most=None, reduce=dict.fromkeys(SCHEMA.columns, "first"))
    both = sf.Schema(SCHEMA.columns, target="ill", persons=reduced)
    with pytest.raises(ArgumentError, match='rule "reduce" is for the named columns'):
        sf.make_pipeline(sf.PublicEncoder(both), private()).fit(FRAME, Y, **{NAMED: IDS})


@pytest.mark.planted
def test_no_message_of_a_pipeline_shows_the_number_of_rows_and_no_rows_are_no_error():
    pipe = sf.make_pipeline(sf.PublicScaler(bounds=(-1, 1)), private(classes=[0, 1], missing_class=0, persons=AVERAGE))
    schema = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private())
    wrong = {
        "list": lambda: pipe.fit(X.tolist(), Y, **{NAMED: IDS}),
        "no columns": lambda: pipe.fit(X[:, :0], Y, **{NAMED: IDS}),
        "ids": lambda: pipe.fit(X, Y, **{NAMED: IDS[:-1]}),
        "labels": lambda: schema.fit(FRAME, Y[:-1], **{NAMED: IDS}),
        "no columns of a step": lambda: sf.PublicEncoder(SCHEMA).fit(FRAME[[]]),
    }
    for fit in wrong.values():
        with pytest.raises(ArgumentError) as caught:
            fit()
        assert str(ROWS) not in str(caught.value)
        assert str(ROWS - 1) not in str(caught.value)
    # The widths of the features are declared in the schema, so that a list is read.
    listed = schema.fit(FRAME.to_numpy().tolist(), Y, **{NAMED: IDS})[-1].coef_
    np.testing.assert_array_equal(listed, schema.fit(FRAME, Y, **{NAMED: IDS})[-1].coef_)
    for each, rows in ((pipe, X[:0]), (schema, FRAME[:0])):
        assert each.fit(rows, Y[:0], **{NAMED: []})[-1].plan_.n == N


def test_a_pipeline_with_persons_is_cloned_and_pickled_without_ids():
    fitted = sf.make_pipeline(sf.PublicEncoder(SCHEMA), private()).fit(FRAME, Y, **{NAMED: IDS})
    pickled = pickle.dumps(fitted)
    assert b"mrs 0" not in pickled
    np.testing.assert_array_equal(pickle.loads(pickled).predict(FRAME), fitted.predict(FRAME))
    assert not hasattr(clone(fitted)[-1], "release_")
