"""Any table gives the same model; no cell, whatever it holds, raises, warns or is quoted."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from estimator_cases import ESTIMATORS, name, rows
from scipy import sparse
from sklearn.base import clone

import sfumato as sf
from sfumato.errors import ArgumentError

X, Y = rows()
COLUMNS = {key: X[:, place] for place, key in enumerate("abc")}
SOURCES = {
    "fortran": np.asfortranarray(X),
    "list": X.tolist(),
    "tuple": tuple(map(tuple, X.tolist())),
    "objects": X.astype(object),
    "texts": X.astype(str),
    "csr": sparse.csr_matrix(X),
    "csr array": sparse.csr_array(X),
    "csc": sparse.csc_array(X),
    "pandas": pd.DataFrame(COLUMNS),
    "pandas without names": pd.DataFrame(X),
    "pandas texts": pd.DataFrame(COLUMNS).astype(str),
    "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}
LABELS = [Y, Y.tolist(), Y.astype(float), Y.astype(bool), Y.astype(str), pd.Series(Y), pl.Series(Y), pa.array(Y)]


def declared(**changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(
        1.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0, random_state=1
    ).set_params(**changes)


CHANGES = [{}, {"rows": "normalise"}, {"data_norm": None, "bounds": (-1, 1)}]
REGRESSION = sf.PrivateLinearRegression(1.0, 1e-6, data_norm=1.0, bounds_y=(0, 1), random_state=1)


@functools.cache
def fitted_to_arrays(which: int) -> sf.PrivateLogisticRegression | sf.PrivateLinearRegression:
    """What other forms of the same table are compared with: the classifier with these changes, or the regression (-1)."""
    return (clone(REGRESSION) if which < 0 else declared(**CHANGES[which])).fit(X, Y)


@pytest.mark.parametrize(
    ("source", "changes"),
    [(s, c) for s in SOURCES for c in CHANGES if not (sparse.issparse(SOURCES[s]) and "bounds" in c)],
)
def test_every_table_gives_the_same_model_and_scores(source, changes):
    table = SOURCES[source]
    plain, fitted = fitted_to_arrays(CHANGES.index(changes)), declared(**changes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.fit(table, Y)
        scores = fitted.decision_function(table)
    assert np.allclose(fitted.coef_, plain.coef_, rtol=1e-9, atol=1e-12)
    assert np.allclose(scores, plain.decision_function(X), atol=1e-6)
    assert fitted.n_features_in_ == 3
    named = source in {"pandas", "pandas texts", "pandas nullable", "polars", "arrow"}
    assert hasattr(fitted, "feature_names_in_") == named
    if named:
        assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "labels", LABELS, ids=lambda values: type(values).__module__ + str(getattr(values, "dtype", ""))
)
def test_every_form_of_the_labels_gives_the_same_model(labels):
    assert np.array_equal(declared().fit(X, labels).coef_, fitted_to_arrays(0).coef_)
    assert np.array_equal(clone(REGRESSION).fit(X, labels).coef_, fitted_to_arrays(-1).coef_)


BAD = [np.nan, np.inf, -np.inf, 1e308, None, "x", "", b"x", 3 + 4j, {"a": 1}, [1], object(), pd.NA, pd.NaT]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize(
    "bad", BAD, ids=lambda bad: type(bad).__name__ + str(bad)[:4] if type(bad) is not object else "object"
)
def test_no_cell_and_no_label_raises_or_warns(estimator, bad):
    cells, labels = X.astype(object), Y.astype(object)
    cells[4, 1], labels[7] = bad, bad
    listed = cells.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = clone(estimator).fit(cells, labels)
        assert clone(estimator).fit(listed, labels.tolist()).plan_.digest == fitted.plan_.digest
        assert np.isfinite(fitted.predict(cells)).all()


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.parametrize("bad", ["x", None, np.nan, True, 3 + 4j], ids=repr)
def test_a_replaced_record_changes_how_no_other_is_read(changes, bad):
    """Lists of numbers stay numbers when one record brings a text: each cell is read by itself."""
    from sfumato.dataset import rows_of
    from sfumato.estimators._rows import Recipe
    from sfumato.estimators._tables import read_features, read_labels

    def stored(cells, labels):
        estimator = declared(**changes).set_params(classes=["0", "1"], missing_class="0")
        made = Recipe.of(estimator, 3)
        column = sf.Category(["0", "1"], missing="0")
        data = sf.Dataset.from_arrays(
            made.prepare(read_features(estimator, cells, reset=True)),
            read_labels(labels),
            schema=made.schema(column, "d"),
        )
        [block] = rows_of(data).blocks()
        return block["matrix"], block["target"]

    cells, labels = X.tolist(), Y.astype(float).tolist()
    matrix, target = stored(cells, labels)
    cells[5] = [bad, bad, bad]
    labels[5] = bad
    other_matrix, other_target = stored(cells, labels)
    assert np.array_equal(np.delete(matrix, 5, axis=0), np.delete(other_matrix, 5, axis=0))
    assert np.array_equal(np.delete(target, 5), np.delete(other_target, 5))


SECRET = 123456.789


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        (np.full(60, SECRET), Y),
        (np.full((60, 3, 1), SECRET), Y),
        (np.full((60, 3), SECRET + 1j), Y),
        (X, np.full(60, SECRET + 1j)),
        (X, np.full((60, 2), SECRET)),
        (X, np.full(59, SECRET)),
        ([SECRET] * 60, Y),
        ([{"a": SECRET}] * 60, Y),
        (str(SECRET), Y),
        (X, str(SECRET)),
        (X, {SECRET: 1}),
        (pa.table(COLUMNS), pa.table({"a": Y, "b": Y})),
        (np.ma.masked_array(np.full((60, 3), SECRET)), Y),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 60)}), Y),
        (pa.table({"a": [[SECRET]] * 60}), Y),
        (pd.DataFrame({"a": pd.array([SECRET] * 60)}).iloc[:0], Y),
        (np.full((0, 3), SECRET), Y),
    ],
)
def test_what_is_wrong_with_the_structure_is_said_without_a_cell(table, labels):
    with pytest.raises(ValueError) as caught:
        declared().fit(table, labels)
    assert "123456" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_label_that_is_no_class_counts_as_the_first_one_declared():
    strange = np.where(Y == 1, 1, 7)
    first_is_zero = sf.PrivateLogisticRegression(50.0, 1e-6, data_norm=1.0, classes=[0, 1], missing_class=0).fit(
        X, strange
    )
    assert first_is_zero.score(X, Y) > 0.7
    first_is_one = sf.PrivateLogisticRegression(50.0, 1e-6, data_norm=1.0, classes=[1, 0], missing_class=1).fit(
        X, strange
    )
    assert first_is_one.classes_.tolist() == [0, 1]
    assert (first_is_one.predict(X) == 1).mean() > 0.9


def test_no_row_stays_in_a_fitted_estimator():
    marked = X.copy()
    marked[0, 0] = SECRET
    fitted = declared(data_norm=2e5).fit(marked, Y)
    import pickle

    assert np.float64(SECRET).tobytes() not in pickle.dumps(fitted)


def test_a_prediction_needs_the_features_of_the_fit():
    fitted = declared().fit(pd.DataFrame(COLUMNS), Y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame(COLUMNS)[["b", "a", "c"]])
    with pytest.raises(ArgumentError, match="Reshape your data"):
        fitted.predict(X[0])
