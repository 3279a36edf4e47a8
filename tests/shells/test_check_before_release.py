"""`sfumato release` asks for one `sfumato schema check`, and for nothing that it counted."""

from __future__ import annotations

import json
import os
import stat

import pytest

import sfumato as sf
from command_line import typed
from sfumato._private_files import state_folder

SCHEMA = """\
sfumato = "schema"
version = 1
name = "people"
unit = "person"

[columns.sex]
type = "category"
levels = ["f", "m"]
missing = "f"

[columns.ill]
type = "boolean"
missing = false
"""
SPEC = """\
[data]
file = "people.csv"
schema = "people.toml"

[model]
family = "BetaBernoulli"
column = "ill"

[price]
epsilon = 1.0
delta = 1e-6

[ledger]
file = "budget.db"
name = "people"
"""
GOOD = "sex,ill\n" + "f,1\nm,0\n" * 40
# Of 80 records 30 have another case, and 20 an undeclared level.
ODD = "sex,ill\n" + "F,1\n" * 17 + "M,maybe-Q\n" * 13 + "divers-Q,1\n" * 20 + "f,0\n" * 30
RELEASE = ("release", "share.toml", "-o", "share.sfumato")
CHECK = ("schema", "check", "people.toml", "people.csv")


@pytest.fixture
def sfumato(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_text(GOOD)
    (tmp_path / "share.toml").write_text(SPEC)

    def run(*words):
        return typed(monkeypatch, capsys, *words, checked=False)

    run("ledger", "create", "budget.db")
    run("ledger", "register", "budget.db", "people", "--epsilon", "2", "--delta", "1e-5", "--unit", "person")
    return run


def refused(sfumato, *words):
    code, out, err = sfumato(*(words or RELEASE))
    assert (code, out) == (2, ""), err
    return err


def notes(folder=None):
    return sorted((folder or state_folder()).glob("*.checked-files-*"))


def test_a_release_without_a_check_is_refused_in_one_sentence_for_every_table(sfumato, tmp_path):
    said = set()
    for text in (GOOD, ODD, "sex,ill\n" + ",\n" * 80):
        (tmp_path / "people.csv").write_text(text)
        said.add(refused(sfumato))
        assert sfumato(*CHECK, "--no-counts")[1] == "the structure fits the schema; no row was read\n"
        said.add(refused(sfumato))
    assert len(said) == 1
    sentence = said.pop()
    assert "sfumato schema check SCHEMA DATA" in sentence
    assert "people" not in sentence
    assert "0 charges" in sfumato("ledger", "show", "budget.db")[1]
    assert not notes()


@pytest.mark.parametrize("text", [GOOD, ODD], ids=["as declared", "odd"])
def test_after_one_check_it_is_made_whatever_was_counted(text, sfumato, tmp_path):
    (tmp_path / "people.csv").write_text(text)
    assert sfumato(*CHECK)[0] == 0
    assert sfumato(*RELEASE)[0] == 0
    assert sfumato("release", "share.toml", "-o", "again.sfumato")[0] == 0


def test_the_check_is_one_of_this_schema_and_this_file_as_they_are_now(sfumato, tmp_path):
    assert sfumato(*CHECK)[0] == 0
    (tmp_path / "people.csv").write_text(GOOD.replace("m,0", "m,1", 1))
    first = refused(sfumato)
    (tmp_path / "people.csv").write_text(GOOD)
    (tmp_path / "people.toml").write_text(SCHEMA.replace('missing = "f"', 'missing = "own level"'))
    assert refused(sfumato) == first
    assert sfumato(*CHECK)[0] == 0
    os.rename("people.csv", "renamed.csv")
    (tmp_path / "share.toml").write_text(SPEC.replace("people.csv", "renamed.csv"))
    assert sfumato(*RELEASE)[0] == 0, "a file is known by what it holds"


def test_a_check_that_fails_is_none(sfumato, tmp_path):
    (tmp_path / "people.csv").write_text("sex\nf\n")
    assert sfumato(*CHECK)[0] == 2
    assert not notes()


def test_a_note_says_nothing_of_the_rows_and_is_for_its_owner_alone(sfumato, tmp_path):
    (tmp_path / "people.csv").write_text(ODD)
    code, out, err = sfumato(*CHECK, "--ledger", "budget.db")
    assert code == 0
    assert [line.split() for line in out.splitlines() if line.startswith(("sex ", "ill "))] == [
        ["sex", "0", "0", "50", "0"], ["ill", "0", "0", "13", "0"],
    ]  # fmt: skip
    assert "sex: 30 cells spelled as a level but for case: declare fold_case = true" in out
    assert "-Q" not in out + err
    (mine,), (beside,) = notes(), notes(tmp_path)
    assert beside.name.startswith("budget.db.witness.checked-files-")
    for note in (mine, beside):
        (line,) = filter(None, note.read_text().splitlines())
        facts = json.loads(line)
        assert sorted(facts) == ["digest", "schema", "size"]
        assert facts["schema"] == sf.Schema.load("people.toml").digest
        assert facts["size"] == len(ODD)
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
    mine.unlink()
    assert sfumato(*RELEASE)[0] == 0, "that beside the witness is enough"


def test_nothing_that_was_counted_leaves(sfumato, tmp_path, caplog):
    """The release, the ledger and the logs of two tables that a count tells apart hold none of its words and sentences."""
    (tmp_path / "people.csv").write_text(ODD)
    assert sfumato(*CHECK)[0] == 0
    code, out, err = sfumato(*RELEASE, "--json")
    assert code == 0
    whole = (tmp_path / "share.sfumato").read_bytes() + (tmp_path / "budget.db").read_bytes() + (out + err).encode()
    for word in (b"fold_case", b'undeclared"', b'unreadable"', b"spelled as", b"50 cells", b"30 cells", b"divers"):
        assert word not in whole
    assert not caplog.records


def test_where_the_users_folder_is_not_kept_the_note_beside_the_witness_is_enough(sfumato, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert sfumato(*CHECK)[0] == 0
    assert "with --ledger LEDGER" in refused(sfumato)
    assert sfumato(*CHECK, "--ledger", "budget.db")[0] == 0
    assert sfumato(*RELEASE)[0] == 0


def test_python_does_not_ask(tmp_path):
    (tmp_path / "people.csv").write_text(GOOD)
    (tmp_path / "people.toml").write_text(SCHEMA)
    data = sf.Dataset.from_table(tmp_path / "people.csv", schema=sf.Schema.load(tmp_path / "people.toml").only("ill"))
    assert sf.publish(sf.plan(sf.families.BetaBernoulli(1, 1), 80, epsilon=1.0, delta=1e-6), data).private
