"""A ledger in PostgreSQL: one locked transaction per operation, synchronous commit, no connection kept between operations.

Nothing waits for ever. A foreign lock is an error after LOCK_SECONDS, a statement that the server does not finish after
STATEMENT_SECONDS, and a server that does not answer at all (a silent network or proxy) after ANSWER_SECONDS.
"""

from __future__ import annotations

import importlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

from sfumato.errors import ArgumentError, LedgerDamaged, LedgerFull, LedgerLocked, LedgerReadOnly, LedgerUnavailable
from sfumato.ledger.address import Address
from sfumato.ledger.store import TABLE, Transaction
from sfumato.ledger.stored_rows import VERSION
from sfumato.ledger.system import REPEAT

# Enough for a server on another continent to answer; a wrong host is reported soon.
CONNECT_SECONDS = 10
# A charge takes milliseconds, so thousands of them can go first.
LOCK_SECONDS = 30.0
# Longer than the wait for a lock, so that a lock is reported as one.
STATEMENT_SECONDS = 35.0
# Longer than STATEMENT_SECONDS, so that a server that still answers reports its own error first.
ANSWER_SECONDS = 40.0
# Charges run one after another: a second connection is opened while the first commits; more would not speed them up.
CONNECTIONS = 2

# PostgreSQL has no version number of a table of one's own; its comment holds it.
_FORMAT = f"COMMENT ON TABLE {TABLE} IS 'sfumato ledger format {VERSION}'"
_REFUSAL = " BEGIN RAISE EXCEPTION 'the ledger is append-only'; END "
_SCHEMA = f"""
CREATE TABLE {TABLE} (seq BIGINT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL,
    payload TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, data BYTEA, UNIQUE (name, request, kind),
    CONSTRAINT {TABLE}_seq CHECK (seq >= 1));
CREATE OR REPLACE FUNCTION {TABLE}_append_only() RETURNS trigger LANGUAGE plpgsql AS $${_REFUSAL}$$;
CREATE OR REPLACE TRIGGER {TABLE}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE}
    FOR EACH STATEMENT EXECUTE FUNCTION {TABLE}_append_only();
{_FORMAT};
"""
# What the catalogs say of the table: kind and storage, columns, constraints, indexes, triggers, policies, rules and heirs. Names
# are those of pg_catalog, whatever the search path; a path in which another schema comes first could replace operators.
_CATALOG = f"""
WITH it AS (SELECT * FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass('{TABLE}'))
SELECT 'schema', (pg_catalog.current_schemas(true))[1]::text, '' UNION ALL
SELECT 'table', concat(relkind, relpersistence), concat(relrowsecurity, relforcerowsecurity) FROM it UNION ALL
SELECT 'column', attname::text, concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, atthasdef, attgenerated, attidentity,
    (SELECT collname FROM pg_collation WHERE oid = attcollation)) FROM pg_attribute, it
    WHERE attrelid = it.oid AND attnum > 0 AND NOT attisdropped UNION ALL
SELECT 'constraint', conname::text, concat_ws(' ', pg_get_constraintdef(c.oid), condeferrable, convalidated)
    FROM pg_constraint c, it WHERE conrelid = it.oid AND contype <> 'n' UNION ALL
SELECT 'index', (SELECT relname::text FROM pg_class c WHERE c.oid = indexrelid),
    concat_ws(' ', indkey, indisunique, indimmediate, indisvalid, indpred, indexprs)
    FROM pg_index, it WHERE indrelid = it.oid UNION ALL
SELECT 'trigger', tgname::text, concat_ws(' ', tgtype, tgenabled, tgdeferrable, tgqual, prosrc)
    FROM pg_trigger, pg_proc, it WHERE tgrelid = it.oid AND pg_proc.oid = tgfoid UNION ALL
SELECT 'rule', rulename::text, '' FROM pg_rewrite, it WHERE ev_class = it.oid UNION ALL
SELECT 'policy', polname::text, '' FROM pg_policy, it WHERE polrelid = it.oid UNION ALL
SELECT 'heir', inhrelid::regclass::text, '' FROM pg_inherits, it WHERE it.oid IN (inhrelid, inhparent)
"""
_OBJECTS = {
    ("schema", "pg_catalog", ""),
    ("table", "rp", "ff"),
    ("column", "seq", "bigint t f  "),
    *(("column", name, "text t f   default") for name in ("kind", "name", "request", "payload", "previous", "hash")),
    ("column", "data", "bytea f f  "),
    ("constraint", f"{TABLE}_pkey", "PRIMARY KEY (seq) f t"),
    ("constraint", f"{TABLE}_name_request_kind_key", "UNIQUE (name, request, kind) f t"),
    ("constraint", f"{TABLE}_seq", "CHECK ((seq >= 1)) f t"),
    ("index", f"{TABLE}_pkey", "1 t t t"),
    ("index", f"{TABLE}_name_request_kind_key", "3 4 2 t t t"),
    ("trigger", f"{TABLE}_append_only", f"58 O f {_REFUSAL}"),
}
T = TypeVar("T")


