"""One bad record at a time: lines of a file and rows of a list that have not the shape of the others."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_readers import TABLE, TABLE_ROWS, VECTOR, VECTOR_ROWS, content, csv_bytes, faults

from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.schema import Boolean, Category, Number, Schema, read_csv

LINES = {
    "empty": b"",
    "short": b"1,2",
    "long": b"1,2,f,1,1,0.5,9,9",
    "one field": b"x",
    "commas": b"," * 400,
    "unclosed quote": b'"1,2,f,1,1,0.5',
    "unclosed last quote": b'1,2,f,1,1,"0.5',
    "quote after quote": b'"1"x,2,f,1,1,0.5',
    "quotes": b'"1","2","f","1","1","0.5"',
    "comma in quotes": b'1,2,"f,m",1,1,0.5',
    "doubled quotes": b'1,2,"f""",1,1,0.5',
    "nul": b"\x00,\x00,\x00,\x00,\x00,\x00",
    "only nul": b"\x00",
    "not utf-8": b"\xff\xfe,\x80,\xc3\x28,\xf0,\x9f,\xed\xa0\x80",
    "byte order mark": b"\xef\xbb\xbf1,2,f,1,1,0.5",
    "carriage returns": b'1\r,2\r,"f\r",1,1,0.5\r\r',
    "other separators": "1\x0b,2\x0c,f\x1c,1\x85,1\u2028,0.5".encode(),
    "huge": b"x" * 300_000,
    "huge in quotes": b'"' + b"x" * 300_000 + b'",2,f,1,1,0.5',
    "formula": b"=1+1,@x,-f,+1,1,0.5",
    "the header again": ",".join(TABLE.columns).encode(),
}


def read(folder, lines: list[bytes], schema: Schema = TABLE, end: bytes = b"\n") -> Dataset:
    header = ",".join(schema.columns).encode()
    (folder / "t.csv").write_bytes(end.join([header, *lines]) + end)
    return Dataset.from_table(folder / "t.csv", schema=schema)


CLEAN = csv_bytes(TABLE_ROWS).splitlines()[1:]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("line", LINES)
def test_a_line_is_one_row_whatever_it_holds(line, end, tmp_path, small_blocks):
    clean = read(tmp_path, CLEAN, end=end)
    for row in (0, 3, len(CLEAN) - 1):
        lines = [*CLEAN[:row], LINES[line], *CLEAN[row + 1 :]]
        assert faults(clean, read(tmp_path, lines, end=end), row) == []


def test_a_line_of_another_length_is_a_row_of_missing_cells(tmp_path):
    found = content(read(tmp_path, [CLEAN[0], b"1,2", CLEAN[1]]))
    declared = {"age": 50.0, "visits": 1.0, "sex": 2, "code": 0, "smoker": 0, "y": 0.25}
    assert {name: values[1] for name, values in found.items()} == declared


def test_quotes_protect_commas_within_a_line(tmp_path):
    schema = Schema({"place": Category(["Paris, Texas", 'the "Hub"'], missing="Paris, Texas"), "x": Number(0, 9)})
    found = content(read(tmp_path, [b'"the ""Hub""",1', b'"Paris, Texas",2'], schema))
    assert found["place"].tolist() == [1, 0]
    assert found["x"].tolist() == [1.0, 2.0]


def test_a_line_break_in_quotes_makes_two_rows(tmp_path):
    """One with all cells missing, one of what the second line spells; the lines around them are left alone."""
    schema = Schema({"place": Category(["a", "b"], missing="a"), "x": Number(0, 9, missing=9)})
    found = content(read(tmp_path, [b"b,1", b'"b\nb",2', b"b,3"], schema))
    assert found["place"].tolist() == [1, 0, 0, 1]
    assert found["x"].tolist() == [1.0, 9.0, 2.0, 3.0]


def test_the_last_line_needs_no_end_and_the_mark_at_the_start_is_no_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfx , y\n1,2\n3,4")
    found = content(Dataset.from_table(tmp_path / "t.csv", schema=Schema({"x": Number(0, 9), "y": Number(0, 9)})))
    assert found["x"].tolist() == [1.0, 3.0]
    assert found["y"].tolist() == [2.0, 4.0]


@given(st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"")), st.integers(0, len(CLEAN) - 1))
def test_any_bytes_at_all_are_one_row(tmp_path_factory, line, row):
    folder = tmp_path_factory.getbasetemp()
    clean = read(folder, CLEAN)
    assert faults(clean, read(folder, [*CLEAN[:row], line, *CLEAN[row + 1 :]]), row) == []


