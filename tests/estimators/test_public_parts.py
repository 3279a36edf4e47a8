"""The parts of public steps by themselves: columns, names, norms, digests, classes. No model is fitted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, OneHotEncoder, PolynomialFeatures

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.estimators import _norms as norms
from sfumato.estimators import _public as public
from sfumato.estimators._classifier import declared_classes, one_score
from sfumato.estimators._encoded import EncodedRows, handed_to
from sfumato.models import losses

SCHEMA = sf.Schema(
    {
        "age": sf.Number(0, 100),
        "smoker": sf.Boolean(missing=False),
        "region": sf.Category(["a", "b", "c"], missing="a"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
FRAME = pd.DataFrame({"age": [0, 50], "smoker": [True, False], "region": ["a", "c"]})
NUMBERS = sf.Schema({"x": sf.Number(0, 4), "y": sf.Number(0, 4)})


def refusal(act, *arguments, **options) -> str:
    with pytest.raises(ArgumentError) as caught:
        act(*arguments, **options)
    return str(caught.value)


# --- reading --------------------------------------------------------------------------------------------------------------


def test_cells_of_every_form_of_a_table():
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[1, 2], [3, 4]]
    column = sf.Number(0, 9)
    for X in (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], ((1, 2), (3, 4)), ragged, pd.DataFrame([[1, 2], [3, 4]])):
        table = public.open_cells(X, None)
        assert table.shape == (2, 2)
        assert [float(cell) for cell in table.cells(1, column)] == [2, 4]
    assert public.open_cells([[1], [2, 3], [4, 5]], None).shape == (3, 2)
    short = public.open_cells([[1], [2, 3]], 2)
    assert [short.shape, *map(repr, short.cells(0, column))] == [(2, 2), "None", "2"]
    assert public.open_cells([], 3).shape == (0, 3)
    assert public.open_cells([], None).shape == (0, 0)
    assert list(public.open_cells([], 3).cells(2, column)) == []
    assert "a sparse X is refused" in refusal(public.open_cells, sparse.csr_array(np.eye(2)), None)
    assert "Complex" in refusal(public.open_cells, np.ones((2, 2), dtype=complex), None)
    for X, dimensions in ((np.ones(2), 1), (np.ones((1, 1, 1)), 3), ([1, 2], 1)):
        assert f"got {dimensions}. Reshape" in refusal(public.open_cells, X, None)
    assert "X" in refusal(public.open_cells, np.zeros((2, 2), dtype="M8[D]"), None)


def test_a_table_is_fitted_by_its_width_and_names():
    step = sf.PublicScaler(NUMBERS)
    assert step.fit([[1, 2], [3]]).n_features_in_ == 2  # the schema says how long a row is
    assert "X must have 2 columns" in refusal(sf.PublicScaler(NUMBERS).fit, np.ones((2, 3)))
    assert "minimum of 1 is required" in refusal(sf.PublicScaler(NUMBERS).fit, np.ones((0, 2)))
    persons = sf.Schema(NUMBERS.columns, persons=sf.Persons("who", most=2, count=9))
    assert sf.PublicScaler(persons).fit(np.ones((0, 2))).n_features_in_ == 2  # how many rows there are is private
    assert "3 features" in refusal(step.transform, np.ones((1, 3)))
    named = sf.PublicScaler(NUMBERS).fit(pd.DataFrame({"y": [0.0], "x": [4.0]}))
    assert named.transform(pd.DataFrame({"y": [0.0], "x": [4.0]})).tolist() == [[-0.5, 0.5]]


def test_names_of_outputs():
    step = sf.PublicEncoder(SCHEMA).fit(FRAME)
    assert step.get_feature_names_out().tolist() == ["age", "smoker", "region=b", "region=c"]
    assert step.get_feature_names_out(["age", "smoker", "region"]).tolist()[:2] == ["age", "smoker"]
    assert "leave it out" in refusal(step.get_feature_names_out, ["a", "b", "c"])
    bare = sf.PublicScaler(bounds=(0, 1)).fit(np.ones((1, 2)))
    assert bare.get_feature_names_out().tolist() == ["x0", "x1"]
    assert bare.get_feature_names_out(["p", "q"]).tolist() == ["p", "q"]
    assert "length equal to the number of features, 2; got 1" in refusal(bare.get_feature_names_out, ["p"])
    assert sf.PublicScaler(NUMBERS).fit(np.ones((1, 2))).get_feature_names_out().tolist() == ["x", "y"]


def test_columns_of_a_schema_by_name_or_in_order():
    ask = public.schema_columns
    assert ask("S", NUMBERS, ["y"], 1) == [NUMBERS.columns["y"]]
    assert ask("S", NUMBERS, None, 2) == list(NUMBERS.columns.values())
    assert "1 of the 2 columns of X are not declared" in refusal(ask, "S", NUMBERS, ["x", "z"], 2)
    assert "Give X[['x', 'y']], or declare the others" in refusal(ask, "S", NUMBERS, ["z"], 1)
    assert "got dict" in refusal(ask, "S", {}, None, 1)
    assert "got a schema of a vector" in refusal(ask, "S", sf.Schema.vector(2, 1.0), None, 2)


def test_a_scaler_by_hand():
    out = sf.PublicScaler(NUMBERS).fit_transform([[0, 4], [1, 9], ["x", None]])
    assert out.tolist() == [[-0.5, 0.5], [-0.25, 0.5], [0, 0]]
    by_bounds = sf.PublicScaler(bounds=([0, 0], [4, 8])).fit([[0, 8]])
    assert by_bounds.transform([[4, 0], [1, 2]]).tolist() == [[0.5, -0.5], [-0.25, -0.25]]
    assert by_bounds.data_norm_ == pytest.approx(math.sqrt(0.5), rel=1e-9)
    assert by_bounds.data_norm_ >= math.sqrt(0.5)
    assert sf.PublicScaler(bounds=[(0, 1)] * 3)._width() == 3
    assert sf.PublicScaler(bounds=(0, 1))._width() is None
    assert sf.PublicScaler(NUMBERS)._width() == 2
    for wrong in (sf.PublicScaler(), sf.PublicScaler(NUMBERS, bounds=(0, 1))):
        assert "PublicScaler needs a schema or bounds, and not both" in refusal(wrong.fit, [[1.0, 2.0]])
    assert "declares levels for 'region'." in refusal(sf.PublicScaler(SCHEMA).fit, FRAME)


def test_an_encoder_by_hand():
    coded = sf.PublicEncoder(SCHEMA).fit(FRAME)
    assert coded.transform(FRAME).tolist() == [[-0.5, 0.5, 0, 0], [0, -0.5, 0, 1]]
    assert coded.data_norm_ == pytest.approx(math.sqrt(0.25 + 0.25 + 1), rel=1e-9)
    whole = sf.PublicEncoder(SCHEMA, drop=None).fit(FRAME)
    assert whole.transform(FRAME)[:, 2:].tolist() == [[1, 0, 0], [0, 0, 1]]
    two = sf.PublicEncoder(levels=["m", "f"], missing="m").fit([["m", "f"]])
    assert two.transform([["m", "f"], ["x", "m"]]).tolist() == [[-0.5, 0.5], [-0.5, -0.5]]
    assert two.data_norm_ == pytest.approx(math.sqrt(0.5), rel=1e-9)
    both = sf.PublicEncoder(levels=["m", "f"], missing="m", drop=None).fit([["m"]])
    assert (both.transform([["f"]]).tolist(), both.data_norm_) == ([[0, 1]], pytest.approx(1, rel=1e-9))
    for levels, width in (
        ([["a", "b"], ["c", "d", "e"]], 2), ((("a", "b"),), 1), ([np.array(["a", "b"])], 1), (["a", "b"], None),
        (np.array(["a", "b"]), None), ([], None),
    ):  # fmt: skip
        assert sf.PublicEncoder(levels=levels)._width() == width
    nested = sf.PublicEncoder(levels=[np.array(["a", "b"]), ["c", "d", "e"]], missing=["a", "c"]).fit([["b", "e"]])
    assert nested.transform([["b", "d"]]).tolist() == [[0.5, 1, 0]]
    assert sf.PublicEncoder(levels=np.array(["a", "b"]), missing="b").fit([["b"]]).transform([["b"]]).tolist() == [
        [0.5]
    ]
    assert "one list for each of the 1 columns of X; got 2 lists" in refusal(
        sf.PublicEncoder(levels=[["a", "b"], ["c", "d"]]).fit, np.array([["a"]])
    )
    for wrong in (sf.PublicEncoder(), sf.PublicEncoder(SCHEMA, levels=["a", "b"])):
        assert "PublicEncoder needs a schema or levels, and not both" in refusal(wrong.fit, [["a"]])
    assert "drop must be None" in refusal(sf.PublicEncoder(SCHEMA, drop="first").fit, FRAME)


@pytest.mark.parametrize("how", ["clip", "normalise"])
def test_a_declared_norm_of_the_rows_holds_for_the_output(how):
    short = sf.Schema(NUMBERS.columns, data_norm=0.25, rows=how)
    long = sf.Schema(NUMBERS.columns, data_norm=9.0, rows=how)
    made = sf.PublicScaler(short).fit([[0, 4]])
    assert made.data_norm_ == 0.25
    lengths = np.linalg.norm(made.transform([[0, 4], [2, 1]]), axis=1)
    assert lengths == pytest.approx([0.25, 0.25], rel=1e-9)
    free = sf.PublicScaler(long).fit([[0, 4]])
    assert free.data_norm_ == (9.0 if how == "normalise" else pytest.approx(math.sqrt(0.5), rel=1e-9))


# --- norms and digests ----------------------------------------------------------------------------------------------------


def fitted(step, rows=((0.0, 4.0), (1.0, 2.0))):
    return step.fit(np.array(rows))


SCALER = sf.PublicScaler(NUMBERS)
HALF = math.sqrt(0.5)
ONE_HOT = {"categories": [[-0.5, 0.5]] * 2, "handle_unknown": "ignore", "sparse_output": False}


@pytest.mark.parametrize(
    ("step", "norm"),
    [
        (SCALER, HALF),
        (FunctionTransformer(), 3.0),
        (Normalizer(), 1.0),
        (Normalizer("l1"), 1.0),
        (Normalizer("max"), math.sqrt(2)),
        (Binarizer(), math.sqrt(2)),
        (OneHotEncoder(**ONE_HOT), math.sqrt(2)),
        (PolynomialFeatures(2), math.sqrt(1 + 9 + 81)),
        (PolynomialFeatures(2, include_bias=False), math.sqrt(9 + 81)),
        (PolynomialFeatures((2, 3), include_bias=False), math.sqrt(81 + 729)),
        (PolynomialFeatures((0, 1)), math.sqrt(1 + 9)),
        (Pipeline([("a", SCALER), ("b", PolynomialFeatures(2, include_bias=False))]), math.sqrt(0.5 + 0.25)),
        (FeatureUnion([("a", SCALER), ("b", "passthrough")]), math.sqrt(0.5 + 9)),
        (FeatureUnion([("a", SCALER), ("b", "drop")]), HALF),
        (FeatureUnion([("a", SCALER), ("b", Normalizer())], transformer_weights={"b": -2.0}), math.sqrt(0.5 + 4)),
        (ColumnTransformer([("a", SCALER, [0, 1]), ("b", "passthrough", [0])]), math.sqrt(0.5 + 9)),
        (ColumnTransformer([("a", SCALER, [0, 1]), ("b", Normalizer(), [])]), HALF),
        (ColumnTransformer([("a", "drop", [0])], remainder="passthrough"), 3.0),
        (ColumnTransformer([("a", Normalizer(), [0, 1])], transformer_weights={"a": 3.0}), 3.0),
        (ColumnTransformer([("a", Normalizer(), slice(0, 2)), ("b", Binarizer(), 1)], remainder="drop"), None),
    ],
    ids=str,
)  # fmt: skip
def test_the_largest_norm_behind_a_step(step, norm):
    if norm is None:  # a single column is no matrix: scikit-learn refuses it
        assert norms._places(1) == [1]
        assert norms._places("a") == ["a"]
        assert norms._places(slice(0)) == [slice(0)]
        assert norms._places([1, 2]) == [1, 2]
        return
    made = fitted(step)
    found = norms.norm_after(made, 3.0)
    assert found == pytest.approx(norm, rel=1e-9)
    assert found >= norm


def test_rows_that_nothing_codes_have_no_largest_norm():
    assert norms.norm_after("passthrough") == math.inf
    assert norms.norm_after(None) == math.inf
    assert norms.norm_after("drop") == 0.0
    union = FeatureUnion([("a", SCALER), ("b", "passthrough")])
    assert norms.norm_after(fitted(union)) == math.inf
    assert norms.norm_after(fitted(PolynomialFeatures(2))) == math.inf
    assert norms.norm_after(fitted(Normalizer())) == pytest.approx(1)


def test_leaves_schemas_and_targets():
    whole = sf.PublicEncoder(SCHEMA)
    tree = Pipeline([
        ("a", ColumnTransformer([("p", whole, ["age"]), ("q", "drop", ["x"])], remainder=SCALER)),
        ("b", FeatureUnion([("r", Normalizer()), ("s", Pipeline([("t", Binarizer())]))])),
    ])  # fmt: skip
    assert [type(leaf).__name__ for leaf in norms.leaves(tree)] == [
        "PublicEncoder", "str", "PublicScaler", "Normalizer", "Binarizer",
    ]  # fmt: skip
    assert norms.schemas(tree) == [SCHEMA, NUMBERS]
    assert norms.targets(tree) == [SCHEMA.columns["ill"]]


def test_a_digest_changes_with_every_declaration():
    other = sf.Schema({"x": sf.Number(0, 5), "y": sf.Number(0, 4)})
    steps = [
        SCALER,
        sf.PublicScaler(other),
        sf.PublicEncoder(NUMBERS),
        sf.PublicEncoder(NUMBERS, drop=None),
        sf.PublicScaler(bounds=(0, 1)),
        sf.PublicScaler(bounds=([0, 0], [1, 1])),
        sf.PublicScaler(bounds=(np.array([0, 0]), np.array([1, 2]))),
        sf.PublicEncoder(levels=["a", "b"], missing="a"),
        sf.PublicEncoder(levels=["b", "a"], missing="b"),
        Normalizer(),
        Normalizer("l1"),
        Pipeline([("a", SCALER)]),
        Pipeline([("b", SCALER)]),
        Pipeline([("a", SCALER), ("b", Normalizer())]),
    ]
    assert len({norms.digest(step) for step in steps}) == len(steps)
    assert norms.digest(sf.PublicScaler(NUMBERS)) == norms.digest(SCALER)
    long = [sf.PublicScaler(bounds=(np.zeros(2000), np.ones(2000) + (np.arange(2000) == k))) for k in (900, 901)]
    assert norms.digest(long[0]) != norms.digest(long[1])


# --- classes --------------------------------------------------------------------------------------------------------------


def classes_of(classes, missing):
    column, made = declared_classes(sf.PrivateLogisticRegression(1.0, 1e-6, classes=classes, missing_class=missing))
    return column.levels, column.missing, made.tolist()


def test_classes_are_sorted_and_the_missing_one_is_declared():
    for classes, levels, missing, made in (
        ([1, 0], (0, 1), 1, [0, 1]),
        ([0.0, 2.0], (0, 2), 0, [0.0, 2.0]),
        ([True, False], (0, 1), 1, [False, True]),
        (["b", "a"], ("a", "b"), "b", ["a", "b"]),
        ((10, 9, 2), (2, 9, 10), 10, [2, 9, 10]),
        (range(3), (0, 1, 2), 0, [0, 1, 2]),
        (np.array([3, 1]), (1, 3), 3, [1, 3]),
        (np.array(["y", "x"]), ("x", "y"), "y", ["x", "y"]),
    ):
        assert classes_of(classes, classes[0]) == (levels, missing, made)
    for wrong in ([0], 5, "ab", {0, 1}, np.array([1])):
        assert "classes must be a list of two or more labels" in refusal(classes_of, wrong, 0)
    assert "levels" in refusal(classes_of, [0, "a"], 0)
    assert "classes=[0, 1], missing_class=0," in refusal(classes_of, None, 0)
    assert "missing_class=3," in refusal(classes_of, [3, 1], None)
    assert "missing must be one of the levels (1, 3)" in refusal(classes_of, [3, 1], 2)
    assert "missing_class must be one of the classes [3, 1]" in refusal(classes_of, [3, 1], "own level")


def test_classes_of_a_pipeline():
    for target, levels, missing in (
        (sf.Category(["b", "a", "c"], missing="b"), ["a", "b", "c"], "b"),
        (sf.Boolean(missing=False), [False, True], False),
        (sf.Category([3, 1], missing=3), [1, 3], 3),
    ):
        model = sf.PrivateLogisticRegression(1.0, 1e-6)
        with handed_to(model, EncodedRows(1.0, None, target, "")):
            column, made = declared_classes(model)
            assert (made.tolist(), column.missing) == (levels, missing)
            assert declared_classes(model.set_params(classes=[0, 1], missing_class=0))[1].tolist() == [0, 1]
    model = sf.PrivateLogisticRegression(1.0, 1e-6)
    for target in (None, sf.Number(0, 1)):
        with handed_to(model, EncodedRows(1.0, None, target, "")):
            assert "classes=[0, 1], missing_class=0," in refusal(declared_classes, model)


def test_losses_of_the_estimators():
    made, outputs = sf.PrivateLogisticRegression(1.0, 1e-6)._loss(2)
    assert (made(2.0), outputs) == (losses.Logistic(radius=2.0), 1)
    made, outputs = sf.PrivateLogisticRegression(1.0, 1e-6)._loss(3)
    assert (made(2.0), outputs) == (losses.Softmax(radius=2.0, classes=3), 3)
    made, outputs = sf.PrivateLinearSVC(1.0, 1e-6)._loss(2)
    assert (made(2.0), outputs) == (losses.SmoothedHinge(radius=2.0, width=1.0), 1)
    assert "classes must be two for PrivateLinearSVC; got 3" in refusal(sf.PrivateLinearSVC(1.0, 1e-6)._loss, 3)
    assert one_score(losses.SmoothedHinge, width=0.5)[0](1.0) == losses.SmoothedHinge(radius=1.0, width=0.5)
    bounds = {"bounds_y": (10, 30)}
    labels = sf.PrivateLinearRegression(1.0, 1e-6, **bounds)._labels(sf.Number(10, 30))
    for model, loss in (
        (sf.PrivateLinearRegression(1.0, 1e-6), losses.Huber(radius=2.0, clip=1.0, lower=-1.0, upper=1.0)),
        (sf.PrivateHuberRegressor(1.0, 1e-6), losses.Huber(radius=2.0, clip=0.2)),
        (sf.PrivateHuberRegressor(1.0, 1e-6, clip=5.0), losses.Huber(radius=2.0, clip=0.5)),
        (sf.PrivateQuantileRegressor(1.0, 1e-6), losses.SmoothedQuantile(radius=2.0, quantile=0.5, width=0.2)),
        (
            sf.PrivateQuantileRegressor(1.0, 1e-6, quantile=0.9, width=5.0),
            losses.SmoothedQuantile(radius=2.0, quantile=0.9, width=0.5),
        ),
    ):
        assert model._loss(labels)(2.0) == loss
    for model in (
        sf.PrivateHuberRegressor(1.0, 1e-6, clip=0.0),
        sf.PrivateQuantileRegressor(1.0, 1e-6, quantile=1.0),
        sf.PrivateQuantileRegressor(1.0, 1e-6, width=-1.0),
    ):
        assert "must" in refusal(model._loss, labels)


def test_counts_are_scaled_by_a_quarter_of_their_bound():
    model = sf.PrivatePoissonRegressor(1.0, 1e-6)
    labels = model._labels(sf.Number(0, 20))
    assert (labels.shift, labels.unit, labels.low, labels.high) == (0, 5, 0, 4)
    assert (labels.scores.offset, labels.scores.factor) == (math.log(5), 1)
    assert model._loss(labels)(2.0) == losses.ClippedPoisson(radius=2.0, clip=1.0, label_bound=4.0)
    bare = sf.PrivatePoissonRegressor(1.0, 1e-6, fit_intercept=False, clip=6.0)
    labels = bare._labels(sf.Number(0, 20))
    assert (labels.unit, labels.high, labels.scores.offset) == (1, 20, 0)
    assert bare._loss(labels)(2.0) == losses.ClippedPoisson(radius=2.0, clip=6.0, label_bound=20.0)
    assert "must not be below 0" in refusal(model._labels, sf.Number(-1, 20))
    assert model._labels(sf.Number(0, 1)).high == 4


def test_scikit_learn_is_told_what_the_estimators_take():
    two, many = (
        sf.PrivateLogisticRegression(1.0, 1e-6, classes=[0, 1], missing_class=0),
        sf.PrivateLogisticRegression(1.0, 1e-6, classes=[0, 1, 2], missing_class=0),
    )
    assert [each.__sklearn_tags__().classifier_tags.multi_class for each in (two, many)] == [False, True]
    assert sf.PrivateLogisticRegression(1.0, 1e-6).__sklearn_tags__().classifier_tags.multi_class
    assert (
        not sf.PrivateLinearSVC(1.0, 1e-6, classes=[0, 1], missing_class=0)
        .__sklearn_tags__()
        .classifier_tags.multi_class
    )
    assert two.__sklearn_tags__().classifier_tags.poor_score
    assert sf.PrivateHuberRegressor(1.0, 1e-6).__sklearn_tags__().regressor_tags.poor_score
    for model, takes in ((two, True), (sf.PrivateLogisticRegression(1.0, 1e-6, bounds=(0, 1)), False)):
        tags = model.__sklearn_tags__().input_tags
        assert (tags.allow_nan, tags.string, tags.sparse) == (True, True, takes)
    tags = SCALER.__sklearn_tags__().input_tags
    assert (tags.allow_nan, tags.string) == (True, True)
