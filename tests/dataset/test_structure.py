"""What may be refused: structure, before any row is read, with the column and the rule named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import coo_array, csr_array

from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.schema import Boolean, Category, Number, Schema

SCHEMA = Schema({"x": Number(0, 1), "k": Category(["a", "b"], missing="a"), "b": Boolean(missing=False)})
LISTS = pa.list_(pa.float64())
STRUCT = pa.struct([("a", pa.int8())])


class Pulled(Exception):
    """A row was read."""


def trip(*_args, **_kwargs):
    raise Pulled


class TripList(list):
    __getitem__ = __iter__ = trip


class TripArray(np.ndarray):
    __getitem__ = __iter__ = astype = tolist = trip


def tripping(array):
    return np.asarray(array).view(TripArray)


# Sources of the right or wrong structure whose rows must not be touched -------------------------------------------


def arrow_source(types):
    def rows():
        raise Pulled
        yield

    return pa.RecordBatchReader.from_batches(pa.schema(types), rows())


class Stream:
    """An object that only speaks the Arrow stream protocol."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def parquet_source(types, folder, monkeypatch):
    pq.write_table(pa.schema(types).empty_table(), folder / "t.parquet")
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", trip)
    return folder / "t.parquet"


def feather_source(types, folder, monkeypatch):
    table = pa.schema(types).empty_table()
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr("sfumato.schema.read_arrow._batches", trip)
    return folder / "t.arrow"


def csv_source(names, folder, monkeypatch):
    (folder / "t.csv").write_text(",".join(names) + "\n1,a,true\n")
    monkeypatch.setattr("sfumato.schema.read_csv._cells", trip)
    return folder / "t.csv"


def frame_source(columns, monkeypatch):
    frame = pd.DataFrame(columns)
    monkeypatch.setattr(pd.Series, "to_numpy", trip)
    return frame


GOOD = [("x", pa.float64()), ("k", pa.string()), ("b", pa.bool_())]
WRONG = {
    "absent": ([("k", pa.string()), ("b", pa.bool_())], "lacks column 'x'"),
    "two absent": ([("k", pa.string())], "lacks columns 'x', 'b'"),
    "repeated": ([*GOOD, ("x", pa.float64())], "'x' more than once"),
    "list": ([("x", LISTS), *GOOD[1:]], "column 'x': a number is declared"),
    "binary": ([("x", pa.binary()), *GOOD[1:]], "column 'x': a number is declared"),
    "struct": ([GOOD[0], ("k", STRUCT), GOOD[2]], "column 'k': a category is declared"),
    "date": ([*GOOD[:2], ("b", pa.timestamp("s"))], "column 'b': a boolean is declared"),
    "dates in a dictionary": ([("x", pa.dictionary(pa.int8(), pa.date32())), *GOOD[1:]], "column 'x'"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("source", ["reader", "stream", "parquet", "feather"])
def test_arrow_structure_is_refused_before_a_row_is_read(wrong, source, tmp_path, monkeypatch):
    types, message = WRONG[wrong]
    if source == "reader":
        made = arrow_source(types)
    elif source == "stream":
        made = Stream(arrow_source(types))
    elif source == "parquet":
        made = parquet_source(types, tmp_path, monkeypatch)
    else:
        made = feather_source(types, tmp_path, monkeypatch)
    with pytest.raises(ArgumentError, match=message):
        Dataset.from_table(made, schema=SCHEMA)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["k", "b"], "lacks column 'x'"),
        (["x", "k", "b", "x"], "more than once"),
        (['"x', "k", "b"], "quotes do not close"),
    ],
)
def test_csv_structure_is_refused_before_a_row_is_read(names, message, tmp_path, monkeypatch):
    with pytest.raises(ArgumentError, match=message):
        Dataset.from_table(csv_source(names, tmp_path, monkeypatch), schema=SCHEMA)