@pytest.mark.planted
def test_a_reader_that_lets_quotes_run_on_is_caught(tmp_path, monkeypatch):
    """The planted fault: the csv module over the whole file. One stray quote swallows every line after it."""

    def over_lines(path, width, limit, where, schema, tally):
        rows = list(csv.reader(io.StringIO(path.read_text())))[1:]
        whole = [row if len(row) == width else [""] * width for row in rows]
        yield {name: [row[place] for row in whole] for name, place in where.items()}

    clean = read(tmp_path, CLEAN)
    monkeypatch.setattr(read_csv, "_rows", over_lines)
    assert faults(clean, read(tmp_path, CLEAN), 0) == []
    bad = read(tmp_path, [CLEAN[0], LINES["unclosed quote"], *CLEAN[2:]])
    assert faults(clean, bad, 1) == ["shapes or dtypes differ"]


ROWS = {
    "short": [1.0],
    "long": list(range(40)),
    "empty": [],
    "none": None,
    "number": 1.0,
    "text": "abcdef",
    "dict": {"a": 1},
    "nested": [[1.0, 2.0], [3.0, 4.0], 5.0],
    "array": np.ones(2),
    "matrix": np.ones((2, 2)),
    "generator": iter([1, 2, 3]),
}


@pytest.mark.parametrize("bad", ROWS)
@pytest.mark.parametrize(("schema", "rows"), [(TABLE, TABLE_ROWS), (VECTOR, VECTOR_ROWS)])
def test_a_row_of_a_list_is_one_row_whatever_it_is(schema, rows, bad, small_blocks):
    X, y = [list(row[:-1]) for row in rows], [row[-1] for row in rows]
    clean = Dataset.from_arrays(X, y, schema=schema)
    assert faults(clean, Dataset.from_arrays([*X[:2], ROWS[bad], *X[3:]], y, schema=schema), 2) == []


def test_one_column_may_be_flat():
    schema = Schema({"x": Boolean(missing=False)})
    for X in ([1, 0, "yes"], np.array([1, 0, 1]), [[1], [0], ["y"]], np.array([["t"], ["n"], ["y"]])):
        assert content(Dataset.from_arrays(X, schema=schema))["x"].tolist() == [1, 0, 1]


SPARSE = {
    "no entries": ([], []),
    "index beyond": ([5.0], [9]),
    "index below": ([5.0], [-1]),
    "twice the same": ([1e308, 1e308, 0.5], [1, 1, 0]),
    "unsorted": ([0.5, 0.25, 0.125], [2, 0, 1]),
    "nan twice": ([np.nan, 1.0], [1, 1]),
    "explicit zeros": ([0.0, -0.0], [0, 1]),
}


@pytest.mark.parametrize("bad", SPARSE)
def test_a_sparse_row_is_one_row_whatever_it_holds(bad, small_blocks):
    from scipy.sparse import csr_array

    def make(entries, indices):
        data = np.array([1.0, 0.5, *entries, -1.0, 0.25, 0.125])
        where = np.array([0, 1, *indices, 2, 0, 1], dtype=np.int32)
        starts = np.array([0, 1, 2, 2 + len(entries), 3 + len(entries), 4 + len(entries), 5 + len(entries)])
        X = csr_array((6, 3))
        X.data, X.indices, X.indptr = data, where, starts.astype(np.int32)
        return Dataset.from_arrays(X, [0, 1, 0, 1, 0, 1], schema=VECTOR)

    assert faults(make([0.5], [0]), make(*SPARSE[bad]), 2) == []


def refusal(path, schema) -> str:
    with pytest.raises(ArgumentError) as refused:
        Dataset.from_table(path, schema=schema)
    return str(refused.value)


def test_lines_that_end_in_a_carriage_return_alone_are_one_sentence(tmp_path):
    """All records stand in the first line then: what is refused must not depend on them."""
    schema, said = Schema({"x": Number(0, 1)}), set()
    for place, rows in enumerate((b"0.1\r0.2\r", b'0.1\r"0.2\r', b"0.1\r\xff\r0.3,9", b"0.1\r\n", b'"\r"\n')):
        path = tmp_path / f"{place}.csv"
        path.write_bytes(b"x\r" + rows)
        said.add(refusal(path, schema))
    assert len(said) == 1
    assert r"must end with \n or \r\n" in said.pop()
    path.write_bytes(b"x\r\n0.1\r\n")
    assert Dataset.from_table(path, schema=schema).n == 1


def test_a_first_line_that_is_a_record_is_not_counted(tmp_path):
    said = set()
    for place, line in enumerate((b"0.1", b"0.1,0.2", b"secret,0.2,0.3")):
        path = tmp_path / f"{place}.csv"
        path.write_bytes(line + b"\n0.5\n")
        said.add(refusal(path, Schema({"x": Number(0, 1)})))
    assert len(said) == 1
