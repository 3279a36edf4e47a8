"""The rows of a ledger as they are stored, and those that a process has verified.

Each row is a canonical JSON payload; its hash covers its number, the hash before it and the payload.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import LedgerDamaged

# The previous hash of row 1; no row is known to have this SHA-256.
GENESIS = "0" * 64
# The format of rows and table. Format 3 records the folder of the database; nothing was released before it.
VERSION = 3
# Rows about the ledger itself belong to no registered name.
NO_NAME = ""


def canonical(document: Mapping[str, Any]) -> str:
    """Return the one text of a JSON document: sorted keys, no spaces, ASCII, NaN and infinity refused."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def payload_of(kind: str, name: str, request: str, time: str, content: Mapping[str, Any]) -> str:
    """Return the payload of a row."""
    return canonical({"version": VERSION, "kind": kind, "name": name, "request": request, "time": time, **content})


def digest(text: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


@dataclass(frozen=True)
class Row:
    """One row as stored; kind, name and request repeat the payload, so that the database can index them.

    `size` is the number of bytes that are sealed with it; None where there are none.
    """

    seq: int
    kind: str
    name: str
    request: str
    payload: str
    previous: str
    hash: str
    size: int | None = None

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
            stated = tuple(loaded[key] for key in ("kind", "name", "request", "version"))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LedgerDamaged(f"row {self.seq} says what no ledger would write ({error!r}). {REMEDY}") from None
        if stated != (self.kind, self.name, self.request, VERSION):
            raise LedgerDamaged(
                f"row {self.seq} was changed, or another version of Sfumato wrote it: its columns or its format "
                f"({stated[3]!r}; this Sfumato reads {VERSION}) do not match its content. {REMEDY}"
            )
        return loaded


# The last sentences of every error about damage.
REMEDY = (
    "The ledger was edited or damaged: do not charge it. Compare it with a backup, and count what was released since then "
    "as spent."
)


def link(seq: int, previous: str, payload: str) -> str:
    """Return the hash of a row."""
    return digest(f"{seq}\n{previous}\n{payload}")


class Verified:
    """The rows that this process has verified: their hashes, and the numbers of charges and seals by name and request id.

    It only grows, and is shared by all prefixes of one chain: a prefix looks up rows with smaller numbers only.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._rows: dict[int, tuple[str, str]] = {}
        self._requests: dict[tuple[str, str, str], int] = {}

    def add(self, row: Row) -> None:
        """Add a row; another one of its number, or a second one of its kind, name and request id, is damage."""
        if self._requests.setdefault((row.kind, row.name, row.request), row.seq) != row.seq:
            raise ValueError(f"a second {row.kind} of request {row.request!r}")
        if self._rows.setdefault(row.seq, (row.hash, row.name)) != (row.hash, row.name):
            raise ValueError("another row of this number was read before")

    def find(self, kind: str, name: str, request: str) -> int | None:
        """The number of the row of this kind, name and request id, or None."""
        return self._requests.get((kind, name, request))

    def named(self, name: str) -> list[int]:
        """The numbers of all rows of one name, in order."""
        return [seq for seq, (_, its) in list(self._rows.items()) if its == name]

    def confirmed(self, row: Row | None, seq: int) -> Row:
        """The row of this number as it was read again, or raise unless it is the verified one."""
        if row is None or (row.seq, row.hash) != (seq, self._rows[seq][0]):
            raise LedgerDamaged(f"row {seq}, which this process has read before, is gone or changed. {REMEDY}")
        row.checked()
        return row
