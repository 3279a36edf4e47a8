"""The hash chain: rows that are only appended, and the accounts computed from them.

Each row is a canonical JSON payload; its hash covers its number, the hash before it and the payload. A `Chain` is the prefix
that a process has verified: its last row, and every account recomputed from the rows themselves.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sfumato.errors import LedgerDamaged, SfumatoError
from sfumato.ledger.account import Account
from sfumato.ledger.currency import cap_of
from sfumato.ledger.terms import Terms, label

# The previous hash of row 1; no row is known to have this SHA-256.
GENESIS = "0" * 64
# Format 1 had no constraint on row numbers, no recorded migrations and no recorded corrections of the clock.
VERSION = 2
OLDEST = 1
# The form of `book.now`: UTC with microseconds.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
# A cap is computed in floats, whose last digits may differ between machines; no budget is noticeably larger for it.
_CAP_TOLERANCE = 1e-9
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
    """One row as stored; kind, name and request repeat the payload, so that the database can index them."""

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
        """Return the payload if the row agrees with its own hash and has the fields of every row, or raise naming the row."""
        if self.hash != link(self.seq, self.previous, self.payload):
            raise LedgerDamaged(f"row {self.seq} was changed: its content does not match its hash. {REMEDY}")
        try:
            loaded = self.fields
            stated = tuple(loaded[key] for key in ("kind", "name", "request", "time", "version"))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerDamaged(f"row {self.seq} says what no ledger would write ({error!r}). {REMEDY}") from None
        if loaded.get("version") not in range(OLDEST, VERSION + 1):
            raise LedgerDamaged(
                f"row {self.seq} has version {loaded.get('version')!r}, this Sfumato reads {OLDEST} to {VERSION}. Update it."
            )
        if stated[:3] != (self.kind, self.name, self.request):
            raise LedgerDamaged(f"row {self.seq} was changed: its columns do not match its content. {REMEDY}")
        return loaded


# The last sentences of every error about damage.
REMEDY = (
    "The ledger was edited or damaged: do not charge it. Compare it with a backup, and count what was released since then "
    "as spent."
)


def link(seq: int, previous: str, payload: str) -> str:
    """Return the hash of a row."""
    return digest(f"{seq}\n{previous}\n{payload}")


class Requests:
    """The verified charges and seals, by name and request id.

    It only grows, and is shared by all prefixes of one chain: a prefix looks up rows with smaller numbers only.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._rows: dict[tuple[str, str, str], int] = {}
        self._written: dict[tuple[str, str], str] = {}

    def add(self, row: Row) -> None:
        """Add a row; a second one of the same kind, name and request id is damage."""
        if self._rows.setdefault((row.kind, row.name, row.request), row.seq) != row.seq:
            raise ValueError(f"a second {row.kind} of request {row.request!r}")
        self._written.setdefault((row.name, label("request_id", row.request)), row.request)

    def seen(self, kind: str, name: str, request: str, before: int) -> bool:
        """Whether a row of this kind has a number below `before`."""
        return self._rows.get((kind, name, request), before) < before

    def written(self, name: str, request: str) -> str:
        """The request id as the ledger recorded it: older ledgers hold ids that are not in their normal form."""
        if ("charge", name, request) in self._rows:
            return request
        wanted = label("request_id", request)
        return self._written.get((name, wanted), wanted)


