"""The public transformers: scikit-learn's checks, the library's own coding, names, tables of every kind, bounded rows."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError
from sfumato.schema.counts import Tally
from sfumato.schema.reading import open_source

SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "hours": sf.Number(0, 60, missing=40),
        "smoker": sf.Boolean(missing=False),
        "sex": sf.Category(["m", "f"], missing="m"),
        "region": sf.Category(["north", "south", "west"], reference="south", missing="north"),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
ROWS = [
    [18, 60, True, "m", "north"],
    [90, 0, False, "f", "south"],
    [54, None, "yes", "f", "west"],
    [1e9, float("nan"), None, "x", ""],
]
FRAME = pd.DataFrame(ROWS, columns=list(SCHEMA.features))
NUMBERS = SCHEMA.only(["age", "hours", "smoker"])
ARRAY_API = "check_array_api_input"


@parametrize_with_checks([sf.PublicScaler(bounds=(-3, 3)), sf.PublicEncoder(levels=[0, 1, 2], missing=0)])
def test_scikit_learn_checks(estimator, check):
    """No check is expected to fail; that of array namespaces needs a switch that is set before SciPy is imported."""
    if getattr(check, "func", check).__name__ != ARRAY_API:
        check(estimator)
        return
    code = f"""
import sfumato as sf
from sklearn.utils.estimator_checks import estimator_checks_generator
for estimator, check in estimator_checks_generator(sf.{estimator!r}):
    if getattr(check, "func", check).__name__ == {ARRAY_API!r}:
        check(estimator)
        print("passed")
"""
    env = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=False, env=env, capture_output=True, text=True
    )
    assert run.stdout.strip() == "passed", run.stderr


@pytest.mark.planted
def test_numbers_are_scaled_by_their_bounds_and_odd_cells_are_the_declared_missing_value():
    out = sf.PublicScaler(NUMBERS).fit_transform(FRAME[list(NUMBERS.features)])
    missing = 40 / 60 - 0.5
    assert out.tolist() == [[-0.5, 0.5, 0.5], [0.5, -0.5, -0.5], [0.0, missing, 0.5], [0.5, missing, -0.5]]


@pytest.mark.planted
def test_levels_are_indicators_beside_the_reference():
    encoder = sf.PublicEncoder(SCHEMA).fit(FRAME)
    assert encoder.get_feature_names_out().tolist() == [
        "age",
        "hours",
        "smoker",
        "sex=f",
        "region=north",
        "region=west",
    ]
    assert encoder.transform(FRAME)[:, 3:].tolist() == [[-0.5, 1, 0], [0.5, 0, 0], [0.5, 0, 1], [-0.5, 1, 0]]
    whole = sf.PublicEncoder(SCHEMA, drop=None).fit(FRAME)
    assert whole.get_feature_names_out()[3:].tolist() == [
        "sex=m", "sex=f", "region=north", "region=south", "region=west",
    ]  # fmt: skip
    centred = sf.Schema({"region": sf.Category(["a", "b", "c"], reference="sum-to-zero", missing="a")})
    assert sf.PublicEncoder(centred).fit([["a"]]).get_feature_names_out().tolist() == [
        "region=a",
        "region=b",
        "region=c",
    ]


def test_all_levels_are_coded_as_the_design_of_the_schema_codes_them():
    """The library's own encoding of the same rows is the oracle."""
    features = SCHEMA.without_target()
    design = features.design()
    (block,) = open_source({name: FRAME[name].tolist() for name in features.features}, None, features, Tally())
    expected = design.encode(block)
    encoder = sf.PublicEncoder(SCHEMA, drop=None).fit(FRAME)
    assert np.array_equal(encoder.transform(FRAME), expected)
    assert encoder.get_feature_names_out().tolist() == list(design.features)
    assert encoder.data_norm_ == pytest.approx(design.radius, rel=1e-11)
    assert encoder.data_norm_ >= design.radius


TABLES = {
    "pandas": FRAME,
    "categories": FRAME.astype({"sex": "category", "region": "category"}),
    "objects": FRAME.to_numpy(dtype=object),
    "list": ROWS,
    "polars": pl.DataFrame({name: [str(row[k]) for row in ROWS] for k, name in enumerate(FRAME.columns)}),
    "arrow": pl.DataFrame({name: [str(row[k]) for row in ROWS] for k, name in enumerate(FRAME.columns)}).to_arrow(),
}


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_every_table_is_coded_alike(kind):
    expected = sf.PublicEncoder(SCHEMA).fit_transform(FRAME)
    step = sf.PublicEncoder(SCHEMA).fit(TABLES[kind])
    assert np.array_equal(step.transform(TABLES[kind]), expected)
    assert step.get_feature_names_out().tolist()[:2] == ["age", "hours"]