def driver() -> Any:
    """Import psycopg; the error names the package to install."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise LedgerUnavailable(
            "a postgresql:// ledger needs the driver psycopg, which is not installed: pip install 'sfumato[postgres]'."
        ) from error


class PostgresStore:
    """The store at one address."""

    def __init__(self, address: Address) -> None:
        """Keep the address; nothing is opened."""
        self._address = address
        self._places = threading.BoundedSemaphore(CONNECTIONS)

    def prepare(self, create: bool, expected: bool) -> None:
        """Make the table where `create` allows it; refuse a server that does not sync to disk."""
        shown = self._address.shown
        with self.reading() as view:
            durable = view.value("SHOW fsync")
            there = view.there()
        if durable != "on":
            raise LedgerUnavailable(
                f"{shown} runs with fsync={durable}, so a charge would not survive a crash. Switch fsync on, or use SQLite."
            )
        if there:
            return
        if expected:
            raise LedgerDamaged(f"{shown} holds no ledger, but its witness has seen rows in it: it was replaced.")
        if not create:
            raise ArgumentError(f"there is no ledger at {shown}. Make it with: sfumato ledger create URL")
        with self._transaction(f"SELECT pg_advisory_xact_lock(hashtext('{TABLE}'))") as act:
            if not act.there():  # another process may have been quicker
                act.value(_SCHEMA)

    def reading(self) -> AbstractContextManager[PostgresTransaction]:
        """Open one snapshot."""
        return self._transaction("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def writing(self) -> AbstractContextManager[PostgresTransaction]:
        """Lock the table against every other writer: no row can be added between the check of a charge and its commit."""
        return self._transaction(f"SET LOCAL synchronous_commit = on; LOCK TABLE {TABLE} IN SHARE ROW EXCLUSIVE MODE")

    @contextmanager
    def _transaction(self, first: str) -> Iterator[PostgresTransaction]:
        """Run a block between BEGIN and COMMIT on a connection of its own; `first` is run before it."""
        # Threads of this process wait here, not at the server, where they would use up its connections.
        if not self._places.acquire(timeout=LOCK_SECONDS):
            raise LedgerLocked(
                f"all {CONNECTIONS} connections of this process were in use for {LOCK_SECONDS:g} s. {REPEAT}"
            )
        try:
            with self._translated():
                connection = self._connect()
                try:
                    transaction = PostgresTransaction(connection)
                    transaction.value(f"BEGIN ISOLATION LEVEL READ COMMITTED; {_limits()}; {first}")
                    yield transaction
                    transaction.value("COMMIT")
                finally:
                    _end(connection)
        finally:
            self._places.release()

    def _connect(self) -> Any:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return driver().connect(
                    self._address.url,
                    autocommit=True,
                    prepare_threshold=None,
                    connect_timeout=CONNECT_SECONDS,
                    client_encoding="utf8",
                    keepalives_idle=10,
                    keepalives_interval=5,
                    keepalives_count=3,
                    tcp_user_timeout=round(1000 * ANSWER_SECONDS),
                )
            except driver().OperationalError as error:
                # The server has no connection left: others are short-lived, so waiting helps.
                crowded = "too many" in str(error) or "connection slots" in str(error)
                if not crowded or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Raise the driver's errors as errors of the ledger.

        Raised outside the `except` block, they carry no `__context__`: the driver's text may hold the password.
        """
        translated = None
        try:
            yield
        except driver().Error as error:
            translated = self._ledger_error(error)
        if translated is not None:
            raise translated from None

    def _ledger_error(self, error: Exception) -> Exception:
        codes, shown = driver().errors, self._address.shown
        text = " ".join(self._address.redacted(str(error)).split())
        if isinstance(error, (codes.LockNotAvailable, codes.DeadlockDetected)):
            return LedgerLocked(f"{shown} was locked by another session for {LOCK_SECONDS:g} s ({text}). {REPEAT}")
        if isinstance(error, (codes.ReadOnlySqlTransaction, codes.InsufficientPrivilege)):
            return LedgerReadOnly(f"{shown} may not be written ({text}). {REPEAT}")
        if isinstance(error, codes.DiskFull):
            return LedgerFull(f"{shown} could not be written, the server's disk is full ({text}). {REPEAT}")
        return LedgerUnavailable(f"{shown} could not be used ({text}). {REPEAT}")


