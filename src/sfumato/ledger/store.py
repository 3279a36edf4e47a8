"""The database of a ledger: one table to which rows are only appended, and transactions of one writer at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from sfumato.errors import LedgerDamaged
from sfumato.ledger.stored_rows import REMEDY, Row

# The name must not change: existing databases hold it.
TABLE = "sfumato_ledger"
# All but the sealed bytes, which are read only where they are needed.
COLUMNS = "seq, kind, name, request, payload, previous, hash"
# What is read of a row: the sealed bytes' number stands for them.
_READ = f"{COLUMNS}, length(data)"
# Rows read at once: a few megabytes, whatever the ledger's length.
_PAGE = 1000

Execute = Callable[[str, Sequence[object]], Iterable[Sequence[Any]]]


class Transaction:
    """Reading and appending rows, in SQL that every supported database accepts; `mark` is its placeholder.

    `folder` is the number of the folder that holds the database, "" where a server does.
    """

    def __init__(self, execute: Execute, mark: str, folder: str = "") -> None:
        """Store the function that runs a statement."""
        self._execute, self._mark, self.folder = execute, mark, folder

    def _select(self, condition: str, values: Sequence[object]) -> list[Row]:
        text = f"SELECT {_READ} FROM {TABLE} WHERE {condition}".replace("?", self._mark)
        return [Row(*columns) for columns in self._execute(text, values)]

    def rows(self, start: int) -> Iterator[Row]:
        """Walk the rows from number `start` on, in order, without their sealed bytes."""
        more = True
        while more:
            page = self._select(f"seq >= ? ORDER BY seq LIMIT {_PAGE}", (start,))
            yield from page
            more = len(page) == _PAGE
            start = page[-1].seq + 1 if more else start

    def row(self, seq: int) -> Row | None:
        """Return one row, or None."""
        return next(iter(self._select("seq = ?", (seq,))), None)

    def named(self, name: str) -> list[Row]:
        """Return every row of one name, in order."""
        return self._select("name = ? ORDER BY seq", (name,))

    def stray(self) -> Row | None:
        """Return a row numbered below 1, which no walk from row 1 would meet, or None."""
        return next(iter(self._select("seq < 1 ORDER BY seq LIMIT 1", ())), None)

    def data(self, seq: int) -> bytes:
        """Return the sealed bytes kept with a row."""
        text = f"SELECT data FROM {TABLE} WHERE seq = ?".replace("?", self._mark)
        columns = next(iter(self._execute(text, (seq,))), (None,))
        if not isinstance(columns[0], (bytes, memoryview)):
            raise LedgerDamaged(f"the sealed bytes of row {seq} are gone or are no bytes.")
        return bytes(columns[0])

    def append(self, row: Row, data: bytes | None = None) -> None:
        """Write the next row, and read it back: a database may drop or change what is inserted and report no error."""
        values = (row.seq, row.kind, row.name, row.request, row.payload, row.previous, row.hash, data)
        places = ", ".join([self._mark] * len(values))
        self._execute(f"INSERT INTO {TABLE} ({COLUMNS}, data) VALUES ({places})", values)
        if self.row(row.seq) != row or (data is not None and self.data(row.seq) != data):
            raise LedgerDamaged(
                f"the database did not keep row {row.seq} as it was written, so it is taken back. {REMEDY}"
            )

    def format(self) -> int:
        """Return the format version that is recorded in the database."""
        raise NotImplementedError

    def altered(self) -> str:
        """Return what the database holds beside what the ledger made, or lacks of it; "" where it is as it was made."""
        raise NotImplementedError


class Store(Protocol):
    """A database that holds a ledger."""

    def prepare(self, create: bool, expected: bool) -> None:
        """Make a missing table if `create` is true; where the table was `expected`, its absence is damage."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open one consistent view, without blocking anybody."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Open the one transaction that may write; what it wrote is durable when the block ends without an error."""
