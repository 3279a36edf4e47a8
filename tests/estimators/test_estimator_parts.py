"""The parts of a fit by themselves: how tables, labels and ids are opened, named, scaled and refused. No model is fitted."""

from __future__ import annotations

import collections
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.estimators import _tables as tables
from sfumato.estimators._arguments import check_declared, label_bounds, stream
from sfumato.estimators._encoded import EncodedRows, encoded_norm, encoded_rows, handed_to
from sfumato.estimators._fitting import Scores, _named, _precision
from sfumato.estimators._persons import averages, check_names, check_persons, check_width
from sfumato.estimators._regressor import symmetric
from sfumato.estimators._rows import Recipe, declared_width, feature_bounds
from sfumato.models import losses
from sfumato.schema.read_rows import open_grid

CLASSIFIER = {"epsilon": 1.0, "delta": 1e-6, "data_norm": 1.0, "classes": [0, 1]}


def classifier(**changes) -> sf.PrivateLogisticRegression:
    return sf.PrivateLogisticRegression(**{**CLASSIFIER, **changes})


def refusal(act, *arguments, **options) -> str:
    with pytest.raises(ArgumentError) as caught:
        act(*arguments, **options)
    return str(caught.value)


# --- tables ---------------------------------------------------------------------------------------------------------------


def read(X, **options) -> np.ndarray:
    """The numbers of a matrix as it is opened."""
    opened = tables.read_features(classifier(), X, True, **options)
    return opened.toarray() if sparse.issparse(opened) else opened.read(0, opened.shape[0])


def test_the_size_of_a_table():
    for shape, private in (((1, 1), False), ((2, 1), False), ((1, 2), False), ((0, 1), True), ((1, 1), True)):
        tables.check_size(shape, private)
    assert "found 0 sample(s) (shape=(0, 3))" in refusal(tables.check_size, (0, 3))
    assert "found 0 feature(s) (shape=(3, 0))" in refusal(tables.check_size, (3, 0))
    assert "found 0 feature(s) (shape=(1, 0))" in refusal(tables.check_size, (1, 0))
    assert refusal(tables.check_size, (3, 0), True) == "X must have at least one column; it has none."
    for X in (np.empty((0, 2)), np.empty((2, 0)), pd.DataFrame(index=range(3))):
        assert "a minimum of 1 is required" in refusal(read, X)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_the_columns_of_a_frame_by_position(make):
    wide = make({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    assert [list(map(int, series)) for series in map(np.asarray, tables.column_series(wide))] == [
        [1, 2],
        [3, 4],
        [5, 6],
    ]
    assert read(wide).tolist() == [[1, 3, 5], [2, 4, 6]]


def test_frames_without_columns_and_with_repeated_names():
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert [series.tolist() for series in tables.column_series(twice)] == [[1, 3], [2, 4]]
    empty = tables._open_frame(pd.DataFrame(index=range(5)))
    assert (empty.shape, empty.read(1, 3).shape) == ((5, 0), (2, 0))


def test_sparse_tables():
    matrix = sparse.coo_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 3))
    assert read(matrix).tolist() == [[0, 1, 0], [2, 0, 0]]
    assert "Complex data not supported: X" in refusal(read, matrix.astype(complex))
    assert "got 1. Reshape" in refusal(tables._open_sparse, sparse.coo_array(np.ones(3)))
    unsound = sparse.csr_array(np.eye(2))
    unsound.indptr = np.array([0, 2, 1], dtype=np.int32)
    assert "sound CSR matrix" in refusal(read, unsound)


