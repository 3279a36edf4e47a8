"""One odd line at a time in files of every declared form: it is one row, and moves no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_readers import faults

from sfumato.dataset import Dataset
from sfumato.schema import Boolean, Category, Date, Number, Schema, read_csv

COLUMNS = {
    "x": Number(-5, 5, missing=0.25),
    "n": Number(0, 2000, missing=3, integer=True, missing_codes=[999]),
    "k": Category(["a", "é", "no; answer"], missing="é"),
    "d": Date("1990-01-01", "2029-12-31", format="%d.%m.%Y", missing="2011-11-11"),
    "b": Boolean(missing=False),
}
FORMS = {
    "semicolons and decimal commas": {"separator": ";", "decimal": ",", "encoding": "cp1252"},
    "tabs": {"separator": "\t", "encoding": "latin-1", "missing_codes": ["NA", -9]},
    "bars and thousands": {"separator": "|", "decimal": ",", "thousands": "."},
    "commas, spaces between digits": {"thousands": " ", "missing_codes": [".", "NA"]},
    "no header": {"separator": ";", "decimal": ",", "header": False},
}
ROWS = [
    ("1,5", "12", "a", "31.01.2020", "1"),
    ("-2,25", "1500", "é", "29.02.2004", "0"),
    ("0", "7", "a", "01.12.1999", "yes"),
    ("4,75", "1", "é", "15.06.2015", "no"),
    ("3", "999", "a", "09.09.2009", "1"),
    ("-1", "2", "é", "28.02.2023", "0"),
]
# Fields of a line, or bytes of a whole one; SEP stands for the declared separator and OTHER for one that is not.
ODD = {
    "empty": b"",
    "one field": b"x",
    "too many": b"SEP" * 40,
    "another separator throughout": b"1OTHER2OTHERaOTHER01.01.2020OTHER1",
    "another separator in a cell": b"1OTHER5SEP2SEPaOTHERbSEP01.01.2020SEP1",
    "the separator in quotes": b'"1SEP5"SEP2SEP"aSEPb"SEP01.01.2020SEP1',
    "decimal comma in quotes": b'"1,5"SEP"2"SEP"a"SEP"01.01.2020"SEP"1"',
    "decimal commas without end": b"1,5,5SEP2,,SEPaSEP01,01,2020SEP1",
    "the other decimal mark": b"1.5SEP2.000SEPaSEP01.01.2020SEP1",
    "thousands gone wrong": b"1.5.00SEP1 0 0SEPaSEP01.01.2020SEP1",
    "unclosed quote": b'"1SEP2SEPaSEP01.01.2020SEP1',
    "quotes within": b'1"SEP2SEPa"bSEP01.01.2020SEP"1"x',
    "doubled quotes": b'"1""5"SEP2SEP"a"""SEP01.01.2020SEP1',
    "invalid bytes": b"\xff\xfeSEP\x81SEP\x81\x8d\x90SEP\xc3\x28SEP\xf0\x9f",
    "bytes of utf-8": b"\xc3\xa9SEP2SEP\xc3\xa9SEP01.01.2020SEP1",
    "bytes of latin-1": b"1SEP2SEP\xe9SEP01.01.2020SEP1",
    "bytes of utf-16": "1;2;é;01.01.2020;1".encode("utf-16"),
    "next line of latin-1": b"1\x85SEP2SEPa\x85bSEP01.01.2020SEP1",
    "nul": b"\x00SEP\x00SEP\x00SEP\x00SEP\x00",
    "very long": b"x" * 300_000,
    "very long cells": b"1" * 5_000 + b"SEP" + b"0" * 9_000 + b"2SEP" + b" " * 6_000 + b"aSEP" + b"0" * 8_000 + b"SEP1",
    "very long decimals": b"0" * 5_000 + b",5SEP2SEPaSEP01.01.2020SEP1",
    "30 February": b"1SEP2SEPaSEP30.02.2020SEP1",
    "year 0": b"1SEP2SEPaSEP01.01.0000SEP1",
    "nines": b"1SEP2SEPaSEP9999-99-99SEP1",
    "year 9999": b"1SEP2SEPaSEP31.12.9999SEP1",
    "another form of dates": b"1SEP2SEPaSEP2020-01-31SEP1",
    "a date with a time": b"1SEP2SEPaSEP31.01.2020 10:00SEP1",
    "codes": b"NASEP999SEPNASEP-9SEP.",
    "the header again": b"xSEPnSEPkSEPdSEPb",
    "carriage returns": b"1\rSEP2\rSEPa\rSEP01.01.2020\rSEP1\r\r",
}


def schema_of(form: str) -> Schema:
    return Schema(COLUMNS, **FORMS[form])


def lines_of(schema: Schema) -> list[bytes]:
    separator, point = schema.form.separator or ",", "," if schema.form.decimal == "," else "."
    cells = [[cell.replace(",", point) for cell in row] for row in ROWS]
    return [separator.join(row).encode(schema.form.encoding) for row in cells]


def read(folder, lines: list[bytes], schema: Schema) -> Dataset:
    header = [(schema.form.separator or ",").join(COLUMNS).encode()] if schema.form.header else []
    path = folder / "t.csv"
    path.write_bytes(b"\n".join([*header, *lines]) + b"\n")
    return Dataset.from_table(path, schema=schema)


@pytest.mark.parametrize("short", [4_096, 0], ids=["whole lines", "by cells"])
@pytest.mark.parametrize("form", FORMS)
def test_an_odd_line_is_one_row_in_every_form(form, short, tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(read_csv, "_SHORT_LINE", short)
    schema = schema_of(form)
    separator = schema.form.separator or ","
    other = ";" if separator == "," else ","
    lines = lines_of(schema)
    clean = read(tmp_path, lines, schema)
    for name, odd in ODD.items():
        line = odd.replace(b"SEP", separator.encode()).replace(b"OTHER", other.encode()).replace(b"\n", b"")
        for row in (0, 3, len(lines) - 1):
            bad = read(tmp_path, [*lines[:row], line, *lines[row + 1 :]], schema)
            assert faults(clean, bad, row) == [], name


@pytest.mark.parametrize("form", FORMS)
@given(line=st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"")), row=st.integers(0, len(ROWS) - 1))
def test_any_bytes_at_all_are_one_row_in_every_form(tmp_path_factory, form, line, row):
    folder, schema = tmp_path_factory.getbasetemp(), schema_of(form)
    lines = lines_of(schema)
    clean = read(folder, lines, schema)
    assert faults(clean, read(folder, [*lines[:row], line, *lines[row + 1 :]], schema), row) == []


@pytest.mark.parametrize("form", FORMS)
def test_the_clean_lines_are_read_as_they_are_written(form, tmp_path):
    from table_readers import content

    table = content(read(tmp_path, lines_of(schema_of(form)), schema_of(form)))
    assert table["x"].tolist() == [1.5, -2.25, 0.0, 4.75, 3.0, -1.0]
    assert table["n"].tolist() == [12.0, 1500.0, 7.0, 1.0, 3.0, 2.0]
    assert table["k"].tolist() == [0, 1, 0, 1, 0, 1]
    assert table["d"].tolist() == [18292.0, 12477.0, 10926.0, 16601.0, 14496.0, 19416.0]
    assert table["b"].tolist() == [1, 0, 1, 0, 1, 0]
