"""Storage in trouble: full, read-only, locked, unreachable. A clear error each time, and nothing charged twice."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ledger_places import TABLE, gaussian

from sfumato.errors import (
    LedgerDamaged,
    LedgerFull,
    LedgerLocked,
    LedgerReadOnly,
    LedgerUnavailable,
)
from sfumato.ledger import Ledger, postgres, sqlite, store, witness

HERE = str(Path(__file__).parent)


def program(text: str, *arguments: str) -> dict:
    """Run a small program with this folder on its path; it prints one JSON document."""
    code = f"import sys; sys.path.insert(0, {HERE!r})\n{text}"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- full ---------------------------------------------------------------------------------------------------------------

FULL = """
import json, resource, sys
from ledger_places import gaussian
from sfumato.errors import LedgerFull
from sfumato.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
ledger.register("survey", 3.0, 1e-6)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
charged, error = 0, None
while error is None:
    try:
        ledger.charge("survey", gaussian(1e-3), request_id=f"r{charged}")
        charged += 1
    except LedgerFull as full:
        error = str(full)
before = ledger.spent("survey").charges
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for k in range(charged + 1):
    ledger.charge("survey", gaussian(1e-3), request_id=f"r{k}")
print(json.dumps({"charged": charged, "before": before, "after": ledger.spent("survey").charges,
                  "rows": ledger.verify(), "error": error}))
"""


def test_a_full_disk_on_sqlite(tmp_path):
    """A file that may not grow, as the kernel refuses it; then it may, and the same requests go through once."""
    found = program(FULL, str(tmp_path / "budget.db"))
    assert found["charged"] > 10
    assert found["before"] == found["charged"]
    assert found["after"] == found["charged"] + 1
    assert found["rows"] == found["after"] + 1
    assert "disk is full" in found["error"]
    assert "nothing is charged twice" in found["error"]


def test_a_full_database_on_sqlite(sqlite_place, monkeypatch):
    """SQLite's own word for it."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.close()
    connect = sqlite.SqliteStore._connect

    def small(store, seconds):
        connection = connect(store, seconds)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite.SqliteStore, "_connect", small)
        narrow = Ledger(sqlite_place.url)

        def fill() -> None:
            for k in range(100):
                narrow.charge("survey", gaussian(1e-3), request_id=f"r{k}")

        with pytest.raises(LedgerFull):
            fill()
        recorded = narrow.spent("survey").charges
        narrow.close()
    ledger.charge("survey", gaussian(1e-3), request_id=f"r{recorded}")
    assert ledger.spent("survey").charges == recorded + 1
    assert ledger.verify() == recorded + 2


def test_a_full_disk_on_postgresql(postgres_place, monkeypatch):
    """The server's own error for a full disk, raised where a row would be written."""
    ledger = postgres_place.open()
    ledger.register("survey", 3.0, 1e-6)
    full = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$"
    with monkeypatch.context() as patch:
        patch.setattr(store.Transaction, "append", lambda view, *_: view.value(full))
        with pytest.raises(LedgerFull, match="could not extend file"):
            ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert len(postgres_place.rows()) == 1
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2