def test_dense_tables_and_lists_of_rows():
    ragged = np.empty(3, dtype=object)
    ragged[:] = [[1, 2], [3, 4], [5]]
    assert np.array_equal(read(ragged), [[1, 2], [3, 4], [np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(read([[1], [2], [3, 4]]), [[1], [2], [np.nan]], equal_nan=True)
    assert np.array_equal(read([[1], [2], [3, 4]], width=2), [[np.nan] * 2, [np.nan] * 2, [3, 4]], equal_nan=True)
    assert read(((0, 1), (1, 2))).tolist() == [[0, 1], [1, 2]]
    assert read(collections.deque([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]
    for X, dimensions in ((np.ones(3), 1), (np.ones((2, 2, 2)), 3), (np.array(1.0), 0), ([1, 2], 1)):
        assert f"two dimensions; got {dimensions}. Reshape your data: X.reshape(-1, 1)" in refusal(read, X)
    assert "Complex data not supported: X" in refusal(read, np.ones((2, 2), dtype=complex))
    assert "must" in refusal(read, np.zeros((2, 2), dtype="M8[D]"))
    assert tables._open_dense([], 3)[0].shape == (0, 3)
    assert tables._open_dense([], None)[0].shape == (0, 0)
    opened, listed = tables._open_dense([[1.0, 2.0]], None)
    assert (opened.shape, listed) == ((1, 2), [[1.0, 2.0]])
    assert tables._open_dense(np.eye(2), None)[1] is None


def test_rows_of_a_prediction_have_one_length_and_those_of_a_fit_need_not():
    model = classifier()
    tables.read_features(model, [[1, 2], [3, 4], [5]], True)
    assert tables.read_features(model, [[1, 2]], False).shape == (1, 2)
    said = refusal(tables.read_features, model, [[1, 2], [3]], False)
    assert said == "every row of X must have 2 cells to be predicted; row 1 does not."
    assert "2 features" in refusal(tables.read_features, model, np.eye(3), False)
    assert tables.read_features(model, np.empty((0, 2)), False, None, True).shape == (0, 2)


def test_labels_in_every_form():
    values = [1, 0, 1]
    for same in (pd.Series(values), pl.Series(values), pa.array(values), values, tuple(values), np.array(values)):
        made = tables.read_labels(same)
        assert made is same or isinstance(same, np.ndarray)
        assert list(map(int, np.asarray(made))) == values
    for frame in (pd.DataFrame({"y": values}), pl.DataFrame({"y": values}), np.array(values)[:, None]):
        with pytest.warns(DataConversionWarning, match="column-vector") as caught:
            assert list(map(int, np.asarray(tables.read_labels(frame)))) == values
        assert caught[0].filename == tables.__file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the shape of an array of objects depends on single labels
        assert tables.read_labels(np.array(values, dtype=object)[:, None]).shape == (3,)
    for wrong in (pd.DataFrame({"a": values, "b": values}), np.ones((3, 2))):
        assert "an array of shape (3, 2) instead" in refusal(tables.read_labels, wrong)
        assert "an array of 2 dimensions instead" in refusal(tables.read_labels, wrong, True)
    assert "an array of shape (3, 1, 1)" in refusal(tables.read_labels, np.ones((3, 1, 1)))
    assert "Complex data not supported: y" in refusal(tables.read_labels, np.ones(3, dtype=complex))


def test_ids_in_every_form():
    ids = ["a", "b"]
    for same in (pd.Series(ids), pl.Series(ids), pa.array(ids), ids, tuple(ids)):
        assert tables.read_groups(same) is same
    assert tables.read_groups(np.array(ids)).tolist() == ids
    assert "got 2 dimensions" in refusal(tables.read_groups, np.array([ids, ids]))
    assert "got 0 dimensions" in refusal(tables.read_groups, np.array(1))
    assert 'an id for each row, such as table["patient"]' in refusal(tables.read_groups, np.eye(2))


def test_labels_are_counted_by_what_they_spell():
    column = sf.Category([0, 1], missing=0)
    for labels, count in (
        ([1, "1", 1.0, "x", None, " 1 "], 2),
        (["a", "b", "a", b"b"], 2),
        ([0, 1, 2, 2], 3),
        (np.array([0.0, 1.0, 5.0]), 3),
        (pd.Series(["x", None, "y"], dtype="category"), 2),
        ([], 0),
    ):
        assert tables.distinct_labels(column, labels) == count, labels


def test_what_is_no_array_is_refused_by_its_type():
    for wrong in ("ab", b"ab", {"a": 1}, {1}, frozenset({1})):
        said = refusal(tables.plain, "y", wrong)
        assert said == f"y must be an array, a list or a table; got {type(wrong).__name__}."
    masked = refusal(tables.plain, "X", np.ma.masked_array([1], [True]))
    assert masked == "X must be a plain array; got a masked one. Give X.filled(np.nan)."
    listed = [1, "x"]
    assert tables.plain("y", listed) is listed
    assert tables.plain("y", (1, "x")) == (1, "x")
    assert tables.plain("y", range(3)) == [0, 1, 2]

    class Arrays(collections.UserList):
        def __array__(self, dtype=None, copy=None):
            return np.array([7.0])

    for array in (Arrays([1]), np.array([7.0])):
        made = tables.plain("y", array)
        assert isinstance(made, np.ndarray)
        assert made.tolist() == [7.0]
    tables.real("X", np.ones(2))


# --- declarations ---------------------------------------------------------------------------------------------------------


def test_a_price_a_scale_and_a_ledger_are_declared():
    check_declared(classifier())
    check_declared(classifier(data_norm=None, bounds=(0, 1)))
    check_declared(classifier(fit_intercept=np.bool_(False)))
    said = refusal(check_declared, classifier(delta=None))
    assert "PrivateLogisticRegression needs delta: the second number of the promise" in said
    assert said.endswith("It is never read from the data. Add the line\n    delta=1e-6,")
    said = refusal(check_declared, classifier(data_norm=None))
    assert "Add one of the lines\n    data_norm=1.0, " in said
    assert "\n    bounds=(lower, upper), " in said
    for change, words in (
        ({"epsilon": 0}, "epsilon must be greater than 0"),
        ({"delta": 1}, "delta must lie strictly between 0 and 1"),
        ({"rows": "cut"}, "rows must be one of"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False; got 1"),
        ({"ledger_name": "a"}, "belong to a ledger: add ledger="),
        ({"request_id": "a"}, "belong to a ledger: add ledger="),
        ({"ledger": "a"}, "needs ledger_name: the account of the ledger that pays."),
    ):
        assert words in refusal(check_declared, classifier(**change))
    check_declared(classifier(ledger="a", ledger_name="b", request_id="c"))
    check_declared(classifier(ledger="a", ledger_name="b"))


def test_a_seed_makes_a_stream_that_is_not_private():
    assert stream(classifier()) is None
    assert not stream(classifier(random_state=0)).private
    assert "random_state" in refusal(stream, classifier(random_state=-1))


def regressor(**changes) -> sf.PrivateLinearRegression:
    return sf.PrivateLinearRegression(1.0, 1e-6, data_norm=1.0, **changes)


ROWS = EncodedRows(2.0, ("a", "b"), sf.Number(1, 4, missing=2), "digest", sf.Persons("who", most=2, count=5))


def test_bounds_of_a_target_are_the_estimators_own_or_those_of_a_pipeline():
    assert label_bounds(regressor(bounds_y=(0, 3))) == sf.Number(0, 3)
    assert "bounds_y=(0, 100)," in refusal(label_bounds, regressor())
    assert "a pair (lower, upper); got 5" in refusal(label_bounds, regressor(bounds_y=5))
    assert "a pair (lower, upper); got (1, 2, 3)" in refusal(label_bounds, regressor(bounds_y=(1, 2, 3)))
    for ends in ((0, np.inf), (-np.inf, 0)):
        assert "bounds_y must be finite" in refusal(label_bounds, regressor(bounds_y=ends))
    model = regressor()
    with handed_to(model, ROWS):
        assert label_bounds(model) == sf.Number(1, 4, missing=2)
        assert label_bounds(model.set_params(bounds_y=(0, 9))) == sf.Number(0, 9)
    with handed_to(regressor(), EncodedRows(2.0, None, sf.Boolean(missing=False), "")):
        assert "bounds_y" in refusal(label_bounds, regressor())
    levels = regressor()
    with handed_to(levels, EncodedRows(2.0, None, sf.Boolean(missing=False), "")):
        assert "bounds_y" in refusal(label_bounds, levels)


def test_the_facts_of_a_pipeline_last_for_one_fit_and_give_way_to_declarations():
    model = regressor(bounds_y=(0, 1)).set_params(data_norm=None)
    assert encoded_rows(model) is None
    assert encoded_norm(model) is None
    assert "data_norm or bounds" in refusal(check_declared, model)
    with handed_to(model, ROWS):
        assert encoded_rows(model) == ROWS
        assert encoded_norm(model) == 2.0
        check_declared(model)
        recipe = Recipe.of(model, 2)
        assert (recipe.data_norm, recipe.constant, recipe.coded) == (2.0, 1.0, True)
        for own in ({"data_norm": 1.0}, {"bounds": (0, 1)}):
            model.set_params(**own)
            assert encoded_norm(model) is None
            assert not Recipe.of(model, 2).coded
            model.set_params(data_norm=None, bounds=None)
    assert encoded_rows(model) is None
    with pytest.raises(ValueError, match="inside"), handed_to(model, ROWS):
        raise ValueError("inside")
    assert encoded_rows(model) is None


# --- persons --------------------------------------------------------------------------------------------------------------

PERSONS = sf.Persons("patient", most=3, count=20, rows="visits")


def test_ids_are_given_exactly_where_persons_are_declared():
    check_persons(classifier(), False)
    check_persons(classifier(persons=PERSONS), True)
    assert "needs persons: groups are the ids of rows" in refusal(check_persons, classifier(), True)
    said = refusal(check_persons, classifier(persons=PERSONS), False)
    assert "needs groups, the ids of the rows: one person may have several visits" in said
    assert "fit(X, y, privatelogisticregression__groups=ids)" in said
    assert "got str" in refusal(check_persons, classifier(persons="patient"), True)
    reducing = sf.Persons("patient", rule="reduce", reduce={"x": "last"}, count=20)
    assert "sf.Persons('patient', count=20, most=12)" in refusal(check_persons, classifier(persons=reducing), True)
    listed = sf.Persons("patient", rule="reduce", reduce={"x": "last"}, roster="ids.csv")
    assert "sf.Persons('patient', roster='ids.csv', most=12)" in refusal(
        check_persons, classifier(persons=listed), True
    )
    model = classifier()
    with handed_to(model, ROWS):
        check_persons(model, True)
        assert "needs groups" in refusal(check_persons, model, False)
        model.set_params(persons=PERSONS)
        assert "several visits" in refusal(check_persons, model, False)


def test_the_id_is_no_feature_and_the_width_is_no_secret():
    check_names(None, ["patient"])
    check_names(PERSONS, None)
    check_names(PERSONS, ["age", 3])
    assert "is the id of persons and no feature" in refusal(check_names, PERSONS, ["age", "patient"])
    check_width([[1], [2]], 1)
    check_width(np.ones((2, 2)), None)
    check_width(pd.DataFrame({"a": [1]}), None)
    for X in ([[1], [2]], np.ones(2)):
        assert "X must be an array of two dimensions or a data frame" in refusal(check_width, X, None)


def test_rows_are_averaged_where_a_person_may_have_several():
    assert not averages(None)
    assert averages(PERSONS)
    assert not averages(sf.Persons("patient", most=1, count=20))
    assert not averages(sf.Persons("patient", rule="first", count=20))


# --- scales ---------------------------------------------------------------------------------------------------------------


def test_bounds_in_every_form_say_how_many_features_there_are():
    lower = [0.0, 1.0, 2.0]
    for bounds, width in (
        (None, None), ("wide", None), ((0, 1), None), ((lower, 9), 3), ((0, lower), 3), ((lower, lower), 3),
        ([(0, 1), (1, 2)], 2), (np.array([[0, 1]] * 4), 4), (([0], [1, 2]), None), ([1, 2, 3], None),
    ):  # fmt: skip
        assert declared_width(bounds) == width, bounds
    for wrong in (((0, 1), (1, 2), (3, 4)), ([0, 1], [1, 2]), "ab", ([0, 0, 0], [1, 1])):
        assert "bounds must be a tuple (lower, upper) of numbers or arrays of length 3" in refusal(
            feature_bounds, wrong, 3
        )
    for wrong in ((0, 0), (1, 0), (0, np.inf), (-np.inf, 0), (-1.7e308, 1.7e308), ([0, 0, 1], [1, 1, 1])):
        assert "bounds must be finite, every lower one below" in refusal(feature_bounds, wrong, 3)
    ends = feature_bounds((lower, 9), 3)
    assert (ends[0].tolist(), ends[1].tolist()) == (lower, [9, 9, 9])
    ends = feature_bounds([(0, 1), (1, 2), (2, 3)], 3)
    assert (ends[0].tolist(), ends[1].tolist()) == ([0, 1, 2], [1, 2, 3])


def recipe(width: int = 2, **changes) -> Recipe:
    return Recipe.of(classifier(**changes), width)


def test_a_recipe_by_hand():
    """Of what is declared for two features: the norm, the constant, the length of a parameter, the radius of the price."""
    half = np.sqrt(2) / 2
    bounds = {"data_norm": None, "bounds": ([0, -1], [4, 3])}
    for changes, norm, constant, size, radius, appended in (
        ({}, 1.0, 0.5, 3, np.sqrt(1.25), False),
        ({"fit_intercept": False}, 1.0, 0.0, 2, 1.0, False),
        ({"rows": "normalise"}, 1.0, 0.5, 3, 1.0, True),
        ({"rows": "normalise", "fit_intercept": False}, 1.0, 0.0, 2, 1.0, False),
        (bounds, half, half / 2, 3, half * np.sqrt(1.25), False),
        ({**bounds, "rows": "normalise"}, 1.0, half / 2, 3, 1.0, True),
        ({**bounds, "data_norm": 0.5}, 0.5, 0.25, 3, 0.5 * np.sqrt(1.25), False),
    ):
        made = recipe(**changes)
        assert (made.data_norm, made.constant) == pytest.approx((norm, constant), rel=1e-12)
        assert (made.size, made.appended, made.coded) == (size, appended, False)
        assert made.radius == pytest.approx(radius, rel=1e-12)
        assert made.intercept == (0.0 if appended else made.constant)
    scaled = recipe(**bounds)
    assert (scaled.centre.tolist(), scaled.span.tolist()) == ([2, 1], [4, 4])
    bare = recipe(**bounds, fit_intercept=False)  # without an intercept nothing can make up for a shift
    assert (bare.centre.tolist(), bare.span.tolist()) == ([0, 0], [8, 6])
    assert (recipe().centre.tolist(), recipe().span.tolist()) == ([0, 0], [1, 1])


def test_the_schema_of_a_recipe_says_how_to_come_back():
    bounds = {"data_norm": None, "bounds": ([0, -1], [4, 3])}
    made = recipe(**bounds).schema(sf.Boolean(missing=False), "d", ["a", "b"], 5.0, 2.0, PERSONS, "patient")
    assert (made.name, made.unit, made.rows, made.persons) == ("d", "patient", "clip", PERSONS)
    assert (made.units.centre, made.units.span) == ((2, 1), (4, 4))
    assert made.vector_names == ("a", "b")
    assert recipe().schema(sf.Boolean(missing=False), "d").unit == "row"
    wide = recipe(**bounds, rows="normalise").schema(sf.Boolean(missing=False), "d")
    assert (wide.units.centre, wide.units.span) == ((2, 1, 0), (4, 4, 1))
    assert (wide.dimension, wide.rows, wide.vector_names[-1]) == (3, "normalise", "constant")


def test_public_rows_of_any_form_have_the_scores_of_their_cells():
    made, X = recipe(), np.array([[1.0, np.nan], [0.5, 2.0]])
    parameter, user = np.ones((1, 3)), (np.array([[2.0, 3.0]]), np.array([7.0]))
    assert made.scores(open_grid(X), parameter, *user).tolist() == [[9.0], [14.0]]
    assert made.scores(sparse.csr_array(np.nan_to_num(X)), parameter, *user).tolist() == [[9.0], [14.0]]
    bounded = recipe(data_norm=None, bounds=([0, -1], [4, 3]))  # a missing cell counts as the middle of its bounds
    assert bounded.scores(open_grid(X), parameter, *user).tolist() == [[12.0], [14.0]]
    assert "a sparse X cannot be scaled by bounds" in refusal(
        recipe(data_norm=None, bounds=(0, 1)).prepare, sparse.csr_array(X)
    )


def test_the_name_of_a_data_set_holds_every_scale():
    """A ledger then refuses a repeated request under other declarations."""
    plain = Scores(1)
    assert _named("s", recipe(), plain, "") == "s"
    assert _named("s", recipe(rows="normalise"), Scores(3), "") == "s"
    bounds = {"data_norm": None, "bounds": ([0, -1], [4, 3])}
    other = {"data_norm": None, "bounds": ([0, -1], [4, 5])}
    names = [
        _named("s", recipe(**bounds), plain, ""),
        _named("s", recipe(**other), plain, ""),
        _named("s", recipe(**bounds, fit_intercept=False), plain, ""),
        _named("s", recipe(**bounds), Scores(1, 5.0), ""),
        _named("s", recipe(**bounds), Scores(1, 0.0, 2.0), ""),
        _named("s", recipe(**bounds), plain, "coding"),
        _named("s", recipe(), plain, "coding"),
        _named("s", recipe(), plain, "other"),
        _named("s", recipe(), Scores(1, 5.0), ""),
        _named("t", recipe(**bounds), plain, ""),
    ]
    assert len(set(names)) == len(names)
    assert _named("s", recipe(**bounds), plain, "") == names[0]
    assert all(name[0] in "st" and len(name) > 13 for name in names)


def test_the_precision_of_a_prior_by_hand():
    loss = losses.Logistic(np.sqrt(1.25))
    curvature = loss.constants(3).smoothness
    bounds = {"data_norm": None, "bounds": (0, 1)}
    free, two = Scores(1), Scores(2, 0.0, 0.5)
    assert _precision(loss, 3, recipe(), free, None) == pytest.approx(curvature / 25)
    assert _precision(loss, 3, recipe(**bounds, rows="normalise"), free, None) == pytest.approx(curvature / 25)
    assert _precision(loss, 3, recipe(), free, 2.0) == pytest.approx(1.25 / 4)
    assert _precision(loss, 3, recipe(), two, 2.0) == pytest.approx(1.25 / 16)
    scaled = recipe(**bounds)
    c = scaled.constant
    assert _precision(loss, 3, scaled, free, 2.0) == pytest.approx([1 / 4, 1 / 4, (c / 2) ** 2])
    assert _precision(loss, 6, scaled, two, 2.0) == pytest.approx([1 / 16, 1 / 16, (c / 4) ** 2] * 2)
    assert _precision(loss, 2, recipe(**bounds, fit_intercept=False), free, 2.0) == pytest.approx([1 / 4, 1 / 4])
    assert _precision(loss, 3, scaled, free, None) == pytest.approx([1 / 25, 1 / 25, (c / 5) ** 2])
    huber = losses.Huber(radius=1.0, clip=0.5)
    assert _precision(huber, 3, scaled, free, None)[0] == pytest.approx((huber.effect_deviation or 5.0) ** -2)
    coded = SimpleNamespace(lower=None, coded=True, rows="clip", width=1, constant=0.5)
    assert _precision(loss, 2, coded, free, 2.0) == pytest.approx([1 / 4, 1 / 16])
    assert "prior must be greater than 0" in refusal(_precision, loss, 3, recipe(), free, -1.0)


def test_labels_are_scaled_about_the_middle_or_about_0():
    made = symmetric(sf.Number(10, 30), True)
    assert (made.shift, made.unit, made.scores) == (20, 10, Scores(1, 20, 10))
    assert made.scaled([10, 30, 25, 99, "x"]).tolist() == [-1, 1, 0.5, 1, 0]
    bare = symmetric(sf.Number(-10, 30), False)
    assert (bare.shift, bare.unit) == (0, 30)
    assert bare.scaled([-10, 30]).tolist() == [-1 / 3, 1]
    assert symmetric(sf.Number(-40, 30), False).unit == 40
    assert (made.column().lower, made.column().upper) == (-1, 1)
