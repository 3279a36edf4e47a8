"""A file in the wrong place, or an output that is there already: one line that says what the file is and what to write."""

from __future__ import annotations

import csv

import pytest

import sfumato as sf
from command_line import typed
from sfumato.shells import file_kinds, printing

SPEC = """\
[data]
file = "people.csv"
schema = "schema.toml"

[model]
family = "BetaBernoulli"
column = "ill"

[price]
epsilon = 1.0
delta = 1e-6
"""
SCHEMA = sf.Schema(
    {"age": sf.Number(0, 100), "ill": sf.Boolean(missing=False)}, name="people", unit="person", target="ill"
)


@pytest.fixture
def sfumato(monkeypatch, capsys):
    return lambda *words: typed(monkeypatch, capsys, *words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table, its schema, a spec, a release of a share, one of a regression, a ledger, a folder and empty files."""
    monkeypatch.chdir(tmp_path)
    table = {"age": [20.0, 70.0] * 40, "ill": [False, True] * 40}
    rows = zip(table["age"], table["ill"], strict=True)
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{age},{ill}\n" for age, ill in rows))
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "spec.toml").write_text(SPEC)
    data = sf.Dataset.from_table(table, schema=SCHEMA)
    sf.publish(sf.plan(sf.families.BetaBernoulli(1, 1), 80, 1.0, 1e-6), share()).save("share.sfumato")
    model = sf.Gibbs(sf.losses.Logistic(SCHEMA.design().radius), sf.priors.Gaussian(5.0), 1)
    sf.publish(sf.plan(model, 80, 1.0, 1e-6, mechanism="langevin"), data).save("fit.sfumato")
    sf.Ledger.open("budget.db").close()
    (tmp_path / "folder").mkdir()
    for name in ("empty.toml", "empty.sfumato"):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


def share() -> sf.Dataset:
    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="people", unit="person")
    return sf.Dataset.from_table({"ill": [False, True] * 40}, schema=schema)


# (words, what the file is, what is needed)
MISPLACED = [
    (["plan", "schema.toml"], "schema.toml is a schema", "a spec file is needed here (sfumato spec"),
    (["plan", "people.csv"], "people.csv is a table", "a spec file is needed"),
    (["plan", "share.sfumato"], "share.sfumato is a release", "a spec file is needed"),
    (["plan", "budget.db"], "budget.db is a ledger", "a spec file is needed"),
    (["plan", "empty.toml"], "empty.toml is empty", "a spec file is needed"),
    (["plan", "folder"], "folder is a folder", "a spec file is needed"),
    (["show", "spec.toml"], "spec.toml is a spec file", "a release is needed here (sfumato release"),
    (["show", "empty.sfumato"], "empty.sfumato is empty", "a release is needed"),
    (["query", "summary", "people.csv"], "people.csv is a table", "a release is needed"),
    (["query", "predict", "fit.sfumato", "--public-rows", "spec.toml"], "spec.toml is a spec file", "a table is needed"),
    (["query", "effects", "fit.sfumato", "--public-rows", "folder"], "folder is a folder", "a table is needed"),
    (["report", "spec.toml", "-o", "new.html"], "spec.toml is a spec file", "a release is needed"),
    (["report", "fit.sfumato", "-o", "new.html", "--public-rows", "spec.toml"], "spec.toml is a spec", "a table is needed"),
    (["ledger", "show", "people.csv"], "people.csv is a table", "a ledger is needed here (sfumato ledger create"),
    (["ledger", "show", "spec.toml"], "spec.toml is a spec file", "a ledger is needed"),
    (["spec", "--schema", "spec.toml"], "spec.toml is a spec file", "a schema is needed here (sfumato schema draft"),
    (["spec", "--schema", "folder"], "folder is a folder", "a schema is needed"),
]  # fmt: skip


@pytest.mark.planted
@pytest.mark.parametrize(("words", "given", "needed"), MISPLACED, ids=[" ".join(each[0]) for each in MISPLACED])
def test_a_misplaced_file_is_named_for_what_it_is(folder, sfumato, words, given, needed):
    code, out, err = sfumato(*words)
    assert (code, out, len(err.splitlines())) == (2, "", 1), (out, err)
    assert given in err
    assert needed in err
    assert not (folder / "new.html").exists()


@pytest.mark.parametrize(
    ("key", "name", "what"),
    [
        ("schema", "spec.toml", "is a spec file; a schema"),
        ("schema", "folder", "is a folder"),
        ("file", "share.sfumato", "is a release; a table"),
        ("file", "folder", "is a folder; a table"),
    ],
)
def test_a_misplaced_file_of_a_spec_is_named_for_what_it_is(folder, sfumato, key, name, what):
    old = {"schema": "schema.toml", "file": "people.csv"}[key]
    (folder / "spec.toml").write_text(SPEC.replace(old, name))
    code, out, err = sfumato("release", "spec.toml", "-o", "x.sfumato")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert what in err


def test_a_missing_file_is_missing_whatever_its_ending(folder, sfumato):
    for words in (
        ["plan", "none.csv"],
        ["show", "none.csv"],
        ["query", "predict", "fit.sfumato", "--public-rows", "none.csv"],
    ):
        assert sfumato(*words)[::2] == (2, "sfumato: there is no file 'none.csv'.\n")
    assert "the folder 'nowhere' does not exist" in sfumato("keys", "create", "nowhere/key")[2]


# Each writes one file.
WRITING = {
    "spec": ["spec", "--schema", "schema.toml", "--column", "ill", "-o"],
    "predict": ["query", "predict", "fit.sfumato", "--public-rows", "people.csv", "-o"],
    "report": ["report", "share.sfumato", "-o"],
    "draft": ["schema", "draft", "people.csv", "--header", "-o"],
    "audit": ["audit", "spec.toml", "--runs", "20", "-o"],
}


@pytest.mark.planted
@pytest.mark.parametrize("name", WRITING)
def test_a_second_output_says_what_to_do_and_force_writes_over(folder, sfumato, name):
    words, output = WRITING[name], folder / "made.toml"
    output.write_text("mine")
    code, out, err = sfumato(*words, output)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "is there already" in err
    assert "add --force to write over it" in err
    assert output.read_text() == "mine"
    assert sfumato(*words, output, "--force")[0] == 0
    assert output.read_text() != "mine"


@pytest.mark.planted
@pytest.mark.parametrize("kept", ["share.sfumato", "budget.db", "people.csv", "folder"])
def test_force_never_writes_over_a_release_a_ledger_or_what_is_read(folder, sfumato, kept):
    before = None if kept == "folder" else (folder / kept).read_bytes()
    code, _, err = sfumato("query", "predict", "fit.sfumato", "--public-rows", "people.csv", "-o", kept, "--force")
    assert code == 2
    assert "never written over; choose another name" in err or "is a folder; name a file in it" in err
    assert before is None or (folder / kept).read_bytes() == before


def test_an_output_in_a_folder_that_is_not_there_is_refused_before_any_work(folder, sfumato, monkeypatch):
    monkeypatch.setattr("sfumato.release.load", lambda *_: pytest.fail("the release was read"))
    code, _, err = sfumato("query", "synthesize", "share.sfumato", "-o", "nowhere/a.csv")
    assert (code, "the folder nowhere does not exist; create it first" in err) == (2, True)


def test_predictions_have_a_header_on_the_terminal_and_in_a_file(folder, sfumato):
    _, shown, _ = sfumato("query", "predict", "fit.sfumato", "--public-rows", "people.csv")
    assert shown.splitlines()[0].strip() == "prediction"
    assert len(shown.splitlines()) == 81
    assert sfumato("query", "predict", "fit.sfumato", "--public-rows", "people.csv", "-o", "p.csv")[0] == 0
    with (folder / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == [line.strip() for line in shown.splitlines()[1:]]
    assert "--interval must be mean or answer" in sfumato(
        "query", "predict", "fit.sfumato", "--public-rows", "people.csv", "--interval", "median"
    )[2]  # fmt: skip


def test_a_release_that_is_there_says_what_a_repeat_costs(folder, sfumato):
    assert "nothing counts" in sfumato("release", "spec.toml", "-o", "share.sfumato")[2]
    (folder / "spec.toml").write_text(SPEC + '\n[ledger]\nfile = "budget.db"\nname = "people"\n')
    err = sfumato("release", "spec.toml", "-o", "share.sfumato")[2]
    assert "never written over" in err
    assert "the same spec again is saved there at no further cost; a changed one is charged" in err
    assert "folder is a folder; name a file in it" in sfumato("release", "spec.toml", "-o", "folder")[2]


def test_what_a_file_may_not_be_read_for_is_one_line():
    """The tests may run as a user who may read everything, so the error is made here."""
    error = PermissionError(13, "Permission denied", "secret.toml")
    assert printing.of_file(error) == "'secret.toml' may not be read or written by this user (permission denied)."


def test_files_that_are_not_recognised_are_left_to_their_reader(tmp_path):
    for name, text in (("a.toml", "x = 1"), ("b.toml", "not toml"), ("c.json", "{}"), ("d", "plain")):
        (tmp_path / name).write_text(text)
        assert file_kinds.kind_of(tmp_path / name) == ""
    assert file_kinds.kind_of(tmp_path / "none.toml") == ""
