"""Persons with several rows in a fit: ids, the public number of persons, and nothing of the number of rows."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from estimator_cases import ESTIMATORS, name
from group_cases import (
    AVERAGE,
    COUNTS,
    FIRST,
    IDS,
    MOST,
    ROWS,
    WHO,
    N,
    declared,
    logistic,
    pickles_rows,
    shows_rows,
    visits,
)
from scipy.sparse import csr_array
from sklearn.base import clone

import sfumato as sf
from sfumato.errors import ArgumentError, ChargeRefused, LedgerError
from sfumato.estimators import _fitting
from sfumato.estimators._tables import read_groups
from sfumato.schema.encoding import encode
from sfumato.schema.identity import Identity
from sfumato.schema.read_columns import open_column

X, Y = visits()


class Untouchable:
    """Data that must not be looked at."""

    def __getattr__(self, attribute):
        raise AssertionError(f"the data was asked for {attribute}")


@pytest.mark.planted
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_groups_and_persons_are_given_together_or_not_at_all(estimator):
    rows = Untouchable(), Untouchable()
    with pytest.raises(ArgumentError, match=r"persons=sf\.Persons\(\"patient\", most=12, count=500\),"):
        clone(estimator).fit(*rows, groups=Untouchable())
    with pytest.raises(ArgumentError, match=r"several visits[^_]*fit\(X, y, groups=ids\)") as caught:
        declared(estimator).fit(*rows)
    assert f"{name(estimator).lower()}__groups=ids" in str(caught.value)


def test_persons_that_a_matrix_cannot_have_are_refused_in_words():
    with pytest.raises(ArgumentError, match=r"persons must be an sf.Persons, .* got dict"):
        logistic({"id": "patient"}).fit(X, Y, groups=IDS)
    reduced = sf.Persons("patient", rule="reduce", count=N, reduce={"stay": "mean"})
    with pytest.raises(ArgumentError, match=r"sf.Persons\('patient', count=40, most=12\),") as caught:
        logistic(reduced).fit(X, Y, groups=IDS)
    assert "sf.regression" in str(caught.value)


@pytest.mark.planted
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_the_plan_and_the_promise_are_for_persons_and_not_for_rows(estimator):
    fitted = declared(estimator, random_state=None, epsilon=0.7).fit(X, Y, groups=IDS)
    assert (fitted.plan_.n, fitted.release_.plan["n"]) == (N, N)
    assert "one person with all of their visits replaced, n public" in fitted.release_.promise
    assert fitted.guarantee_.adjacency == "replace-person"
    assert 0.6 < fitted.guarantee_.epsilon(1e-5) <= 0.7
    assert fitted.release_.verify() is fitted.release_
    assert fitted.n_features_in_ == 3
    assert fitted.predict(X).shape == (ROWS,)


def test_a_roster_says_how_many_persons_there_are_and_other_ids_are_dropped(tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("patient\n" + "".join(f"MRS {one:03d}\n" for one in range(N - 10)))
    listed = logistic(sf.Persons("patient", most=MOST, roster=str(roster))).fit(X, Y, groups=IDS)
    assert listed.plan_.n == N - 10
    known = WHO < N - 10
    same = logistic(replace(AVERAGE, count=N - 10)).fit(X[known], Y[known], groups=IDS[known])
    np.testing.assert_array_equal(listed.coef_, same.coef_)
    with pytest.raises(ArgumentError, match="more persons than the schema's count = 30") as caught:
        logistic(replace(AVERAGE, count=N - 10)).fit(X, Y, groups=IDS)
    assert not shows_rows(str(caught.value))


@pytest.mark.planted
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_person_with_many_equal_rows_counts_once(estimator):
    """A person's single row, and as many copies of it as are averaged, more copies, or any number of them as first rows."""
    one, labels = visits(count=N)
    once = declared(estimator).fit(one, labels, groups=np.arange(N))
    for copies in (COUNTS, np.full(N, 3 * MOST)):
        who = np.repeat(np.arange(N), copies)
        often = declared(estimator).fit(one[who], labels[who], groups=who)
        np.testing.assert_allclose(often.coef_, once.coef_, rtol=1e-8, atol=1e-10)
        assert often.plan_.digest == once.plan_.digest
        first = declared(estimator, FIRST).fit(one[who], labels[who], groups=who)
        np.testing.assert_array_equal(first.coef_, declared(estimator, FIRST).fit(one, labels, groups=range(N)).coef_)
    other = declared(estimator).fit(np.vstack([one[:1], -one[1:]]), labels, groups=np.arange(N))
    assert not np.allclose(other.coef_, once.coef_, rtol=1e-3)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_one_row_each_gives_the_fit_without_persons_bit_for_bit(estimator):
    one, labels = visits(count=N)
    plain = declared(estimator, None).fit(one, labels)
    for persons in (sf.Persons("patient", most=1, count=N), FIRST):
        same = declared(estimator, persons).fit(one, labels, groups=[f"p{k}" for k in range(N)])
        np.testing.assert_array_equal(same.coef_, plain.coef_)
        np.testing.assert_array_equal(same.intercept_, plain.intercept_)
        assert same.guarantee_.curve == plain.guarantee_.curve


