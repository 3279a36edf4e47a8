"""Many processes at one ledger. Run as a program: it starts fresh, forks, and prints what happened as one JSON document.

A program and not a function, because the tests' own process has threads and should not fork.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ledger_places import gaussian

from sfumato.errors import LedgerExhausted
from sfumato.ledger import Ledger


class Child:
    """A forked process that runs `work(say)`; what it says is read back line by line."""

    def __init__(self, work: Callable[[Callable[[Any], None]], None], gate: int | None = None) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            self._said = os.fdopen(read, "rb")
            return
        os.close(read)

        def say(what: Any) -> None:
            os.write(write, (json.dumps(what) + "\n").encode())

        code = 1
        try:
            if gate is not None:
                os.read(gate, 1)
            work(say)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def wait_for_a_line(self) -> list[Any]:
        """The first thing said."""
        line = self._said.readline()
        return [json.loads(line)] if line.endswith(b"\n") else []

    def lines(self) -> Iterator[Any]:
        """Everything else said, until the child is gone; a line cut by a kill is dropped."""
        with self._said:
            for line in self._said:
                if line.endswith(b"\n"):
                    yield json.loads(line)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def together(count: int, work: Callable[[int, Callable[[Any], None]], None]) -> list[list[Any]]:
    """Run `work(number, say)` in `count` processes that start at the same moment; an error in one is an error here."""
    gate, opener = os.pipe()

    def started(number: int) -> Child:
        return Child(lambda say: work(number, say), gate)

    children = [started(number) for number in range(count)]
    os.write(opener, b"x" * count)  # one byte for each, all at once
    os.close(opener)
    os.close(gate)
    said = [list(child.lines()) for child in children]
    codes = [child.wait() for child in children]
    if any(codes):
        raise RuntimeError(f"children ended with {codes}")
    return said


class Naive:
    """The planted fault: reads the total, compares, writes; each statement by itself, as a first draft would."""

    def __init__(self, path: str, cap: int) -> None:
        self.path, self.cap = path, cap
        connection = self._connect()
        connection.execute("CREATE TABLE IF NOT EXISTS spends (units INTEGER)")
        connection.close()

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30, isolation_level=None)

    def charge(self) -> bool:
        connection = self._connect()
        try:
            total = connection.execute("SELECT COALESCE(SUM(units), 0) FROM spends").fetchone()[0]
            if total + 1 > self.cap:
                return False
            connection.execute("INSERT INTO spends VALUES (1)")
            return True
        finally:
            connection.close()


def race(url: str, witness: str, times: int, mu: float) -> list[int]:
    """16 processes, 20 charges each, of a hundredth of the cap: how many were admitted, for each of `times` races."""
    found = []
    for turn in range(times):
        name = f"race{turn}"
        with Ledger.open(url, witness=witness) as ledger:
            ledger.register(name, 3.0, 1e-6)

        def work(number: int, say: Callable[[Any], None], name: str = name) -> None:
            with Ledger.open(url, witness=witness) as mine:
                for k in range(20):
                    try:
                        mine.charge(name, gaussian(mu), request_id=f"{number}.{k}")
                    except LedgerExhausted:
                        continue
                    say(k)

        found.append(sum(map(len, together(16, work))))
        with Ledger.open(url, witness=witness) as ledger:
            if ledger.spent(name).charges != found[-1]:
                raise RuntimeError(f"{found[-1]} acknowledged, {ledger.spent(name).charges} recorded")
            ledger.verify()
    return found


def opening(url: str, witness: str) -> dict[str, int]:
    """12 processes open a ledger that does not exist yet, register the same name and charge once, all at the same moment."""

    def work(number: int, say: Callable[[Any], None]) -> None:
        with Ledger.open(url, witness=witness) as mine:
            mine.register("first", 3.0, 1e-6)
            say(mine.charge("first", gaussian(0.1), request_id=f"{number}").seq)

    acknowledged = [seq for said in together(12, work) for seq in said]
    with Ledger.open(url, witness=witness) as ledger:
        return {"acknowledged": len(set(acknowledged)), "rows": ledger.verify()}


def naive_race(path: str) -> int:
    """The same race against the planted fault."""
    ledger = Naive(path, 100)

    def work(number: int, say: Callable[[Any], None]) -> None:
        for k in range(20):
            if ledger.charge():
                say(k)

    return sum(map(len, together(16, work)))


def crowd(url: str, witness: str, mu: float) -> dict[str, int]:
    """200 chargers at once, 25 threads in each of 8 processes that inherit one open ledger by fork."""
    ledger = Ledger.open(url, witness=witness)
    ledger.register("crowd", 3.0, 1e-6)

    def work(number: int, say: Callable[[Any], None]) -> None:
        lock = threading.Lock()

        def one(k: int) -> None:
            receipt = ledger.charge("crowd", gaussian(mu), request_id=f"{number}.{k}")
            with lock:
                say(receipt.seq)

        threads = [threading.Thread(target=one, args=(k,)) for k in range(25)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger.close()

    acknowledged = [seq for said in together(8, work) for seq in said]
    answer = {
        "acknowledged": len(acknowledged),
        "distinct": len(set(acknowledged)),
        "recorded": ledger.spent("crowd").charges,
        "rows": ledger.verify(),
    }
    ledger.close()
    return answer


def _admitted(ledger: Ledger, name: str, mu: float, who: str, tries: int) -> int:
    """Charge `tries` times and count what was admitted."""
    count = 0
    for k in range(tries):
        try:
            ledger.charge(name, gaussian(mu), request_id=f"{who}.{k}")
            count += 1
        except LedgerExhausted:
            continue
    return count


def _in_pool(work: tuple[Ledger, str, float, str, int]) -> int:
    """What a worker of a multiprocessing pool runs; its ledger was pickled or inherited."""
    return _admitted(*work)


def _parent_and_children(ledger: Ledger, name: str, mu: float, how: str, tries: int) -> int:
    """The parent charges, in threads where `how` says so, while children charge with the ledger they inherited."""
    admitted: list[int] = []
    threads = [
        threading.Thread(target=lambda k=k: admitted.append(_admitted(ledger, name, mu, f"parent{k}", tries)))
        for k in range(2 if how == "threads" else 0)
    ]
    for thread in threads:
        thread.start()

    def work(number: int, say: Callable[[Any], None]) -> None:
        if how == "close":
            ledger.close()
        if how == "parent closes":
            time.sleep(0.1)
        say(_admitted(ledger, name, mu, f"child{number}", tries))

    children = [Child(lambda say, k=k: work(k, say)) for k in range(3)]
    if how == "parent closes":
        # SQLite in the parent would take itself for the last user and remove the log that the children have open.
        ledger.close()
    if not threads:
        admitted.append(_admitted(ledger, name, mu, "parent", tries))
    for thread in threads:
        thread.join()
    admitted += [count for child in children for count in child.lines()]
    codes = [child.wait() for child in children]
    if any(codes):
        raise RuntimeError(f"children ended with {codes}")
    return sum(admitted)


def inherited(url: str, witness: str, times: int, mu: float, how: str) -> list[int]:
    """How many charges of a twentieth of the cap were admitted to a ledger used before a fork, in `times` trials."""
    found = []
    for turn in range(times):
        name, tries = f"inherited{turn}", 12
        ledger = Ledger.open(url, witness=witness)
        ledger.register(name, 3.0, 1e-6)
        if how in ("fork pool", "spawn pool", "executor"):
            jobs = [(ledger, name, mu, f"worker{k}", tries) for k in range(4)]
            context = multiprocessing.get_context("spawn" if how == "spawn pool" else "fork")
            if how == "executor":
                with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
                    admitted = sum(pool.map(_in_pool, jobs))
            else:
                with context.Pool(3) as workers:
                    admitted = sum(workers.map(_in_pool, jobs))
            admitted += _admitted(ledger, name, mu, "parent", 1)
        else:
            admitted = _parent_and_children(ledger, name, mu, how, tries)
        with Ledger.open(url, witness=witness) as fresh:
            fresh.verify()
            if fresh.spent(name).charges != admitted:
                raise RuntimeError(f"{admitted} acknowledged, {fresh.spent(name).charges} recorded")
        found.append(admitted)
    return found


def inherited_in_turn(url: str, witness: str, mu: float, times: dict[str, int]) -> dict[str, list[int]]:
    """The same for several ways of using an inherited ledger, each on a file of its own, in one process."""
    return {
        how: inherited(f"{url}.{place}", f"{witness}.{place}", trials, mu, how)
        for place, (how, trials) in enumerate(times.items())
    }


def kill(url: str, witness: str, times: int, planted: bool) -> dict[str, int]:
    """Kill a charging process at random moments; the next one begins with the request that was under way.

    `planted` acknowledges before charging, which the count of lost acknowledgements must see.
    """
    ledger = Ledger.open(url, witness=witness)
    ledger.register("killed", 3.0, 1e-6)
    draw = random.Random(7)
    done, lost, ahead = 0, 0, 0
    for turn in range(times):

        def work(say: Callable[[Any], None], start: int = done) -> None:
            for k in range(start, start + 10_000):
                if planted:
                    say(k)
                ledger.charge("killed", gaussian(1e-4), request_id=f"k{k}")
                if not planted:
                    say(k)

        child = Child(work)
        # Every other one dies while it connects or charges for the first time, the rest in full swing.
        acknowledged = child.wait_for_a_line() if turn % 2 else []
        time.sleep(draw.uniform(0.0, 0.03))
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += child.lines()
        child.wait()
        lost += sum(ledger.status("killed", f"k{k}") != "charged" for k in acknowledged)
        done = max(acknowledged, default=done - 1) + 1
        # At most the one charge that was under way is recorded without having been acknowledged.
        ahead = max(ahead, ledger.spent("killed").charges - done)
    for k in range(done):
        ledger.charge("killed", gaussian(1e-4), request_id=f"k{k}")
    ledger.charge("killed", gaussian(1e-4), request_id=f"k{done}")
    spent = ledger.spent("killed")
    answer = {
        "acknowledged": done,
        "lost": lost,
        "ahead": ahead,
        "recorded": spent.charges,
        "each": ledger.charge("killed", gaussian(1e-4), request_id="k0").units,
        "units": spent.units,
        "rows": ledger.verify(),
    }
    ledger.close()
    return answer


def main(arguments: dict[str, Any]) -> Any:
    tasks = {
        "race": race,
        "opening": opening,
        "inherited": inherited,
        "inherited in turn": inherited_in_turn,
        "naive": naive_race,
        "crowd": crowd,
        "kill": kill,
    }
    return tasks[arguments.pop("task")](**arguments)


if __name__ == "__main__":
    warnings.filterwarnings(
        "ignore", category=DeprecationWarning
    )  # Python 3.12 on: forks beside threads, which is the point
    print(json.dumps(main(json.loads(sys.argv[1]))))
