"""A lock on a file of its own, held by one operation of one process at a time.

`flock` belongs to the open file, not to the process: opening and closing the same path elsewhere in the process (a copy, a
backup) does not drop it, as it would drop the record locks that SQLite uses on its database.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from sfumato.errors import LedgerLocked, LedgerUnavailable
from sfumato.ledger.system import REPEAT, translated_os

# How long to sleep between two tries, at first and at most: a charge takes a few milliseconds, a crowd takes turns.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02


class FileLock:
    """An exclusive lock on the file at `path`, which is made if it is not there; `what` names it in messages."""

    def __init__(self, path: Path, what: str) -> None:
        """Store the path; nothing is opened."""
        self.path, self._what = path, what

    @contextmanager
    def held(self, seconds: float) -> Iterator[HeldLock]:
        """Hold the lock, or raise LedgerLocked after `seconds`; the kernel releases it if the process dies."""
        file, owner = self._locked(time.monotonic() + seconds, seconds), os.getpid()
        try:
            yield HeldLock(file, self.path)
        finally:
            # A process that was forked meanwhile shares this open file. Unlocking frees the lock for everybody, so the
            # owner does it explicitly (closing alone would leave it with the child), and the child never does.
            if os.getpid() == owner:
                _unlock(file.fileno())
            file.close()

    def _locked(self, deadline: float, seconds: float) -> FileIO:
        """Open and lock the file. It is a Python file, so that an interrupt anywhere closes and thereby unlocks it."""
        pause = _SHORTEST_PAUSE
        while True:
            with translated_os(self._what):
                file = _opened(self.path)
            # Where somebody removed the file meanwhile, others may lock a new one of that name.
            if _try_lock(file.fileno()) and _is_at(file, self.path):
                return file
            file.close()
            if time.monotonic() > deadline:
                raise LedgerLocked(f"{self._what} was locked by another process for {seconds:g} s. {REPEAT}")
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST_PAUSE)


class HeldLock:
    """A held lock, with a check that its file is still in place."""

    def __init__(self, file: FileIO, path: Path) -> None:
        """Store the open file and its path."""
        self._file, self._path = file, path

    def confirm(self) -> None:
        """Raise LedgerUnavailable if the lock file was removed or replaced: others may then hold a lock of that name."""
        if not _is_at(self._file, self._path):
            raise LedgerUnavailable(
                f"the lock file {self._path} was removed while it was held. Leave it alone. {REPEAT}"
            )


def _opened(path: Path) -> FileIO:
    """Open the lock file; one that another user made may be readable only, which is enough to lock it."""
    try:
        return FileIO(path, "a+")
    except PermissionError:
        return FileIO(path, "r")


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether the path still names the open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

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
