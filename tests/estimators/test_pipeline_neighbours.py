"""What an accepted step promises: a replaced record changes no other row of the output, and nothing that the step keeps.

The promise is tried on pairs of tables that differ in one record, whatever that record holds, and for every transformer of
scikit-learn that `sf.check_pipeline` accepts.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.pipeline import make_pipeline as bare_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.utils.discovery import all_estimators

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError

SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "hours": sf.Number(0, 60, missing=40),
        "sex": sf.Category(["m", "f"], missing="m"),
        "region": sf.Category(["north", "south", "west"], reference="west", missing="north"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
NAMES = list(SCHEMA.features)
GRID = np.linspace(-0.5, 0.5, 5).tolist()
CODED = {"categories": [GRID] * 2, "handle_unknown": "ignore", "sparse_output": False}
NUMBERS = bare_pipeline(sf.PublicScaler(SCHEMA), PolynomialFeatures(2))

# Pipelines of every kind of step that is accepted.
PIPES = {
    "encoder": sf.make_pipeline(sf.PublicEncoder(SCHEMA)),
    "all levels, products": sf.make_pipeline(sf.PublicEncoder(SCHEMA, drop=None), PolynomialFeatures(2)),
    "normalised": sf.make_pipeline(sf.PublicEncoder(SCHEMA), Normalizer()),
    "columns": sf.make_pipeline(
        ColumnTransformer(
            [("a", NUMBERS, ["age", "hours"]), ("b", sf.PublicEncoder(SCHEMA), ["region"]), ("c", "drop", ["sex"])]
        )
    ),
    "union": sf.make_pipeline(
        FeatureUnion([("a", sf.PublicEncoder(SCHEMA)), ("b", sf.make_pipeline(sf.PublicEncoder(SCHEMA), Normalizer()))])
    ),
    "categories": sf.make_pipeline(
        ColumnTransformer([("a", sf.make_pipeline(sf.PublicScaler(SCHEMA), OneHotEncoder(**CODED)), ["age", "hours"])])
    ),
}
ODD = [
    None, float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 10**400, 2**70, True, "", "x", "north ", "7", b"\xff", "f\x00",
    (), [1, 2], {"a": 1}, object, np.datetime64("2020-01-01"), np.float32(3.3), pd.NA, pd.NaT, 1j,
]  # fmt: skip


def table(rows: list[list[object]], kind: str) -> object:
    """The rows as a list, an array of objects, or a data frame of objects."""
    if kind == "list":
        return rows
    array = np.empty((len(rows), 4), dtype=object)
    for place, row in enumerate(rows):
        for column, cell in enumerate(row):
            array[place, column] = cell
    return array if kind == "array" else pd.DataFrame(array, columns=NAMES)


def ordinary(rng: np.random.Generator, count: int) -> list[list[object]]:
    return [
        [float(rng.uniform(0, 100)), int(rng.integers(0, 70)), str(rng.choice(["m", "f"])), str(rng.choice(["north", "west"]))]
        for _ in range(count)
    ]  # fmt: skip


def differences(step, one, other, place: int) -> list[str]:
    """What a replaced record changed beside its own row: the step's state, the shape, or the rows of others."""
    fitted = [clone(step), clone(step)]
    outputs = [np.asarray(each.fit_transform(rows)) for each, rows in zip(fitted, (one, other), strict=True)]
    changed = []
    if pickle.dumps(fitted[0]) != pickle.dumps(fitted[1]):
        changed.append("state")
    if outputs[0].shape != outputs[1].shape:
        return [*changed, "shape"]
    kept = [np.delete(output, place, axis=0) for output in outputs]
    if not all(same(a, b) for a, b in zip(kept[0].ravel().tolist(), kept[1].ravel().tolist(), strict=True)):
        changed.append("rows")
    return changed


