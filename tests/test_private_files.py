"""A file that something was released from is no public table afterwards, under whatever name; nobody else learns its digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from command_line import typed
from sfumato import _private_files
from sfumato._private_files import FileNote, notes_of, refuse_private, remember, state_folder
from sfumato.dataset import files_of
from sfumato.errors import ArgumentError, PublishError
from sfumato.rehearsing import expected_widths
from sfumato.rehearsing.expected_rows import ExpectedRows

COLUMNS = {"age": sf.Number(0, 100), "ill": sf.Boolean(missing=False)}
SCHEMA = sf.Schema(COLUMNS, name="people", unit="person", target="ill")
SHARE = sf.Schema({"ill": sf.Boolean(missing=False)}, name="people", unit="person")
# Ages beyond the bounds, which a question would count if it read them.
ROWS = "age,ill\n" + "20,0\n170,1\n" * 40
SPEC = """\
[data]
file = "people.csv"
schema = "schema.toml"

[model]
{model}

[price]
epsilon = 1.0
delta = 1e-6

[ledger]
file = "budget.db"
name = "people"
"""
SHARES = SPEC.format(model='family = "BetaBernoulli"\ncolumn = "ill"')
FIT = SPEC.format(model='regression = "logistic"\ntarget = "ill"') + '\n[expect]\nrows = "copy.csv"\n'


@pytest.fixture(scope="module")
def fit() -> sf.Release:
    """A regression that no file was read for."""
    model = sf.Gibbs(sf.losses.Logistic(SCHEMA.design().radius), sf.priors.Gaussian(5.0), 1)
    table = {"age": [20.0, 70.0] * 40, "ill": [False, True] * 40}
    return sf.publish(sf.plan(model, 80, 1.0, 1e-6, goal="estimate"), sf.Dataset.from_table(table, schema=SCHEMA))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A table from which a share was released under a ledger."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "other.csv").write_text("age,ill\n30,0\n170,1\n")
    SCHEMA.save("schema.toml")
    (tmp_path / "share.toml").write_text(SHARES)
    with sf.Ledger.open("budget.db") as ledger:
        ledger.register("people", 10.0, 1e-5, unit="person")
        released("people.csv", ledger).save("share.sfumato")
    return tmp_path


def released(path: object, ledger: sf.Ledger | None, **options: object) -> sf.Release:
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 80, 0.5, 1e-6)
    return sf.publish(plan, sf.Dataset.from_table(path, schema=SHARE, **options), ledger)


def questions(release: sf.Release):
    return {
        "predict": release.predict, "predict_proba": release.predict_proba, "predict_interval": release.predict_interval,
        "marginal_effects": release.marginal_effects, "rows_note": release.rows_note, "log_likelihood": release.log_likelihood,
        "ask.prediction": release.ask.prediction,
    }  # fmt: skip


def test_rows_that_are_not_said_to_be_public_are_refused_with_the_line_to_write(fit, folder, monkeypatch, capsys):
    public = {"age": [20.0], "ill": [True]}
    for name, ask in questions(fit).items():
        line = re.escape(f"release.{name}(public_rows=rows)")
        for given, said in (((public,), {}), ((), {}), ((public,), {"public_rows": public})):
            with pytest.raises(ArgumentError, match=line):
                ask(*given, **said)
        ask(public_rows=public)
    fit.save("fit.sfumato")
    for command in ("predict", "effects"):
        for words in (("other.csv",), ("other.csv", "--public-rows", "other.csv")):
            code, out, err = typed(monkeypatch, capsys, "query", command, "fit.sfumato", *words)
            assert (code, out) == (2, "")
            assert f"sfumato query {command} fit.sfumato --public-rows other.csv" in err
        assert "--public-rows ROWS.csv" in typed(monkeypatch, capsys, "query", command, "fit.sfumato")[2]
        assert typed(monkeypatch, capsys, "query", command, "fit.sfumato", "--public-rows", "other.csv")[0] == 0


def copies(folder: Path) -> dict[str, Path]:
    """The private table under other names."""
    (folder / "elsewhere").mkdir()
    (folder / "copy.csv").write_text(ROWS)
    (folder / "link.csv").symlink_to(folder / "people.csv")
    (folder / "elsewhere" / "linked.csv").hardlink_to(folder / "people.csv")
    return {
        "itself": folder / "people.csv", "relative": Path("elsewhere/../people.csv"), "a copy": folder / "copy.csv",
        "a link": folder / "link.csv", "a hard link": folder / "elsewhere" / "linked.csv",
    }  # fmt: skip


def test_the_private_table_under_any_name_is_refused_by_everything_that_takes_public_rows(fit, folder):
    prior = sf.families.BetaBernoulli(1, 1)
    readers = {
        **{name: lambda rows, ask=ask: ask(public_rows=rows) for name, ask in questions(fit).items()},
        "with_public": lambda rows: prior.with_public(rows, schema=SHARE),
        "expected rows": lambda rows: ExpectedRows(SCHEMA, rows),
    }
    places = copies(folder)
    for read in readers.values():
        for path in places.values():
            for given in (path, str(path)):
                with pytest.raises(ArgumentError, match=r"from which something was released.*are private") as refused:
                    read(given)
                assert "1 cell" not in str(refused.value)
                assert "40" not in str(refused.value)
        read(folder / "other.csv")


def test_a_table_that_was_changed_in_place_or_moved_is_still_known(folder):
    with open("people.csv", "a") as file:
        file.write("30,0\n")
    os.rename("people.csv", "renamed.csv")
    (folder / "people.csv").write_text("age,ill\n1,1\n")  # another table under the name of the private one
    for name in ("renamed.csv", "people.csv"):
        with pytest.raises(ArgumentError, match="from which something was released"):
            refuse_private(name)
    (folder / "again.csv").write_bytes((folder / "people.csv").read_bytes())
    refuse_private("again.csv")
    refuse_private("nowhere.csv")
    refuse_private(folder)


def test_no_cell_is_read_or_counted_before_the_rows_have_passed(fit, folder, monkeypatch, capsys):
    fit.save("fit.sfumato")
    copies(folder)
    for words in (
        ("query", "predict", "fit.sfumato"),
        ("query", "effects", "fit.sfumato"),
        ("report", "fit.sfumato", "-o", "r.html"),
    ):
        code, out, err = typed(monkeypatch, capsys, *words, "--public-rows", "copy.csv")
        assert (code, out) == (2, "")
        assert "from which something was released" in err
        assert "outside" not in err
        assert typed(monkeypatch, capsys, *words, "--public-rows", "other.csv")[0] == 0
    (folder / "copy.csv").write_text(ROWS.replace("20,0", "odd,0"))
    monkeypatch.setattr(_private_files, "_END", 8)  # the ends alone are the same
    assert (
        "from which something"
        not in typed(monkeypatch, capsys, "query", "predict", "fit.sfumato", "--public-rows", "copy.csv")[2]
    )
    (folder / "people.csv").write_text(ROWS.replace("20,0", "odd,0"))
    err = typed(monkeypatch, capsys, "query", "predict", "fit.sfumato", "--public-rows", "people.csv")[2]
    assert "odd" not in err
    for ask in questions(fit).values():  # cells that no declaration allows are shown of public rows alone
        with pytest.raises(ArgumentError, match="from which something"):
            ask(public_rows="people.csv")


def test_a_spec_refuses_them_as_expected_rows_by_its_own_ledger(folder, monkeypatch, capsys, tmp_path_factory):
    for runs in ("_FEWEST", "_MOST"):
        monkeypatch.setattr(sys.modules[expected_widths.__module__], runs, 2)
    (folder / "fit.toml").write_text(FIT.replace('file = "people.csv"', "n = 80"))
    (folder / "copy.csv").write_text(ROWS)
    away = tmp_path_factory.mktemp("away")
    for name in ("budget.db.witness", f"budget.db.witness.private-files-{os.getuid()}"):
        os.rename(name, away / name)
    monkeypatch.setenv("XDG_STATE_HOME", str(away / "empty"))
    code, _, err = typed(monkeypatch, capsys, "plan", "fit.toml")
    assert code == 0, err  # the notes are neither here nor with the user
    moved = f'witness = "{away / "budget.db.witness"}"\n\n[expect]'
    (folder / "fit.toml").write_text((folder / "fit.toml").read_text().replace("[expect]", moved))
    code, _, err = typed(monkeypatch, capsys, "plan", "fit.toml")
    assert code == 2
    assert "[expect] 'copy.csv' is a file from which something was released" in err


@pytest.fixture
def beside(folder) -> Path:
    return folder / f"budget.db.witness.private-files-{os.getuid()}"


def test_the_notes_stand_beside_the_witness_and_with_the_user_and_either_is_enough(
    fit, folder, beside, monkeypatch, capsys
):
    user = state_folder() / f"user.private-files-{os.getuid()}"
    assert beside.read_bytes() == user.read_bytes()
    note = json.loads(beside.read_text())
    raw = (folder / "people.csv").read_bytes()
    found = (folder / "people.csv").stat()
    assert note == {
        "path": str(folder / "people.csv"), "device": found.st_dev, "inode": found.st_ino, "size": len(raw),
        "digest": hashlib.sha256(raw + raw).hexdigest(),
    }  # fmt: skip
    away = folder / "away"
    away.mkdir()
    (away / "copy.csv").write_text(ROWS)
    fit.save(away / "fit.sfumato")
    monkeypatch.chdir(away)
    words = ("query", "predict", "fit.sfumato", "--public-rows", "copy.csv")
    assert "from which something" in typed(monkeypatch, capsys, *words)[2]
    monkeypatch.setenv("XDG_STATE_HOME", str(away / "state"))
    assert "from which something" not in typed(monkeypatch, capsys, *words)[2]
    for more in (("--ledger", folder / "budget.db"), ("--witness", folder / "budget.db.witness")):
        for asked in (words, ("report", "fit.sfumato", "-o", "r.html", *words[3:])):
            assert "from which something" in typed(monkeypatch, capsys, *asked, *more)[2]
    assert "there is no ledger 'none.db'" in typed(monkeypatch, capsys, *words, "--ledger", "none.db")[2]
    monkeypatch.chdir(folder)
    with pytest.raises(ArgumentError, match="from which something"):
        refuse_private("away/copy.csv")


def test_the_owner_alone_can_read_them_and_nothing_else_repeats_them(folder, beside, monkeypatch, capsys):
    user = state_folder() / beside.name.replace("budget.db.witness", "user")
    for path in (beside, user):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
    old = os.umask(0)
    try:
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "fresh"))
        (folder / "people.csv").write_text(ROWS + "20,0\n" * 80)
        assert typed(monkeypatch, capsys, "release", "share.toml", "-o", "second.sfumato")[0] == 0
    finally:
        os.umask(old)
    for path in (beside, state_folder() / user.name):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    digests = {json.loads(line)["digest"] for line in beside.read_text().split("\n") if line}
    assert len(digests) == 2
    assert typed(monkeypatch, capsys, "report", "second.sfumato", "-o", "r.html", "--ledger", "budget.db")[0] == 0
    assert typed(monkeypatch, capsys, "ledger", "report", "budget.db", "-o", "l.html")[0] == 0
    shown = [
        repr(sf.Dataset.from_table("people.csv", schema=SHARE)),
        str(sf.load("second.sfumato")),
        repr(notes_of("people.csv")),
    ]
    with pytest.raises(ArgumentError) as refused:
        refuse_private("people.csv")
    shown += [str(refused.value), *typed(monkeypatch, capsys, "ledger", "show", "budget.db")[1:]]
    shown += [path.read_bytes().decode("latin-1") for path in folder.iterdir() if path.is_file() and path != beside]
    assert not [text for text in shown for digest in digests if digest[:12] in text]


def test_a_note_that_cannot_be_written_is_an_error_before_the_charge(folder, beside, monkeypatch):
    beside.unlink()
    beside.mkdir()
    ledger = sf.Ledger.open("budget.db")
    charges = ledger.spent("people").charges
    with pytest.raises(
        PublishError, match=r"must be noted beside the witness .*budget.db.witness, and cannot be: .*Nothing was"
    ):
        released("people.csv", ledger)
    assert ledger.spent("people").charges == charges
    beside.rmdir()
    (folder / "state").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    released("people.csv", ledger)  # without a folder of the user the ledger's own notes are enough
    assert beside.is_file()


def test_tables_in_memory_leave_no_note_and_files_of_every_kind_do(folder, tmp_path_factory):
    frame = pd.read_csv("people.csv")
    frame.to_parquet("people.parquet")
    assert files_of(sf.Dataset.from_table(frame, schema=SHARE)) == ()
    assert files_of(sf.Dataset.from_arrays(frame[["age"]].to_numpy(), frame["ill"], schema=SCHEMA)) == ()
    for options in ({}, {"engine": "streamed"}):
        (note,) = files_of(sf.Dataset.from_table(folder / "people.parquet", schema=SHARE, **options))
        assert note.same_file(FileNote.of("people.parquet"))
    assert notes_of("*.parquet", None, [1], 3, "no*ne") == notes_of("people.parquet")
    away = tmp_path_factory.mktemp("away")
    ledger = sf.Ledger.open(away / "b.db")
    ledger.register("people", 10.0, 1e-5, unit="person")
    released(frame, ledger)
    assert not list(away.glob("*private*"))
    released("people.parquet", ledger)
    with pytest.raises(ArgumentError, match="from which something"):
        refuse_private("people.parquet")


def test_a_release_without_a_ledger_is_noted_by_the_command_alone(folder, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "fresh"))
    (folder / "plain.csv").write_text(ROWS + "1,1\n")
    released(pd.read_csv("people.csv"), None)
    data = sf.Dataset.from_table("plain.csv", schema=SHARE)
    sf.publish(sf.plan(sf.families.BetaBernoulli(1, 1), data.n, 0.5, 1e-6), data)
    refuse_private("plain.csv")
    (folder / "plain.toml").write_text(SHARES.split("[ledger]")[0].replace("people.csv", "plain.csv"))
    assert typed(monkeypatch, capsys, "release", "plain.toml", "-o", "plain.sfumato")[0] == 0
    with pytest.raises(ArgumentError, match="from which something"):
        refuse_private("plain.csv")


def test_both_ends_of_a_large_file_count_and_its_middle_does_not(tmp_path):
    whole = bytearray(os.urandom(3 << 20))
    path = tmp_path / "large.csv"
    path.write_bytes(whole)
    remember(notes_of(path))
    for at, known in ((0, False), (1 << 20, True), ((2 << 20) - 1, True), (2 << 20, False), (len(whole) - 1, False)):
        changed = bytearray(whole)
        changed[at] ^= 1
        copy = tmp_path / f"{at}.csv"
        copy.write_bytes(changed)
        same = FileNote.of(copy).digest == FileNote.of(path).digest
        assert same == known
        if known:
            with pytest.raises(ArgumentError, match="from which something"):
                refuse_private(copy)
        else:
            refuse_private(copy)
    (tmp_path / "longer.csv").write_bytes(whole[: 1 << 20] + b"x" + whole[1 << 20 :])  # the same ends, another size
    refuse_private(tmp_path / "longer.csv")


def note(number: int) -> FileNote:
    return FileNote(f"/data/{number}.csv", 1, number, number, f"{number:064x}")


def written(witness: Path, start: int) -> None:
    for number in range(start, start + 25):
        remember((note(number),), witness)


def test_processes_that_write_at_once_lose_nothing_and_nothing_is_noted_twice(tmp_path):
    witness = tmp_path / "b.witness"
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as pool:
        list(pool.map(written, [witness] * 8, [0, 25, 50, 75] * 2))
    lines = (tmp_path / f"b.witness.private-files-{os.getuid()}").read_text().split()
    assert len(lines) >= 100
    assert set(_private_files._notes_in(tmp_path)) == {note(number) for number in range(100)}
    written(witness, 0)
    assert (tmp_path / f"b.witness.private-files-{os.getuid()}").read_text().split() == lines


def test_the_newest_notes_are_kept_in_files_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(_private_files, "_FULL", 2_000)
    for number in range(60):
        remember((note(number),), tmp_path / "w")
        sizes = [path.stat().st_size for path in tmp_path.glob("w.private*")]
        assert len(sizes) <= 2
        assert max(sizes) < 2_400
    kept = {each.inode for each in _private_files._notes_in(tmp_path)}
    assert kept == set(range(min(kept), 60))
    assert len(kept) >= 8


def test_what_is_no_note_is_passed_over_and_a_line_that_was_cut_short_swallows_no_other(tmp_path):
    path = tmp_path / f"w.private-files-{os.getuid()}"
    path.write_bytes(b'\xff\x00\n[1]\n{"path": 1}\nnull\n\n{"path": "/da')
    remember((note(7),), tmp_path / "w")
    assert list(_private_files._notes_in(tmp_path)) == [note(7)]
    (tmp_path / "x.private-files-9").mkdir()
    assert list(_private_files._notes_in(tmp_path)) == [note(7)]


def test_a_link_in_place_of_the_notes_is_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / f"w.private-files-{os.getuid()}").symlink_to(tmp_path / "precious")
    with pytest.raises(PublishError, match="must be noted beside"):
        remember((note(1),), tmp_path / "w")
    assert (tmp_path / "precious").read_text() == "kept"
