"""A ledger in one SQLite file: write-ahead log, full sync, one immediate transaction per operation."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfumato.errors import (
    LedgerDamaged,
    LedgerFull,
    LedgerLocked,
    LedgerReadOnly,
    LedgerUnavailable,
)
from sfumato.ledger.pool import Pool
from sfumato.ledger.store import TABLE, Transaction
from sfumato.ledger.system import REPEAT

BUSY_SECONDS = 30.0

_SCHEMA = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, "
    "request TEXT NOT NULL, payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, "
    "UNIQUE (name, request, kind))",
    # An accident is stopped here; a deliberate edit is found by the chain and the witness.
    f"CREATE TRIGGER IF NOT EXISTS {TABLE}_no_update BEFORE UPDATE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    f"CREATE TRIGGER IF NOT EXISTS {TABLE}_no_delete BEFORE DELETE ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
)


class SqliteStore:
    """The store at one path."""

    def __init__(self, path: Path) -> None:
        """Keep the path; nothing is opened."""
        self.path = path
        # One connection a process: its threads wait in line here instead of polling the file's lock.
        self._pool: Pool[sqlite3.Connection] = Pool(self._connect, sqlite3.Connection.close, 1, BUSY_SECONDS)
        self._mode = "rw"

    def prepare(self, create: bool) -> None:
        """Make the file and its table where `create` allows it."""
        if not create and not self.path.exists():
            raise LedgerDamaged(
                f"{self.path} is gone, but its witness has seen rows in it. Put the file back; if it is lost, count what was "
                "released as spent and start a ledger under another name."
            )
        if create and not self.path.parent.is_dir():
            raise LedgerUnavailable(f"the folder of {self.path} does not exist. Make it first.")
        self._mode = "rwc" if create else "rw"
        with self.reading() as view:
            there = view.there()
        if there:
            return
        if not create:
            raise LedgerDamaged(f"{self.path} holds no ledger, but its witness has seen rows in it: it was replaced.")
        with self.writing() as act:
            for statement in _SCHEMA:
                act.run(statement)

    def close(self) -> None:
        """Close this process's idle connections."""
        self._pool.close()

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """Open one snapshot."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """Take the write lock at once, so that what is read is what is charged against."""
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        with self._translated():
            connection, _ = self._pool.take()
            try:
                connection.execute(begin)
                yield SqliteTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                try:
                    connection.rollback()
                except sqlite3.Error:
                    self._pool.drop(connection)
                else:
                    self._pool.give_back(connection)
                raise
            self._pool.give_back(connection)

    def _connect(self) -> sqlite3.Connection:
        address = f"file:{quote(str(self.path))}?mode={self._mode}"
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            # Switching to the log is refused, not delayed, while another process opens the same new file.
            deadline = time.monotonic() + BUSY_SECONDS
            while True:
                with suppress(sqlite3.OperationalError):
                    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                        break
                try:
                    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                except sqlite3.OperationalError as error:
                    if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(0.005)
                    continue
                if mode != "wal":
                    raise LedgerUnavailable(
                        f"{self.path} lies where SQLite cannot keep a write-ahead log (got mode {mode!r}), so a charge would not "
                        "be durable. Use a local disk, or a postgresql:// URL."
                    )
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._in_words(error) from error

    def _in_words(self, error: sqlite3.Error) -> Exception:
        code = _primary(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerLocked(f"{self.path} was locked by another process for {BUSY_SECONDS:g} s. {REPEAT}")
        denied = code == sqlite3.SQLITE_CANTOPEN and not os.access(self.path.parent, os.W_OK)
        if denied or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            return LedgerReadOnly(f"{self.path} or its folder may not be written ({error}). {REPEAT}")
        if code == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_WRITE:
            return LedgerFull(f"{self.path} could not be written, the disk is full or failing ({error}). {REPEAT}")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return LedgerDamaged(
                f"{self.path} is not a sound SQLite file ({error}). Put a backup back with its witness."
            )
        return LedgerUnavailable(f"{self.path} could not be used ({error}). {REPEAT}")


class SqliteTransaction(Transaction):
    """A transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Run statements on this connection."""
        super().__init__(connection.execute, "?")
        self._connection = connection

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run a statement whose answer is not needed."""
        self._connection.execute(statement, values)

    def there(self) -> bool:
        """Whether the table exists."""
        found = self._connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (TABLE,))
        return found.fetchone() is not None


def _primary(error: sqlite3.Error) -> int:
    """The error's code without its detail bits; 0 where the driver gives none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