def same(one: object, other: object) -> bool:
    """Equal to the last bit, or the same kind of missing cell."""
    if isinstance(one, float) and isinstance(other, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return one is other or one == other


KINDS = {name: ["array", "frame", *(["list"] if name in ("encoder", "normalised") else [])] for name in PIPES}
CASES = [(name, kind) for name in PIPES for kind in KINDS[name] if kind == "frame" or name in ("encoder", "normalised")]


@pytest.mark.planted
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_replaced_record_changes_its_own_row_and_nothing_else(name, kind):
    @settings(max_examples=sized(12, 150), deadline=None, derandomize=True)
    @given(st.integers(0, 2**32 - 1), st.lists(st.sampled_from(ODD), min_size=4, max_size=4), st.integers(0, 5))
    @example(0, [float("nan"), "x", "f", "south"], 0)  # a level that no other record has
    @example(1, [1e308, -1e308, "m", None], 5)
    def holds(seed, record, place):
        rows = ordinary(np.random.default_rng(seed), 6)
        changed = [*rows[:place], record, *rows[place + 1 :]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a warning that depends on a record reveals it
            assert differences(PIPES[name], table(rows, kind), table(changed, kind), place) == []

    holds()


def test_a_column_that_turns_into_objects_is_coded_alike():
    """pandas makes a column of numbers one of objects for a single text: the numbers of the others stay the same bits."""
    rng = np.random.default_rng(5)
    rows = ordinary(rng, 50)
    numbers = pd.DataFrame(rows, columns=NAMES)
    mixed = pd.DataFrame([*rows[:-1], ["old", None, 3, float("nan")]], columns=NAMES)
    assert numbers["age"].dtype != mixed["age"].dtype
    for name, step in PIPES.items():
        assert differences(step, numbers, mixed, 49) == [], name


LEARNING = [
    (StandardScaler(), ["state", "rows"]),
    (MinMaxScaler(), ["state", "rows"]),
    (OrdinalEncoder(), ["state", "rows"]),
    (OneHotEncoder(sparse_output=False), ["state", "shape"]),
]


@pytest.mark.planted
@pytest.mark.parametrize(("step", "changed"), LEARNING, ids=str)
def test_the_test_notices_steps_that_learn(step, changed):
    rows = np.arange(12.0).reshape(6, 2)
    other = rows.copy()
    other[0] = [-40.0, 3.0]
    assert differences(step, rows, other, 0) == changed


def accepted(step, before) -> bool:
    try:
        sf.check_pipeline(bare_pipeline(*before, step))
    except ArgumentError:
        return False
    return True


def made(kind) -> object | None:
    """A transformer with default parameters; None where some are required, as for those made of other steps."""
    try:
        return kind()
    except TypeError:
        return None


@pytest.mark.planted
def test_every_transformer_of_scikit_learn_that_is_accepted_learns_nothing():
    scaler = sf.PublicScaler(bounds=(0, 10))
    transformers = [(name, made(kind)) for name, kind in all_estimators(type_filter="transformer")]
    steps = [(name, step) for name, step in transformers if step is not None]
    assert len(steps) > 70
    taken = [(name, step) for name, step in steps if accepted(step, [scaler])]
    # A FunctionTransformer without a function hands its input on.
    assert [name for name, _ in taken] == ["Binarizer", "FunctionTransformer", "Normalizer", "PolynomialFeatures"]
    # On cells that no public step has coded, none.
    assert [name for name, step in steps if accepted(step, [])] == []
    rng = np.random.default_rng(0)
    for _ in range(sized(20, 300)):
        rows = rng.uniform(-3, 14, size=(7, 3))
        other = rows.copy()
        other[2] = rng.choice([np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0], size=3)
        for name, step in taken:
            assert differences(bare_pipeline(scaler, step), rows, other, 2) == [], name


def test_what_requires_other_steps_is_known_by_name():
    required = {name for name, kind in all_estimators(type_filter="transformer") if made(kind) is None}
    assert {"ColumnTransformer", "FeatureUnion"} <= required
    assert required <= {
        "ColumnTransformer", "FeatureUnion", "RFE", "RFECV", "SelectFromModel", "SequentialFeatureSelector", "SparseCoder",
        "StackingClassifier", "StackingRegressor", "VotingClassifier", "VotingRegressor",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["encoder", "columns"])
def test_the_plan_and_the_schema_of_a_fit_do_not_depend_on_a_record(name):
    rng = np.random.default_rng(8)
    rows = ordinary(rng, 60)
    labels = rng.integers(0, 2, 60)
    fits = []
    for record in (rows[0], [float("nan"), "x", None, "nowhere"]):
        X = table([record, *rows[1:]], "frame")
        last = sf.PrivateLogisticRegression(1.0, 1e-6)
        fits.append(sf.make_pipeline(*clone(PIPES[name]), last).fit(X, [*labels[:-1], "odd"])[-1])
    assert fits[0].plan_.digest == fits[1].plan_.digest
    assert fits[0].release_.schema == fits[1].release_.schema
    assert fits[0].n_iter_ == fits[1].n_iter_
