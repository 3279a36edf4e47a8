"""Drafts of persons with several rows: the table [persons], and a comment on names that look like ids."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sfumato.errors import ArgumentError, FormatError
from sfumato.schema import Schema
from sfumato.schema.draft_entries import Entry
from sfumato.schema.draft_persons import with_persons


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("patient_id;stay;icu\n7;12;yes\n")
    return path


@pytest.mark.planted
def test_a_draft_with_persons_asks_for_their_facts_and_leaves_the_id_out_of_the_columns(visits):
    text = Schema.draft(visits, header=True, persons="patient_id", rows="visits")
    document = tomllib.loads(text)
    facts = {"id": "patient_id", "rule": "average", "most": "REQUIRED", "count": "REQUIRED", "rows": "visits"}
    assert document["persons"] == facts
    assert list(document["columns"]) == ["stay", "icu"]
    assert (document["version"], document["unit"]) == (3, "person")
    assert '# roster = "file.csv"' in text
    with pytest.raises(FormatError, match=r"\[persons\]  most = .*\n.*\[persons\]  count = ") as unfinished:
        Schema.from_toml(text)
    assert "4 public facts" in str(unfinished.value)


def test_a_filled_in_draft_is_a_schema_of_persons(visits):
    text = Schema.draft(visits, header=True, persons="patient_id")
    for old, new in (
        ('most = "REQUIRED"', "most = 12"),
        ('count = "REQUIRED"', "count = 40"),
        ('[columns.stay]\ntype = "REQUIRED"', '[columns.stay]\ntype = "number"\nlower = 0\nupper = 60'),
        ('[columns.icu]\ntype = "REQUIRED"', '[columns.icu]\ntype = "boolean"\nmissing = false'),
    ):
        assert old in text
        text = text.replace(old, new)
    persons = Schema.from_toml(text).persons
    assert persons is not None
    assert (persons.id, persons.most, persons.count, persons.rule, persons.rows) == (
        "patient_id", 12, 40, "average", "rows"
    )  # fmt: skip


def test_every_kind_of_source_may_have_persons(tmp_path):
    import pyarrow as pa

    types = pa.schema([("who", pa.string()), ("stay", pa.float64())])
    assert list(tomllib.loads(Schema.draft(types, persons="who"))["columns"]) == ["stay"]
    book = tmp_path / "book.csv"
    book.write_text("name,type,lower,upper\nrecord_id,text,,\nage,integer,0,110\n")
    assert list(tomllib.loads(Schema.draft(book, persons="record_id"))["columns"]) == ["age"]
    redcap = tmp_path / "redcap.csv"
    redcap.write_text("Variable / Field Name,Field Type,Field Label\nrecord_id,text,Study id\nill,yesno,Ill\n")
    document = tomllib.loads(Schema.draft(redcap, persons="record_id", rows="forms"))
    assert document["persons"]["id"] == "record_id"
    assert list(document["columns"]) == ["ill"]


@pytest.mark.planted
@pytest.mark.parametrize("name", ["patient_id", "Patient ID", "PERSON", "pid", "id", "Id.Nr", "subjid", "hhid"])
def test_a_name_that_looks_like_an_id_gets_a_comment(name):
    entries = [Entry("stay"), Entry(name)]
    columns, text = with_persons(entries, None, None)
    assert columns == entries
    assert f'#   id = "{name}"' in text
    assert all(line.startswith("#") for line in text.splitlines() if line)


@pytest.mark.parametrize("name", ["stay", "valid", "void", "ward_id", "visit_id", "identity", "age"])
def test_other_names_get_none(name):
    assert with_persons([Entry(name)], None, None) == ([Entry(name)], "")


@pytest.mark.planted
def test_of_two_names_the_one_that_is_a_persons_is_taken(tmp_path):
    """A plain id may number the rows."""
    path = tmp_path / "t.csv"
    path.write_text("id,Patient_ID,stay\n1,7,12\n")
    text = Schema.draft(path, header=True)
    assert '--persons "Patient_ID",' in text
    assert list(tomllib.loads(text)["columns"]) == ["id", "Patient_ID", "stay"]
    assert "persons" not in tomllib.loads(text)


def test_a_strange_name_stays_within_its_comment():
    text = with_persons([Entry("Patient\nID")], None, None)[1]
    assert '#   id = "Patient\\nID"' in text
    assert all(line.startswith("#") for line in text.splitlines() if line)


def test_wrong_names_are_refused_without_a_list_of_the_others(visits):
    with pytest.raises(ArgumentError, match=r"must name one column.*got 'patient'") as refused:
        Schema.draft(visits, header=True, persons="patient")
    assert "stay" not in str(refused.value)
    with pytest.raises(ArgumentError, match="give persons too"):
        Schema.draft(visits, header=True, rows="visits")
    with pytest.raises(ArgumentError, match="must name one column"):
        with_persons([Entry("a"), Entry("a")], "a", None)


def test_a_document_of_persons_without_an_id_says_so():
    text = 'sfumato = "schema"\nversion = 3\n[persons]\nmost = 2\ncount = 3\n[columns.x]\ntype = "boolean"\nmissing = false\n'
    with pytest.raises(FormatError, match=r'\[persons\] of a schema needs id = "<column>"'):
        Schema.from_toml(text)


def test_the_schema_on_the_page_about_tables_is_read():
    page = (Path(__file__).parents[2] / "docs" / "tables.md").read_text()
    (text,) = [block for block in re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL) if "[persons]" in block]
    persons = Schema.from_toml(text).persons
    assert persons is not None
    assert (persons.id, persons.most, persons.count, persons.rows) == ("patient_id", 12, 5, "visits")
