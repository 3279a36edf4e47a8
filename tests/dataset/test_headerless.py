"""Files whose first line is a record: none of it becomes a name or is shown, and columns are read by their position."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_readers import content

import sfumato as sf
from command_line import typed
from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Boolean, Category, Number, Persons, Schema, Weight
from sfumato.schema.first_line import looks_like_data

# One cell of each kind that no column is called by; the other cells of its line are names.
CELLS = {
    "whole": "34", "negative": "-1", "decimal comma": "1,72", "thousands": "31.500,50", "exponent": "1,5E-3", "share": "3 %",
    "money": "$30", "phone": "+49 170 1234", "year": "2019", "iso": "2020-01-31", "dots": "31.01.2020", "slashes": "1/2/20",
    "stamp": "2023-03-14T10:30:00Z", "spaced stamp": "2023-03-14 10:30 UTC", "plain stamp": "20230314T1030", "month": "14 Mar 2023",
    "German": "14. März 2023", "dashes": "14-MAR-23", "American": "Mar 14, 2023", "month and year": "March 2023",
    "year and month": "2023-Mar", "mail": "Tue, 14 Mar 2023 10:00:00 GMT", "ctime": "Tue Mar 14 10:00:00 2023", "time": "10:30",
    "afternoon": "10:30 pm", "empty": "", "spaces": "  ", "point": ".", "question": "?", "R": "NA", "Python": "None", "C": "nan",
    "SQL": "NULL", "true": "TRUE", "Python's true": "True", "repeated": "SECRETS",
}  # fmt: skip
NAMES = (
    "age", "größe", "q1", "2nd_visit", "T1", "x_2019", "y2019", "No", "yes", "t", "Na", "年齢", "العمر", "may", "dec10", "Ort 2",
    "marathon2020", "3 months", "week 1", "income (2019)", "a.b", "e", "E", "n", "id", "visit 2 mean", "Mars 2",
)  # fmt: skip


def no_secret(error: BaseException) -> bool:
    return not re.search("SECRET|34|Anna", str(error))


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_first_line_with_one_cell_of_data_is_refused_and_quotes_nothing(kind, separator, tmp_path):
    for place in (0, 2):
        cells = ["SECRETS", '"SECRET"']
        cells.insert(place, CELLS[kind])
        path = tmp_path / "t.csv"
        path.write_bytes(b"\xef\xbb\xbf" + separator.join(cells).encode() + b"\nSECRET;2;3\n")
        with pytest.raises(
            ArgumentError, match=r"looks like a record.*--no-header --columns N.*rename them"
        ) as refused:
            Schema.draft(path, header=True, separator=separator)
        assert no_secret(refused.value)


def test_the_rule_looks_at_the_first_line_and_at_no_other(tmp_path):
    path = tmp_path / "t.csv"
    drafts = set()
    for rest in ("", "age,name\n", "1,2,3\n", "34,Anna\n" * 3, "\xff\n"):
        path.write_text(f"age,name\n{rest}", encoding="latin-1")
        drafts.add(Schema.draft(path, header=True))
    assert len(drafts) == 1
    for rest in ("", "age,name\n"):
        path.write_text(f"34,name\n{rest}")
        with pytest.raises(ArgumentError, match="looks like a record"):
            Schema.draft(path, header=True)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_names(name):
    assert not looks_like_data([name, "other"])
    assert looks_like_data([name, "other", name])


@given(st.floats() | st.integers() | st.dates() | st.datetimes() | st.times())
def test_whatever_python_writes_for_a_number_or_a_date_is_data(value):
    assert looks_like_data(["age", str(value)])
    assert looks_like_data([str(value).replace(".", ","), "age"])


COLUMNS = {"age": Number(0, 99), "name": Category(["?", "Anna", "Bob"], missing="?"), "ill": Boolean(missing=False)}
LINES = "34;Anna;1\n1;Bob;0\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(LINES)
    return path


def test_columns_are_read_by_position_under_names_that_follow_the_file(table):
    schema = Schema(COLUMNS, header=False, separator=";")
    assert schema.form.names == tuple(COLUMNS)
    rows = content(sf.Dataset.from_table(table, schema=schema))
    assert [rows[name].tolist() for name in COLUMNS] == [[34.0, 1.0], [1, 2], [1, 0]]
    few = schema.only(["ill", "age"])
    assert content(sf.Dataset.from_table(table, schema=few))["ill"].tolist() == [1, 0]
    others = Schema({"ill": Boolean(missing=False)}, header=False, separator=";", names=["c1", "c2", "ill"])
    assert content(sf.Dataset.from_table(table, schema=others))["ill"].tolist() == [1, 0]
    assert sf.Dataset.from_table(table, schema=schema).n == schema.check(table, counts=True).rows == 2


@pytest.mark.parametrize("first", [b"\xef\xbb\xbf34;Anna;1", b'"34";"Anna";1', b"34;Anna;1\r"])
def test_a_mark_of_utf_8_quotes_and_line_ends_are_no_part_of_the_first_cell(first, table):
    table.write_bytes(first + b"\n1;Bob;0")
    rows = content(sf.Dataset.from_table(table, schema=Schema(COLUMNS, header=False, separator=";")))
    assert [rows[name].tolist() for name in COLUMNS] == [[34.0, 1.0], [1, 2], [1, 0]]


def test_an_empty_file_without_a_header_has_no_rows(table):
    table.write_bytes(b"")
    assert sf.Dataset.from_table(table, schema=Schema(COLUMNS, header=False, separator=";")).n == 0


def test_no_first_line_changes_how_the_others_are_read(table):
    """A longer first line would make longer lines readable; it is a record, and decides nothing."""
    schema = Schema({"x": Number(0, 9, missing=5)}, header=False, names=["x", "text"])
    kept = []
    for first in (b"1,a", b"1," + b"a" * (1 << 21)):
        table.write_bytes(first + b"\n2," + b"b" * (1 << 24) + b"\n3,c\n")
        kept.append(content(sf.Dataset.from_table(table, schema=schema))["x"].tolist())
    assert kept == [[1.0, 5.0, 3.0]] * 2


def test_the_facts_are_kept_in_documents_and_shown(table):
    schema = Schema(COLUMNS, header=False, separator=";", names=["age", "name", "place", "ill"])
    document = schema.to_json()
    assert document["version"] == 2
    assert document["table"] == {"separator": ";", "header": False, "names": ["age", "name", "place", "ill"]}
    assert Schema.from_toml(schema.to_toml()) == Schema.from_json(document) == schema
    assert "header=False, names=['age', 'name', 'place', 'ill']" in str(schema)
    assert schema.digest != Schema(COLUMNS, separator=";").digest
    assert "header" not in str(Schema(COLUMNS, header=True)) + Schema(COLUMNS, header=True).to_toml()
    narrow = Schema.from_json({**document, "table": {"header": True}})
    assert narrow == Schema(COLUMNS)


REFUSED = {
    "no truth value": ({"header": 0}, "header must be true or false"),
    "a text": ({"header": "no"}, "header must be true or false"),
    "names beside a header": ({"names": ["age", "name", "ill"]}, "names are those of all columns of a file without"),
    "one text": ({"header": False, "names": "age"}, "names are those of all columns of a file without"),
    "twice": ({"header": False, "names": ["age", "name", "ill", "age"]}, "each column of the file once"),
    "an empty one": ({"header": False, "names": ["age", "name", "ill", ""]}, "the name of a column must be a text"),
    "no text": ({"header": False, "names": ["age", "name", "ill", 4]}, "the name of a column must be a text"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_wrong_facts_are_refused(wrong):
    facts, message = REFUSED[wrong]
    with pytest.raises(ArgumentError, match=message):
        Schema(COLUMNS, **facts)
    with pytest.raises(FormatError, match=message):
        Schema.from_json({**Schema(COLUMNS).to_json(), "version": 2, "table": facts})


def test_ids_and_weights_need_their_place_and_a_roster_keeps_its_header(table, tmp_path):
    for more in ({"persons": Persons("pid", most=2, count=2)}, {"weight": Weight("w", upper=2.0, fixed=True)}):
        with pytest.raises(ArgumentError, match="state header = false and names ="):
            Schema({"age": COLUMNS["age"]}, header=False, **more)
    (tmp_path / "ids.csv").write_text("pid\nAnna\nBob\nEve\n")
    persons = Persons("pid", most=2, roster="ids.csv")
    facts = {"header": False, "names": ["age", "pid", "w"], "weight": Weight("w", upper=2.0, fixed=True)}
    schema = Schema({"age": COLUMNS["age"]}, persons=persons, **facts)
    (tmp_path / "visits.csv").write_text("34,Anna,1\n36,Anna,1\n1,Bob,2\n")
    data = sf.Dataset.from_table(tmp_path / "visits.csv", schema=schema, roster=tmp_path / "ids.csv")
    assert data.n == 3
    absent = Schema({"age": COLUMNS["age"], "b": Boolean(missing=False)}, header=False, names=["age", "c2"])
    with pytest.raises(ArgumentError, match=r"lacks column 'b'.*names = \[\.\.\.\]"):
        sf.Dataset.from_table(table, schema=absent)


def test_a_schema_that_expects_a_header_quotes_no_cell_of_a_file_without_one(table, tmp_path, monkeypatch, capsys):
    schema = Schema(COLUMNS, separator=";")
    for act in (lambda: sf.Dataset.from_table(table, schema=schema), lambda: schema.check(table, counts=True)):
        with pytest.raises(ArgumentError, match=r"lacks columns 'age'.* the schema says header = false") as refused:
            act()
        assert no_secret(refused.value)
    monkeypatch.chdir(tmp_path)
    schema.save("s.toml")
    code, out, err = typed(monkeypatch, capsys, "schema", "check", "s.toml", "t.csv")
    assert code
    assert "header = false" in err
    assert not re.search("34|Anna", out + err)


def test_a_draft_without_a_header_opens_no_file_and_is_filled_in(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draft = Schema.draft("nowhere.csv", header=False, columns=3, separator=";")
    assert draft == Schema.draft(header=False, columns=3, separator=";")
    assert 'header = false\nnames = ["c1", "c2", "c3"]' in draft
    words = ("schema", "draft", "nowhere.csv", "--no-header", "--columns", "3", "--separator", ";", "-o", "s.toml")
    assert typed(monkeypatch, capsys, *words)[0] == 0
    assert (tmp_path / "s.toml").read_text() == draft
    filled = draft.replace('[columns.c1]\ntype = "REQUIRED"', '[columns.c1]\ntype = "number"\nlower = 0\nupper = 99')
    filled = filled.replace('"c3"]', '"ill"]').replace(
        '[columns.c3]\ntype = "REQUIRED"', '[columns.ill]\ntype = "boolean"\nmissing = false'
    )
    schema = Schema.from_toml(filled.replace('[columns.c2]\ntype = "REQUIRED"', ""))
    rows = content(sf.Dataset.from_table(table, schema=schema))
    assert [rows[name].tolist() for name in ("c1", "ill")] == [[34.0, 1.0], [1, 0]]
    assert 'id = "c2"' in Schema.draft(header=False, columns=3, persons="c2")
    assert Schema.from_toml(filled.replace('[columns.c2]\ntype = "REQUIRED"', "")).form.encoding == "utf-8"
    assert 'encoding = "cp1252"' in Schema.draft(header=False, columns=1, encoding="cp1252")
    for wrong in ({"header": False}, {"columns": 3}, {"header": True, "columns": 3}, {"header": False, "columns": 0}):
        with pytest.raises(ArgumentError, match="columns"):
            Schema.draft(table, **wrong)
    assert typed(monkeypatch, capsys, "schema", "draft", "t.csv", "--header")[0]
    assert typed(monkeypatch, capsys, "schema", "draft", "t.csv", "--no-header")[0]
