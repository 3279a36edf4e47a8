"""One bad cell at a time against a clean neighbour, through every reader, in one battery.

No exception, no warning (the suite turns warnings into errors), the same shapes and dtypes, every other row identical
to the bit, and the changed row inside what the schema declares.
"""

from __future__ import annotations

import datetime
import functools
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_readers import READERS, TABLE, TABLE_ROWS, content, faults

import sfumato as sf
from effort import LONG
from sfumato.dataset import Dataset, rows_of
from sfumato.schema import encoding, read_arrays

BAD = {
    "nan": math.nan,
    "inf": math.inf,
    "minus inf": -math.inf,
    "1e308": 1e308,
    "-1e308": -1e308,
    "subnormal": 5e-324,
    "minus zero": -0.0,
    "half": 0.5,
    "none": None,
    "empty": "",
    "blank": "   ",
    "text": "abc",
    "unseen": "zzz",
    "other case": "F",
    "nan text": "nan",
    "inf text": "-Infinity",
    "huge number text": "1e400",
    "a long number": "9" * 5000,
    "quote": '"',
    "quotes and comma": 'a ""b"", "c',
    "line break": "a\nb",
    "carriage return": "a\rb",
    "nul": "1\x002",
    "huge text": "x" * 200_000,
    "not utf-8": b"\xff\xfe1",
    "replacement": "\ufffd",
    "huge integer": 10**400,
    "decimal": Decimal("1e999999"),
    "signalling": Decimal("sNaN"),
    "complex": 1 + 2j,
    "list": [1, 2],
    "dict": {"a": 1},
    "object": object(),
    "date": datetime.date(2020, 1, 1),
    "numpy nan": np.float32("nan"),
    "long double": np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e400 else np.float64("inf"),
}


@functools.cache
def cases() -> list[tuple[str, str]]:
    return [(reader, bad) for reader in READERS for bad in BAD if READERS[reader].holds(BAD[bad])]


def battery(reader: str, bad: str, folder) -> list[str]:
    """Every fault of every column for one bad cell through one reader."""
    entry, cell = READERS[reader], BAD[bad]
    texts = isinstance(cell, str | bytes)
    clean = entry.make(entry.rows, texts, folder)
    found = []
    for position in range(len(entry.rows[0])):
        row = 1 + position % 4
        rows = list(entry.rows)
        rows[row] = (*rows[row][:position], cell, *rows[row][position + 1 :])
        found += faults(clean, entry.make(rows, texts, folder), row)
    return found


# Every reader meets every other cell in the quick form, and every cell meets every other reader, as on a chessboard.
CHECKED = [
    (reader, bad) for reader, bad in cases() if LONG or (list(READERS).index(reader) + list(BAD).index(bad)) % 2 == 0
]


def test_the_quick_form_leaves_out_no_reader_and_no_cell():
    assert {reader for reader, _ in CHECKED} == set(READERS)
    assert {bad for _, bad in CHECKED} == set(BAD)


@pytest.mark.parametrize(("reader", "bad"), CHECKED)
def test_a_bad_cell_moves_its_own_row_only_and_within_bounds(reader, bad, tmp_path, small_blocks):
    assert battery(reader, bad, tmp_path) == []


def test_every_reader_meets_every_number_and_every_other_cell_somewhere():
    """Nothing falls out of the battery by being called unrepresentable everywhere."""
    met = {reader: {bad for name, bad in cases() if name == reader} for reader in READERS}
    for reader in READERS:
        assert {"nan", "inf", "minus inf", "1e308", "subnormal", "none"} <= met[reader]
    assert set.union(*met.values()) == set(BAD)
    assert all("text" in found or "vector" in reader for reader, found in met.items())


@pytest.mark.parametrize("reader", [name for name in READERS if READERS[name].schema is TABLE])
def test_every_reader_stores_the_same_rows(reader, tmp_path, small_blocks):
    """All sources agree with the mapping, which holds the cells as Python objects."""
    expected = content(READERS["mapping"].make(TABLE_ROWS, False, tmp_path))
    for texts in (False, True):
        found = content(READERS[reader].make(TABLE_ROWS, texts, tmp_path))
        assert {name: array.tobytes() for name, array in found.items()} == {
            name: array.tobytes() for name, array in expected.items()
        }
    assert expected["sex"].tolist() == [0, 1, 2, 0, 1, 1, 0]
    assert expected["code"].tolist() == [1, 0, 2, 2, 1, 0, 1]
    assert expected["age"].dtype == np.float64
    assert expected["smoker"].dtype == np.uint8


