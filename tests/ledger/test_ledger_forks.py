"""A ledger used before a fork: parent and children together spend one budget, and nobody waits for ever."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from ledger_places import SqlitePlace, gaussian
from test_ledger_race import part_of_the_cap, swarm

from sfumato.errors import ArgumentError, LedgerExhausted, LedgerUnavailable
from sfumato.ledger import Ledger, forks, locks, sqlite
from sfumato.ledger.locks import FileLock

LONG = os.environ.get("SFUMATO_LONG") == "1"
TRIALS = 30 if LONG else 3
HOW = ("fork", "parent closes", "close", "threads", "fork pool", "spawn pool", "executor")


def spent_by_all(place, how: str, trials: int) -> list[int]:
    """Four chargers try 12 times each to take a twentieth of the cap: how many were admitted, for each trial."""
    return swarm(
        task="inherited",
        url=place.url,
        witness=str(place.witness),
        times=trials,
        mu=part_of_the_cap(20),
        how=how,
    )


@pytest.fixture(scope="module")
def spent_in_turn(tmp_path_factory) -> dict[str, list[int]]:
    """The quick form: every way in one process, for a process that imports the library takes longer than a few trials.

    The workers of a spawned pool import it too; all of a pool's workers are new, so one trial shows what more would.
    """
    place = SqlitePlace(tmp_path_factory.mktemp("inherited"))
    times = {how: 1 if how == "spawn pool" else TRIALS for how in HOW}
    spent = swarm(
        task="inherited in turn", url=place.url, witness=str(place.witness), mu=part_of_the_cap(20), times=times
    )
    assert {how: len(trials) for how, trials in spent.items()} == times
    return spent


@pytest.mark.parametrize("how", HOW)
def test_an_inherited_sqlite_ledger_spends_one_budget(request, sqlite_place, how):
    trials = spent_by_all(sqlite_place, how, TRIALS) if LONG else request.getfixturevalue("spent_in_turn")[how]
    assert trials
    assert set(trials) == {20}


@pytest.mark.parametrize("how", HOW if LONG else ("parent closes", "fork pool"))
def test_an_inherited_postgresql_ledger_spends_one_budget(postgres_place, how):
    trials = TRIALS if LONG else 1
    assert spent_by_all(postgres_place, how, trials) == [20] * trials


def _forked(work) -> int:
    """Run `work` in a child; return its exit code, or fail after a while (a child that waits for ever is killed)."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        except LedgerUnavailable:
            os._exit(3)
        except BaseException:
            os._exit(1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the child waits for ever")


def _use() -> None:
    with forks.operation():
        pass


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_the_operations_of_other_threads():
    inside, leave, order = threading.Event(), threading.Event(), []

    def work() -> None:
        with forks.operation():
            inside.set()
            leave.wait(20)
            order.append("operation ended")

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(20)
    threading.Timer(0.2, leave.set).start()
    code = _forked(_use)
    order.append("forked")
    thread.join()
    assert order == ["operation ended", "forked"]
    assert code == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_inside_an_operation_may_not_use_a_ledger(monkeypatch):
    """The one case that waiting cannot mend: the operation never ends, or belongs to the thread that forks."""
    monkeypatch.setattr(forks, "DRAIN_SECONDS", 0.05)
    with forks.operation():
        assert _forked(_use) == 3
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with forks.operation():
            inside.set()
            leave.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(20)
    assert _forked(_use) == 3
    leave.set()
    thread.join()
    assert _forked(_use) == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_inside_a_transaction_commits_nothing(sqlite_place):
    """The child leaves the transaction it inherited without writing; the parent's own goes through."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    store, parent, codes = ledger._book.store, os.getpid(), []
    try:
        with forks.operation(), store.writing() as view:
            view.run("CREATE TABLE made_inside (x)")
            pid = os.fork()
            if pid:
                codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    except LedgerUnavailable:
        os._exit(3 if os.getpid() != parent else 1)
    assert codes == [3]
    with store.reading() as view:
        assert view.there()
    sqlite_place.edit("DROP TABLE made_inside")
    assert ledger.verify() == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed under /proc on Linux")
def test_nothing_is_open_between_operations(sqlite_place):
    """No connection, log or lock file stays open in this process."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    ledger.spent("survey")
    links = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    assert not [path for path in links if path.startswith(str(sqlite_place.path))]


SPENDER = """
import sys
from ledger_places import gaussian
from sfumato.errors import LedgerExhausted
from sfumato.ledger import Ledger
count = 0
for k in range(30):
    with Ledger.open(sys.argv[1], witness=sys.argv[2]) as ledger:
        try:
            ledger.charge("survey", gaussian(float(sys.argv[3])), request_id=f"other{k}")
            count += 1
        except LedgerExhausted:
            break
print(count)
"""


def test_a_copy_of_the_database_made_by_the_process_that_uses_it(sqlite_place):
    """Closing the copied file drops this process's locks: another process then took itself for the only one."""

    mine, mu = sqlite_place.open(), part_of_the_cap(20)
    mine.register("survey", 3.0, 1e-6)
    mine.charge("survey", gaussian(mu), request_id="before")
    shutil.copy(sqlite_place.path, sqlite_place.path.with_name("copy.db"))
    other = subprocess.run(
        [sys.executable, "-c", SPENDER, sqlite_place.url, str(sqlite_place.witness), str(mu)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(other.stdout) == 19
    with pytest.raises(LedgerExhausted):
        mine.charge("survey", gaussian(mu), request_id="after")
    assert sqlite_place.open().spent("survey").charges == 20


HURRIED = """
import sys
from ledger_places import gaussian
from sfumato.errors import LedgerLocked
from sfumato.ledger import Ledger, sqlite
sqlite.BUSY_SECONDS = 0.3
try:
    Ledger(sys.argv[1], witness=sys.argv[2]).charge("survey", gaussian(0.1), request_id="other")
    print("charged")
except LedgerLocked:
    print("locked")
"""


def test_a_copy_of_all_files_in_mid_transaction_lets_nobody_in(sqlite_place):
    """Copying the database with its log and index drops every lock that SQLite holds; the lock file is still held."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)

    def hurried() -> str:
        done = subprocess.run(
            [sys.executable, "-c", HURRIED, sqlite_place.url, str(sqlite_place.witness)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return done.stdout.strip()

    with forks.operation(), ledger._book.store.writing() as view:
        view.run("CREATE TABLE half_written (x)")
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{sqlite_place.path}{end}", f"{sqlite_place.path}.copy{end}")
        inside = hurried()
        view.run("DROP TABLE half_written")
    assert (inside, hurried()) == ("locked", "charged")
    assert ledger.spent("survey").charges == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("hook", ["_before", "_check_process"])
def test_an_interrupt_inside_a_hook_shuts_nobody_out(hook, monkeypatch):
    """Ctrl-C may strike in the first step of a hook, where Python drops the exception and goes on."""
    struck = []
    real = getattr(forks, hook)

    def strikes(*arguments):
        if not struck:
            struck.append(hook)
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(forks, hook, strikes)
    if hook == "_before":  # what os.fork does with a hook that raises
        with pytest.raises(KeyboardInterrupt):
            forks._before()
        forks._forking.clear()
    else:
        with pytest.raises(KeyboardInterrupt), forks.operation():
            pass
    with forks.operation():
        pass
    assert _forked(_use) == 0
    assert forks._threads() == set()


def test_the_hook_that_ends_a_fork_cannot_be_interrupted():
    """It is a built-in: Python looks for signals between its own steps only."""
    assert isinstance(forks._forking.clear, type([].append))


def test_an_operation_that_was_cut_off_is_under_way_no_longer():
    """Where even `finally` was not reached, the token goes with its frame."""

    def cut_off():
        token = forks._Operation()
        forks._enter(token)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert forks._threads() in (set(), {threading.get_ident()})  # at the latest when the traceback goes
    with forks.operation():
        pass


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_signal_handler_of_the_forking_thread_may_use_a_ledger(monkeypatch):
    """While the fork waits for another thread: it would wait for itself, until its patience ends."""
    monkeypatch.setattr(forks, "DRAIN_SECONDS", 4.0)
    inside, leave, used = threading.Event(), threading.Event(), []

    def work() -> None:
        with forks.operation():
            inside.set()
            leave.wait(3)

    def handler(*_):
        _use()
        used.append(thread.is_alive())  # at once, and not when the other operation has ended
        leave.set()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(20)
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        assert _forked(_use) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
        leave.set()
        thread.join()
    assert used == [True]


def test_a_second_name_of_the_database_is_refused(sqlite_place):
    """A hard link has a log, a lock and a witness of its own: both names together overspent."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    other = sqlite_place.path.with_name("other.db")
    os.link(sqlite_place.path, other)
    for use in (lambda: ledger.spent("survey"), lambda: Ledger.open(other, new_witness=True)):
        with pytest.raises(LedgerUnavailable, match="second name"):
            use()
    other.unlink()
    assert ledger.spent("survey").charges == 0


def test_a_lock_file_that_was_removed_lets_nobody_in(sqlite_place):
    """Whoever holds the old file finds it gone before the commit; whoever comes locks the new one."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    rows = sqlite_place.rows()

    def half_done() -> None:
        with forks.operation(), ledger._book.store.writing() as view:
            view.run("CREATE TABLE half_written (x)")
            sqlite_place.path.with_name("budget.db.lock").unlink()

    with pytest.raises(LedgerUnavailable, match="lock file"):
        half_done()
    assert sqlite_place.rows() == rows
    ledger.charge("survey", gaussian(0.1), request_id="r1")
    assert ledger.verify() == 2


def test_a_lock_file_of_another_user_is_enough(sqlite_place):
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    lock = sqlite_place.path.with_name("budget.db.lock")
    lock.chmod(0o444)
    file = locks._opened(lock)
    assert locks._try_lock(file.fileno())
    file.close()


def test_waiting_for_both_locks_takes_the_stated_time_once(sqlite_place, monkeypatch):
    """What the lock file took of it is not waited again for the database."""
    ledger = sqlite_place.open()
    ledger.register("survey", 3.0, 1e-6)
    waits = []
    connect = sqlite.SqliteStore._connect

    def noted(store, seconds):
        waits.append(seconds)
        return connect(store, seconds)

    held = locks.FileLock.held

    def slow(lock, seconds):
        time.sleep(0.3 if lock.path.name == "budget.db.lock" else 0)
        return held(lock, seconds)

    monkeypatch.setattr(sqlite.SqliteStore, "_connect", noted)
    monkeypatch.setattr(locks.FileLock, "held", slow)
    ledger.spent("survey")
    assert waits
    assert max(waits) <= sqlite.BUSY_SECONDS - 0.3


def test_another_program_s_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "app.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE app (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ArgumentError, match="holds no ledger"):
        Ledger.open(path, create=False)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["app.db"]


def test_a_lock_is_given_up_though_a_child_still_has_its_file_open(tmp_path):
    """A forked child shares the open file, here a second descriptor of it: closing one of the two would unlock nothing."""
    lock = FileLock(tmp_path / "books.lock", "books")
    with lock.held(0.0) as held:
        shared = os.dup(held._file.fileno())
    try:
        with lock.held(0.0) as again:
            again.confirm()
    finally:
        os.close(shared)