@pytest.mark.parametrize(
    ("code", "error"), [(errno.ENOSPC, LedgerFull), (errno.EROFS, LedgerReadOnly), (errno.EIO, LedgerUnavailable)]
)
def test_a_witness_that_cannot_be_written_after_the_commit(place, monkeypatch, code, error):
    """The charge is recorded but not acknowledged; the same request is acknowledged later and charged once."""
    ledger = place.open()
    ledger.register("survey", 3.0, 1e-6)

    def broken(_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(witness.os, "fsync", broken)
        for _ in range(2):
            with pytest.raises(error, match="nothing is charged twice"):
                ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2
    assert ledger.spent("survey").charges == 1
    assert ledger.verify() == 2


# --- read-only ----------------------------------------------------------------------------------------------------------

READ_ONLY = """
import json, os, sys, tempfile
from ledger_places import gaussian
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger
with tempfile.TemporaryDirectory() as folder:  # import all that is imported late, while it may be read
    with Ledger.open(folder + "/budget.db") as ledger:
        ledger.register("survey", 3.0, 1e-6)
        ledger.charge("survey", gaussian(0.1), request_id="r1")
if os.geteuid() == 0:  # root may write anything
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = {}
for word, act in (
    ("charge", lambda ledger: ledger.charge("survey", gaussian(0.1), request_id="r2")),
    ("register", lambda ledger: ledger.register("other", 3.0, 1e-6)),
):
    try:
        act(Ledger.open(sys.argv[1]))
        found[word] = "done"
    except SfumatoError as error:
        found[word] = type(error).__name__ + ": " + str(error)
print(json.dumps(found))
"""


@pytest.fixture
def shown_folder():
    """A folder that another user can walk to, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="sfumato-ledger-") as name:
        os.chmod(name, 0o755)
        yield Path(name)
        os.chmod(name, 0o755)


@pytest.mark.parametrize("what", ["file and folder", "folder only", "file only"])
def test_a_read_only_ledger(shown_folder, what):
    path = shown_folder / "budget.db"
    with Ledger.open(path) as ledger:
        ledger.register("survey", 3.0, 1e-6)
        ledger.charge("survey", gaussian(0.1), request_id="r1")
    for name in shown_folder.iterdir():
        name.chmod(0o444 if "file" in what else 0o666)
    shown_folder.chmod(0o555 if "folder" in what else 0o777)
    found = program(READ_ONLY, str(path))
    shown_folder.chmod(0o755)
    for name in shown_folder.iterdir():
        name.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert all(said.startswith("LedgerReadOnly") for said in found.values()), found
    with Ledger.open(path) as ledger:
        assert ledger.spent("survey").charges == 1
        assert ledger.charge("survey", gaussian(0.1), request_id="r2").seq == 3


def test_a_read_only_postgresql(postgres_place):
    ledger = postgres_place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.close()
    postgres_place.admin(f"ALTER ROLE {postgres_place.name} SET default_transaction_read_only = on")
    with pytest.raises(LedgerReadOnly, match="read-only"):
        ledger.charge("survey", gaussian(0.1), request_id="r1")
    ledger.close()
    postgres_place.admin(f"ALTER ROLE {postgres_place.name} RESET default_transaction_read_only")
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2


# --- locked and unreachable ---------------------------------------------------------------------------------------------


def test_a_locked_sqlite_file(sqlite_place, monkeypatch):
    sqlite_place.open().register("survey", 3.0, 1e-6)
    ledger = sqlite_place.open()
    holder = sqlite3.connect(sqlite_place.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as hurried:
        hurried.setattr(sqlite, "BUSY_SECONDS", 0.1)
        with pytest.raises(LedgerLocked, match=r"locked by another process for 0\.1 s"):
            ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert ledger.spent("survey").charges == 0  # questions are answered meanwhile
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2


def test_a_locked_postgresql_table(postgres_place, monkeypatch):
    postgres_place.open().register("survey", 3.0, 1e-6)
    ledger = postgres_place.open()
    with postgres_place.connect() as holder:
        holder.execute("BEGIN")
        holder.execute(f"LOCK TABLE {TABLE} IN SHARE ROW EXCLUSIVE MODE")
        with monkeypatch.context() as hurried:
            hurried.setattr(postgres, "LOCK_SECONDS", 0.1)
            with pytest.raises(LedgerLocked, match=r"locked by another session for 0\.1 s"):
                ledger.charge("survey", gaussian(0.1), request_id="r1")
        assert ledger.spent("survey").charges == 0
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2


def test_a_locked_witness(sqlite_place, monkeypatch):
    import fcntl

    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    with open(f"{sqlite_place.witness}.lock") as holder, monkeypatch.context() as hurried:
        hurried.setattr(witness, "WAIT_SECONDS", 0.05)
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(LedgerLocked, match="witness"):
            ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2
    assert ledger.spent("survey").charges == 1


def test_a_connection_lost_while_idle_is_replaced(postgres_place):
    ledger = postgres_place.open()
    ledger.register("survey", 3.0, 1e-6)
    postgres_place.admin(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{postgres_place.name}'"
    )
    assert ledger.charge("survey", gaussian(0.1), request_id="r1").seq == 2


def test_a_server_that_is_not_there(tmp_path):
    with pytest.raises(LedgerUnavailable, match="could not be used"):
        Ledger.open(f"postgresql://me:secret@/db?host={tmp_path}", witness=tmp_path / "w")
    assert not (tmp_path / "w").exists()


def test_a_server_that_does_not_sync_is_refused(postgres_place, monkeypatch):
    value = postgres.PostgresTransaction.value
    monkeypatch.setattr(
        postgres.PostgresTransaction, "value", lambda self, text: "off" if text == "SHOW fsync" else value(self, text)
    )
    with pytest.raises(LedgerUnavailable, match="fsync=off"):
        postgres_place.open()


def test_a_missing_driver_says_what_to_install(tmp_path):
    found = program(
        """
import json
sys.modules["psycopg"] = None
from sfumato.errors import LedgerUnavailable
from sfumato.ledger import Ledger
try:
    Ledger.open("postgresql://host/db", witness=sys.argv[1])
except LedgerUnavailable as error:
    print(json.dumps({"said": str(error)}))
""",
        str(tmp_path / "w"),
    )
    assert "pip install 'sfumato[postgres]'" in found["said"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(LedgerUnavailable, match="folder"):
        Ledger.open(tmp_path / "nowhere" / "budget.db")


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "budget.db").write_text("not a database, but long enough to have a header of some kind" * 100)
    with pytest.raises(LedgerDamaged, match="not a sound SQLite file"):
        Ledger.open(tmp_path / "budget.db")


# --- light --------------------------------------------------------------------------------------------------------------


def test_the_ledger_needs_neither_scipy_nor_a_driver(tmp_path):
    found = program(
        """
import json
from sfumato.ledger import Ledger
first = sorted(sys.modules)
from ledger_places import gaussian
ledger = Ledger.open(sys.argv[1])
ledger.register("survey", 3.0, 1e-6)
ledger.charge("survey", gaussian(0.1), request_id="r1")
str(ledger.spent("survey")), ledger.remaining("survey"), ledger.history("survey"), ledger.verify()
print(json.dumps({"first": first, "then": sorted(sys.modules)}))
""",
        str(tmp_path / "budget.db"),
    )
    for modules in found.values():
        assert "sfumato.ledger.ledger" in modules
        assert not {"scipy", "dp_accounting", "psycopg", "numba", "sklearn"} & {name.split(".")[0] for name in modules}
