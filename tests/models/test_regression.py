"""What a regression asks of a schema: no row longer than the loss was priced for, to the last digit."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models.regression import check_rows
from sfumato.schema.design import Design


def regression(radius: float, intercept: float) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(precision=1.0), intercept=intercept)


def rows_of(data_norm: float) -> sf.Schema:
    return sf.Schema.vector(3, data_norm=data_norm, target=sf.Category([0, 1], missing=0))


def accepts(radius: float, intercept: float, data_norm: float) -> bool:
    try:
        check_rows(regression(radius, intercept), rows_of(data_norm))
    except ArgumentError:
        return False
    return True


def test_the_radius_counts_the_intercept():
    with pytest.raises(ArgumentError, match="intercept feature 1"):
        check_rows(regression(1.0, 1.0), rows_of(1.0))
    assert check_rows(regression(1.0, 0.0), rows_of(1.0)) == 3
    assert check_rows(regression(sf.losses.radius_with_intercept(1.0), 1.0), rows_of(1.0)) == 4


@given(st.floats(1e-3, 1e3), st.floats(0.0, 1e3), st.integers(-2, 2))
def test_radii_are_compared_exactly(data_norm, intercept, steps):
    """At the norm that the loss sees and one or two floats beside it, by rational arithmetic."""
    radius = math.hypot(data_norm, intercept)
    for _ in range(abs(steps)):
        radius = math.nextafter(radius, math.inf if steps > 0 else 0.0)
    fits = Fraction(radius) ** 2 >= Fraction(data_norm) ** 2 + Fraction(intercept) ** 2
    assert accepts(radius, intercept, data_norm) == fits


def test_a_radius_one_rounding_too_small_is_refused_and_the_message_helps():
    short = math.nextafter(1.0, 0.0)
    with pytest.raises(ArgumentError, match=rf"norm at most {short!r}, .* allows 1\.0 .*radius=1\.0"):
        check_rows(regression(short, 0.0), rows_of(1.0))
    assert accepts(1.0, 0.0, 1.0)


@pytest.mark.parametrize("intercept", [0.5, 1.0, 3.0])
def test_the_radius_that_the_message_names_is_accepted(intercept):
    needed = sf.losses.radius_with_intercept(0.7, intercept)
    assert accepts(needed, intercept, 0.7)
    with pytest.raises(ArgumentError, match=f"Give the loss radius={needed!r}"):
        check_rows(regression(needed * (1 - 1e-15), intercept), rows_of(0.7))


@pytest.mark.parametrize("numbers", range(1, 12))
def test_a_table_of_numbers_allows_rows_of_half_the_root_of_their_count(numbers):
    """Four numbers make rows of norm exactly 1; a root that is no float is rounded up, never down."""
    columns = {f"x{i}": sf.Number(0, 10) for i in range(numbers)}
    schema = sf.Schema({**columns, "y": sf.Boolean(missing=False)}, target="y")
    radius = Design.of(schema).radius
    assert Fraction(radius) ** 2 >= Fraction(numbers, 4) > Fraction(math.nextafter(radius, 0.0)) ** 2
    with pytest.raises(ArgumentError, match="norm at most"):
        check_rows(regression(math.nextafter(radius, 0.0), 0.0), schema)
    assert check_rows(regression(radius, 0.0), schema) == numbers
