"""The format of the database: a ledger of format 1 is migrated in one recorded transaction; strays and mixtures are damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ledger_places import TABLE, Place, gaussian, promise

from sfumato import Pure
from sfumato.errors import ArgumentError, LedgerDamaged, RequestConflict
from sfumato.ledger import Ledger
from sfumato.ledger.chain import GENESIS, canonical, digest, link

# Written by the release before format 2: two names (one ends in a space), three charges, one seal.
FORMAT_1 = json.loads((Path(__file__).parent / "fixtures" / "format1.json").read_text())
TABLES = {
    "sqlite": f"CREATE TABLE {TABLE} (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL, "
    "payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, UNIQUE (name, request, kind))",
    "postgres": f"CREATE TABLE {TABLE} (seq BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL, "
    "payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BYTEA, UNIQUE (name, request, kind))",
}


def quoted(place: Place, value: object) -> str:
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    return "'" + str(value).replace("'", "''") + "'"


def insert(place: Place, row: list[object]) -> str:
    *texts, data = row
    sealed = "NULL" if data is None else f"x'{data}'" if place.kind == "sqlite" else f"'\\x{data}'"
    return f"INSERT INTO {TABLE} VALUES ({', '.join(quoted(place, each) for each in texts)}, {sealed})"


def of_format_1(place: Place) -> Place:
    """Put the rows of a format 1 ledger into the place, as the earlier release left them."""
    statements = [TABLES[place.kind], *(insert(place, row) for row in FORMAT_1["rows"])]
    if place.kind == "postgres":
        place.admin(*statements, f"ALTER TABLE {TABLE} OWNER TO {place.name}")
    else:
        connection = place._connect()
        for statement in ("PRAGMA journal_mode = WAL", *statements):
            connection.execute(statement)
        connection.close()
    place.witness.write_text(FORMAT_1["witness"])
    return place


def free_receipt(row: list[object], seq: int, request: str) -> list[object]:
    """A charge that nobody paid for, sound in itself, numbered as the intruder likes."""
    said = {**json.loads(row[4]), "request": request}
    payload = canonical(said)
    return [seq, "charge", row[2], request, payload, GENESIS, link(seq, GENESIS, payload), None]


def test_an_old_ledger_opens_verifies_and_is_migrated_once(place):
    of_format_1(place)
    ledger = place.open()
    assert ledger.verify() == 7
    assert [entry.kind for entry in ledger.events()] == ["migrate"]
    assert "migrated to format 2" in str(ledger.events()[0])
    assert place.open().verify() == 7
    assert ledger.spent("survey").charges == 2
    assert ledger.sealed("survey", "r1") == b"the release"
    # A request that was written with a space is still that request, and its name the same name with or without it.
    assert ledger.charge("survey", promise(Pure(0.2), unit="patient"), request_id="r2 ").seq == 5
    assert ledger.charge("clinic", gaussian(0.05), request_id="r1").seq == 6
    with pytest.raises(RequestConflict, match="registered as"):
        ledger.register("clinic", 9.0, 1e-7)
    assert ledger.charge("survey", gaussian(0.1, unit="patient"), request_id="new").seq == 8
    # The rows that were there are the same rows.
    assert [list(row[:7]) for row in place.rows()[:6]] == [row[:7] for row in FORMAT_1["rows"]]


def test_a_migration_that_cannot_be_written_leaves_an_old_ledger_readable(postgres_place):
    of_format_1(postgres_place)
    postgres_place.admin(f"ALTER ROLE {postgres_place.name} SET default_transaction_read_only = on")
    assert postgres_place.open().verify() == 6
    postgres_place.admin(f"ALTER ROLE {postgres_place.name} RESET default_transaction_read_only")
    assert postgres_place.open().verify() == 7


def set_format(place: Place, version: int) -> None:
    text = (
        f"PRAGMA user_version = {version}"
        if place.kind == "sqlite"
        else f"COMMENT ON TABLE {TABLE} IS 'sfumato ledger format {version}'"
    )
    place.edit(text)


def filled(place: Place) -> Ledger:
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    return ledger


def test_a_format_that_is_not_that_of_the_rows_is_damage(place):
    filled(place)
    set_format(place, 1)
    with pytest.raises(LedgerDamaged, match="carries format 1, but its rows have format 2"):
        place.open()
    set_format(place, 3)
    with pytest.raises(LedgerDamaged, match="Update Sfumato"):
        place.open()


@pytest.mark.parametrize(("kind", "content"), [("migrate", {"from": 1, "to": 2}), ("charge", None)])
def test_a_second_migration_or_a_step_back_is_damage(place, kind, content):
    filled(place)
    *_, last = place.rows()
    said = {**json.loads(last[4]), "kind": kind, "request": "again"}
    said.update(content or {"version": 1})
    payload = canonical(said)
    row = [3, kind, said["name"], "again", payload, last[6], link(3, last[6], payload), None]
    place.edit(insert(place, row))
    with pytest.raises(LedgerDamaged, match="row 3 says what no ledger would write"):
        place.open()


@pytest.mark.parametrize("seq", [0, -1])
def test_a_row_below_one_is_refused_by_the_database(place, seq):
    """One plain INSERT gave free receipts and a forged seal."""
    filled(place)
    with pytest.raises(Exception, match=r"CHECK constraint|check constraint"):
        place.edit(insert(place, free_receipt(list(place.rows()[1]), seq, "free")))


@pytest.mark.parametrize("seq", [0, -7])
def test_a_row_below_one_is_damage_where_the_database_lets_it_in(place, seq):
    ledger = of_format_1(place).open()
    assert ledger.verify() == 7
    forged = insert(place, free_receipt(FORMAT_1["rows"][2], seq, "free"))
    if place.kind == "sqlite":
        place.edit("PRAGMA ignore_check_constraints = ON", forged)
    else:
        place.edit(f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_seq", forged)
    guarantee = gaussian(0.1, unit="patient")
    for use in (
        ledger.verify,
        lambda: ledger.status("survey", "free"),
        lambda: ledger.charge("survey", guarantee, request_id="free"),
        lambda: ledger.sealed("survey", "free"),
        place.open,
    ):
        with pytest.raises(LedgerDamaged, match=f"row numbered {seq}"):
            use()


def test_a_row_below_one_in_an_old_ledger_is_not_migrated(place):
    of_format_1(place)
    place.edit(insert(place, free_receipt(FORMAT_1["rows"][2], 0, "free")))
    with pytest.raises(LedgerDamaged, match="row numbered 0"):
        place.open()
    assert len(place.rows()) == 7


def test_a_receipt_must_be_a_link_of_the_chain(place):
    """A row edited behind a running process, sound in itself: its receipt is not given out."""
    ledger = filled(place)
    ledger.charge("survey", gaussian(0.1), request_id="r2")
    ledger.charge("survey", gaussian(0.1), request_id="r3")
    assert ledger.spent("survey").charges == 3  # so this process has walked the chain to row 4
    row = list(place.rows()[2])
    said = {**json.loads(row[4]), "time": "2020-01-01T00:00:00.000000+00:00"}
    payload, previous = canonical(said), digest("another row")
    place.edit(
        f"UPDATE {TABLE} SET payload = {quoted(place, payload)}, previous = '{previous}', "
        f"hash = '{link(3, previous, payload)}' WHERE seq = 3"
    )
    with pytest.raises(LedgerDamaged, match="no part of the chain"):
        ledger.charge("survey", gaussian(0.1), request_id="r2")


def test_a_middle_row_rewritten_with_its_hash_is_seen(place):
    """The next row's `previous` is patched too: only a hash that covers `previous` tells."""
    ledger = filled(place)
    ledger.charge("survey", gaussian(0.1), request_id="r2")
    ledger.charge("survey", gaussian(0.1), request_id="r3")
    row = list(place.rows()[2])
    payload = canonical({**json.loads(row[4]), "time": "2020-01-01T00:00:00.000000+00:00"})
    changed = link(3, row[5], payload)
    place.edit(
        f"UPDATE {TABLE} SET payload = {quoted(place, payload)}, hash = '{changed}' WHERE seq = 3",
        f"UPDATE {TABLE} SET previous = '{changed}' WHERE seq = 4",
    )
    with pytest.raises(LedgerDamaged, match="row 4 was changed"):
        ledger.verify()


