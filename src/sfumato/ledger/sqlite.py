"""A ledger in one SQLite file: write-ahead log, full sync, one transaction per operation, under a lock file of its own.

A connection is opened for each operation and closed after it. None is kept idle: a fork would duplicate it, and a copy of
the file made inside the process would drop its locks. Exclusion therefore rests on the lock file beside the database
(`locks.FileLock`); SQLite's own locks keep out other programs.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sfumato.errors import ArgumentError, LedgerDamaged, LedgerFull, LedgerLocked, LedgerReadOnly, LedgerUnavailable
from sfumato.ledger.forks import close_before_forks
from sfumato.ledger.locks import FileLock
from sfumato.ledger.store import TABLE, Transaction
from sfumato.ledger.stored_rows import VERSION
from sfumato.ledger.system import REPEAT, translated_os

# As in postgres.py: a charge takes milliseconds, so thousands of them can go first.
BUSY_SECONDS = 30.0

_TABLE = (
    f"CREATE TABLE {TABLE} (seq INTEGER PRIMARY KEY CHECK (seq >= 1), kind TEXT NOT NULL, name TEXT NOT NULL, "
    "request TEXT NOT NULL, payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BLOB, "
    "UNIQUE (name, request, kind))"
)
# The triggers prevent accidents; a deliberate edit is detected by the chain and the witness.
_TRIGGERS = {
    f"{TABLE}_no_{word}": f"CREATE TRIGGER {TABLE}_no_{word} BEFORE {word.upper()} ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for word in ("update", "delete")
}
# Everything that SQLite lists of a ledger's file, with the statement that made it; the index is that of UNIQUE.
_OBJECTS = {
    ("table", TABLE, _TABLE),
    ("index", f"sqlite_autoindex_{TABLE}_1", None),
    *(("trigger", name, statement) for name, statement in _TRIGGERS.items()),
}
# SQLite keeps this number in the file's header.
_FORMAT = f"PRAGMA user_version = {VERSION}"


class _Connection(sqlite3.Connection):
    """A connection that can be referred to weakly."""


# Every connection of this process, to close what an interrupt left open before a fork.
_open_connections: dict[int, weakref.ref[sqlite3.Connection]] = {}


def _close_all() -> None:
    for reference in list(_open_connections.values()):
        connection = reference()
        if connection is not None:
            connection.close()
    _open_connections.clear()


close_before_forks(_close_all)
# Connections that a forked child inherited in the middle of an operation. Closing one would write to the parent's file.
_inherited: list[sqlite3.Connection] = []


class SqliteStore:
    """The store at one path."""

    def __init__(self, path: Path) -> None:
        """Keep the path; nothing is opened."""
        self.path = path
        self._lock = FileLock(path.with_name(path.name + ".lock"), str(path))
        self._mode = "rw"

    def prepare(self, create: bool, expected: bool) -> None:
        """Make the file and its table where `create` allows it; `expected`: the witness has seen rows in it."""
        with translated_os(str(self.path)):
            exists = self.path.exists()
        if not exists:
            if expected:
                raise LedgerDamaged(
                    f"{self.path} is gone, but its witness has seen rows in it. Put the file back; if it is lost, count what was "
                    "released as spent and start a ledger under another name."
                )
            if not create:
                raise ArgumentError(f"there is no ledger {self.path}. Make it with: sfumato ledger create {self.path}")
        if not self.path.parent.is_dir():
            raise LedgerUnavailable(f"the folder of {self.path} does not exist. Make it first.")
        self._mode = "rwc" if create and not expected else "rw"
        if self._holds_table():
            return
        if expected:
            raise LedgerDamaged(f"{self.path} holds no ledger, but its witness has seen rows in it: it was replaced.")
        if not create:
            raise ArgumentError(
                f"{self.path} holds no ledger. Make one with: sfumato ledger create, under another name."
            )
        with self.writing() as act:
            if not act.there():  # another process may have been quicker
                act.run(_TABLE, *_TRIGGERS.values(), _FORMAT)

    def _holds_table(self) -> bool:
        """Whether the file holds a ledger; another program's database is left as it is, and no lock file is made for it."""
        if not self.path.exists():
            return False
        with self._translated(), closing(self._open(BUSY_SECONDS)) as connection:
            return SqliteTransaction(connection, "").there()

    def reading(self) -> AbstractContextManager[SqliteTransaction]:
        """Open one snapshot."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[SqliteTransaction]:
        """Take the write lock at once: no row can be added between the check of a charge and its commit."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        deadline = time.monotonic() + BUSY_SECONDS
        with self._lock.held(BUSY_SECONDS) as lock, self._translated():
            folder, file = self._numbers()
            # Both waits together take at most the stated time.
            connection, owner = self._connect(max(0.05, deadline - time.monotonic())), os.getpid()
            try:
                connection.execute(begin)
                yield SqliteTransaction(connection, folder)
                if os.getpid() != owner:
                    raise LedgerUnavailable(
                        "this process was forked inside a ledger operation, which its parent completes."
                    )
                lock.confirm()
                if file and self._numbers() != (folder, file):
                    raise LedgerUnavailable(f"{self.path} was replaced while it was in use. {REPEAT}")
                connection.execute("COMMIT")
            finally:
                if os.getpid() == owner:
                    with suppress(sqlite3.Error):
                        connection.rollback()  # nothing is left to roll back after a commit
                    connection.close()
                    _open_connections.pop(id(connection), None)
                else:
                    _inherited.append(connection)

    def _numbers(self) -> tuple[str, str]:
        """The inode numbers of the folder and the file; raise where the file has a log elsewhere too, under another name.

        Numbers of devices are left out: they change when a machine starts and when a volume is mounted again.
        """
        with translated_os(str(self.path)):
            number = str(self.path.parent.stat().st_ino)
            if not os.path.lexists(self.path):
                return number, ""
            file = self.path.lstat()
            alone = _mount(self.path) != _mount(self.path.parent)
        if file.st_nlink > 1 or not stat.S_ISREG(file.st_mode):
            raise LedgerUnavailable(
                f"{self.path} has a second name (a hard or symbolic link). SQLite keeps a log for each name, so charges would be "
                "lost. Remove the other name, or copy the file and use the copy as a backup only."
            )
        if alone:
            raise LedgerUnavailable(
                f"{self.path} is mounted as a single file, so its log and its lock stay outside the mount, and whoever mounts it "
                "elsewhere has others: charges would be lost. Mount the whole folder that holds it."
            )
        return number, str(file.st_ino)

    def _open(self, seconds: float) -> sqlite3.Connection:
        """Open a connection that waits at most `seconds` for another program's lock."""
        address = f"file:{quote(str(self.path))}?mode={self._mode}"
        connection = sqlite3.connect(
            address, uri=True, timeout=seconds, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        _open_connections[id(connection)] = weakref.ref(connection)
        return connection

    def _connect(self, seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
        """Open a connection with the log and the syncing that make a commit durable."""
        connection = self._open(seconds)
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise LedgerUnavailable(
                    f"{self.path} lies where SQLite cannot keep a write-ahead log (got mode {mode!r}), so a charge would not "
                    "be durable. Use a local disk, or a postgresql:// URL."
                )
            # FULL syncs the log at every commit; fullfsync makes macOS flush the disk's cache as well.
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
            raise self._ledger_error(error) from error

    def _ledger_error(self, error: sqlite3.Error) -> Exception:
        detailed = int(getattr(error, "sqlite_errorcode", 0))  # 0 where the driver gives none
        code = detailed & 0xFF  # SQLite keeps the primary code in the lowest byte
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerLocked(f"{self.path} was locked by another process for {BUSY_SECONDS:g} s. {REPEAT}")
        denied = code == sqlite3.SQLITE_CANTOPEN and not os.access(self.path.parent, os.W_OK)
        if denied or code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
            return LedgerReadOnly(f"{self.path} or its folder may not be written ({error}). {REPEAT}")
        if code == sqlite3.SQLITE_FULL or detailed == sqlite3.SQLITE_IOERR_WRITE:
            return LedgerFull(f"{self.path} could not be written, the disk is full or failing ({error}). {REPEAT}")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return LedgerDamaged(
                f"{self.path} is not a sound SQLite file ({error}). Put a backup back with its witness."
            )
        return LedgerUnavailable(f"{self.path} could not be used ({error}). {REPEAT}")


def _mount(path: Path) -> str:
    """The number of the mount that holds the path, on Linux; "" elsewhere. Nothing is opened: closing would drop locks."""
    if not hasattr(os, "O_PATH"):
        return ""
    handle = os.open(path, os.O_PATH)
    try:
        lines = Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii").splitlines()
    except FileNotFoundError:  # /proc is not mounted
        return ""
    finally:
        os.close(handle)
    return next((line for line in lines if line.startswith("mnt_id:")), "")


class SqliteTransaction(Transaction):
    """A transaction on one connection."""

    def __init__(self, connection: sqlite3.Connection, folder: str) -> None:
        """Run statements on this connection."""
        super().__init__(connection.execute, "?", folder)
        self._connection = connection

    def run(self, *statements: str) -> None:
        """Run statements whose results are not needed."""
        for statement in statements:
            self._connection.execute(statement)

    def there(self) -> bool:
        """Whether the table exists."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._connection.execute(query, (TABLE,)).fetchone() is not None

    def format(self) -> int:
        """The format version of the database."""
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def altered(self) -> str:
        """The names of objects that are missing or that the ledger did not make in this way."""
        held = set(self._connection.execute("SELECT type, name, sql FROM sqlite_master"))
        return ", ".join(sorted({f"{kind} {name}" for kind, name, _ in held ^ _OBJECTS}))