def test_a_csv_file_without_a_line_has_no_header(tmp_path):
    (tmp_path / "t.csv").touch()
    with pytest.raises(ArgumentError, match="names of the columns"):
        Dataset.from_table(tmp_path / "t.csv", schema=SCHEMA)


DAYS = pd.to_datetime(["2020-01-01"])
FRAMES = {
    "absent": ({"k": ["a"], "b": [1]}, "lacks column 'x'"),
    "date": ({"x": DAYS, "k": ["a"], "b": [1]}, "column 'x': a number is declared"),
    "dates in a category": ({"x": [1.0], "k": pd.Categorical(DAYS), "b": [1]}, "column 'k': a category"),
    "interval": ({"x": [1.0], "k": ["a"], "b": pd.interval_range(0, 1)}, "column 'b': a boolean"),
    "complex": ({"x": [1j], "k": ["a"], "b": [1]}, "column 'x'"),
    "arrow list": ({"x": pd.array([[1.0]], dtype=pd.ArrowDtype(LISTS)), "k": ["a"], "b": [1]}, "column 'x'"),
}


@pytest.mark.parametrize("wrong", FRAMES)
def test_a_data_frame_of_wrong_structure_is_refused_before_a_row_is_read(wrong, monkeypatch):
    columns, message = FRAMES[wrong]
    with pytest.raises(ArgumentError, match=message):
        Dataset.from_table(frame_source(columns, monkeypatch), schema=SCHEMA)


def test_a_repeated_column_of_a_data_frame_is_refused(monkeypatch):
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["x", "k", "b", "x"])
    with pytest.raises(ArgumentError, match="more than once"):
        Dataset.from_table(frame, schema=SCHEMA)


COLUMN = TripList([1, 2])
MAPPINGS = {
    "absent": ({"x": COLUMN, "k": COLUMN}, "lacks column 'b'"),
    "lengths": ({"x": COLUMN, "k": COLUMN, "b": TripList([1])}, "same number of rows; got 'x' 2, 'k' 2, 'b' 1"),
    "no column": ({"x": COLUMN, "k": "ab", "b": COLUMN}, "column 'k' must be a list"),
    "two dimensions": ({"x": tripping(np.ones((2, 2))), "k": COLUMN, "b": COLUMN}, r"column 'x' .* shape \(2, 2\)"),
    "masked": ({"x": np.ma.array([1.0, 2.0]), "k": COLUMN, "b": COLUMN}, "a masked array"),
    "complex": ({"x": tripping([1j, 2]), "k": COLUMN, "b": COLUMN}, "column 'x': a number is declared"),
    "times": ({"x": tripping(np.array([0, 1], "M8[s]")), "k": COLUMN, "b": COLUMN}, "column 'x': a number"),
    "records": ({"x": tripping(np.zeros(2, "i4,i4")), "k": COLUMN, "b": COLUMN}, "column 'x': a number"),
    "arrow lists": ({"x": pa.array([[1], [2]]), "k": COLUMN, "b": COLUMN}, "column 'x': a number"),
}


@pytest.mark.parametrize("wrong", MAPPINGS)
def test_a_mapping_of_wrong_structure_is_refused_before_a_row_is_read(wrong):
    columns, message = MAPPINGS[wrong]
    with pytest.raises(ArgumentError, match=message):
        Dataset.from_table(columns, schema=SCHEMA)


VECTOR = Schema.vector(2, data_norm=1.0, target=Boolean(missing=False))
PLAIN = Schema.vector(2, data_norm=1.0)
X = tripping(np.ones((3, 2)))


def sparse_with(**parts):
    made = csr_array(np.eye(3, 2))
    for name, value in parts.items():
        setattr(made, name, value)
    made.data = made.data.view(TripArray)
    return made