@pytest.mark.parametrize("reader", READERS)
def test_permuting_rows_permutes_what_is_stored(reader, tmp_path, small_blocks):
    entry = READERS[reader]
    order = np.random.default_rng(7).permutation(len(entry.rows))
    before = content(entry.make(entry.rows, False, tmp_path))
    after = content(entry.make([entry.rows[i] for i in order], False, tmp_path))
    for name in before:
        assert before[name][order].tobytes() == after[name].tobytes()


@pytest.mark.parametrize("reader", READERS)
def test_blocks_are_full_but_for_the_last(reader, tmp_path, small_blocks):
    entry = READERS[reader]
    rows = rows_of(entry.make(entry.rows, False, tmp_path))
    assert [block.rows for block in rows.blocks()] == [4, len(entry.rows) - 4]
    assert all(array.shape[0] == block.rows for block in rows.blocks() for array in block.values())


@pytest.mark.planted
@pytest.mark.parametrize("reader", [name for name in READERS if READERS[name].schema is TABLE])
def test_clipping_alone_lets_nan_through_and_the_battery_sees_it(reader, tmp_path, small_blocks, monkeypatch):
    """The planted fault: np.clip keeps NaN."""

    def clipped_only(column, cells):
        values = np.clip(encoding.to_floats(cells), column.lower, column.upper)
        return encoding.Encoded(values, np.zeros(len(values), bool), np.zeros(len(values), bool))

    monkeypatch.setattr(sf.Number, "encoded", clipped_only)
    assert any("outside its bounds" in fault for fault in battery(reader, "nan", tmp_path))


@pytest.mark.planted
@pytest.mark.parametrize("reader", [name for name in READERS if "vector" in name])
def test_rows_that_are_not_bounded_are_seen(reader, tmp_path, small_blocks, monkeypatch):
    def unbounded(matrix, data_norm, rows):
        return np.zeros(matrix.shape[0], dtype=bool)

    monkeypatch.setattr(read_arrays, "bound_rows", unbounded)
    monkeypatch.setattr(read_arrays, "bound_sparse_rows", unbounded)
    assert any("longer than data_norm" in fault for fault in battery(reader, "1e308", tmp_path))


@pytest.mark.planted
def test_a_bound_taken_from_the_column_is_seen(tmp_path, monkeypatch):
    """Scaling by what the column holds moves other rows: the battery's second planted fault."""

    def by_the_data(column, cells):
        usable = np.nan_to_num(encoding.to_floats(cells), posinf=0, neginf=0)
        width = max(float(np.ptp(usable)), 1e-9)
        values = column.lower + (usable - usable.min()) / width * (column.upper - column.lower)
        return encoding.Encoded(values, np.zeros(len(values), bool), np.zeros(len(values), bool))

    monkeypatch.setattr(sf.Number, "encoded", by_the_data)
    assert any("another row changed" in fault for fault in battery("mapping", "1e308", tmp_path))


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.decimals(), st.fractions(),
    st.complex_numbers(), st.dates(), st.lists(st.integers(), max_size=2), st.builds(object),
)  # fmt: skip


@given(st.lists(anything, min_size=1, max_size=6), st.data())
def test_any_objects_at_all_are_stored_within_bounds_and_alone(cells, data):
    """Whatever the cells: each is stored as it would be stored alone."""
    for name, column in TABLE.columns.items():
        together = encoding.encode(column, cells)
        alone = [encoding.encode(column, [cell]).values for cell in cells]
        assert together.values.tobytes() == b"".join(value.tobytes() for value in alone), name
        assert together.values.dtype == alone[0].dtype


@pytest.mark.parametrize("X", [[], np.empty((0, 5)), np.empty((0, 5), dtype=object)])
def test_no_rows_at_all_are_a_data_set_of_none(X):
    data = Dataset.from_arrays(X, [], schema=TABLE)
    assert data.n == 0
    assert list(rows_of(data).blocks()) == []


def test_empty_tables_are_data_sets_of_no_rows(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(TABLE.columns) + "\n")
    assert Dataset.from_table(tmp_path / "t.csv", schema=TABLE).n == 0
    assert Dataset.from_table({name: [] for name in TABLE.columns}, schema=TABLE).n == 0
