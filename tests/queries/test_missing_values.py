"""Missing cells of synthetic columns: their types, and the same cells missing when the schema reads the table back."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from sfumato.dataset import Dataset, rows_of
from sfumato.queries.missing_values import arrow_array, blanked, off_codes, pandas_array
from sfumato.schema import Boolean, Category, Date, Number, Schema
from sfumato.schema.missing_cells import missing_key

SCHEMA = Schema(
    {
        "age": Number(0, 110, integer=True),
        "income": Number(0, 1e5),
        "born": Date("1900-01-01", "2020-12-31", format="%d.%m.%Y"),
        "region": Category(["NA", "EU", "nan"], missing="EU"),
        "code": Category([3, 1, 2], missing=3),
        "smoker": Boolean(missing=True),
    },
    missing_codes=[-9],
)
N = 19
RNG = np.random.default_rng(21)
BORN: Date = SCHEMA.columns["born"]  # type: ignore[assignment]
# Columns as `synthesize` draws them, and which cells are missing; one column has none and the next has no others.
VALUES = {
    "age": RNG.integers(0, 111, N),
    "income": RNG.uniform(0, 1e5, N),
    "born": np.array([BORN.written(day) for day in RNG.integers(-20000, 18000, N)], dtype=object),
    "region": np.array(["NA", "EU", "nan"], dtype=object)[RNG.integers(0, 3, N)],
    "code": np.array([3, 1, 2])[RNG.integers(0, 3, N)],
    "smoker": RNG.random(N) < 0.5,
}
SOME = {name: RNG.random(N) < 0.4 for name in VALUES}
GONE = {
    "some": SOME,
    "none": {name: np.zeros(N, dtype=bool) for name in VALUES},
    "all": {name: np.ones(N, dtype=bool) for name in VALUES},
}


def mapping(gone):
    return {name: blanked(VALUES[name], gone[name], SCHEMA.columns[name]) for name in VALUES}


def arrow(gone):
    return pa.table({name: arrow_array(VALUES[name], gone[name]) for name in VALUES})


def frame(gone):
    return pd.DataFrame({name: pandas_array(VALUES[name], gone[name]) for name in VALUES})


def written(write):
    """A source that is a file which `write` made from the missing cells."""

    def make(gone, folder, ending):
        path = folder / f"t{ending}"
        write(gone, path)
        return path

    return make


def plain_csv(gone, path):
    columns = mapping(gone)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


SOURCES = {
    "mapping": (lambda gone, folder, ending: mapping(gone), ""),
    "arrow": (lambda gone, folder, ending: arrow(gone), ""),
    "pandas": (lambda gone, folder, ending: frame(gone), ""),
    "csv of the mapping": (written(plain_csv), ".csv"),
    "csv by pandas": (written(lambda gone, path: frame(gone).to_csv(path, index=False)), ".csv"),
    "csv by arrow": (written(lambda gone, path: pa.csv.write_csv(arrow(gone), path)), ".csv"),
    "parquet by pandas": (written(lambda gone, path: frame(gone).to_parquet(path)), ".parquet"),
    "parquet by arrow": (written(lambda gone, path: pa.parquet.write_table(arrow(gone), path)), ".parquet"),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("which", GONE)
def test_the_schema_reads_the_same_missing_cells_and_the_same_values_back(source, which, tmp_path):
    make, ending = SOURCES[source]
    gone = GONE[which]
    (block,) = rows_of(Dataset.from_table(make(gone, tmp_path, ending), schema=SCHEMA)).blocks()
    (whole,) = rows_of(Dataset.from_table(VALUES, schema=SCHEMA)).blocks()
    for name in VALUES:
        assert block[missing_key(name)].tolist() == gone[name].tolist(), name
        assert block[name][~gone[name]].tobytes() == whole[name][~gone[name]].tobytes(), name


@pytest.mark.parametrize("which", GONE)
def test_types_depend_on_the_column_and_not_on_the_missing_cells(which):
    gone = GONE[which]
    kinds = {name: array.dtype.kind for name, array in mapping(gone).items()}
    assert kinds == {"age": "f", "income": "f", "born": "O", "region": "O", "code": "O", "smoker": "O"}
    types = ["int64", "double", "string", "string", "int64", "bool"]
    assert [str(kind) for kind in arrow(gone).schema.types] == types
    own = {name: str(getattr(pandas_array(VALUES[name], gone[name]), "dtype", "")) for name in VALUES}
    assert own == {
        "age": "Int64", "income": "float64", "born": "object", "region": "object", "code": "Int64", "smoker": "boolean",
    }  # fmt: skip


def test_cells_that_are_there_are_plain_and_the_columns_given_are_not_changed():
    before = {name: values.copy() for name, values in VALUES.items()}
    columns = mapping(SOME)
    for make in (arrow, frame):
        make(SOME)
    for name in VALUES:
        assert np.array_equal(before[name], VALUES[name])
    assert {type(cell) for cell in columns["smoker"]} == {bool, type(None)}
    assert {type(cell) for cell in columns["code"]} == {int, type(None)}
    assert frame(SOME).isna().to_numpy().tolist() == np.column_stack(list(SOME.values())).tolist()
    assert [column.null_count for column in arrow(SOME)] == [int(mask.sum()) for mask in SOME.values()]


def test_no_rows_keep_their_types():
    nothing = np.zeros(0, dtype=bool)
    assert str(arrow_array(VALUES["region"][:0], nothing).type) == "string"
    assert str(pandas_array(VALUES["age"][:0], nothing).dtype) == "Int64"
    assert blanked(VALUES["age"][:0], nothing, SCHEMA.columns["age"]).dtype == np.float64


# --- values that are codes -------------------------------------------------------------------------------------------


def missing(values, column):
    (block,) = rows_of(Dataset.from_table({"x": values}, schema=Schema({"x": column}))).blocks()
    return block[missing_key("x")]


def test_no_synthetic_whole_number_is_a_missing_code():
    column = Number(0, 10, integer=True, missing_codes=[9, "10", 8, 0, "NA", 2.5])
    every = np.arange(11)
    moved = off_codes(every, column)
    assert moved.tolist() == [1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7]
    assert moved.dtype == every.dtype
    assert missing(every, column).sum() == 4
    assert not missing(moved, column).any()


def test_no_synthetic_date_is_a_missing_code():
    column = Date("1999-12-30", "2000-01-03", format="%Y%m%d", missing_codes=["2000-01-01", 20000102])
    days = np.arange(column.lower, column.upper + 1)
    moved = off_codes(days, column)
    assert [column.written(day) for day in moved] == ["19991230", "19991231", "19991231", "20000103", "20000103"]
    assert missing([column.written(day) for day in days], column).sum() == 2
    assert not missing([column.written(day) for day in moved], column).any()


def test_columns_without_codes_or_with_fractions_and_ranges_of_codes_alone_stay():
    for column in (
        Number(0, 3, integer=True),
        Number(0, 3, missing_codes=[1]),
        Number(0, 1, integer=True, missing_codes=[0, 1]),
    ):
        assert off_codes(np.array([0, 1, 1]), column).tolist() == [0, 1, 1]
