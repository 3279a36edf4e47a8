"""Odd cells and containers through every reader that holds Python objects, and odd bytes through those that hold texts.

All other rows are stored bit for bit as beside a clean record; the suite turns warnings into errors.
"""

from __future__ import annotations

import itertools
import os
import tracemalloc
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from odd_records import ODD
from table_readers import READERS, TABLE, TABLE_ROWS, VECTOR, VECTOR_ROWS, content, faults

from sfumato.dataset import Dataset, rows_of
from sfumato.schema import Boolean, Category, Number, Schema
from sfumato.schema.encoding import encode
from sfumato.schema.identity import Identity
from sfumato.schema.read_arrow import column_cells
from sfumato.schema.read_rows import common_width, row_cells

LONG = os.environ.get("SFUMATO_LONG") == "1"
OBJECT_READERS = [name for name, reader in READERS.items() if reader.holds(object())]
# `csv` writes any cell as a text, which hostile ones refuse; whole lines are tested in test_bad_records.py.
OBJECT_READERS.remove("csv")


def objects(cells) -> np.ndarray:
    made = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        made[place] = cell
    return made


@pytest.mark.parametrize("reader", OBJECT_READERS)
def test_an_odd_cell_moves_its_own_row_only(reader, tmp_path, small_blocks):
    entry, found = READERS[reader], []
    clean = entry.make(entry.rows, False, tmp_path)
    for number, kind in enumerate(ODD):
        columns = range(len(entry.rows[0])) if LONG else [number % len(entry.rows[0])]
        for column in columns:
            row, rows = (number + column) % len(entry.rows), list(entry.rows)
            rows[row] = (*rows[row][:column], ODD[kind](), *rows[row][column + 1 :])
            found += [(kind, fault) for fault in faults(clean, entry.make(rows, False, tmp_path), row)]
    assert found == []


@pytest.mark.parametrize("container", [list, tuple, objects])
@pytest.mark.parametrize(("schema", "table"), [(TABLE, TABLE_ROWS), (VECTOR, VECTOR_ROWS)], ids=["table", "vector"])
def test_an_odd_row_and_an_odd_label_move_their_own_row_only(schema, table, container, small_blocks):
    X, y = [list(row[:-1]) for row in table], [[row[-1]] for row in table]
    clean = Dataset.from_arrays(container(X), container(y), schema=schema)
    for number, kind in enumerate(ODD):
        row = number % len(X)
        rows, labels = list(X), list(y)
        rows[row], labels[row] = ODD[kind](), ODD[kind]()
        assert faults(clean, Dataset.from_arrays(container(rows), container(labels), schema=schema), row) == [], kind


@pytest.mark.parametrize("kind", ODD)
def test_every_rule_looks_at_one_cell_and_gives_what_is_declared(kind):
    """With any neighbours a cell is stored as it is alone: no common type, no common shape."""
    for column in TABLE.columns.values():
        alone = encode(column, [ODD[kind]()]).values
        for beside in ([1.0], ["1"], [ODD["list of none"]()], [None]):
            together = encode(column, [*beside, ODD[kind](), *beside]).values
            assert together.dtype == alone.dtype
            assert together[1:2].tobytes() == alone.tobytes()
            assert together[0] == encode(column, beside).values[0] == together[2]


SAME = [
    1,
    1.0,
    "1",
    b"1",
    " 1 ",
    "1.0",
    True,
    np.int8(1),
    np.float32(1),
    np.str_("1"),
    np.bool_(True),
    np.longdouble(1),
]


@pytest.mark.parametrize("cell", SAME, ids=lambda cell: type(cell).__name__ + repr(cell))
def test_one_is_one_in_every_type(cell):
    """A column becomes one of objects, texts or floats by what other cells are: the value may not depend on it."""
    as_text = isinstance(cell, str | bytes)
    for column, expected in ((Number(0, 9), 1.0), (Category([0, 1], missing=0), 1), (Boolean(missing=False), 1)):
        assert encode(column, [cell]).values.tolist() == [expected]
        assert encode(column, np.array([float(cell)])).values.tolist() == [expected]
        assert encode(column, objects([cell]).tolist()).values.tolist() == [expected]
    if not as_text:
        assert encode(Category(["0", "1"], missing="0"), [cell]).values.tolist() == [1]
        assert encode(Category(["0", "1"], missing="0"), np.array([float(cell)])).values.tolist() == [1]


def test_a_row_is_a_row_by_its_type_alone():
    assert row_cells("abc", 3) is None
    assert row_cells(b"abc", 3) is None
    assert row_cells({0: 1, 1: 2, 2: 3}, 3) is None
    assert row_cells(range(3), 3) is None
    assert row_cells("abc", 1) == ["abc"]
    assert row_cells(["a"], 1) == ["a"]
    assert row_cells(np.array(5.0), 1) == [5.0]
    assert row_cells(np.ma.array([1.0, 2.0], mask=[0, 1]), 2) == [1.0, None]
    assert row_cells(ODD["list whose methods fail"](), 3) == [1, 2, 3]
    assert row_cells(ODD["lies about its length"](), 3) is None