def test_two_histories_with_the_same_number_are_damage(place, monkeypatch):
    """The witness saw another row 3 than the one just written."""
    ledger = filled(place)
    write = ledger._book._witness.advance

    def elsewhere(mark):
        said = {"sfumato": "witness", "version": 1, "seq": mark.seq, "hash": "f" * 64}
        place.witness.write_text(json.dumps(said))
        write(mark)

    monkeypatch.setattr(ledger._book._witness, "advance", elsewhere)
    with pytest.raises(LedgerDamaged, match="two different histories"):
        ledger.charge("survey", gaussian(0.1), request_id="r2")


def test_names_and_requests_are_compared_in_their_normal_form(place):
    ledger = place.open()
    ledger.register(" cafe\u0301 ", 3.0, 1e-6)
    assert ledger.names() == ["caf\u00e9"]
    ledger.register("caf\u00e9", 3.0, 1e-6)  # the same terms of the same name
    first = ledger.charge("caf\u00e9 ", gaussian(0.1), request_id="re\u0301sume\u0301")
    assert ledger.charge("cafe\u0301", gaussian(0.1), request_id=" r\u00e9sum\u00e9 ") == first
    assert ledger.spent("caf\u00e9").charges == 1
    ledger.seal("caf\u00e9", "r\u00e9sum\u00e9", b"bytes")
    assert ledger.sealed("cafe\u0301", "re\u0301sume\u0301") == b"bytes"
    assert ledger.status("caf\u00e9", "r\u00e9sum\u00e9 ") == "sealed"


def test_opening_without_creating_leaves_nothing_behind(place):
    before = sorted(place.witness.parent.iterdir())
    with pytest.raises(ArgumentError, match="there is no ledger"):
        place.open(create=False)
    assert sorted(place.witness.parent.iterdir()) == before
    if place.kind == "postgres":
        with place.connect() as connection:
            assert connection.execute(f"SELECT to_regclass('{TABLE}')").fetchone() == (None,)
    place.open().register("survey", 3.0, 1e-6)
    assert place.open(create=False).names() == ["survey"]


def test_a_commit_is_synced_to_disk(sqlite_place):
    """FULL is 2: with less, an acknowledged charge could be lost to a power cut."""
    sqlite_place.open()
    connection = sqlite_place.open()._book.store._connect()
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
