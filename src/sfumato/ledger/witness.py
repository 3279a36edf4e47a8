"""The witness: a small file outside the database that remembers the last row's number and hash.

A database restored from a backup, or cut short by a lost log, is a valid database: only something outside it can tell.
The file is replaced atomically after each commit and never goes back. Whoever restores the database and the witness
together is not seen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import LedgerDamaged, LedgerLocked
from sfumato.ledger.chain import GENESIS
from sfumato.ledger.system import translated_os

WAIT_SECONDS = 30.0


@dataclass(frozen=True)
class Mark:
    """The row that was last seen."""

    seq: int = 0
    hash: str = GENESIS


class Witness:
    """A witness file and its lock file beside it."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is opened."""
        self.path = path
        self._lock = path.with_name(path.name + ".lock")

    def read(self) -> Mark | None:
        """Return the mark, or None where there is no file; an unreadable file raises."""
        with translated_os(f"the witness {self.path}"):
            try:
                text = self.path.read_text(encoding="ascii")
            except FileNotFoundError:
                return None
            except UnicodeDecodeError:
                text = ""
        try:
            said = json.loads(text)
            mark = Mark(said["seq"], said["hash"])
            sound = said["sfumato"] == "witness" and mark.seq >= 0 and len(mark.hash) == len(GENESIS)
        except (ValueError, KeyError, TypeError):
            sound = False
        if not sound:
            raise LedgerDamaged(
                f"the witness {self.path} is not readable as one. Put it back from where the ledger was last used, or accept "
                "the database as it stands with Ledger.open(..., new_witness=True) after removing the file."
            )
        return mark

    def check_writable(self) -> None:
        """Raise before anything is charged if the witness cannot be written."""
        with translated_os(f"the witness {self.path}"):
            if not os.access(self.path.parent, os.W_OK):
                raise PermissionError(f"{self.path.parent} may not be written")
            os.close(os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666))

    def advance(self, mark: Mark) -> None:
        """Remember `mark` durably, unless the file already stands at it or beyond."""
        with translated_os(f"the witness {self.path}"):
            if (seen := self.read()) is not None and seen.seq >= mark.seq:
                return
            with self._locked():
                if (seen := self.read()) is not None and seen.seq >= mark.seq:
                    return
                self._replace(mark)

    def _replace(self, mark: Mark) -> None:
        text = json.dumps({"sfumato": "witness", "version": 1, "seq": mark.seq, "hash": mark.hash}) + "\n"
        draft = self.path.with_name(self.path.name + ".tmp")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            os.write(handle, text.encode("ascii"))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, self.path)
        if sys.platform != "win32":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock file; the kernel lets go of it if the process dies."""
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while not _try_lock(handle):
                if time.monotonic() > deadline:
                    raise LedgerLocked(
                        f"the witness {self.path} was locked by another process for {WAIT_SECONDS:g} s. Repeat with the same "
                        "request id: nothing is charged twice."
                    )
                time.sleep(0.0005)
            yield
        finally:
            os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
