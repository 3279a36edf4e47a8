"""Keeps ledger operations and forks apart: no connection, lock or open file of a ledger exists while a process forks.

SQLite keeps its file locks per process and remembers them in memory. A child that inherits this memory believes that it
holds its parent's locks, so that parent and child write at the same time. The only safe state at a fork is therefore
"nothing open". `os.fork` (and with it every multiprocessing pool that forks) waits until the operations under way in
other threads have ended, and no operation starts until the fork is done.

Ctrl-C may strike between any two steps. So nothing here is counted up and down: an operation is under way as long as its
token exists, the hook that ends a fork is a built-in that cannot be interrupted, and no wait is without end. Where waiting
fails, the child of the fork refuses to use a ledger.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sfumato.errors import LedgerUnavailable

# Longer than an operation can take: it waits at most 30 s for the lock file and the database, 40 s for a server's answer.
DRAIN_SECONDS = 75.0
# Short beside an operation, which takes a few milliseconds.
_PAUSE_SECONDS = 0.002


class _Operation:
    """The token of one operation; it is under way until the token is dropped."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


_under_way: dict[int, weakref.ref[_Operation]] = {}
# The threads that are forking, with the time since when.
_forking: dict[int, float] = {}
# Functions that close connections which an interrupt left open; called before a fork.
_closers: list[Callable[[], None]] = []
_process = {"pid": os.getpid(), "clean": True}


@contextmanager
def operation() -> Iterator[None]:
    """Mark one ledger operation of this thread; operations may be nested.

    Raises LedgerUnavailable in a process that was forked in the middle of an operation.
    """
    _check_process()
    token = _Operation()
    if token.thread not in _threads():
        _enter(token)
    try:
        yield
    finally:
        _under_way.pop(id(token), None)


def close_before_forks(close: Callable[[], None]) -> None:
    """Have `close` called before each fork, when no operation is under way."""
    _closers.append(close)


def _enter(token: _Operation) -> None:
    """Register the operation, then check for forks. A fork registers itself first too, so at least one of the two waits."""
    deadline = time.monotonic() + 2 * DRAIN_SECONDS
    while True:
        _under_way[id(token)] = weakref.ref(token)
        # The forking thread may itself run an operation, in a signal handler or another hook; it must not wait for itself.
        others = [since for thread, since in list(_forking.items()) if thread != token.thread]
        if not others or time.monotonic() > deadline:
            return
        _under_way.pop(id(token), None)
        time.sleep(_PAUSE_SECONDS)


def _threads() -> set[int]:
    """The threads with an operation under way."""
    tokens = [reference() for reference in list(_under_way.values())]
    return {token.thread for token in tokens if token is not None}


def _check_process() -> None:
    """Raise in a child that was forked during an operation; forks that bypassed Python's hooks are detected by the pid."""
    if _process["pid"] != os.getpid():
        _after_in_child()
    if not _process["clean"]:
        raise LedgerUnavailable(
            "this process was forked while its parent was using a ledger, so it cannot use one. Fork before the ledger is "
            "used or between two uses, or start workers with the method 'spawn'."
        )


def _before() -> None:
    me, deadline = threading.get_ident(), time.monotonic() + DRAIN_SECONDS
    _forking[me] = time.monotonic()
    while _threads() - {me} and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)
    if not _threads():
        for close in _closers:
            close()


def _after_in_child() -> None:
    _process["clean"] = _process["clean"] and not _threads()
    _process["pid"] = os.getpid()
    _forking.clear()
    _under_way.clear()


if hasattr(os, "register_at_fork"):
    # Clearing all forks at once may let an operation start beside another thread's fork; its child then finds it under way.
    os.register_at_fork(before=_before, after_in_parent=_forking.clear, after_in_child=_after_in_child)