def test_a_frame_may_have_some_columns_in_any_order_and_an_array_must_have_all():
    some = FRAME[["region", "age"]]
    assert sf.PublicEncoder(SCHEMA).fit(some).get_feature_names_out().tolist() == ["region=north", "region=west", "age"]
    with pytest.raises(ArgumentError, match=r"X must have 5 columns, .* got 2. Give a data frame"):
        sf.PublicEncoder(SCHEMA).fit(some.to_numpy())
    with pytest.raises(ArgumentError, match="1 of the 6 columns of X are not declared as features"):
        sf.PublicEncoder(SCHEMA).fit(FRAME.assign(ill=1))
    with pytest.raises(ArgumentError, match="feature names should match"):
        sf.PublicEncoder(SCHEMA).fit(some).transform(FRAME[["age", "region"]])


@pytest.mark.parametrize(
    ("step", "X", "words"),
    [
        (sf.PublicScaler(), [[1.0]], "needs a schema or bounds, and not both"),
        (sf.PublicScaler(NUMBERS, bounds=(0, 1)), FRAME[list(NUMBERS.features)], "needs a schema or bounds, and not both"),
        (sf.PublicScaler(SCHEMA), FRAME, "declares levels for 'sex', 'region'. Use sf.PublicEncoder"),
        (sf.PublicScaler({"age": 3}), [[1.0]], "needs the schema of a table, .*got dict"),
        (sf.PublicScaler(sf.Schema.vector(2, 1.0)), [[1.0, 2.0]], "got a schema of a vector"),
        (sf.PublicEncoder(), [[1.0]], "needs a schema or levels, and not both"),
        (sf.PublicEncoder(levels=[["a"], ["b"]]), np.zeros((3, 1)), "one list for each of the 1 columns of X; got 2"),
        (sf.PublicEncoder(SCHEMA, drop="first"), FRAME, 'drop must be None or "reference"; got \'first\''),
        (sf.PublicScaler(bounds=(1, 0)), [[1.0]], "every lower one below its upper one"),
    ],
)  # fmt: skip
def test_what_is_not_declared_is_refused_in_a_sentence(step, X, words):
    with pytest.raises(ArgumentError, match=words):
        step.fit(X)


def test_a_step_is_fitted_before_it_is_used_and_a_clone_is_not_fitted():
    step = sf.PublicScaler(NUMBERS)
    with pytest.raises(NotFittedError):
        step.transform(FRAME)
    again = clone(step.fit(FRAME[list(NUMBERS.features)]))
    assert again.schema == NUMBERS
    with pytest.raises(NotFittedError):
        _ = again.data_norm_


def test_output_may_be_a_data_frame_and_columns_be_shared_out():
    columns = ColumnTransformer(
        [("numbers", sf.PublicScaler(SCHEMA), ["hours", "age"]), ("levels", sf.PublicEncoder(SCHEMA), ["region"])],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    out = columns.fit_transform(FRAME)
    assert list(out.columns) == ["hours", "age", "region=north", "region=west"]
    assert np.array_equal(out["age"], sf.PublicScaler(bounds=(18, 90)).fit_transform(FRAME[["age"]])[:, 0])


CELLS = [
    None,
    float("nan"),
    float("inf"),
    -float("inf"),
    1e308,
    -5e-324,
    "",
    "x",
    "f",
    "south",
    b"\xff",
    True,
    10**400,
    [1],
    (),
]


def exact_square(row) -> Fraction:
    return sum((Fraction(float(value)) ** 2 for value in row), Fraction(0))


@pytest.mark.planted
@pytest.mark.parametrize("limit", [None, (0.3, "clip"), (0.7, "normalise")], ids=str)
@pytest.mark.parametrize("drop", [None, "reference"])
def test_no_row_is_longer_than_the_declared_norm_and_some_reach_it(limit, drop):
    schema = SCHEMA
    if limit is not None:
        schema = sf.Schema(SCHEMA.columns, "ill", data_norm=limit[0], rows=limit[1])
    rng = np.random.default_rng(3)
    names = list(SCHEMA.features)
    table = [[CELLS[k] for k in rng.integers(len(CELLS), size=5)] for _ in range(sized(60, 600))]
    table += [[18, 0, True, "m", "north"], [90, 60, False, "f", "west"]]
    step = sf.PublicEncoder(schema, drop=drop).fit(table)
    squares = [exact_square(row) for row in step.transform(table)]
    assert max(squares) <= Fraction(step.data_norm_) ** 2
    assert max(squares) >= Fraction(step.data_norm_) ** 2 * (1 - Fraction(1, 10**9))
    assert len(names) == step.n_features_in_
