"""Cross tables: one Dirichlet over all cells, so one record moves one count however many columns there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models.families import from_json
from sfumato.schema import Schema

C = sf.families.CrossTable
SCHEMA = Schema(
    {
        "region": sf.Category(["north", "south", "west"], missing="north"),
        "smoker": sf.Boolean(missing=False),
        "age": sf.Number(0, 90, integer=True),
        "height": sf.Number(1.0, 2.2),
    },
    name="survey",
)


def test_cells_run_through_the_last_column_first():
    model = C.from_schema(SCHEMA, ["region", "smoker"])
    assert model.axes == (3, 2)
    assert model.labels[:3] == ("region=north, smoker=False", "region=north, smoker=True", "region=south, smoker=False")
    assert from_json(model.to_json()) == model
    binned = C.from_schema(
        SCHEMA, ["age", "smoker", "height"], {"age": [0, 18, 90], "height": {"width": 0.5}}, alpha=1.0
    )
    assert binned.axes == (2, 2, 3)
    assert binned.levels[0] == ("[0, 18)", False, "[1, 1.5)")
    assert from_json(binned.to_json()) == binned


def counts(model, table, schema=SCHEMA):
    from sfumato.engines.codes import CodesEngine

    names = model.columns(schema)
    data = sf.Dataset.from_table(table, schema=schema.only(names))
    return CodesEngine(data, names).totals(model.tally)


def test_counts_are_those_of_single_records():
    model = C.from_schema(SCHEMA, ["region", "age", "smoker"], {"age": [0, 18, 65, 90]})
    rng = np.random.default_rng(1)
    rows = [
        (str(rng.choice(["north", "south", "west"])), int(rng.integers(0, 91)), bool(rng.integers(2)))
        for _ in range(200)
    ]
    table = {name: [row[k] for row in rows] for k, name in enumerate(("region", "age", "smoker"))}
    expected = dict.fromkeys(itertools.product(["north", "south", "west"], range(3), [False, True]), 0)
    for region, age, smoker in rows:
        expected[region, (age >= 18) + (age >= 65), smoker] += 1
    assert counts(model, table) == list(expected.values())


def test_no_two_records_move_the_counts_by_more_than_one_histogram():
    """Over all pairs of records: the square root of 2, whatever the number of columns, and some pair attains it."""
    for columns, bins in ((["region", "smoker"], {}), (["region", "smoker", "age"], {"age": 3})):
        model = C.from_schema(SCHEMA, columns, bins)
        values = {"region": ["north", "south", "west"], "smoker": [False, True], "age": [-2, 0, 30, 45, 90, 99]}
        records = list(itertools.product(*(values[name] for name in columns)))
        others = {name: [values[name][0], values[name][-1]] for name in columns}
        seen = [
            np.array(counts(model, {name: [*others[name], record[k]] for k, name in enumerate(columns)}))
            for record in records
        ]
        largest = max(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
        assert largest <= model.sensitivity
        assert largest == pytest.approx(model.sensitivity, rel=1e-12)
        assert model.sensitivity == sf.families.DirichletCategorical(["a", "b"]).sensitivity


def test_the_price_is_that_of_one_histogram_and_noisy_counts_are_the_default():
    model = C.from_schema(SCHEMA, ["region", "smoker"])
    plan = sf.plan(model, 4000, 1.0, 1e-6)
    plain = sf.plan(sf.families.DirichletCategorical(list("abcdef")), 4000, 1.0, 1e-6, mechanism="noisy-statistics")
    assert plan.mechanism == "noisy-statistics"
    assert plan["noise"] == plain["noise"]
    assert plan.guarantee == plain.guarantee


@pytest.mark.parametrize(
    ("columns", "bins", "sentence"),
    [
        (["region"], {}, "at least two columns; got region"),
        ("region", {}, "a list of columns"),
        (["region", "region"], {}, "each column once"),
        (["region", "wrong"], {}, "has the columns region, smoker"),
        (["region", "age"], {}, "'age' is a Number: give its bins"),
        (["region", "smoker"], {"smoker": 2}, "only Number columns"),
        (["region", "age"], {"height": 3}, "only Number columns"),
        (["region", "age"], {"age": "x"}, "bins of column 'age': bins must be a whole number"),
        (["region", "age"], {"age": [0, 18]}, "bins of column 'age'"),
        (["region", "age"], {"age": [0, 18, 80]}, "end at the upper bound 90"),
        (["region", "age"], {"age": {"step": 3}}, "a number, a list of edges or"),
        (["age", "height", "region"], {"age": 91, "height": 100}, "27,300 cells; at most 10,000"),
    ],
)
def test_wrong_columns_and_bins_are_refused_in_a_sentence(columns, bins, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        C.from_schema(SCHEMA, columns, bins)


@pytest.mark.parametrize(
    ("levels", "more", "sentence"),
    [
        ({"a": ["x", "y"], "b": ["u"]}, {}, "at least two different levels"),
        ({"a": ["x", "y"], "b": "uv"}, {}, "must list the levels"),
        ({"a": ["x", "y"], "b": ["u", "v"]}, {"bins": {"c": [0, 1, 2]}}, "bins names 'c'"),
        ("ab", {}, "mapping from column names"),
        ([("a", ["x", "y"]), ("a", ["u", "v"])], {}, "each column once"),
        ({"a": ["x", "y"], "b": ["u", "v"]}, {"alpha": [1.0, 2.0]}, r"one per level \(4\)"),
    ],
)
def test_wrong_levels_are_refused_in_a_sentence(levels, more, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        C(levels, **more)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (sf.Category(["south", "north", "west"], missing="south"), "not the cross table's, in the same order"),
        (sf.Number(0, 3), "not the cross table's"),
        (None, "which schema 'survey' does not have"),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(column, sentence):
    model = C.from_schema(SCHEMA, ["region", "smoker"])
    columns = {"smoker": sf.Boolean(missing=False), **({} if column is None else {"region": column})}
    with pytest.raises(ArgumentError, match=sentence):
        model.columns(Schema(columns, name="survey"))


def test_binned_columns_must_be_numbers_within_the_bins():
    model = C.from_schema(SCHEMA, ["age", "smoker"], {"age": 3})
    with pytest.raises(ArgumentError, match="the bins must contain them"):
        model.columns(Schema({"age": sf.Number(0, 95, integer=True), "smoker": sf.Boolean(missing=False)}))
    with pytest.raises(ArgumentError, match="no Number"):
        model.columns(Schema({"age": sf.Category(["a", "b"], missing="a"), "smoker": sf.Boolean(missing=False)}))


def test_a_cross_table_is_not_grouped():
    with pytest.raises(ArgumentError, match="add 'year' to its columns"):
        sf.grouped(C.from_schema(SCHEMA, ["region", "smoker"]), "year", ["a", "b"])
