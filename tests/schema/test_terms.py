"""Terms of a regression: their coded values keep the stated bounds, and the errors say what to write."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import distance

import sfumato as sf
from sfumato.schema import coding
from sfumato.schema.design import Design
from sfumato.schema.terms import read_terms

SCHEMA = sf.Schema(
    {
        "age": sf.Number(18, 90),
        "year": sf.Number(1900, 2020),
        "smoker": sf.Boolean(missing=False),
        "region": sf.Category(["north", "south", "west"], missing="north"),
        "ward": sf.Category(list(range(7)), missing=0),
        "ill": sf.Boolean(missing=False),
    },
    target="ill",
)
EVERYTHING = [
    "age*region",
    "smoker*year",
    "ward",
    "age^2",
    "age^3",
    "year^2",
    "age:smoker",
    "age^2:smoker",
    "region:smoker",
]


def block(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Encoded cells with every extreme among them."""
    ends = rng.integers(0, 2, n).astype(bool)
    return {
        "age": np.where(ends, rng.choice([18.0, 90.0, 54.0], n), rng.uniform(18, 90, n)),
        "year": np.where(ends, rng.choice([1900.0, 2020.0], n), rng.uniform(1900, 2020, n)),
        "smoker": rng.integers(0, 2, n).astype(np.uint8),
        "region": rng.integers(0, 3, n).astype(np.uint8),
        "ward": rng.integers(0, 7, n).astype(np.uint8),
    }


