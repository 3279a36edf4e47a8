"""The format of the database and of its rows: another format, strays and rows that are no link of the chain are damage."""

from __future__ import annotations

import json

import pytest
from ledger_places import TABLE, Place, gaussian

from sfumato.errors import ArgumentError, LedgerDamaged
from sfumato.ledger import Ledger
from sfumato.ledger.stored_rows import GENESIS, VERSION, canonical, digest, link


def quoted(place: Place, value: object) -> str:
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    return "'" + str(value).replace("'", "''") + "'"


def insert(place: Place, row: list[object]) -> str:
    *texts, data = row
    sealed = "NULL" if data is None else f"x'{data}'" if place.kind == "sqlite" else f"'\\x{data}'"
    return f"INSERT INTO {TABLE} VALUES ({', '.join(quoted(place, each) for each in texts)}, {sealed})"


def free_receipt(row: list[object], seq: int, request: str) -> list[object]:
    """A charge that nobody paid for, sound in itself, numbered as the intruder likes."""
    said = {**json.loads(row[4]), "request": request}
    payload = canonical(said)
    return [seq, "charge", row[2], request, payload, GENESIS, link(seq, GENESIS, payload), None]


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


@pytest.mark.parametrize("version", [0, 1, VERSION - 1, VERSION + 1])
def test_another_format_is_refused(place, version):
    ledger = filled(place)
    set_format(place, version)
    for use in (place.open, ledger.verify, lambda: ledger.spent("survey")):
        with pytest.raises(LedgerDamaged, match=f"has format {version}, and this Sfumato reads {VERSION}"):
            use()


def test_a_postgresql_table_without_a_format_is_refused(postgres_place):
    filled(postgres_place)
    postgres_place.edit(f"COMMENT ON TABLE {TABLE} IS 'a budget'")
    with pytest.raises(LedgerDamaged, match="has format 0"):
        postgres_place.open()


@pytest.mark.parametrize("seq", [0, -1])
def test_a_row_below_one_is_refused_by_the_database(place, seq):
    """One plain INSERT gave free receipts and a forged seal."""
    filled(place)
    with pytest.raises(Exception, match=r"CHECK constraint|check constraint"):
        place.edit(insert(place, free_receipt(list(place.rows()[1]), seq, "free")))


@pytest.mark.parametrize("seq", [0, -7])
def test_a_row_below_one_is_damage_where_the_database_lets_it_in(place, seq):
    """The constraint is as the ledger made it; the row came in beside it."""
    ledger = filled(place)
    forged = insert(place, free_receipt(list(place.rows()[1]), seq, "free"))
    if place.kind == "sqlite":
        place.edit("PRAGMA ignore_check_constraints = ON", forged)
    else:
        constraint = f"CONSTRAINT {TABLE}_seq"
        place.edit(
            f"ALTER TABLE {TABLE} DROP {constraint}",
            forged,
            f"ALTER TABLE {TABLE} ADD {constraint} CHECK (seq >= 1) NOT VALID",
            f"UPDATE pg_constraint SET convalidated = true WHERE conname = '{TABLE}_seq'",
        )
    for use in (
        ledger.verify,
        lambda: ledger.status("survey", "free"),
        lambda: ledger.charge("survey", gaussian(0.1), request_id="free"),
        lambda: ledger.sealed("survey", "free"),
        place.open,
    ):
        with pytest.raises(LedgerDamaged, match=f"row numbered {seq}"):
            use()


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
    with pytest.raises(LedgerDamaged, match="row 3, which this process has read before, is gone or changed"):
        ledger.charge("survey", gaussian(0.1), request_id="r2")


def test_a_middle_row_rewritten_with_its_hash_is_seen(place):
    """The next row's `previous` is patched too: only a hash that covers `previous` tells."""
    ledger = filled(place)
    ledger.charge("survey", gaussian(0.1), request_id="r2")
    ledger.charge("survey", gaussian(0.1), request_id="r3")
    row = list(place.rows()[2])
    payload = canonical({**json.loads(row[4]), "plan_digest": "another plan"})
    changed = link(3, row[5], payload)
    place.edit(
        f"UPDATE {TABLE} SET payload = {quoted(place, payload)}, hash = '{changed}' WHERE seq = 3",
        f"UPDATE {TABLE} SET previous = '{changed}' WHERE seq = 4",
    )
    with pytest.raises(LedgerDamaged, match="row 4 was changed"):
        place.open()


def test_two_histories_with_the_same_number_are_damage(place, monkeypatch):
    """The witness saw another row 3 than the one just written."""
    ledger = filled(place)
    write = ledger._book._witness.advance

    def elsewhere(mark):
        said = json.loads(place.witness.read_text())
        place.witness.write_text(json.dumps({**said, "seq": mark.seq, "hash": "f" * 64}))
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
