"""The hash chain: rows that only ever follow one another, and the totals that a walk along them gives.

Each row is a canonical JSON payload; its hash covers its number, the hash before it and the payload. A `Chain` is the
verified prefix that a process has walked: where it stands, and every account recomputed from the rows themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import LedgerDamaged, SfumatoError
from sfumato.ledger.account import Account
from sfumato.ledger.terms import Terms

GENESIS = "0" * 64
# Format 1 had no constraint on row numbers, no recorded migrations and no recorded corrections of the clock.
VERSION = 2
OLDEST = 1
# Rows about the ledger itself belong to no registered name.
NO_NAME = ""


def canonical(document: Mapping[str, Any]) -> str:
    """Return the one text of a JSON document: sorted keys, no spaces, ASCII, NaN and infinity refused."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(text: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


@dataclass(frozen=True)
class Row:
    """One row as stored; kind, name and request repeat what the payload says, so that the database can index them."""

    seq: int
    kind: str
    name: str
    request: str
    payload: str
    previous: str
    hash: str

    @property
    def fields(self) -> dict[str, Any]:
        """The payload read."""
        loaded: dict[str, Any] = json.loads(self.payload)
        return loaded

    def checked(self) -> dict[str, Any]:
        """Return the payload if the row agrees with its own hash, or raise naming the row."""
        if self.hash != link(self.seq, self.previous, self.payload):
            raise LedgerDamaged(f"row {self.seq} was changed: its content does not match its hash. {REMEDY}")
        loaded = self.fields
        if loaded.get("version") not in range(OLDEST, VERSION + 1):
            raise LedgerDamaged(
                f"row {self.seq} has version {loaded.get('version')!r}, this Sfumato reads {OLDEST} to {VERSION}. Update it."
            )
        if (loaded["kind"], loaded["name"], loaded["request"]) != (self.kind, self.name, self.request):
            raise LedgerDamaged(f"row {self.seq} was changed: its columns do not match its content. {REMEDY}")
        return loaded


REMEDY = (
    "The ledger was edited or damaged: do not charge it. Compare it with a backup, and count what was released since then "
    "as spent."
)


def link(seq: int, previous: str, payload: str) -> str:
    """Return the hash of a row."""
    return digest(f"{seq}\n{previous}\n{payload}")


@dataclass(frozen=True)
class Chain:
    """A verified prefix of the ledger: the last row's number, hash, time and format version, and the accounts up to it."""

    seq: int = 0
    hash: str = GENESIS
    time: str = ""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    version: int = 0

    def next_row(self, kind: str, name: str, request: str, time: str, content: Mapping[str, Any]) -> Row:
        """Return the row that would follow."""
        said = {"version": VERSION, "kind": kind, "name": name, "request": request, "time": time, **content}
        payload, seq = canonical(said), self.seq + 1
        return Row(seq, kind, name, request, payload, self.hash, link(seq, self.hash, payload))

    def extended(self, rows: Iterable[Row]) -> Chain:
        """Walk the rows that follow; raise LedgerDamaged at the first one that does not belong."""
        seq, last, time, version, accounts = self.seq, self.hash, self.time, self.version, dict(self.accounts)
        for row in rows:
            if row.seq != seq + 1:
                raise LedgerDamaged(f"row {seq + 1} is missing: after row {seq} comes row {row.seq}. {REMEDY}")
            if row.previous != last:
                raise LedgerDamaged(f"row {row.seq} does not follow row {seq}: one of the two was changed. {REMEDY}")
            said = row.checked()
            try:
                _check_version(version, said)
                _apply(accounts, row, said)
            except (KeyError, TypeError, ValueError, SfumatoError) as error:
                raise LedgerDamaged(f"row {row.seq} says what no ledger would write ({error}). {REMEDY}") from error
            # Only a recorded correction of the clock lets the time go back.
            time = said["time"] if row.kind == "clock" else max(time, said["time"])
            seq, last, version = row.seq, row.hash, said["version"]
        return Chain(seq, last, time, accounts, version)


def _check_version(before: int, said: Mapping[str, Any]) -> None:
    """The format changes by a recorded migration alone, and never back."""
    migration = said["kind"] == "migrate"
    if migration and (said["from"], said["to"]) != (max(before, OLDEST), said["version"]):
        raise ValueError(f"a migration from format {said['from']!r} to {said['to']!r} after format {before}")
    if migration and before == said["version"]:
        raise ValueError(f"a second migration to format {before}")
    if not migration and before not in (0, said["version"]):
        raise ValueError(f"format {said['version']} after format {before} without a migration")


def _apply(accounts: dict[str, Account], row: Row, said: Mapping[str, Any]) -> None:
    if row.kind == "register":
        if row.name in accounts:
            raise ValueError(f"{row.name!r} is registered twice")
        accounts[row.name] = Account(row.name, Terms.from_json(said["terms"]), said["cap"])
    elif row.kind == "charge":
        account = accounts[row.name]
        price = account.price_again(said["price"])
        if price.to_json() != said["price"]:
            raise ValueError(f"its units are {said['price']}, not {price.to_json()}")
        accounts[row.name] = account.plus(price)
    elif (row.kind == "seal" and row.name in accounts) or (row.kind in ("migrate", "clock") and row.name == NO_NAME):
        return
    else:
        raise ValueError(f"a {row.kind!r} of {row.name!r}, which was not registered before")
