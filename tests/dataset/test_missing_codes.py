"""Missing codes: of the table and of a column, in every kind of source, before clipping, and never a level."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from table_readers import content

from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError, FormatError
from sfumato.queries.public_rows import _table
from sfumato.schema import Boolean, Category, Date, Number, Schema

NUMBER = Number(0, 2000, missing=7, missing_codes=[999, "NA"])


def stored(cells, column=NUMBER, **facts) -> list[float]:
    return content(Dataset.from_table({"x": cells}, schema=Schema({"x": column}, **facts)))["x"].tolist()


CELLS = [1.0, 999.0, 2000.0, 998.0]
SOURCES = {
    "list": CELLS,
    "whole numbers": [1, 999, 2000, 998],
    "texts": ["1", " 999.0 ", "2000", "998"],
    "bytes": [b"1", b"999", b"2000", b"998"],
    "numpy": np.array(CELLS),
    "numpy integers": np.array(CELLS, dtype=np.int16),
    "numpy texts": np.array(["1", "999", "2000", "998"]),
    "pandas": pd.Series(CELLS),
    "pandas texts": pd.Series(["1", "NA", "2000", "998"]),
    "arrow": pa.array(CELLS),
    "arrow texts": pa.array(["1", "NA", "2000", "998"]),
    "arrow dictionary": pa.array(["1", "NA", "2000", "998"]).dictionary_encode(),
    "arrow dictionary of numbers": pa.array([1, 999, 2000, 998]).dictionary_encode(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_code_inside_the_bounds_is_missing_in_every_source(source):
    assert stored(SOURCES[source]) == [1.0, 7.0, 2000.0, 998.0]


def test_codes_reach_files_matrices_and_labels(tmp_path):
    schema = Schema({"x": NUMBER, "y": Number(-100, 5, missing=1)}, target="y", missing_codes=[-9])
    expected = {"x": [7.0, 7.0, 3.0], "y": [1.0, 4.0, 1.0]}
    path = tmp_path / "t.csv"
    path.write_text("x,y\nNA,-9\n-9,4\n3,-9.0\n")
    pa.parquet.write_table(pa.table({"x": [999, -9, 3], "y": [-9, 4, -9]}), tmp_path / "t.parquet")
    data = [Dataset.from_table(path, schema=schema), Dataset.from_table(tmp_path / "t.parquet", schema=schema)]
    X, y = np.array([[999.0], [-9.0], [3.0]]), [-9, 4, "-9"]
    data += [
        Dataset.from_arrays(X, y, schema=schema),
        Dataset.from_arrays(X.tolist(), np.array([-9, 4, -9]), schema=schema),
    ]
    for each in data:
        assert {name: values.tolist() for name, values in content(each).items()} == expected


def test_a_code_of_one_column_is_a_value_of_the_others(tmp_path):
    schema = Schema({"a": Number(0, 2000, missing=1, missing_codes=[999]), "b": Number(0, 2000, missing=1)})
    assert content(Dataset.from_table({"a": [999], "b": [999]}, schema=schema))["b"].tolist() == [999.0]
    assert content(Dataset.from_table({"a": [999], "b": [999]}, schema=schema))["a"].tolist() == [1.0]


def test_codes_count_before_clipping_and_rounding():
    whole = Number(0, 10, missing=5, integer=True, missing_codes=[99, 2.4])
    assert stored([99, 98, 2.4, 2.41], whole) == [5.0, 10.0, 5.0, 2.0]
    counts = Schema({"x": whole}).check({"x": [99, 98, 2.4]}, counts=True).columns["x"]
    assert (counts.missing, counts.clipped) == (2, 1)


def test_texts_are_compared_exactly_and_numbers_by_value():
    column = Number(-10, 10, missing=5, missing_codes=["NA", "-1", 2])
    assert stored(["NA", " NA ", "na", "-1", "-1.0", -1, "2", "2.00", 2.5], column) == [5.0] * 8 + [2.5]
    # Levels that are texts: "09" is a level and "9" the code.
    places = Category(["09", "1"], missing="1", missing_codes=["9"])
    assert stored(["09", "9", "1"], places) == [0, 1, 1]


def test_dates_have_codes_by_day_and_by_text():
    column = Date(
        "1890-01-01", "2029-12-31", format="%d.%m.%Y", missing="2000-01-01", missing_codes=["1900-01-01", "09.09.1999"]
    )
    clean, missing = 18262.0, 10957.0
    assert stored(["01.01.1900", "09.09.1999", "01.01.2020"], column) == [missing, missing, clean]
    assert stored(np.array(["1900-01-01", "1999-09-09", "2020-01-01"], "M8[D]"), column) == [missing, missing, clean]
    digits = Date("1890-01-01", "2029-12-31", format="%Y%m%d", missing="2000-01-01", missing_codes=[19990909, 0])
    for cells in (["19990909", "20200101", "0"], [19990909, 20200101, 0], np.array([19990909.0, 20200101.0, 0.0])):
        assert stored(cells, digits) == [missing, clean, missing]


def test_a_number_among_the_codes_of_a_date_is_no_day():
    """The code 0 is the number 0, and not 1970-01-01, which is day 0."""
    column = Date("1960-01-01", "1980-12-31", missing="1965-01-01", missing_codes=[0])
    assert stored(np.array(["1970-01-01"], "M8[D]"), column) == [0.0]
    assert stored(["1970-01-01"], column) == [0.0]
    assert stored([0], column) == stored(np.array([0.0]), column) == stored(["0"], column) == [column.missing]


def test_with_decimal_commas_a_code_is_what_the_cell_spells(tmp_path):
    schema = Schema({"x": Number(-99, 99, missing=7, missing_codes=["9,9", -9.5])}, separator=";", decimal=",")
    (tmp_path / "t.csv").write_text("x;y\n9,9;1\n-9,5;1\n9,8;1\n9.9;1\n")
    assert content(Dataset.from_table(tmp_path / "t.csv", schema=schema))["x"].tolist() == [7.0, 7.0, 9.8, 7.0]


REFUSED = {
    "a level": (lambda: Category(["a", "NA"], missing_codes=["NA"], missing="a"), "'NA' is the level 'NA'"),
    "a whole level": (lambda: Category([1, 9], missing_codes=[9], missing=1), "9 is the level 9"),
    "the text of a whole level": (lambda: Category([1, 9], missing_codes=["9"], missing=1), "'9' is the level 9"),
    "the number of a text": (lambda: Category(["1", "9"], missing_codes=[9], missing="1"), "9 is the level '9'"),
    "no": (lambda: Boolean(missing_codes=[0], missing=False), "0 means no"),
    "yes": (lambda: Boolean(missing_codes=["Y"], missing=False), "'Y' means yes"),
    "a level of one column": (
        lambda: Schema({"k": Category(["NA", "EU"], missing="NA")}, missing_codes=["NA"]), "column 'k': the missing code"
    ),
    "no list": (lambda: Number(0, 1, missing_codes=-9), "must be a list of texts and numbers"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", REFUSED)
def test_a_code_that_is_a_value_too_is_refused(wrong):
    make, message = REFUSED[wrong]
    with pytest.raises(ArgumentError, match=message):
        make()


def test_a_contradiction_in_a_document_names_the_column():
    document = {"sfumato": "schema", "version": 2, "table": {"missing_codes": ["NA"]}}
    document["columns"] = {"region": {"type": "category", "levels": ["NA", "EU"], "missing": "NA"}}
    with pytest.raises(FormatError, match="column 'region': the missing code 'NA' is the level 'NA'"):
        Schema.from_json(document)


def test_own_codes_are_written_with_the_column_and_those_of_the_table_once():
    schema = Schema({"a": Number(0, 1, missing_codes=["NA", 9]), "b": Boolean(missing=False)}, missing_codes=["NA", -9])
    document = schema.to_json()
    assert document["columns"]["a"]["missing_codes"] == [9]
    assert "missing_codes" not in document["columns"]["b"]
    assert schema.columns["b"].missing_codes == ("NA", -9)
    assert Schema.from_json(document) == schema
    assert Schema.from_json(document).digest == schema.digest
    assert Schema({"a": schema.columns["a"]}).columns["a"].missing_codes == ("NA", -9, 9), (
        "a column takes its codes along"
    )


def test_public_rows_count_codes_as_empty_cells():
    schema = Schema({"x": NUMBER, "k": Category(["a", "b"], missing_codes=["?"], missing="a")})
    read = _table(schema, {"x": [1, 999, "NA"], "k": ["a", "?", "b"]})
    assert read.columns["x"].tolist() == [1.0, 7.0, 7.0]
    assert read.note == "2 empty cells of x count as 7; 1 empty cell of k counts as 'a'"
    with pytest.raises(ArgumentError, match="'!' is none of the levels"):
        _table(schema, {"x": [1], "k": ["!"]})