def test_the_common_width_is_decided_by_no_single_row():
    for odd, place in itertools.product(ODD.values(), range(4)):
        rows = [[1, 2], [3, 4], (5, 6), np.array([7, 8])]
        rows[place] = odd()
        assert common_width(rows) == 2
    assert common_width(["ab", "cd", [1, 2]]) is None
    assert common_width([]) is None


SCHEMA = Schema({"k": Category(["a", "ä", "b"], missing="b"), "x": Number(0, 9, missing=7)})
RAW = [b"a", b"\xc3\xa4", b"a", b"a"]
BYTES = {"invalid": b"\xff\xfe", "cut": b"\xc3", "surrogate": b"\xed\xa0\x80", "nul": b"a\x00", "latin-1": b"\xe4"}


def arrow_texts(cells: list[bytes]) -> pa.Array:
    """Arrow texts with these bytes, UTF-8 or not."""
    return pa.array(cells, pa.large_binary()).view(pa.large_string())


def view_of(cells) -> pa.Array:
    return pa.array(cells, pa.binary_view()).view(pa.string_view())


TEXT_SOURCES = {
    "arrow": lambda cells: pa.table({"k": arrow_texts(cells), "x": arrow_texts([b"1"] * 4)}),
    "arrow views": lambda cells: pa.table({"k": view_of(cells), "x": [1.0] * 4}),
    "pandas on arrow": lambda cells: pd.DataFrame(
        {
            "k": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow_texts(cells)]))),
            "x": pd.Series([1, 1, 1, 1], dtype="Int64"),
        }
    ),
    "pandas bytes": lambda cells: pd.DataFrame({"k": pd.Series(cells, dtype=object), "x": [b"1"] * 4}),
    "numpy bytes": lambda cells: {"k": np.array(cells), "x": np.array([b"1"] * 4)},
}


@pytest.mark.parametrize("source", TEXT_SOURCES)
@pytest.mark.parametrize("bad", BYTES)
def test_bytes_that_are_no_text_make_one_missing_cell(source, bad):
    for place in range(4):
        cells = [BYTES[bad] if at == place else cell for at, cell in enumerate(RAW)]
        found = content(Dataset.from_table(TEXT_SOURCES[source](cells), schema=SCHEMA))
        expected = [0, 1, 0, 0]
        # numpy drops the NUL bytes at the end of a cell of bytes, whatever other cells are.
        expected[place] = 0 if bad == "nul" and source == "numpy bytes" else 2
        assert found["k"].tolist() == expected
        assert found["x"].tolist() == [1.0] * 4


NULLABLE = {
    "pandas Int64": lambda cells: pd.Series(cells, dtype="Int64"),
    "pandas Float32": lambda cells: pd.Series(cells, dtype="Float32"),
    "pandas int64[pyarrow]": lambda cells: pd.Series(cells, dtype="int64[pyarrow]"),
    "pandas floats": lambda cells: pd.Series(cells, dtype="float64"),
    "pandas objects": lambda cells: pd.Series(cells, dtype=object),
    "pandas categories": lambda cells: pd.Series(pd.Categorical(cells)),
    "pandas decimals": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.decimal128(12, 2))),
    "polars": pl.Series,
    "polars decimals": lambda cells: pl.Series(cells, dtype=pl.Decimal(12, 2)),
    "polars small floats": lambda cells: pl.Series(cells, dtype=pl.Float32),
    "arrow halves": lambda cells: pa.array([None if c is None else np.float16(c) for c in cells], pa.float16()),
    "arrow unsigned": lambda cells: pa.array(cells, pa.uint8()),
    "arrow dictionary": lambda cells: pa.array(cells).dictionary_encode(),
    "arrow dictionary of views": lambda cells: pa.DictionaryArray.from_arrays(
        pa.array(cells, pa.uint8()), pa.array(["0", "1", "2"], pa.string_view())
    ),
    "arrow dictionaries": lambda cells: pa.chunked_array(
        [pa.array(part, pa.int64()).dictionary_encode() for part in (cells[:1], cells[1:])]
    ),
    "polars enumeration": lambda cells: pl.Series(
        [None if cell is None else str(cell) for cell in cells], dtype=pl.Enum(["2", "1", "0"])
    ),
    "arrow chunks": lambda cells: pa.chunked_array([pa.array(cells[:1], pa.int64()), pa.array(cells[1:], pa.int64())]),
}


