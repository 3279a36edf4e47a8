"""Places where a ledger under test lives: one battery runs on a SQLite file and on a database of a real PostgreSQL."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from sfumato import Gaussian, Guarantee
from sfumato.ledger import Ledger, sqlite
from sfumato.privacy.curves import Curve

TABLE = "sfumato_ledger"


def promise(curve: Curve, **changes: Any) -> Guarantee:
    """A proved guarantee with this curve."""
    return Guarantee(curve, **{"adjacency": "replace-one", "theorem": "a theorem", "source": "a source", **changes})


def gaussian(mu: float, **changes: Any) -> Guarantee:
    return promise(Gaussian(mu), **changes)


class Place:
    """What the tests do to a database behind the ledger's back."""

    kind = ""
    url = ""
    witness: Path

    def __init__(self) -> None:
        self._opened: list[Ledger] = []

    def open(self, **options: Any) -> Ledger:
        ledger = Ledger.open(self.url, witness=self.witness, **options)
        self._opened.append(ledger)
        return ledger

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    def edit(self, *statements: str) -> None:
        """Change rows as an intruder would, who takes the triggers away and puts them back."""
        raise NotImplementedError

    def rows(self) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def backup(self) -> None:
        """Keep a copy of the database as it is now (the witness is not part of it)."""
        raise NotImplementedError

    def restore(self) -> None:
        raise NotImplementedError


class SqlitePlace(Place):
    kind = "sqlite"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "budget.db"
        self.url, self.witness, self._copy = str(self.path), folder / "budget.db.witness", folder / "backup.db"

    @property
    def log(self) -> Path:
        return self.path.with_name("budget.db-wal")

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None)

    def edit(self, *statements: str) -> None:
        connection = self._connect()
        try:
            for name in sqlite._TRIGGERS:
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            for statement in statements:
                connection.execute(statement)
            if connection.execute(
                f"SELECT name FROM sqlite_master WHERE name = '{TABLE}' AND type = 'table'"
            ).fetchone():
                for statement in sqlite._TRIGGERS.values():
                    connection.execute(statement)
        finally:
            connection.close()

    def rows(self) -> list[tuple[Any, ...]]:
        connection = self._connect()
        try:
            return connection.execute(f"SELECT * FROM {TABLE} ORDER BY seq").fetchall()
        finally:
            connection.close()

    def backup(self) -> None:
        self._copy.unlink(missing_ok=True)
        source, target = self._connect(), sqlite3.connect(self._copy)
        source.backup(target)
        source.close()
        target.close()

    def restore(self) -> None:
        self.close()
        for end in ("-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        shutil.copy(self._copy, self.path)


class PostgresPlace(Place):
    """A role with a schema of its own on the test server; `connections` limits how many it may hold."""

    kind = "postgres"
    _numbers = itertools.count()

    def __init__(self, folder: Path, server: Any, connections: int = -1) -> None:
        super().__init__()
        self._server, self.name, self.witness = server, f"ledger{next(self._numbers)}", folder / "witness"
        self.admin(
            f"CREATE ROLE {self.name} LOGIN CONNECTION LIMIT {connections}",
            f"CREATE SCHEMA {self.name} AUTHORIZATION {self.name}",
        )
        self.url = server.get_uri().replace("//postgres:", f"//{self.name}:", 1)

    def connect(self) -> Any:
        """A connection of the server's master, who may do anything to this schema."""
        import psycopg

        return psycopg.connect(self._server.get_uri(), autocommit=True, options=f"-csearch_path={self.name}")

    def admin(self, *statements: str) -> Any:
        """Run statements; the answer is the first field of the last one's, if it has one."""
        with self.connect() as connection:
            for statement in statements:
                done = connection.execute(statement)
            answer = done.fetchone() if done.description else None
            return answer[0] if answer else None

    def edit(self, *statements: str) -> None:
        self.admin(f"DROP TRIGGER IF EXISTS {TABLE}_append_only ON {TABLE}", *statements)
        if self.admin(f"SELECT 1 FROM pg_class WHERE oid = to_regclass('{TABLE}') AND relkind = 'r'"):
            trigger = f"{TABLE}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {TABLE}"
            self.admin(f"CREATE OR REPLACE TRIGGER {trigger} FOR EACH STATEMENT EXECUTE FUNCTION {TABLE}_append_only()")

    def rows(self) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(f"SELECT * FROM {TABLE} ORDER BY seq").fetchall()

    def backup(self) -> None:
        self.admin(f"DROP TABLE IF EXISTS kept; CREATE TABLE kept AS TABLE {TABLE}")

    def restore(self) -> None:
        self.edit(f"DELETE FROM {TABLE}", f"INSERT INTO {TABLE} TABLE kept")
