"""Connections, made when first needed and lent to one thread at a time; a forked child starts with none."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from sfumato.errors import LedgerLocked

C = TypeVar("C")


class Pool(Generic[C]):
    """At most `size` open connections in this process."""

    def __init__(self, connect: Callable[[], C], close: Callable[[C], None], size: int, wait: float) -> None:
        """Keep how to connect; nothing is opened."""
        self._connect, self._close, self._size, self._wait = connect, close, size, wait
        self._inherited: list[list[C]] = []
        self._start()
        _POOLS.add(self)

    def _start(self) -> None:
        self._places = threading.BoundedSemaphore(self._size)
        self._idle: list[C] = []
        # Close what is idle when the pool is forgotten, in the process that opened it and in no other.
        self._finalizer = weakref.finalize(self, _close_idle, self._idle, self._close, os.getpid())

    def start_again_after_fork(self) -> None:
        """Forget the parent's connections without closing them: they are the parent's to use and to close."""
        self._finalizer.detach()
        self._inherited.append(self._idle)
        self._start()

    def take(self, fresh: bool = False) -> tuple[C, bool]:
        """Borrow a connection; also says whether it was newly made. `fresh` throws idle ones away first."""
        if not self._places.acquire(timeout=self._wait):
            raise LedgerLocked(
                f"all {self._size} connection(s) of this process were in use for {self._wait:g} s. Repeat with the same "
                "request id: nothing is charged twice."
            )
        try:
            if fresh:
                self.close()
            try:
                return self._idle.pop(), False
            except IndexError:
                return self._connect(), True
        except BaseException:
            self._places.release()
            raise

    def give_back(self, connection: C) -> None:
        """Return a connection that is fit for use."""
        self._idle.append(connection)
        self._places.release()

    def drop(self, connection: C) -> None:
        """Return a connection that is not fit for use."""
        try:
            self._close(connection)
        finally:
            self._places.release()

    def close(self) -> None:
        """Close every idle connection of this process; later use opens new ones."""
        _close_idle(self._idle, self._close, os.getpid())


def _close_idle(idle: list[C], close: Callable[[C], None], owner: int) -> None:
    while idle and os.getpid() == owner:
        close(idle.pop())


_POOLS: weakref.WeakSet[Pool[Any]] = weakref.WeakSet()


def _after_fork() -> None:
    for pool in list(_POOLS):
        pool.start_again_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
