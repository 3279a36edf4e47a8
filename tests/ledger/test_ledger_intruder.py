"""Rows that an intruder with access to the database alone could add, with valid hashes and an untouched witness."""

from __future__ import annotations

import json

import pytest
from ledger_places import Place, gaussian
from test_ledger_format import insert, of_format_1

from sfumato.errors import LedgerDamaged
from sfumato.ledger import Ledger
from sfumato.ledger.chain import canonical, digest, link


def filled(place: Place) -> Ledger:
    ledger = place.open()
    ledger.register("survey", 1.0, 1e-6)
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    ledger.seal("survey", "r1", b"the release")
    return ledger


def appended(place: Place, like: int, data: bytes | None = None, **changes: object) -> None:
    """Add a row after the last one: that of number `like` with other fields, hashed as the ledger hashes."""
    rows = place.rows()
    said = {**json.loads(rows[like - 1][4]), **changes}
    said = {key: value for key, value in said.items() if value is not ...}
    payload, seq, previous = canonical(said), len(rows) + 1, rows[-1][6]
    kind, name, request = (str(said.get(key, "")) for key in ("kind", "name", "request"))
    row = [
        seq,
        kind,
        name,
        request,
        payload,
        previous,
        link(seq, previous, payload),
        None if data is None else data.hex(),
    ]
    place.edit(insert(place, row))


FORGED = {
    "a seal without a charge": {
        "like": 3,
        "request": "free",
        "data": b"anything",
        "sha256": digest(b"anything"),
        "size": 8,
    },
    "a cap above the terms": {"like": 1, "name": "other", "cap": 50.0},
    "a negative cap": {"like": 1, "name": "other", "cap": -1.0},
    "a name that is empty": {"like": 1, "name": ""},
    "a name that is not in its normal form": {"like": 1, "name": " other "},
    "a version that is no whole number": {"like": 1, "name": "other", "version": 2.0},
    "a charge of a name that was never registered": {"like": 2, "name": "other"},
    "another kind of row": {"like": 2, "kind": "refund", "request": "r2"},
    "no time": {"like": 2, "request": "r2", "time": ...},
    "a time that is a number": {"like": 2, "request": "r2", "time": 5},
    "a time that is a word": {"like": 2, "request": "r2", "time": "zzzz"},
    "a date alone": {"like": 2, "request": "r2", "time": "9999-01-01"},
    "a day that no calendar has": {"like": 2, "request": "r2", "time": "2026-02-31T00:00:00.000000+00:00"},
    "a seal without its hash": {"like": 3, "request": "r1", "kind": "seal", "sha256": ...},
}


@pytest.mark.parametrize("forged", list(FORGED))
def test_a_row_that_no_ledger_would_write_is_damage(place, forged):
    """On opening, and for a process that has the ledger open already."""
    ledger = filled(place)
    if forged == "a seal without its hash":
        ledger.charge("survey", gaussian(0.1), request_id="r2")
        appended(place, **{**FORGED[forged], "request": "r2"})
    else:
        appended(place, **FORGED[forged])
    for use in (place.open, lambda: ledger.status("survey", "r1"), ledger.verify):
        with pytest.raises(LedgerDamaged):
            use()


@pytest.mark.parametrize("payload", ["[]", "{", '"text"', "[" * 100_000, '{"time": ' + "9" * 5000 + "}"])
def test_a_payload_that_is_no_row_is_damage(sqlite_place, payload):
    filled(sqlite_place)
    previous = sqlite_place.rows()[-1][6]
    sqlite_place.edit(
        insert(sqlite_place, [4, "charge", "survey", "x", payload, previous, link(4, previous, payload), None])
    )
    with pytest.raises(LedgerDamaged):
        sqlite_place.open()


@pytest.mark.parametrize(("like", "kind"), [(2, "charge"), (3, "seal")])
def test_a_second_charge_or_seal_of_an_id_is_damage_without_the_constraint(place, like, kind):
    ledger = filled(place)
    if place.kind == "sqlite":
        # The table as it is, but for its constraint.
        place.edit(
            "ALTER TABLE sfumato_ledger RENAME TO kept",
            "CREATE TABLE sfumato_ledger AS SELECT * FROM kept",
            "DROP TABLE kept",
        )
    else:
        place.edit("ALTER TABLE sfumato_ledger DROP CONSTRAINT sfumato_ledger_name_request_kind_key")
    appended(place, like, data=b"the release" if kind == "seal" else None)
    for use in (place.open, ledger.verify, lambda: ledger.sealed("survey", "r1")):
        with pytest.raises(LedgerDamaged, match=f"a second {kind}"):
            use()


def test_ids_of_an_old_ledger_that_differ_by_a_space_keep_their_releases(sqlite_place):
    """ "r2 " was charged before ids were normalised: asked for as "r2" it is the same request, and "r2 " stays itself."""
    ledger = of_format_1(sqlite_place).open()
    assert ledger.status("survey", "r2") == ledger.status("survey", "r2 ") == "charged"
    ledger.seal("survey", "r2", b"its release")
    assert ledger.sealed("survey", "r2 ") == b"its release"
    assert ledger.verify() == 8
