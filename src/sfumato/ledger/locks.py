"""A lock on a file of its own, held by one thread of one process at a time.

`flock` belongs to the open file, not to the process: opening and closing the same path elsewhere in the process (a copy, a
backup) does not drop it, as it would drop the record locks that SQLite uses on its database.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import LedgerLocked
from sfumato.ledger.system import REPEAT, translated_os

# How long to sleep between two tries. A charge takes a few milliseconds, so waiting much longer would waste turns.
_PAUSE_SECONDS = 0.0005


class FileLock:
    """An exclusive lock on the file at `path`, which is made if it is not there; `what` names it in messages."""

    def __init__(self, path: Path, what: str) -> None:
        """Name the file; nothing is opened."""
        self.path, self._what = path, what
        # The threads of this process wait here, instead of all polling the file.
        self._line = threading.Lock()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the lock, or raise LedgerLocked after `seconds`; the kernel releases it if the process dies."""
        deadline = time.monotonic() + seconds
        if not self._line.acquire(timeout=seconds):
            raise self._locked(seconds)
        try:
            with translated_os(self._what):
                handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            owner = os.getpid()
            try:
                while not _try_lock(handle):
                    if time.monotonic() > deadline:
                        raise self._locked(seconds)
                    time.sleep(_PAUSE_SECONDS)
                yield
            finally:
                # A process that was forked meanwhile shares this open file. Unlocking frees the lock for everybody, so the
                # owner does it explicitly (closing alone would leave it with the child), and the child never does.
                if os.getpid() == owner:
                    _unlock(handle)
                os.close(handle)
        finally:
            self._line.release()

    def _locked(self, seconds: float) -> LedgerLocked:
        return LedgerLocked(f"{self._what} was locked by another process for {seconds:g} s. {REPEAT}")


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        try:
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        except OSError:
            return  # it was never locked

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
