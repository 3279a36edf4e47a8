"""The public facts: what must be declared is refused when it is not, and the rest is frozen values."""

from __future__ import annotations

import dataclasses
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.schema import Boolean, Category, Number, Schema

OMITTED = {
    "both bounds": (Number, "Number needs lower"),
    "the upper bound": (lambda: Number(0), "Number needs upper"),
    "the lower bound": (lambda: Number(upper=1), "Number needs lower"),
    "a bound that is none": (lambda: Number(0, None), "Number needs upper"),
    "levels": (Category, "Category needs levels"),
    "levels that are none": (lambda: Category(None), "Category needs levels"),
    "the norm": (lambda: Schema.vector(3), "Schema.vector needs data_norm"),
    "the norm to bring rows to": (lambda: Schema({"x": Boolean(missing=False)}, rows="normalise"), "needs data_norm"),
    "columns": (lambda: Schema({}), "at least one column"),
}


@pytest.mark.parametrize("omitted", OMITTED)
def test_what_is_not_declared_is_refused(omitted):
    make, message = OMITTED[omitted]
    with pytest.raises(ArgumentError, match=message):
        make()


def test_the_refusal_says_where_a_bound_comes_from():
    with pytest.raises(ArgumentError, match="a code book, a definition, a law"):
        Number()


