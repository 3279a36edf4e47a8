"""What a cell is read as: numbers, levels and truths, from numbers and from the texts that spell them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.schema import Boolean, Category, Number
from sfumato.schema.cells import level_finder, number
from sfumato.schema.encoding import encode
from sfumato.schema.read_arrow import arrow_cells

NUMBERS = [
    (3, 3.0), (2.5, 2.5), (True, 1.0), ("3", 3.0), (" 2.5 ", 2.5), ("1e2", 100.0), (b"7", 7.0), (Decimal("1.5"), 1.5),
    (Fraction(1, 4), 0.25), (np.int8(3), 3.0), (np.float32(0.5), 0.5), (np.bool_(True), 1.0), (np.str_("4"), 4.0),
]  # fmt: skip
NO_NUMBERS = [None, "", "x", "1,5", "1 2", b"\xff", [1], (1,), {1}, 1j, np.complex128(1), np.ones(1), object(), 10**400]


@pytest.mark.parametrize(("cell", "value"), NUMBERS)
def test_numbers_and_texts_that_spell_them(cell, value):
    assert number(cell) == value


@pytest.mark.parametrize("cell", NO_NUMBERS, ids=lambda cell: type(cell).__name__)
def test_everything_else_is_no_number(cell):
    assert math.isnan(number(cell))


def test_numbers_are_clipped_and_rounded_by_declared_facts_alone():
    cells = [-5, 0.5, 1.5, 2.5, 99, "7", None, math.inf, -math.inf]
    assert encode(Number(0, 10), cells).values.tolist() == [0, 0.5, 1.5, 2.5, 10, 7, 5, 5, 5]
    whole = encode(Number(0, 10, missing=9, integer=True), cells)
    assert whole.values.tolist() == [0, 0, 2, 2, 10, 7, 9, 9, 9]
    assert whole.missing.tolist() == [False] * 6 + [True] * 3
    assert whole.clipped.tolist() == [True, False, False, False, True, False, False, False, False]


def test_an_infinite_cell_is_missing_and_a_large_one_is_clipped():
    found = encode(Number(0, 10, missing=1), [1e308, math.inf, "1e308", "1e309"])
    assert found.values.tolist() == [10.0, 1.0, 10.0, 1.0]


LEVELS = [
    (Category(["f", "m"], missing="f"), ["f", " m ", b"m", "F", "", None, 0, "f\x00"], [0, 1, 1, -1, -1, -1, -1, -1]),
    (Category([3, 1], missing=3), [3, "1", "1.0", 1.0, True, "x", 2, 1.5, None], [0, 1, 1, 1, 1, -1, -1, -1, -1]),
    (Category(["3", "1"], missing="3"), [3, "1", "1.0", 1.0, True, 2, math.nan], [0, 1, -1, 1, 1, -1, -1]),
    (Category(["1.0", "1"], missing="1.0"), ["1", "1.0", 1], [1, 0, 0]),
]


@pytest.mark.parametrize(("column", "cells", "codes"), LEVELS)
def test_levels_are_found_by_text_or_by_number(column, cells, codes):
    found = encode(column, cells)
    assert np.where(found.missing, -1, found.values.astype(int)).tolist() == codes
    fill = column.levels.index(column.missing)
    assert found.values.tolist() == [fill if code < 0 else code for code in codes]


@given(st.lists(st.floats() | st.integers(-5, 5).map(float), max_size=20))
def test_an_array_of_numbers_is_read_like_its_cells(values):
    for column in (
        Number(-2, 2),
        Number(-2, 3, integer=True),
        Category([3, -1, 0], missing=3),
        Category(["a", "2", "0"], missing="a"),
        Boolean(missing=False),
    ):
        array, cells = encode(column, np.array(values, dtype=np.float64)), encode(column, values)
        assert array.values.tobytes() == cells.values.tobytes()
        assert array.values.dtype == cells.values.dtype
        assert array.missing.tolist() == cells.missing.tolist()


def test_truths():
    truth = level_finder(Boolean(missing=False))
    yes, no = (
        [True, 1, 1.0, "TRUE", "t", "Yes", "y", "1", "1.0", b"true"],
        [False, 0, "false", "F", "no", "N", "0", -0.0],
    )
    assert [truth(cell) for cell in yes] == [1] * len(yes)
    assert [truth(cell) for cell in no] == [0] * len(no)
    assert [truth(cell) for cell in (2, 0.5, "maybe", "", None, math.nan, [1])] == [-1] * 7
    assert encode(Boolean(missing=True), ["maybe", "no"]).values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("levels", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)]
)
def test_codes_are_as_small_as_the_levels_allow(levels, dtype):
    assert encode(Category(range(levels), missing=0), [0, levels - 1]).values.dtype == dtype


ARROW = [
    pa.array([1, 2, None], pa.int8()),
    pa.array([1, 2, None], pa.uint64()),
    pa.array([1, 2, None], pa.float16()),
    pa.array([1, 2, None], pa.float32()),
    pa.array([Decimal(1), Decimal(2), None], pa.decimal128(38, 20)),
    pa.array(["1", "2", None]),
    pa.array(["1", "2", None], pa.large_string()),
    pa.array(["1", "2", None], pa.string_view()),
    pa.array(["1", "2", None]).dictionary_encode(),
    pa.array([1, 2, None]).dictionary_encode(),
    pa.array(["0", "1", "2", None]).slice(1),
    pa.chunked_array([["1"], ["2", None]]),
    pa.chunked_array([pa.array(["1"]).dictionary_encode(), pa.array(["2", None]).dictionary_encode()]),
]


@pytest.mark.parametrize("array", ARROW, ids=lambda array: str(array.type))
def test_arrow_types_are_read_alike(array):
    assert encode(Number(0, 9, missing=9), arrow_cells(array)).values.tolist() == [1, 2, 9]
    assert encode(Category([5, 2, 1], missing=5), arrow_cells(array)).values.tolist() == [2, 1, 0]
    assert encode(Category(["5", "2", "1"], missing="5"), arrow_cells(array)).values.tolist() == [2, 1, 0]
    assert encode(Boolean(missing=False), arrow_cells(array)).missing.tolist() == [False, True, True]


def test_arrow_truths_nulls_and_large_numbers():
    assert encode(Boolean(missing=False), arrow_cells(pa.array([True, False, None]))).values.tolist() == [1, 0, 0]
    assert encode(Number(0, 1), arrow_cells(pa.nulls(2))).values.tolist() == [0.5, 0.5]
    assert encode(Number(0, 1), arrow_cells(pa.array([2**63 - 1, -(2**63)]))).values.tolist() == [1.0, 0.0]
    assert encode(Number(0, 9), arrow_cells(pa.array([Decimal("1.5")], pa.decimal128(38, 5)))).values.tolist() == [1.5]
