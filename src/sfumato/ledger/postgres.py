"""A ledger in PostgreSQL: one locked transaction per operation, synchronous commit, a few connections per process."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
# Charges wait for one another anyway: a second connection lets the next one stand ready, more would only take places.
CONNECTIONS = 2

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (seq BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL,
    payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BYTEA, UNIQUE (name, request, kind));
CREATE OR REPLACE FUNCTION {TABLE}_append_only() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE OR REPLACE TRIGGER {TABLE}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE}
    FOR EACH STATEMENT EXECUTE FUNCTION {TABLE}_append_only();
"""


def driver() -> Any:
    """Import psycopg, or say how to get it."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise LedgerUnavailable(
            "a postgresql:// ledger needs the driver psycopg, which is not installed: pip install 'sfumato[postgres]'."
        ) from error


class PostgresStore:
    """The store at one URL; `shown` is the URL without its password."""

    def __init__(self, url: str, shown: str) -> None:
        """Keep the address; nothing is opened."""
        self.url, self.shown = url, shown
        self._pool: Pool[Any] = Pool(self._connect, _close, CONNECTIONS, BUSY_SECONDS)

    def prepare(self, create: bool) -> None:
        """Make the table where `create` allows it; refuse a server that does not sync to disk."""
        with self.reading() as view:
            durable = view.value("SHOW fsync")
            there = view.value(f"SELECT to_regclass('{TABLE}')") is not None
        if durable != "on":
            raise LedgerUnavailable(
                f"{self.shown} runs with fsync={durable}, so a charge would not survive a crash. Switch fsync on, or use SQLite."
            )
        if there:
            return
        if not create:
            raise LedgerDamaged(f"{self.shown} holds no ledger, but its witness has seen rows in it: it was replaced.")
        with self._transaction(f"BEGIN; SELECT pg_advisory_xact_lock(hashtext('{TABLE}'))") as act:
            act.value(_SCHEMA)

    def close(self) -> None:
        """Close this process's idle connections."""
        self._pool.close()

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """Open one snapshot."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as transaction:
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """Lock the table against every other writer, so that what is read is what is charged against."""
        begin = (
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {round(1000 * BUSY_SECONDS)}; "
            f"SET LOCAL synchronous_commit = on; LOCK TABLE {TABLE} IN SHARE ROW EXCLUSIVE MODE"
        )
        with self._transaction(begin) as transaction:
            yield transaction

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresTransaction]:
        with self._translated():
            connection = self._begun(begin)
            try:
                yield PostgresTransaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                self._end(connection)
                raise
            self._pool.give_back(connection)

    def _begun(self, begin: str) -> Any:
        """Return a connection inside a transaction; one that died while idle is replaced, since nothing was sent on it."""
        connection, new = self._pool.take()
        try:
            connection.execute(begin)
        except BaseException as error:
            died = not new and connection.closed and isinstance(error, driver().OperationalError)
            self._end(connection)
            if not died:
                raise
            connection, _ = self._pool.take(fresh=True)
            try:
                connection.execute(begin)
            except BaseException:
                self._end(connection)
                raise
        return connection

    def _end(self, connection: Any) -> None:
        """Roll back and keep the connection, or drop it where it cannot even do that."""
        try:
            connection.execute("ROLLBACK")
        except BaseException:
            self._pool.drop(connection)
        else:
            self._pool.give_back(connection)

    def _connect(self) -> Any:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return driver().connect(self.url, autocommit=True, prepare_threshold=None, connect_timeout=10)
            except driver().OperationalError as error:
                crowded = "too many" in str(error) or "connection slots" in str(error)
                if not crowded or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except driver().Error as error:
            raise self._in_words(error) from error

    def _in_words(self, error: Exception) -> Exception:
        codes = driver().errors
        said = " ".join(str(error).split())
        if isinstance(error, (codes.LockNotAvailable, codes.DeadlockDetected)):
            return LedgerLocked(f"{self.shown} was locked by another session for {BUSY_SECONDS:g} s ({said}). {REPEAT}")
        if isinstance(error, (codes.ReadOnlySqlTransaction, codes.InsufficientPrivilege)):
            return LedgerReadOnly(f"{self.shown} may not be written ({said}). {REPEAT}")
        if isinstance(error, codes.DiskFull):
            return LedgerFull(f"{self.shown} could not be written, the server's disk is full ({said}). {REPEAT}")
        return LedgerUnavailable(f"{self.shown} could not be used ({said}). {REPEAT}")


class PostgresTransaction(Transaction):
    """A transaction on one connection."""

    def __init__(self, connection: Any) -> None:
        """Run statements on this connection."""
        super().__init__(self._run, "%s")
        self._connection = connection

    def _run(self, statement: str, values: Any) -> Any:
        cursor = self._connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else ()

    def value(self, statement: str) -> Any:
        """Run a statement without arguments and return the first field of its answer, if it has one."""
        cursor = self._connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def _close(connection: Any) -> None:
    connection.close()