@pytest.mark.parametrize("source", NULLABLE)
def test_an_empty_cell_changes_the_type_of_no_other(source):
    """pandas gives integers with an empty cell out as objects or floats; what they are stored as is the same."""
    schema = Schema(
        {"n": Number(0, 9, missing=7), "k": Category(["1", "2", "3"], missing="3"), "b": Boolean(missing=False)}
    )
    for place in range(4):
        cells = [None if at == place else cell for at, cell in enumerate([1, 2, 1, 0])]
        made = [
            content(Dataset.from_table({n: NULLABLE[source](c) for n in schema.columns}, schema=schema))
            for c in ([1, 2, 1, 0], cells)
        ]
        for name in schema.columns:
            clean, odd = (np.delete(found[name], place) for found in made)
            assert clean.tobytes() == odd.tobytes()
        assert made[1]["n"][place] == 7.0


def test_an_empty_cell_in_a_query_changes_no_other():
    schema = Schema({"x": Number(0, 9, missing=7), "k": Category(["a", "b"], missing="b")})
    clean = duckdb.sql("select * from (values (1.5, 'a'), (2.5, 'a'), (3.5, 'b')) t(x, k)")
    odd = duckdb.sql("select * from (values (1.5, 'a'), (null, null), (3.5, 'b')) t(x, k)")
    found = [content(Dataset.from_table(query, schema=schema)) for query in (clean, odd)]
    assert found[0]["x"].tolist() == [1.5, 2.5, 3.5]
    assert found[1]["x"].tolist() == [1.5, 7.0, 3.5]
    assert found[1]["k"].tolist() == [0, 1, 1]


def test_a_position_outside_its_dictionary_is_one_empty_cell():
    """Arrow does not check positions when it reads them."""
    for place, position in ((0, 9), (2, -5), (3, None)):
        positions = [position if at == place else 0 for at in range(4)]
        array = pa.DictionaryArray.from_arrays(pa.array(positions, pa.int8()), pa.array(["a", "b"]), safe=False)
        found = content(Dataset.from_table({"k": array, "x": [1.0] * 4}, schema=SCHEMA))
        assert found["k"].tolist() == [2 if at == place else 0 for at in range(4)]


# One number that is repeated: 8 bytes, and as many cells as a list of it would take memory for.
ENDLESS = np.broadcast_to(np.float64(0), (3_000_000,))


@pytest.mark.parametrize(
    "read",
    [
        lambda: Dataset.from_arrays([[0.1, 0.2]] * 5 + [ENDLESS], schema=Schema.vector(2, data_norm=1.0)),
        lambda: Dataset.from_arrays(
            [[0.1, 0.2]] * 2, [1, ENDLESS], schema=Schema.vector(2, data_norm=1.0, target=Category([0, 1], missing=0))
        ),
        lambda: common_width([[0.1, 0.2]] * 5 + [ENDLESS]),
        lambda: row_cells(np.broadcast_to(np.float64(0), (2, 3_000_000)), 2),
    ],
    ids=["row", "label", "width", "row of rows"],
)
def test_one_row_of_endless_cells_takes_no_memory(read):
    read()  # what is imported on the way takes memory once
    tracemalloc.start()
    try:
        read()
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)])
def test_decimals_of_every_width_are_numbers(kind):
    cells = pa.array([Decimal("1.25"), None, Decimal("-3.5"), Decimal("1.25")], kind)
    schema = Schema({"x": Number(-2, 2, missing=0)})
    stored = [
        content(Dataset.from_table(pa.table({"x": each}), schema=schema)) for each in (cells, [1.25, 0, -2, 1.25])
    ]
    assert str(stored[0]) == str(stored[1])


@pytest.mark.parametrize("kind", [pa.decimal32(5, 2), pa.decimal64(10, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)])
def test_a_decimal_of_too_many_digits_changes_no_other_row(kind, tmp_path):
    """Arrow checks the digits of no array that a file holds, and refuses to convert one with such a cell."""

    def stored(last: bytes):
        width = kind.bit_width // 8
        raw = b"".join(cell.to_bytes(width, "little") for cell in (125, 75)) + last * width
        array = pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(raw)])
        pa.feather.write_feather(pa.table({"x": array}), tmp_path / "t.feather")
        data = Dataset.from_table(tmp_path / "t.feather", schema=Schema({"x": Number(-2, 2)}), engine="streamed")
        [block] = rows_of(data).blocks()
        identity = Identity(key=b"k" * 32)
        return block["x"].tolist(), encode(identity, column_cells(identity, array)).values[:2].tolist()

    assert [rows[0] for rows in (stored(b"\x00"), stored(b"\x7f"))] == [[1.25, 0.75, 0.0], [1.25, 0.75, 2.0]]
    assert stored(b"\x00")[1] == stored(b"\x7f")[1]