@dataclass(frozen=True)
class Chain:
    """A verified prefix of the ledger: the last row's number, hash, time and format version, and the accounts up to it."""

    seq: int = 0
    hash: str = GENESIS
    time: str = ""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    version: int = 0
    requests: Requests = field(default_factory=Requests)

    def next_row(self, kind: str, name: str, request: str, time: str, content: Mapping[str, Any]) -> Row:
        """Return the row that would follow."""
        fields = {"version": VERSION, "kind": kind, "name": name, "request": request, "time": time, **content}
        payload, seq = canonical(fields), self.seq + 1
        return Row(seq, kind, name, request, payload, self.hash, link(seq, self.hash, payload))

    def extended(self, rows: Iterable[Row]) -> Chain:
        """Return the chain with these rows appended; raise LedgerDamaged at the first row that cannot follow."""
        seq, last, time, version, accounts = self.seq, self.hash, self.time, self.version, dict(self.accounts)
        for row in rows:
            # Numbers and hashes first: a payload is parsed only if it is the one that was hashed.
            if row.seq != seq + 1:
                raise LedgerDamaged(f"row {seq + 1} is missing: after row {seq} comes row {row.seq}. {REMEDY}")
            if row.previous != last:
                raise LedgerDamaged(f"row {row.seq} does not follow row {seq}: one of the two was changed. {REMEDY}")
            content = row.checked()
            try:
                _check_version(version, content)
                _check_time(content["time"])
                _apply(accounts, self.requests, row, content)
            except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, SfumatoError) as error:
                raise LedgerDamaged(f"row {row.seq} says what no ledger would write ({error}). {REMEDY}") from error
            # Only a recorded correction of the clock lets the time go back.
            time = content["time"] if row.kind == "clock" else max(time, content["time"])
            seq, last, version = row.seq, row.hash, content["version"]
        return Chain(seq, last, time, accounts, version, self.requests)


def _check_version(before: int, content: Mapping[str, Any]) -> None:
    """Raise unless the row has the format before it, or is a recorded migration to a later one."""
    if type(content["version"]) is not int:
        raise ValueError(f"format {content['version']!r}")
    migration = content["kind"] == "migrate"
    if migration and (content["from"], content["to"]) != (max(before, OLDEST), content["version"]):
        raise ValueError(f"a migration from format {content['from']!r} to {content['to']!r} after format {before}")
    if migration and before == content["version"]:
        raise ValueError(f"a second migration to format {before}")
    if not migration and before not in (0, content["version"]):
        raise ValueError(f"format {content['version']} after format {before} without a migration")


def _check_time(time: object) -> None:
    """Raise unless the time is a text of the one form, which sorts in the order of the times."""
    if not isinstance(time, str) or not _TIME.fullmatch(time):
        raise ValueError(f"the time {time!r}")
    datetime.fromisoformat(time)


def _apply(accounts: dict[str, Account], requests: Requests, row: Row, content: Mapping[str, Any]) -> None:
    """Apply the row to the accounts; raise if no ledger could have written it after the rows before."""
    if row.kind in ("migrate", "clock") and row.name == NO_NAME:
        return
    if content["version"] > OLDEST and label("name", row.name) != row.name:
        raise ValueError(f"the name {row.name!r}, which is not in its normal form")
    if row.kind == "register":
        if row.name in accounts:
            raise ValueError(f"{row.name!r} is registered twice")
        terms = Terms.from_json(content["terms"])
        if not 0 < content["cap"] <= cap_of(terms) * (1 + _CAP_TOLERANCE):
            raise ValueError(f"a cap of {content['cap']!r} for the terms {terms}")
        accounts[row.name] = Account(row.name, terms, content["cap"])
        return
    if row.name not in accounts:
        raise ValueError(f"a {row.kind!r} of {row.name!r}, which was not registered before")
    if row.kind == "charge":
        account = accounts[row.name]
        price = account.price_again(content["price"])
        if price.to_json() != content["price"]:
            raise ValueError(f"its units are {content['price']}, not {price.to_json()}")
        accounts[row.name] = account.plus(price)
    elif row.kind == "seal":
        if not requests.seen("charge", row.name, row.request, before=row.seq):
            raise ValueError(f"a seal of request {row.request!r}, which was never charged")
        if not isinstance(content["sha256"], str) or not isinstance(content["size"], int):
            raise ValueError("a seal without its hash or size")
    else:
        raise ValueError(f"a row of kind {row.kind!r}")
    requests.add(row)