class PostgresTransaction(Transaction):
    """A transaction on one connection."""

    def __init__(self, connection: Any) -> None:
        """Run statements on this connection."""
        super().__init__(self._run, "%s")
        self._connection = connection

    def _run(self, statement: str, values: Any) -> Any:
        def ask() -> Any:
            cursor = self._connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else ()

        return _answered(self._connection, ask)

    def value(self, statement: str) -> Any:
        """Run a statement without arguments and return the first field of its answer, if it has one."""

        def ask() -> Any:
            cursor = self._connection.execute(statement)
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

        return _answered(self._connection, ask)

    def there(self) -> bool:
        """Whether the table exists."""
        return self.value(f"SELECT to_regclass('{TABLE}')") is not None

    def format(self) -> int:
        """The format version of the database; 0 where none is written down."""
        text = self.value(f"SELECT obj_description('{TABLE}'::regclass, 'pg_class')") or ""
        word = text.removeprefix("sfumato ledger format ")
        return int(word) if word.isdecimal() and len(word) < 9 else 0

    def altered(self) -> str:
        """The names of objects that are missing or that the ledger did not make in this way."""
        held = {tuple(map(str, each)) for each in self._run(_CATALOG, None)}
        return ", ".join(sorted({f"{kind} {name}" for kind, name, _ in held ^ _OBJECTS}))


def _limits() -> str:
    """The server's own limits for this transaction; it also ends one whose client has vanished, so that its lock is freed."""
    milliseconds = {
        "lock_timeout": LOCK_SECONDS,
        "statement_timeout": STATEMENT_SECONDS,
        "idle_in_transaction_session_timeout": ANSWER_SECONDS,
    }
    return "; ".join(f"SET LOCAL {name} = {round(1000 * seconds)}" for name, seconds in milliseconds.items())


def _answered(connection: Any, ask: Callable[[], T]) -> T:
    """Return the answer of `ask`, or raise LedgerUnavailable where none came within ANSWER_SECONDS.

    The driver waits for an answer without limit, and a proxy that acknowledges packets keeps the connection alive without
    ever answering. So a timer shuts the socket down, which ends the wait with an error.
    """
    silent = threading.Event()

    def hang_up() -> None:
        silent.set()
        # A duplicate: the driver still owns and closes the number it uses.
        with suppress(OSError, driver().Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(ANSWER_SECONDS, hang_up)
    timer.daemon = True
    try:
        timer.start()
    except RuntimeError as error:
        raise driver().OperationalError(f"no thread could be started to limit the wait: {error}") from error
    try:
        return ask()
    except driver().OperationalError as error:
        if not silent.is_set():
            raise
        raise driver().OperationalError(f"the server did not answer within {ANSWER_SECONDS:g} s") from error
    finally:
        timer.cancel()


def _end(connection: Any) -> None:
    """Roll back what was not committed and close; a connection that cannot do this is closed by the server."""
    with suppress(driver().Error):
        connection.close()