SPELT = {
    "list": WHO.tolist(),
    "tuple of texts": tuple(map(str, WHO.tolist())),
    "7.0 for 7": [f" {one}.0" if k % 2 else int(one) for k, one in enumerate(WHO)],
    "floats": WHO.astype(float),
    "small whole numbers": WHO.astype(np.uint8),
    "texts": WHO.astype(str),
    "objects": WHO.astype(object),
    "series": pd.Series(WHO, index=np.arange(ROWS)[::-1]),
    "nullable series": pd.Series(WHO, dtype="Int64"),
    "categories": pd.Series(WHO.astype(str), dtype="category"),
    "index": pd.Index(WHO),
    "polars": pl.Series(WHO),
    "arrow": pa.array(WHO),
}


@pytest.mark.parametrize("form", SPELT)
def test_ids_in_every_form_give_the_same_fit(form):
    fitted = logistic().fit(X, Y, groups=SPELT[form])
    np.testing.assert_array_equal(fitted.coef_, logistic().fit(X, Y, groups=WHO).coef_)


@pytest.mark.planted
@pytest.mark.parametrize("missing", [None, np.nan, "", "  "])
def test_a_row_without_an_id_is_dropped(missing):
    there = np.arange(ROWS) % 7 > 0
    ids = [one if kept else missing for one, kept in zip(IDS.tolist(), there.tolist(), strict=True)]
    fewer = logistic().fit(X[there], Y[there], groups=IDS[there])
    np.testing.assert_array_equal(logistic().fit(X, Y, groups=ids).coef_, fewer.coef_)
    assert not np.array_equal(logistic().fit(X, Y, groups=IDS).coef_, fewer.coef_)


BIG = 2**53
# Whole numbers that pandas holds exactly, and makes floats of for numpy where one of them is missing.
NULLABLE = {
    "array": lambda ids: pd.array(ids, dtype="Int64"),
    "index": lambda ids: pd.Index(ids, dtype="Int64"),
    "categories": lambda ids: pd.Categorical(ids, categories=[BIG, BIG + 1, BIG + 2]),
    "index of categories": lambda ids: pd.CategoricalIndex(ids, categories=[BIG, BIG + 1, BIG + 2]),
    "arrow": lambda ids: pd.array(ids, dtype="int64[pyarrow]"),
    "series": lambda ids: pd.Series(ids, dtype="Int64"),
}


@pytest.mark.parametrize("form", NULLABLE)
def test_an_empty_id_takes_no_two_other_persons_for_one(form):
    def ids(last):
        groups = read_groups(NULLABLE[form]([BIG, BIG + 1, last]))
        column = Identity(key=b"k" * 32)
        return encode(column, open_column("patient", column, groups)[1](0, 3)).values[:2].tolist()

    assert ids(None) == ids(BIG + 2)
    assert ids(None)[0] != ids(None)[1]


def test_persons_without_rows_count_as_rows_of_missing_cells_and_no_rows_are_no_error():
    """The plan is the same whoever has rows; a table without any is one of missing cells."""
    empty = logistic().fit(X[:0], Y[:0], groups=IDS[:0])
    middle = logistic().fit(np.full((N, 3), np.nan), [None] * N, groups=range(N))
    np.testing.assert_array_equal(empty.coef_, middle.coef_)
    some = logistic().fit(X[WHO > 4], Y[WHO > 4], groups=IDS[WHO > 4])
    assert some.plan_.digest == empty.plan_.digest == logistic().fit(X, Y, groups=IDS).plan_.digest
    assert some.release_.schema["digest"] == empty.release_.schema["digest"]


