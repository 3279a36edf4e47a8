"""Edits, rollbacks and lost files: what the chain and the witness see, and the one thing they do not."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import contextmanager

import pytest
from ledger_places import TABLE, Place, gaussian

from sfumato.errors import FolderChanged, LedgerDamaged, LedgerExhausted
from sfumato.ledger import Ledger
from sfumato.ledger.stored_rows import canonical, link
from sfumato.ledger.witness import Mark, Witness


def filled(place: Place, charges: int = 6, mu: float = 0.1) -> Ledger:
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    for k in range(charges):
        ledger.charge("survey", gaussian(mu), request_id=f"r{k}")
    ledger.seal("survey", "r0", b"the release")
    return ledger


def rewritten(place: Place, start: int, changed: dict[int, str]) -> list[str]:
    """Statements that put `changed` payloads into rows and make the chain whole again from row `start` on."""
    statements, previous = [], place.rows()[start - 2][6]
    for seq, _, _, _, payload, _, _, _ in place.rows()[start - 1 :]:
        text = changed.get(seq, payload)
        found = link(seq, previous, text)
        quoted = text.replace("'", "''")
        statements.append(
            f"UPDATE {TABLE} SET payload = '{quoted}', previous = '{previous}', hash = '{found}' WHERE seq = {seq}"
        )
        previous = found
    return statements


def sooner(payload: str) -> str:
    """The payload of a row with an earlier time, which follows from nothing else."""
    said = json.loads(payload)
    said["time"] = said["time"].replace("+00:00", "")[:-1] + "0+00:00"
    said["plan_digest"] = "another plan"
    return canonical(said)


def test_a_sound_ledger_verifies(place):
    assert filled(place).verify() == 8
    assert place.open().verify() == 8


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE {t} SET payload = replace(payload, '\"units\":', '\"units\":1') WHERE seq = 3", 3),
        ("UPDATE {t} SET request = 'another' WHERE seq = 3", 3),
        ("UPDATE {t} SET previous = hash WHERE seq = 3", 3),
        ("DELETE FROM {t} WHERE seq = 3", 3),
        ("UPDATE {t} SET hash = previous WHERE seq = 8", 8),
        ("UPDATE {t} SET payload = replace(payload, '\"epsilon\":3.0', '\"epsilon\":9.0') WHERE seq = 1", 1),
    ],
)
def test_an_edited_row_is_named(place, statement, row):
    ledger = filled(place)
    place.edit(statement.format(t=TABLE))
    with pytest.raises(LedgerDamaged, match=f"row {row} "):
        ledger.verify()
    with pytest.raises(LedgerDamaged, match=f"row {row} "):
        place.open()


def test_edited_sealed_bytes_are_seen(place):
    ledger = filled(place)
    place.edit(f"UPDATE {TABLE} SET data = '1234' WHERE seq = 8")
    for act in (ledger.verify, lambda: ledger.sealed("survey", "r0")):
        with pytest.raises(LedgerDamaged, match="row 8"):
            act()


def test_an_edit_with_its_own_hash_made_right_breaks_the_next_row(place):
    filled(place)
    payload = sooner(place.rows()[3][4])
    place.edit(rewritten(place, 4, {4: payload})[0])
    with pytest.raises(LedgerDamaged, match="row 5 does not follow row 4"):
        place.open()


@pytest.mark.planted
def test_a_chain_rewritten_to_the_end_is_seen_by_the_witness(place):
    """Everything recomputed and consistent: only the file outside the database can tell."""
    ledger = filled(place)
    ledger.charge("survey", gaussian(0.1), request_id="last")
    place.edit(*rewritten(place, 9, {9: sooner(place.rows()[8][4])}))
    with pytest.raises(LedgerDamaged, match=r"row 9 of .* is not the one that the witness saw"):
        place.open()
    # A process that had read the row before sees it without the witness, too.
    with pytest.raises(LedgerDamaged, match="row 9"):
        ledger.spent("survey")
    # The planted fault: without the witness the forged ledger is accepted, another plan and all.
    place.witness.unlink()
    forged = place.open(new_witness=True)
    assert forged.verify() == 9
    assert forged.history("survey")[-1].receipt.plan_digest == "another plan"


def test_the_database_itself_refuses_an_accident(place):
    filled(place)
    error: list[str] = []
    for statement in (f"UPDATE {TABLE} SET kind = 'seal'", f"DELETE FROM {TABLE}"):
        try:
            if place.kind == "sqlite":
                connection = place._connect()
                try:
                    connection.execute(statement)
                finally:
                    connection.close()
            else:
                with place.connect() as connection:
                    connection.execute(statement)
        except Exception as caught:
            error.append(str(caught))
    assert len(error) == 2
    assert all("append-only" in said for said in error)
    assert place.open().verify() == 8


def test_a_restored_backup_is_found(place):
    ledger = filled(place, 3)
    place.backup()
    for k in range(3, 6):
        ledger.charge("survey", gaussian(0.1), request_id=f"r{k}")
    place.restore()
    with pytest.raises(LedgerDamaged, match="ends at row 5, but the witness saw row 8: the database was rolled back"):
        place.open()
    # A process that still holds the ledger is told before it charges.
    with pytest.raises(LedgerDamaged, match=r"row \d, which this process has read before, is gone"):
        ledger.charge("survey", gaussian(0.1), request_id="r9")
    ledger.close()


def test_a_backup_charged_again_on_another_machine_is_found(place, tmp_path):
    """Rolled back, then written past the witness elsewhere: the rows are as many, but not the same."""
    ledger = filled(place, 3)
    place.backup()
    ledger.charge("survey", gaussian(0.1), request_id="here")
    place.restore()
    kept = tmp_path / "kept"
    shutil.move(place.witness, kept)
    elsewhere = place.open(new_witness=True)
    for k in range(4):
        elsewhere.charge("survey", gaussian(0.2), request_id=f"there{k}")
    elsewhere.close()
    shutil.move(kept, place.witness)
    with pytest.raises(LedgerDamaged, match=r"row 6 of .* is not the one that the witness saw"):
        place.open()


@pytest.mark.planted
def test_without_the_witness_a_restored_backup_is_missed(place):
    """The planted fault: a ledger whose witness is thrown away spends the same budget twice."""
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    place.backup()
    ledger = place.open()
    ledger.charge("survey", gaussian(0.6), request_id="once")
    place.restore()
    place.witness.unlink()
    fooled = place.open(new_witness=True)
    fooled.charge("survey", gaussian(0.6), request_id="twice")
    assert fooled.spent("survey").charges == 1


def test_database_and_witness_restored_together_are_not_detected(place, tmp_path):
    """Documented in docs/ledger.md: nothing that is kept beside the database can see this."""
    ledger = filled(place, 3)
    place.backup()
    shutil.copy(place.witness, tmp_path / "old")
    ledger.charge("survey", gaussian(0.6), request_id="forgotten")
    place.restore()
    shutil.copy(tmp_path / "old", place.witness)
    fooled = place.open()
    assert fooled.verify() == 5
    assert fooled.status("survey", "forgotten") == "unknown"


@pytest.mark.planted
def test_a_truncated_log_is_found(sqlite_place):
    """SQLite opens a write-ahead log cut in half without a word, with half of the charges."""
    sqlite_place.open()
    reader = sqlite3.connect(sqlite_place.path)  # another program that looks on: while it does, the log is not emptied
    reader.execute(f"SELECT count(*) FROM {TABLE}").fetchone()
    ledger = filled(sqlite_place, 50, mu=0.05)
    log, whole = sqlite_place.log, sqlite_place.log.read_bytes()
    assert len(whole) > 50 * 4096
    # The state of the disk after a crash: the file as it was, its log cut.
    crashed = sqlite_place.path.parent / "crashed"
    crashed.mkdir()
    shutil.copy(sqlite_place.path, crashed / "budget.db")
    (crashed / log.name).write_bytes(whole[: len(whole) // 2])
    shutil.copy(sqlite_place.witness, crashed / "budget.db.witness")
    ledger.close()
    reader.close()
    with pytest.raises(LedgerDamaged, match="rolled back"):
        Ledger.open(crashed / "budget.db")
    # The planted fault: without the witness the cut passes as "ok", in the folder where it was.
    (crashed / "budget.db.witness").unlink()
    with pytest.raises(FolderChanged):
        Ledger.open(crashed / "budget.db", new_witness=True)
    Ledger(crashed / "budget.db").accept_folder("a copy of the disk after the crash")
    fooled = Ledger.open(crashed / "budget.db")
    assert 0 < fooled.spent("survey").charges < 50
    fooled.verify()
    fooled.close()


def test_a_database_that_is_gone_is_missed(sqlite_place):
    filled(sqlite_place).close()
    for end in ("", "-wal", "-shm"):
        sqlite_place.path.with_name(sqlite_place.path.name + end).unlink(missing_ok=True)
    with pytest.raises(LedgerDamaged, match="is gone"):
        sqlite_place.open()
    assert not sqlite_place.path.exists()


def test_an_empty_database_in_its_place_is_seen(place):
    filled(place).close()
    place.edit(f"DROP TABLE {TABLE}")
    with pytest.raises(LedgerDamaged, match="holds no ledger"):
        place.open()


def test_a_missing_witness_is_asked_for(place):
    ledger = filled(place)
    place.witness.unlink()
    with pytest.raises(LedgerDamaged, match="new_witness=True"):
        place.open()
    with pytest.raises(LedgerDamaged, match="disappeared"):
        ledger.charge("survey", gaussian(0.1), request_id="r9")
    assert place.open(new_witness=True).verify() == 8
    assert place.open().charge("survey", gaussian(0.1), request_id="r9").seq == 9


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"sfumato": "witness"}', '{"sfumato": "witness", "seq": -1, "hash": ""}', "\xff"]
)
def test_an_unreadable_witness_is_refused(sqlite_place, text):
    filled(sqlite_place).close()
    sqlite_place.witness.write_bytes(text.encode("latin-1"))
    with pytest.raises(LedgerDamaged, match="not readable"):
        sqlite_place.open()


def test_a_crash_between_commit_and_witness_is_mended(place):
    """The database is ahead by rows of a valid chain: the witness catches up."""
    ledger = filled(place, 3)
    old = place.witness.read_bytes()
    ledger.charge("survey", gaussian(0.1), request_id="acknowledged too late")
    place.witness.write_bytes(old)
    again = place.open()
    assert again.status("survey", "acknowledged too late") == "charged"
    assert json.loads(place.witness.read_text())["seq"] == 6
    # Also without opening anew, by the next charge.
    place.witness.write_bytes(old)
    again.charge("survey", gaussian(0.1), request_id="next")
    assert json.loads(place.witness.read_text())["seq"] == 7


def test_the_witness_never_goes_back(sqlite_place):
    witness = Witness(sqlite_place.witness)
    witness.advance(Mark(5, "5" * 64))
    witness.advance(Mark(3, "3" * 64))
    assert witness.read() == Mark(5, "5" * 64)
    witness.advance(Mark(6, "6" * 64))
    assert witness.read() == Mark(6, "6" * 64)


def test_the_witness_never_goes_back_behind_a_process_that_was_quicker(sqlite_place, monkeypatch):
    witness = Witness(sqlite_place.witness)
    held = witness._lock.held

    @contextmanager
    def after_another(seconds):
        with held(seconds) as lock:
            witness._replace(Mark(9, "9" * 64))
            yield lock

    monkeypatch.setattr(witness._lock, "held", after_another)
    witness.advance(Mark(8, "8" * 64))
    assert witness.read() == Mark(9, "9" * 64)


def test_a_row_that_overspends_is_named(sqlite_place):
    """A chain that is whole but charges beyond the cap was not written by this ledger."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.charge("survey", gaussian(0.6), request_id="r1")
    with pytest.raises(LedgerExhausted):
        ledger.charge("survey", gaussian(0.6), request_id="r2")
    said = json.loads(sqlite_place.rows()[1][4])
    said["request"] = "r2"
    payload, previous = json.dumps(said, sort_keys=True, separators=(",", ":")), sqlite_place.rows()[1][6]
    sqlite_place.edit(
        f"INSERT INTO {TABLE} VALUES (3, 'charge', 'survey', 'r2', '{payload}', '{previous}', '{link(3, previous, payload)}', NULL)"
    )
    with pytest.raises(LedgerDamaged, match="row 3 says what no ledger would write"):
        sqlite_place.open()
