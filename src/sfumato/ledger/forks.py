"""Keeps ledger operations and forks apart: no connection, lock or open file of a ledger exists while a process forks.

SQLite keeps its file locks per process and remembers them in memory. A child that inherits this memory believes that it
holds its parent's locks, so that parent and child write at the same time. The only safe state at a fork is therefore
"nothing open". `os.fork` (and with it every multiprocessing pool that forks) waits until the operations under way in
other threads have ended, and no operation starts until the fork is done.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.errors import LedgerUnavailable

# Longer than an operation can take: it waits at most 30 s for the lock file and 30 s for the database.
DRAIN_SECONDS = 70.0


class _Gate:
    """The operations under way, counted by thread, and how many forks are waiting for them."""

    def __init__(self, clean: bool = True) -> None:
        self.changed = threading.Condition()
        self.inside: dict[int, int] = {}
        self.forks = 0
        # False in a child that was forked while an operation was under way: SQLite's memory is then not to be trusted.
        self.clean = clean
        self.pid = os.getpid()

    def drained(self) -> bool:
        """Whether no thread but this one is inside an operation."""
        return set(self.inside) <= {threading.get_ident()}


_gate = _Gate()


@contextmanager
def operation() -> Iterator[None]:
    """Count one ledger operation of this thread; operations may be nested.

    Raises LedgerUnavailable in a process that was forked in the middle of an operation.
    """
    gate, thread = _current(), threading.get_ident()
    with gate.changed:
        if thread not in gate.inside:
            gate.changed.wait_for(lambda: gate.forks == 0)
        gate.inside[thread] = gate.inside.get(thread, 0) + 1
    try:
        yield
    finally:
        # After a fork inside the operation this is the parent's gate; the child has a new one that counts nothing.
        with gate.changed:
            gate.inside[thread] -= 1
            if not gate.inside[thread]:
                del gate.inside[thread]
            gate.changed.notify_all()


def _current() -> _Gate:
    """Return the gate of this process; a fork that Python did not announce (made by a C library) is noticed here."""
    if _gate.pid != os.getpid():
        _after_in_child()
    if not _gate.clean:
        raise LedgerUnavailable(
            "this process was forked while its parent was using a ledger, so it cannot use one. Fork before the ledger is "
            "used or between two uses, or start workers with the method 'spawn'."
        )
    return _gate


def _before() -> None:
    with _gate.changed:
        _gate.forks += 1
        _gate.changed.wait_for(_gate.drained, timeout=DRAIN_SECONDS)


def _after_in_parent() -> None:
    with _gate.changed:
        _gate.forks -= 1
        _gate.changed.notify_all()


def _after_in_child() -> None:
    global _gate  # noqa: PLW0603  the state belongs to the process, and a child starts its own
    _gate = _Gate(clean=not _gate.inside)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