def test_sparse_rows_and_data_frames_are_read_by_person_too():
    plain = logistic().fit(X, Y, groups=IDS)
    frame = logistic().fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(Y), groups=pd.Series(IDS))
    np.testing.assert_array_equal(frame.coef_, plain.coef_)
    assert frame.feature_names_in_.tolist() == ["a", "b", "c"]
    sparse = logistic().fit(csr_array(X), Y, groups=IDS)
    np.testing.assert_allclose(sparse.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.planted
def test_the_rows_of_a_list_do_not_decide_how_many_features_there_are():
    """A person with many rows could decide it alone; where bounds say it, lists are read."""
    with pytest.raises(ArgumentError, match="X must be an array of two dimensions or a data frame"):
        logistic().fit(X.tolist(), Y, groups=IDS)
    bounds = {"data_norm": None, "bounds": ([-1] * 3, [1] * 3)}
    listed = logistic(**bounds).fit([*X.tolist(), *[[0.0] * 5] * 500], [*Y, *[0] * 500], groups=[*IDS, *[IDS[0]] * 500])
    assert listed.n_features_in_ == 3
    np.testing.assert_array_equal(
        logistic(**bounds).fit(X.tolist(), Y, groups=IDS).coef_, logistic(**bounds).fit(X, Y, groups=IDS).coef_
    )


@pytest.mark.planted
def test_averages_release_the_scores_so_that_intervals_are_by_person():
    fitted = logistic().fit(X, Y, groups=IDS)
    assert fitted.plan_.keep == ("transcript", "scores")
    assert np.isfinite(fitted.release_.interval(include="robust")).all()
    for persons in (FIRST, sf.Persons("patient", most=1, count=N), None):
        groups = None if persons is None else IDS
        assert logistic(persons).fit(X, Y, groups=groups).plan_.keep == ("transcript",)
    assert logistic(FIRST, robust=True).fit(X, Y, groups=IDS).plan_.keep == ("transcript", "scores")
    # The plain path, which several classes take, has no scores.
    several = logistic(classes=[0, 1, 2], missing_class=0).fit(X, Y, groups=IDS)
    assert (several.plan_.mechanism, several.plan_.keep) == ("langevin-path", ("transcript",))


def failing(*_given, **_named):
    raise RuntimeError("the ledger is exhausted")


WRONG = {
    "labels": lambda: logistic().fit(X, Y[:-1], groups=IDS),
    "ids": lambda: logistic().fit(X, Y, groups=IDS[:-1]),
    "no columns": lambda: logistic().fit(X[:, :0], Y, groups=IDS),
    "flat": lambda: logistic().fit(X[:, 0], Y, groups=IDS),
    "labels of two dimensions": lambda: logistic().fit(X, np.column_stack([Y, Y]), groups=IDS),
    "labels of two columns": lambda: logistic().fit(X, pd.DataFrame({"a": Y, "b": Y}), groups=IDS),
    "ids of two dimensions": lambda: logistic().fit(X, Y, groups=IDS[:, None]),
    "ids in a table": lambda: logistic().fit(X, Y, groups=pd.DataFrame({"id": IDS})),
    "labels that all differ": lambda: logistic().fit(X, np.arange(ROWS), groups=IDS),
    "more persons": lambda: logistic(replace(AVERAGE, count=7)).fit(X, Y, groups=IDS),
    "no id": lambda: logistic().fit(X, Y),
}  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize("fault", WRONG)
def test_no_message_shows_the_number_of_rows(fault):
    with pytest.raises(ArgumentError) as caught:
        WRONG[fault]()
    assert str(ROWS) not in str(caught.value)
    assert str(ROWS - 1) not in str(caught.value)


def test_the_search_finds_the_number_of_rows():
    assert shows_rows("n=137, x")
    assert not shows_rows("0.137, 1137, 1370 and .137")
    assert all(map(pickles_rows, (pickle.dumps({"rows": ROWS}), pickle.dumps(X), pickle.dumps("of 137 rows"))))
    assert not pickles_rows(pickle.dumps(X[:-1]))


@pytest.mark.planted
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_a_fitted_estimator_shows_no_number_of_rows_and_holds_no_id(estimator):
    fitted = declared(estimator).fit(X, Y, groups=IDS)
    release = fitted.release_
    for shown in (fitted, release, fitted.plan_, fitted.guarantee_, release.summary(), release.promise):
        assert not shows_rows(repr(shown))
        assert not shows_rows(str(shown))
    for pickled in map(pickle.dumps, (fitted, vars(fitted), release)):
        assert not pickles_rows(pickled)
        assert b"mrs 0" not in pickled
    assert b"mrs 0" not in release.to_bytes()
    back = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert (again.persons, hasattr(again, "release_")) == (AVERAGE, False)


@pytest.mark.planted
def test_an_error_after_the_rows_were_read_keeps_no_rows_and_no_ids(monkeypatch):
    monkeypatch.setattr(_fitting, "publish", failing)
    pipe = sf.make_pipeline(sf.PublicScaler(bounds=(-1, 1)), logistic())
    for fit in (
        lambda: logistic().fit(X, Y, groups=IDS),
        lambda: pipe.fit(X, Y, privatelogisticregression__groups=IDS),
    ):
        with pytest.raises(RuntimeError, match="exhausted") as caught:
            fit()
        own = [one.frame for one in caught.traceback if "sfumato" in str(one.path) and "tests" not in str(one.path)]
        assert {"fit", "_release"} <= {frame.code.name for frame in own}
        held = [value for frame in own for value in frame.f_locals.values()]
        held += [each for value in held if isinstance(value, dict) for each in value.values()]
        assert not any(isinstance(value, np.ndarray) and len(value) == ROWS for value in held)


def test_a_ledger_of_persons_is_charged_and_one_of_rows_is_not(tmp_path):
    book = sf.Ledger.open(tmp_path / "budget.db")
    book.register("visits", epsilon=3.0, delta=1e-5, unit="person", id_column="patient")
    book.register("rows", epsilon=3.0, delta=1e-5)
    one = logistic(random_state=None, epsilon=1.0, delta=1e-6, ledger=book, ledger_name="visits")
    assert one.fit(X, Y, groups=IDS).release_.receipt is not None
    with pytest.raises(ChargeRefused, match="adjacency must be 'replace-one'"):
        one.set_params(ledger_name="rows").fit(X, Y, groups=IDS)


def test_the_id_column_is_no_feature():
    X, y = visits()
    frame = pd.DataFrame(X, columns=["age", "stay", "patient"])
    with pytest.raises(ArgumentError, match="'patient' is the id of persons and no feature"):
        logistic().fit(frame, y, groups=IDS)


def test_a_fit_is_charged_to_a_ledger_that_calls_its_persons_patients(tmp_path):
    X, y = visits()
    ledger = sf.Ledger.open(str(tmp_path / "budget.db"))
    ledger.register("clinic", epsilon=500.0, delta=1e-4, unit="patient", id_column="patient", allow_weak=True)
    fit = logistic(random_state=None, unit="patient", ledger=ledger, ledger_name="clinic").fit(X, y, groups=IDS)
    assert fit.release_.receipt["ledger"] == "clinic"
    assert "one patient with all of their visits" in fit.release_.promise
    with pytest.raises(LedgerError, match="unit must be 'patient'"):
        logistic(random_state=None, ledger=ledger, ledger_name="clinic").fit(X, y, groups=IDS)


@pytest.mark.planted
@pytest.mark.parametrize("wrong", ["no persons", "no ids"])
def test_an_error_about_declarations_keeps_neither_rows_nor_ids(wrong):
    X, y = visits()
    estimator, ids = (logistic(None), IDS) if wrong == "no persons" else (logistic(), None)
    with pytest.raises(ArgumentError) as caught:
        estimator.fit(X, y, groups=ids)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    assert frames
    assert not [name for frame in frames for name, value in frame.f_locals.items() if isinstance(value, np.ndarray)]


def test_the_words_on_missing_cells_are_those_of_scaled_features():
    X, y = visits()
    fit = logistic(data_norm=None, bounds=(-1, 1)).fit(X, y, groups=IDS)
    said = str(fit.release_)
    assert "Cells of features that are no finite numbers count as the middle of their bounds." in said
    assert "Every person without visits counts as one row in the middle of the bounds of every feature" in said
