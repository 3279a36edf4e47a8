"""Own units: a linear map from coded coordinates to the coefficients a reader expects, for every coding and reference."""

from __future__ import annotations

import numpy as np
import pytest
from test_terms import EVERYTHING, SCHEMA, block

import sfumato as sf
from sfumato.schema.design import Design
from sfumato.schema.units import units_of
from sfumato.schema.vector_units import VectorUnits, usable_names

CONSTANT = 0.7


def own_value(name: str, cells: dict[str, np.ndarray]) -> np.ndarray:
    """The value of an own term for every row: the product of its parts, from the cells themselves."""
    n = len(cells["age"])
    if name == "intercept":
        return np.ones(n)
    total = np.ones(n)
    for part in name.split(":"):
        column, mark, level = part.partition("=")
        if mark:
            total *= np.array(SCHEMA.columns[column].levels, dtype=object)[cells[column]] == _level(level)
        else:
            base, _, power = part.partition("^")
            total *= cells[base].astype(float) ** int(power or 1)
    return total


def _level(text: str) -> object:
    return int(text) if text.isdigit() else text


@pytest.mark.parametrize("terms", [None, ["age", "smoker"], ["age*region"], EVERYTHING], ids=str)
@pytest.mark.parametrize(
    "reference", [{}, {"region": "west"}, {"region": "sum-to-zero"}, {"ward": 3, "region": "south"}], ids=str
)
@pytest.mark.parametrize("constant", [0.0, CONSTANT])
def test_own_terms_times_own_coefficients_are_the_score_of_the_coded_row(terms, reference, constant):
    rng = np.random.default_rng([len(terms or ()), len(str(reference))])
    cells = block(rng, 25)
    design = Design.of(SCHEMA, terms)
    rows = design.encode(cells)
    rows = np.column_stack([rows, np.full(25, constant)]) if constant else rows
    theta = rng.normal(size=rows.shape[1])
    units = units_of(design, constant, reference)
    own = units.matrix @ theta
    scores = sum(value * own_value(name, cells) for name, value in zip(units.names, own, strict=True))
    # Cubes of years have cancelling terms of size 1e10.
    assert np.allclose(scores, rows @ theta, atol=1e-7 * max(1, np.abs(own).max()))
    assert units.names[0] == "intercept"
    assert not units.fixed & set(units.names)


def test_effects_that_sum_to_zero_do():
    design = Design.of(SCHEMA, ["age*region"])
    units = units_of(design, 1.0, {"region": "sum-to-zero"})
    rows = [units.names.index(f"region={level}") for level in ("north", "south", "west")]
    products = [units.names.index(f"age:region={level}") for level in ("north", "south", "west")]
    assert np.allclose(units.matrix[rows].sum(axis=0), 0)
    assert np.allclose(units.matrix[products].sum(axis=0), 0)


def test_a_reference_level_counts_zero_alone_and_in_products():
    units = units_of(Design.of(SCHEMA, ["age*region"]), 1.0, {"region": "south"})
    assert units.fixed == {"region=south", "age:region=south"}
    plain = units.weights({"region=north": 1.0})
    assert np.array_equal(units.weights({"region=north": 1, "region=south": -1}), plain)
    assert np.array_equal(units.weights({"region=north": 1, "age:region=south": 5}), plain)
    with pytest.raises(
        sf.errors.ArgumentError, match="there is no coefficient 'region=east'; there are intercept, age"
    ):
        units.weights({"region=east": 1})


def test_a_product_of_two_reference_levels_counts_zero():
    units = units_of(Design.of(SCHEMA, ["region*ward"]), 1.0, {"region": "south"})
    assert {"region=south:ward=0", "region=north:ward=0", "region=south:ward=3"} <= units.fixed
    assert not units.weights({"region=south:ward=0": 1}).any()


def test_a_column_that_is_no_feature_has_no_coefficient():
    units = units_of(Design.of(SCHEMA, ["age"]), 1.0)
    with pytest.raises(sf.errors.ArgumentError, match="there is no coefficient 'region=north'"):
        units.weights({"region=north": 1})


@pytest.mark.parametrize("terms", [None, ["a", "a=b"]], ids=str)
def test_labels_that_read_alike_are_two_coefficients(terms):
    """The level "b=c" of a column "a" and the level "c" of a column "a=b" are not added up."""
    schema = sf.Schema(
        {
            "a": sf.Category(["q", "b=c"], missing="q"),
            "a=b": sf.Category(["r", "c"], missing="r"),
            "y": sf.Boolean(missing=False),
        },
        target="y",
    )
    units = units_of(Design.of(schema, terms), 1.0)
    assert units.names == ("intercept", "a=b=c", "a=b=c")
    assert np.linalg.matrix_rank(units.matrix) == 3
    with pytest.raises(sf.errors.ArgumentError, match="two coefficients are called 'a=b=c'"):
        units.weights({"a=b=c": 1})