ARRAYS = {
    "width": (tripping(np.ones((3, 5))), COLUMN, VECTOR, r"X must have 2 column\(s\).*got 5"),
    "flat": (tripping(np.ones(3)), COLUMN, VECTOR, "got 1"),
    "three dimensions": (tripping(np.ones((3, 2, 2))), COLUMN, VECTOR, "two dimensions"),
    "length of y": (X, COLUMN, VECTOR, "same number of rows; got 'X' 3, 'y' 2"),
    "no y": (X, None, VECTOR, "none was given"),
    "no target": (X, COLUMN, PLAIN, "the schema declares none"),
    "y in two dimensions": (X, tripping(np.ones((3, 1))), VECTOR, "column 'target'"),
    "complex": (tripping(np.ones((3, 2), complex)), None, PLAIN, "type complex128"),
    "masked": (np.ma.ones((3, 2)), None, PLAIN, "MaskedArray"),
    "a frame": (pd.DataFrame(np.ones((3, 2))), None, PLAIN, "got DataFrame"),
    "coo": (coo_array(np.eye(3, 2)), None, PLAIN, "Give X.tocsr()"),
    "sparse width": (sparse_with(), None, Schema.vector(9, data_norm=1), "got 2"),
    "sparse table": (sparse_with(), None, Schema({"a": Number(0, 1), "b": Number(0, 1)}), "vector schema"),
    "falling indptr": (sparse_with(indptr=np.array([0, 2, 1, 2])), None, PLAIN, "sound CSR"),
}


@pytest.mark.parametrize("wrong", ARRAYS)
def test_arrays_of_wrong_structure_are_refused_before_a_row_is_read(wrong):
    matrix, target, schema, message = ARRAYS[wrong]
    with pytest.raises(ArgumentError, match=message):
        Dataset.from_arrays(matrix, target, schema=schema)


@pytest.mark.planted
def test_the_wires_trip_where_the_structure_is_right(tmp_path, monkeypatch):
    """Each source above does fail once its rows are pulled; the reader then says so by type alone."""
    sources = [
        arrow_source(GOOD),
        Stream(arrow_source(GOOD)),
        {"x": COLUMN, "k": COLUMN, "b": COLUMN},
        {name: tripping([1.0, 2.0]) for name in SCHEMA.columns},
        parquet_source(GOOD, tmp_path, monkeypatch),
        csv_source(["x", "k", "b"], tmp_path, monkeypatch),
        frame_source({"x": [1.0], "k": ["a"], "b": [1]}, monkeypatch),
        feather_source(GOOD, tmp_path, monkeypatch),
    ]
    for source in sources:
        with pytest.raises(ArgumentError, match="it failed with"):
            Dataset.from_table(source, schema=SCHEMA)
    with pytest.raises(ArgumentError, match="it failed with Pulled"):
        Dataset.from_arrays(sparse_with(), None, schema=PLAIN)


@pytest.mark.parametrize("source", ["reader", "mapping", "matrix"])
def test_a_check_without_counts_reads_no_row(source):
    if source == "matrix":
        assert PLAIN.check(X) is None
    else:
        made = arrow_source(GOOD) if source == "reader" else {"x": COLUMN, "k": COLUMN, "b": COLUMN}
        assert SCHEMA.check(made) is None


def test_text_in_a_number_column_is_no_matter_of_structure():
    types = [("x", pa.string()), ("k", pa.int64()), ("b", pa.dictionary(pa.int8(), pa.string()))]
    assert SCHEMA.check(arrow_source(types)) is None
    assert SCHEMA.check(arrow_source([("x", pa.null()), ("k", pa.string_view()), ("b", pa.float16())])) is None


def test_sources_of_no_known_kind_are_refused(tmp_path):
    (tmp_path / "t.xlsx").touch()
    for source, message in (
        (tmp_path / "t.xlsx", "must end in .csv"),
        (tmp_path / "none.csv", "no file"),
        (5, "got int"),
        (None, "got NoneType"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Dataset.from_table(source, schema=SCHEMA)
    with pytest.raises(ArgumentError, match="from_arrays"):
        Dataset.from_table({"x": [1]}, schema=PLAIN)
    with pytest.raises(ArgumentError, match="schema must be"):
        Dataset.from_table({"x": [1]}, schema={"x": Number(0, 1)})