WRONG = {
    "reversed": (lambda: Number(1, 0), "lower must be below upper"),
    "equal": (lambda: Number(1, 1), "lower must be below upper"),
    "infinite": (lambda: Number(0, math.inf), "upper must be finite"),
    "nan": (lambda: Number(math.nan, 1), "lower must be a real number"),
    "too wide": (lambda: Number(-1.7e308, 1.7e308), "finite width"),
    "missing outside": (lambda: Number(0, 1, missing=2), r"missing must lie in \[0.0, 1.0\]"),
    "bound that is text": (lambda: Number("0", 1), "lower must be a real number"),
    "parts of whole numbers": (lambda: Number(0, 1.5, integer=True), "must be whole"),
    "part of a whole number missing": (lambda: Number(0, 2, missing=0.5, integer=True), "must be whole"),
    "integer by a word": (lambda: Number(0, 1, integer="yes"), "True or False"),
    "a text of levels": (lambda: Category("fm"), "levels must be a list"),
    "a set of levels": (lambda: Category({"f", "m"}), "levels must be a list"),
    "levels from an array": (lambda: Category(np.unique(["f", "m"])), "levels must be a list"),
    "no levels": (lambda: Category([]), "at least one entry"),
    "repeated levels": (lambda: Category(["f", "f"], missing="f"), "distinct"),
    "mixed levels": (lambda: Category(["f", 1], missing="f"), "all texts or all whole"),
    "levels that are truths": (lambda: Category([True, False], missing=True), "text or a whole number"),
    "levels that are parts": (lambda: Category([0.5], missing=0.5), "text or a whole number"),
    "levels beyond float64": (lambda: Category([2**53], missing=2**53), r"2\*\*53"),
    "empty level": (lambda: Category(["", "a"], missing=""), "without space around it"),
    "level with space": (lambda: Category([" a"], missing=" a"), "without space around it"),
    "the reserved word": (lambda: Category(["REQUIRED"], missing="REQUIRED"), "not 'REQUIRED'"),
    "half a character": (lambda: Category(["\ud800"], missing="\ud800"), "UTF-8"),
    "missing no level": (lambda: Category(["f", "m"], missing="x"), "missing must be one of the levels"),
    "missing neither": (lambda: Boolean(missing=2), "True, False or 'own level'"),
    "columns as a list": (lambda: Schema([("x", Boolean(missing=False))]), "must be a mapping"),
    "a pair for a column": (lambda: Schema({"x": (0, 1)}), "sf.Number, sf.Category, sf.Boolean or sf.Date"),
    "a class for a column": (lambda: Schema({"x": Boolean}), "sf.Number, sf.Category, sf.Boolean or sf.Date"),
    "a number for a name": (lambda: Schema({1: Boolean(missing=False)}), "the name of a column"),
    "target": (lambda: Schema({"x": Boolean(missing=False)}, target="y"), "target must be one of the columns x"),
    "norm": (lambda: Schema({"x": Boolean(missing=False)}, data_norm=0), "greater than 0"),
    "tiny norm": (lambda: Schema({"x": Boolean(missing=False)}, data_norm=1e-200), r"2\*\*-500"),
    "unit": (lambda: Schema({"x": Boolean(missing=False)}, unit=""), "unit must be a text"),
    "rows": (lambda: Schema({"x": Boolean(missing=False)}, rows="scale"), "rows must be one of"),
    "dimension": (lambda: Schema.vector(0, data_norm=1.0), "dimension must be a whole number"),
    "no dimension": (lambda: Schema.vector(None, data_norm=1.0), "dimension must be a whole number"),
    "target by name": (
        lambda: Schema.vector(2, data_norm=1.0, target="y"),
        "sf.Number, sf.Category, sf.Boolean or sf.Date",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_impossible_facts_are_refused(wrong):
    make, message = WRONG[wrong]
    with pytest.raises(ArgumentError, match=message):
        make()


def test_the_defaults_of_missing_are_public():
    assert Number(0, 100).missing == 50.0
    assert Number(-1.7e308, -1.0e308).missing == pytest.approx(-1.35e308)
    assert Number(0, 5, integer=True).missing == 2.0
    assert Category(["f", "m"], missing="f").missing == "f"
    assert Boolean(missing=False).missing is False


def facts() -> list[Schema]:
    columns = {"age": Number(0, 100), "sex": Category(["f", "m"], missing="f"), "y": Boolean(missing=False)}
    return [
        Schema(columns),
        Schema(columns, target="y"),
        Schema(columns, target="y", data_norm=2.0),
        Schema(columns, target="y", data_norm=2.0, rows="normalise"),
        Schema(columns, name="survey"),
        Schema(columns, unit="person"),
        Schema(dict(reversed(columns.items()))),
        Schema({**columns, "age": Number(0, 101)}),
        Schema({**columns, "age": Number(0, 100, missing=0)}),
        Schema({**columns, "age": Number(0, 100, integer=True)}),
        Schema({**columns, "sex": Category(["f", "m"], missing="m")}),
        Schema.vector(3, data_norm=2.0),
        Schema.vector(3, data_norm=2.0, target=Category([0, 1], missing=0)),
        Schema.vector(3, data_norm=2.0, target=Category(["0", "1"], missing="0")),
    ]


def test_equal_facts_are_equal_and_every_other_fact_counts():
    first, second = facts(), facts()
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            assert (one == other) is (i == j)
            assert (one.digest == other.digest) is (i == j)
        assert hash(one) == hash(second[i])
        assert pickle.loads(pickle.dumps(one)) == one


def test_a_schema_is_frozen():
    schema = facts()[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.unit = "person"
    with pytest.raises(TypeError):
        schema.columns["age"] = Boolean(missing=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.columns["age"].upper = 5


def test_the_target_can_be_left_out_for_prediction():
    table, vector = facts()[1], facts()[12]
    assert list(table.without_target().columns) == ["age", "sex"]
    assert table.features == ("age", "sex")
    assert vector.without_target() == facts()[11]
    assert vector.target == "target"


def test_what_is_printed_names_every_public_fact():
    text = str(facts()[2])
    for word in ("'data'", "unit='row'", "data_norm=2", "Number(0, 100, missing=50)", "['f', 'm']", "<- target"):
        assert word in text
    assert "vector of 3" in repr(facts()[11])
    assert "..." in repr(Category(list(range(100)), missing=0))


def test_facts_need_no_numpy():
    code = """
import sys
from sfumato.schema import Boolean, Category, Date, Number, Schema
columns = {"a": Number(0, 1, missing_codes=[9]), "b": Category(["x", "y"], missing="own level", alias={"1": "x"}, fold_case=True)}
columns |= {"c": Boolean(missing=False), "d": Date("2000-01-01", "2001-01-01")}
schema = Schema(columns, target="c", data_norm=1.0, separator=";")
assert Schema.from_toml(schema.to_toml()) == schema
schema.design().features, schema.digest, str(schema)
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_target_can_be_chosen_or_changed():
    """The facts stay; a former target is a feature."""
    columns = {"age": Number(0, 99), "ill": Boolean(missing=False), "well": Boolean(missing=False)}
    schema = Schema(columns, data_norm=2.0, name="clinic", unit="patient", rows="normalise")
    ill = schema.with_target("ill")
    assert ill == Schema(columns, "ill", 2.0, "clinic", "patient", "normalise")
    assert ill.with_target("well").features == ("age", "ill")
    assert schema.target is None
    for name in ("height", None, ["ill"]):
        with pytest.raises(ArgumentError, match="target must be one of the columns age, ill, well; got"):
            schema.with_target(name)
    with pytest.raises(ArgumentError, match=r"a column of a table; a vector has its target from Schema\.vector"):
        Schema.vector(3, data_norm=1.0).with_target("target")
