"""How a table's text files are written: stated in the schema, kept in documents, wrong forms refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.dataset import Dataset, rows_of
from sfumato.errors import ArgumentError, FormatError
from sfumato.queries.public_rows import _table
from sfumato.schema import Boolean, Category, Number, Schema
from sfumato.schema.form import ENCODINGS, SEPARATORS, Form

X = {"x": Number(0, 9, missing=5)}


def column(path: Path, schema: Schema, name: str = "x") -> list[float]:
    blocks = rows_of(Dataset.from_table(path, schema=schema)).blocks()
    return np.concatenate([block[name] for block in blocks]).tolist()


def written(folder: Path, raw: bytes, ending: str = ".csv") -> Path:
    path = folder / f"t{ending}"
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("separator", SEPARATORS)
def test_each_separator_splits_lines_and_quotes_protect_it(separator, tmp_path):
    schema = Schema({"k": Category(["none", "a, b; c | d"], missing="none"), **X}, separator=separator)
    lines = [['"k"', "x"], ['"a, b; c | d"', "1"], ["none", '"2"'], ["none", "3", "4"], [f'"none{separator}"', "4"]]
    path = written(tmp_path, "\n".join(map(separator.join, lines)).encode())
    assert column(path, schema, "k") == [1, 0, 0, 0]
    assert column(path, schema) == [1.0, 2.0, 5.0, 4.0]


def test_an_ending_stands_for_a_separator_or_leaves_it_to_the_schema(tmp_path):
    tabs, commas = b"x\ty\n1\t2\n", b"x,y\n1,2\n"
    assert column(written(tmp_path, tabs, ".tsv"), Schema(X)) == [1.0]
    assert column(written(tmp_path, commas, ".TSV"), Schema(X, separator=",")) == [1.0]
    for ending in (".txt", ".dat"):
        path = written(tmp_path, tabs, ending)
        assert column(path, Schema(X, separator="\t")) == [1.0]
        with pytest.raises(ArgumentError, match=r'separator = "\\t" .* under \[table\]'):
            Dataset.from_table(path, schema=Schema(X))


@pytest.mark.parametrize(
    ("decimal", "thousands", "cell", "number"),
    [
        (",", None, "1,5", 1.5),
        (",", None, " -1,5e1 ", -15.0),
        (",", None, "7", 7.0),
        (",", None, ",5", 0.5),
        (",", None, "1.5", None),
        (",", None, "1.500", None),
        (",", None, "1,5,0", None),
        (",", ".", "1.500", 1500.0),
        (",", ".", "1.500,25", 1500.25),
        (",", ".", "12.345.678", 12_345_678.0),
        (",", ".", "1.50", None),
        (",", ".", "1500.000", None),
        (",", ".", "1,500.000", None),
        (".", ",", "1,500.25", 1500.25),
        (".", ",", "1,5", None),
        (".", "'", "1'500", 1500.0),
        (".", " ", "1 500", 1500.0),
        (",", " ", "1\u202f500,5", 1500.5),
        (",", " ", "1\u00a0500,5", 1500.5),
        (",", " ", "1 50", None),
        (",", None, "NA", None),
        (",", None, "", None),
    ],
)
def test_numbers_are_read_by_the_declared_marks_alone(decimal, thousands, cell, number, tmp_path):
    schema = Schema({"x": Number(-(10**8), 10**8, missing=-1e7)}, separator=";", decimal=decimal, thousands=thousands)
    path = written(tmp_path, f'x;y\n"{cell}";1\n'.encode())
    assert column(path, schema) == [-1e7 if number is None else number]


def test_a_decimal_comma_ends_no_cell_and_levels_keep_their_commas(tmp_path):
    columns = {
        "x": Number(0, 9, missing=5),
        "k": Category(["1,5", "1.5"], missing="1,5"),
        "w": Category([1, 2], missing=1),
        "b": Boolean(missing=False),
    }
    schema = Schema(columns, separator=";", decimal=",")
    path = written(tmp_path, b'x;k;w;b\n1,5;1.5;2,0;1,0\n"2,5";"1,5";1;yes\n')
    assert column(path, schema) == [1.5, 2.5]
    assert column(path, schema, "k") == [1, 0]
    assert column(path, schema, "w") == [1, 0]
    assert column(path, schema, "b") == [1, 1]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_in_every_encoding_the_ascii_bytes_are_ascii_and_no_others_are(encoding):
    """So that line ends, separators and quotes can be searched for in the bytes."""
    for byte in range(256):
        try:
            letter = bytes([byte]).decode(encoding)
        except UnicodeDecodeError:
            assert byte > 127
        else:
            assert (letter == chr(byte)) if byte < 128 else (ord(letter) > 127)


@pytest.mark.parametrize(
    ("name", "encoding"), [("cp1252", "cp1252"), ("Latin-1", "latin-1"), ("windows-1252", "cp1252")]
)
def test_names_and_levels_are_read_in_the_declared_encoding(name, encoding, tmp_path):
    schema = Schema({"größe": Number(0, 9), "ort": Category(["x", "Köln"], missing="x")}, encoding=name)
    path = written(tmp_path, "größe,ort\n1,Köln\n2,\x78\n".encode(encoding))
    assert column(path, schema, "ort") == [1, 0]
    assert schema.form.encoding == encoding
    with pytest.raises(ArgumentError, match=r'not text in the encoding utf-8.* encoding = "cp1252"'):
        Dataset.from_table(path, schema=Schema({"größe": Number(0, 9)}))


def test_a_byte_that_is_no_letter_of_the_encoding_makes_one_cell_missing(tmp_path):
    schema = Schema({"k": Category(["?", "a"], missing="?"), **X}, encoding="cp1252")
    path = written(tmp_path, b"k,x\na,1\n\x81,2\na,3\n")
    assert column(path, schema, "k") == [1, 0, 1]
    assert column(path, schema) == [1.0, 2.0, 3.0]


REFUSED = {
    "two letters": ({"separator": ";;"}, "separator must be one character"),
    "a space": ({"separator": " "}, "separator must be one character"),
    "a number": ({"separator": 5}, "separator must be one character"),
    "another decimal": ({"decimal": "'", "separator": ";"}, r'decimal must be "\." or ","'),
    "decimal is the separator": ({"decimal": ",", "separator": ","}, r"a comma cannot both .* state separator = \";\""),
    "decimal is the usual separator": ({"decimal": ","}, "a comma cannot both"),
    "thousands are the decimal": ({"thousands": "."}, "not the decimal mark"),
    "thousands of two letters": ({"thousands": ".,"}, "thousands must be"),
    "utf-16": ({"encoding": "UTF-16"}, "cannot be read line by line: save it as UTF-8"),
    "unknown encoding": ({"encoding": "ebcdic"}, "encoding must be one of utf-8"),
    "encoding that is none": ({"encoding": None}, "encoding must be one of utf-8"),
    "codes that are a text": ({"missing_codes": "NA"}, "must be a list of texts and numbers"),
    "an empty code": ({"missing_codes": [""]}, "a missing code must be a text without space"),
    "a code of spaces": ({"missing_codes": [" NA"]}, "a missing code must be a text without space"),
    "a code that is a truth": ({"missing_codes": [True]}, "a text or a finite number"),
    "nan": ({"missing_codes": [float("nan")]}, "empty cells and NaN are missing without a code"),
    "a long code": ({"missing_codes": ["x" * 201]}, "at most 200 letters"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_wrong_forms_are_refused_in_a_sentence(wrong):
    facts, message = REFUSED[wrong]
    with pytest.raises(ArgumentError, match=message):
        Schema(X, **facts)
    if facts != {"encoding": None}:
        document = {
            "sfumato": "schema",
            "version": 2,
            "table": facts,
            "columns": {"x": {"type": "boolean", "missing": False}},
        }
        with pytest.raises(FormatError, match=message):
            Schema.from_json(document)


def test_documents_hold_what_is_stated_and_older_ones_stay_as_they_were():
    old = {"sfumato": "schema", "version": 1, "name": "data", "unit": "row", "rows": "clip"}
    old["columns"] = {"x": {"type": "number", "lower": 0.0, "upper": 9.0, "missing": 5.0}}
    assert Schema(X).to_json() == old
    assert Schema.from_json(old) == Schema(X) == Schema.from_json({**old, "table": {}})
    # The digest of this document before tables, codes and dates could be stated.
    assert Schema(X).digest == "e4114c3a093b72fb71ec642164c7ce1e124af5e1d7cdc649e70203558a8a4dd5"
    schema = Schema(X, separator=";", decimal=",", thousands=".", encoding="cp1252", missing_codes=["NA", -9])
    document = schema.to_json()
    assert document["version"] == 2
    assert document["table"] == {
        "separator": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252", "missing_codes": ["NA", -9],
    }  # fmt: skip
    assert document["columns"] == old["columns"], "the table's codes are written once"
    assert Schema.from_toml(schema.to_toml()) == Schema.from_json(json.dumps(document)) == schema
    assert schema != Schema(X)
    assert schema.only(["x"]).form == schema.with_target("x").form == schema.without_target().form == schema.form


def test_wrong_tables_of_facts_are_refused():
    base = {"sfumato": "schema", "version": 2, "columns": {"x": {"type": "boolean", "missing": False}}}
    with pytest.raises(FormatError, match=r"\[table\] of a schema has the keys .* unknown 'seperator'"):
        Schema.from_json({**base, "table": {"seperator": ";"}})
    with pytest.raises(FormatError, match=r"\[table\] of a schema must be a table of facts"):
        Schema.from_json({**base, "table": ";"})
    with pytest.raises(FormatError, match=r"\[table\]  separator = "):
        Schema.from_json({**base, "table": {"separator": "REQUIRED"}})
    with pytest.raises(FormatError, match="this schema is a vector"):
        Schema.from_json({"sfumato": "schema", "version": 2, "dimension": 2, "data_norm": 1.0, "table": {}})


HEADERS = {
    "one name of all": (b"x;y;z\n", None, "one name that holds semicolons", '";"'),
    "one name, columns declared otherwise": (b"a;b;c\n", None, "one name that holds semicolons", '";"'),
    "tabs": (b"x\ty\n", None, "one name that holds tabs", r'"\\t"'),
    "bars": (b"x|y\n", None, "one name that holds vertical bars", r'"\|"'),
    "commas under semicolons": (b"x,y\n", ";", "one name that holds commas", '","'),
    "another one has the column": (
        b"x;y, in km;z\n",
        None,
        "names the declared columns if it is split at semicolons",
        '";"',
    ),
    "quoted": (b'"x";"y"\n', None, "holds semicolons|split at semicolons", '";"'),
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_with_another_separator_is_an_error_that_says_what_to_write(case, tmp_path):
    raw, stated, message, write = HEADERS[case]
    path = written(tmp_path, raw + b"1;SECRET\n")
    with pytest.raises(ArgumentError, match=message) as refused:
        Dataset.from_table(path, schema=Schema(X, separator=stated))
    with pytest.raises(ArgumentError, match=rf"Write separator = {write} under \[table\]"):
        Schema(X, separator=stated).check(path)
    assert "SECRET" not in str(refused.value)


def test_a_declared_name_that_holds_a_separator_is_read_if_the_schema_says_so(tmp_path):
    name = {"x;y": Number(0, 9)}
    path = written(tmp_path, b"x;y\n1\n")
    with pytest.raises(ArgumentError, match="one name that holds semicolons"):
        Dataset.from_table(path, schema=Schema(name))
    assert column(path, Schema(name, separator=","), "x;y") == [1.0]
    assert column(written(tmp_path, b'"x;y"\n1\n'), Schema(name), "x;y") == [1.0]
    assert column(written(tmp_path, b"x;y,z\n1,2\n"), Schema(name), "x;y") == [1.0]


def test_the_separator_is_that_of_the_schema_whatever_the_rows_hold(tmp_path):
    """Lines full of another separator are rows of one field each, and so of missing cells."""
    path = written(tmp_path, b"x,y\n" + b"1;2\n" * 50 + b"3,4\n")
    assert column(path, Schema(X)) == [5.0] * 50 + [3.0]


def test_public_rows_with_another_decimal_mark_are_refused_and_not_taken_for_empty(tmp_path):
    schema = Schema(X, separator=";", decimal=",", missing_codes=["NA"])
    read = _table(schema, written(tmp_path, b"x;y\n1,5;1\nNA;1\n;1\n"))
    assert read.columns["x"].tolist() == [1.5, 5.0, 5.0]
    assert read.note == "2 empty cells of x count as 5"
    with pytest.raises(ArgumentError, match=r"column 'x': '1\.5' is no finite number"):
        _table(schema, written(tmp_path, b"x;y\n1.5;1\n"))


def test_a_form_of_no_facts_is_written_as_none():
    assert Form().to_json() == {}
    assert "table:" not in str(Schema(X))
    assert "table: separator=';', missing_codes=['NA']" in str(Schema(X, separator=";", missing_codes=["NA"]))
    assert not Form().marks_numbers
    assert Form(separator=",").to_json() == {"separator": ","}