def longest_square(rows: np.ndarray) -> Fraction:
    """The largest squared length of a row, exactly: every float is a whole number of the smallest unit among them."""
    ratios = [[value.as_integer_ratio() for value in row] for row in rows.tolist()]
    unit = max(below for row in ratios for _, below in row)
    return Fraction(max(sum((above * (unit // below)) ** 2 for above, below in row) for row in ratios), unit**2)


def test_the_longest_row_is_measured_exactly():
    rows = np.array([[0.1, -0.2, 3.0], [1e-300, 3.0, 0.0], [0.0, 2.0, 1.0]])
    assert longest_square(rows) == Fraction(0.1) ** 2 + Fraction(0.2) ** 2 + 9
    assert longest_square(rows[1:]) == Fraction(1e-300) ** 2 + 9


@pytest.mark.parametrize("levels", [2, 3, 4, 7, 50, 500])
def test_levels_are_corners_of_a_simplex_with_edges_of_length_one(levels):
    points = coding.corners(levels)
    assert points.shape == (levels, levels - 1)
    assert np.allclose(distance.pdist(points), 1, rtol=0, atol=1e-12)
    assert np.allclose(points.sum(axis=0), 0, atol=1e-12)
    exact = coding.largest_square(sf.Category(list(range(levels)), missing=0))
    assert longest_square(points) <= exact
    assert float(exact) == pytest.approx((1 - 1 / levels) / 2, rel=1e-12)


def test_no_and_yes_are_coded_as_in_the_older_coding():
    assert coding.coded(sf.Boolean(missing=False), np.array([0, 1]), 1).tolist() == [[-0.5], [0.5]]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), data_norm=st.sampled_from([None, 0.3, 0.9, 40.0]))
def test_no_coded_row_is_longer_than_the_radius_exactly(seed, data_norm):
    schema = sf.Schema(dict(SCHEMA.columns), target="ill", data_norm=data_norm)
    design = Design.of(schema, EVERYTHING)
    rows = design.encode(block(np.random.default_rng(seed), 30))
    assert rows.shape == (30, len(design.features))
    assert len(set(design.features)) == design.dimension
    assert longest_square(rows) <= Fraction(design.radius) ** 2


def test_every_coded_number_reaches_both_ends():
    grid = {**block(np.random.default_rng(0), 2001), "age": np.linspace(18, 90, 2001)}
    for power in range(1, coding.HIGHEST_POWER + 1):
        values = coding.coded(SCHEMA.columns["age"], grid["age"], power)[:, 0]
        assert values.max() == 0.5
        assert values.min() == pytest.approx(-0.5, abs=2e-3)


def test_powers_are_far_less_alike_than_those_of_the_number_itself():
    age = np.linspace(18, 90, 1001)
    design = Design.of(SCHEMA, ["age", "age^2"])
    coded = design.encode({"age": age})
    assert abs(np.corrcoef(coded.T)[0, 1]) < 0.01 < 0.97 < np.corrcoef(age, age**2)[0, 1]


def test_a_star_stands_for_all_products():
    texts = [str(term) for term in read_terms(["age*region*smoker"], SCHEMA)]
    assert texts == ["age", "region", "smoker", "age:region", "age:smoker", "smoker:region", "age:smoker:region"]
    # "age" is there already, so that a second star does not repeat it.
    assert [str(term) for term in read_terms(["age*region", "age*smoker"], SCHEMA)][-1] == "age:smoker"


def test_a_column_with_a_colon_in_its_name_is_itself():
    schema = sf.Schema({"a:b": sf.Number(0, 1), "a": sf.Number(0, 1), "y": sf.Boolean(missing=False)}, target="y")
    assert [str(term) for term in read_terms(["a:b"], schema)] == ["a:b"]


@pytest.mark.parametrize(
    ("columns", "texts"),
    [
        (("a", "b", "a:b"), ["a*b"]),
        (("a", "b:c"), ["a*b:c"]),
        (("x", "x^2"), ["x", "x ^2"]),
        (("a", "b", "c", "b:c"), ["a*b:c"]),
    ],
    ids=str,
)
def test_a_text_that_may_mean_two_terms_is_refused(columns, texts):
    """A plan keeps texts: the product of a and b would be read back as the column "a:b"."""
    schema = sf.Schema({**dict.fromkeys(columns, sf.Number(0, 1)), "y": sf.Boolean(missing=False)}, target="y")
    with pytest.raises(sf.errors.ArgumentError, match="may mean two terms, since a column has ':', '\\*' or '\\^'"):
        read_terms(texts, schema)


def test_very_many_terms_are_refused_at_once():
    """A forged file may list any number of them; a hundred thousand were compared pair by pair, for minutes."""
    with pytest.raises(sf.errors.ArgumentError, match="age is there twice"):
        read_terms(["age"] * 100_000, SCHEMA)


@pytest.mark.parametrize("bounds", [(0, 1e200), (0, 1e-200)])
def test_a_power_whose_coefficient_is_no_float_is_refused_before_anything_is_paid(bounds):
    schema = sf.Schema({"a": sf.Number(*bounds), "y": sf.Boolean(missing=False)}, target="y")
    with pytest.raises(sf.errors.ArgumentError, match="Declare the column in other units"):
        read_terms(["a", "a^2"], schema)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["age^2"], "needs age beside it"),
        (["age", "age:region"], "needs region beside it"),
        (["age", "region", "age^2:region"], "needs age:region and age^2 beside it"),
        (["age", "age"], "age is there twice"),
        (["age:age"], "write its power, such as age^2"),
        (["agee"], "there is no column 'agee'; the columns are age"),
        (["ill"], "'ill' is the target, which is no feature; the columns are age"),
        (
            ["log(age)"],
            r"there is no column 'log\(age\)'; .*Terms are columns, powers of numbers \(age^2\) and products \(age:sex",
        ),
        (["C(region)"], r"there is no column 'C\(region\)'"),
        (["I(age^2)"], r"there is no column 'I\(age^2\)'"),
        (["age", "age**2"], r"there is no column 'age\*\*2'; .*powers of numbers \(age^2\)"),
        (["age", "age^9"], "from 1 to 5"),
        (["age", "age^x"], "from 1 to 5"),
        (["region^2"], "which is no Number"),
        (["age*region*smoker*ward"], "more than 3 columns"),
        ("age", "must be a list of texts"),
    ],
)
def test_wrong_terms_are_refused_with_what_to_write(texts, said):
    with pytest.raises(sf.errors.ArgumentError, match=said.replace("^", r"\^")):
        read_terms(texts, SCHEMA)


def test_a_level_alone_has_no_effect():
    schema = sf.Schema({"a": sf.Category(["only"], missing="only"), "y": sf.Boolean(missing=False)}, target="y")
    with pytest.raises(sf.errors.ArgumentError, match="one level only"):
        read_terms(["a"], schema)


def test_a_vector_has_no_terms():
    with pytest.raises(sf.errors.ArgumentError, match="this schema is a vector"):
        Design.of(sf.Schema.vector(3, data_norm=1.0), ["x0"])


def test_the_radius_grows_with_each_term():
    radii = [Design.of(SCHEMA, EVERYTHING[:k]).radius for k in range(1, len(EVERYTHING))]
    assert all(a < b for a, b in itertools.pairwise(radii))
    assert Design.of(SCHEMA, ["age", "smoker"]).radius == math.sqrt(0.5)