@pytest.mark.parametrize("bounds", [(1e308, 1.7e308), (0, 1e-300), (-1e300, 1e300)])
def test_own_units_of_extreme_bounds_are_finite(bounds):
    schema = sf.Schema({"a": sf.Number(*bounds), "y": sf.Boolean(missing=False)}, target="y")
    assert np.isfinite(units_of(Design.of(schema, ["a"]), 1.0).matrix).all()


@pytest.mark.parametrize("reference", [{"age": "north"}, {"nowhere": "x"}])
def test_a_reference_is_of_a_category(reference):
    with pytest.raises(sf.errors.ArgumentError, match="no category of the schema"):
        units_of(Design.of(SCHEMA, ["age"]), 1.0, reference)


def test_a_reference_is_one_of_the_levels():
    with pytest.raises(sf.errors.ArgumentError, match="must be one of its levels north, south, west, or 'sum-to-zero'"):
        units_of(Design.of(SCHEMA, ["region"]), 1.0, {"region": "east"})
    with pytest.raises(sf.errors.ArgumentError, match="reference must be one of the levels"):
        sf.Category(["a", "b"], reference="c", missing="a")


def test_a_declared_reference_is_kept_in_documents_and_only_there():
    plain, chosen = sf.Category(["a", "b"], missing="a"), sf.Category(["a", "b"], reference="b", missing="a")
    assert "reference" not in plain.to_json()
    assert chosen.to_json()["reference"] == "b"
    schema = sf.Schema(
        {
            "c": chosen,
            "s": sf.Category(["x", "y"], reference="sum-to-zero", missing="x"),
            "y": sf.Boolean(missing=False),
        },
        target="y",
    )
    assert sf.Schema.from_json(schema.to_json()) == schema == sf.Schema.from_toml(schema.to_toml())
    assert units_of(Design.of(schema, ["c"]), 1.0).names == ("intercept", "c=a")
    assert "reference='b'" in repr(chosen)
    assert "reference" not in repr(plain)


def test_a_vector_is_read_in_the_units_that_it_had():
    rng = np.random.default_rng(1)
    units = VectorUnits(["age", "income"], centre=[54, 5e4], span=[72, 1e5], shift=20.0, factor=30.0)
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Number(-1, 1), units=units)
    assert sf.Schema.from_json(schema.to_json()) == schema == sf.Schema.from_toml(schema.to_toml())
    x = rng.uniform([18, 0], [90, 1e5], (40, 2))
    theta = rng.normal(size=3)
    scaled = np.column_stack([(x - np.array(units.centre)) / np.array(units.span), np.full(40, CONSTANT)])
    own = units_of(Design.of(schema), CONSTANT)
    values = own.matrix @ theta + own.offset
    assert own.names == ("intercept", "age", "income")
    assert np.allclose(values[0] + x @ values[1:], 20 + 30 * (scaled @ theta))


def test_names_that_cannot_be_published_fall_back():
    assert usable_names(["a", "b"], 2) == ("a", "b")
    for names in (None, ["a"], ["a", "a"], ["a", "b\n"], ["a", 3], [1, "1"]):
        assert usable_names(names, 2) == ("x0", "x1")


@pytest.mark.parametrize(
    "change", [{"span": [0.0, 1.0]}, {"names": ["a", "a"]}, {"centre": [1.0]}, {"extra": 1}, {"names": "ab"}]
)
def test_forged_units_are_refused(change):
    document = sf.Schema.vector(2, data_norm=1.0, units=VectorUnits(["a", "b"])).to_json()
    document["units"] = {**document["units"], **change}
    with pytest.raises(sf.errors.FormatError):
        sf.Schema.from_json(document)


def test_a_table_has_no_vector_units():
    document = {**SCHEMA.to_json(), "units": VectorUnits(["a"]).to_json()}
    with pytest.raises(sf.errors.FormatError, match="columns of a table have their own"):
        sf.Schema.from_json(document)


def test_a_shift_of_labels_is_kept_without_an_intercept():
    units = VectorUnits(["a"], shift=20.0, factor=2.0)
    own = units_of(Design.of(sf.Schema.vector(1, data_norm=1.0, target=sf.Number(-1, 1), units=units)), 0.0)
    assert own.names == ("intercept", "a")
    assert np.array_equal(own.matrix @ [3.0] + own.offset, [20.0, 6.0])
