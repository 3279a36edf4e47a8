"""The witness: a small file outside the database that holds the last row's number and hash, and the database's folder.

A database restored from a backup, or cut short by a lost log, is itself valid: a rollback shows only by comparison with
something outside it. The file is replaced atomically after each commit and never goes back. Restoring the database and the
witness together is not detected.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from sfumato.errors import FolderChanged, LedgerDamaged
from sfumato.ledger.locks import FileLock
from sfumato.ledger.stored_rows import GENESIS, REMEDY
from sfumato.ledger.system import translated_os

# The wait for the witness's lock, as long as that for a database.
WAIT_SECONDS = 30.0
# Of the file; the first had no folder.
_VERSION = 2


@dataclass(frozen=True)
class Mark:
    """The row that was last seen, and the number of the folder that held the database ("" for a server's)."""

    seq: int = 0
    hash: str = GENESIS
    folder: str = ""


class Witness:
    """A witness file and its lock file beside it."""

    def __init__(self, path: Path) -> None:
        """Store the path; nothing is opened."""
        self.path = path
        self._lock = FileLock(path.with_name(path.name + ".lock"), f"the witness {path}")

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
            document = json.loads(text)
            mark = Mark(document["seq"], document["hash"], document["folder"])
            known = (
                document["sfumato"] == "witness" and document["version"] == _VERSION and isinstance(mark.folder, str)
            )
            sound = known and type(mark.seq) is int and mark.seq >= 0 and len(mark.hash) == len(GENESIS)
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
            if not self._lock.path.exists():
                os.close(os.open(self._lock.path, os.O_RDWR | os.O_CREAT, 0o666))

    def advance(self, mark: Mark) -> None:
        """Write `mark` durably, unless the file holds this row or a later one.

        Another hash for this row is damage, and so is another folder: what was written here is in no history that goes on.
        """
        with translated_os(f"the witness {self.path}"):
            if self._stands_at(mark):
                return
            with self._lock.held(WAIT_SECONDS):
                if not self._stands_at(mark):
                    self._replace(mark)

    def _stands_at(self, mark: Mark) -> bool:
        """Whether the file holds this row or a later one; raise where it holds this row with another hash."""
        seen = self.read()
        if seen is None or seen.seq < mark.seq:
            return False
        if seen.folder != mark.folder:
            raise FolderChanged(
                f"another folder of the database was accepted while row {mark.seq} was written in this one. {REMEDY}"
            )
        if seen.seq == mark.seq and seen.hash != mark.hash:
            raise LedgerDamaged(
                f"row {mark.seq} has the hash {mark.hash[:16]}..., but the witness {self.path} saw {seen.hash[:16]}... there: two "
                f"different histories were written. {REMEDY}"
            )
        return True

    def _replace(self, mark: Mark) -> None:
        text = json.dumps({"sfumato": "witness", "version": _VERSION, **asdict(mark)}) + "\n"
        # Written and synced beside the file, then renamed over it: a crash leaves the old mark or the new one.
        draft = self.path.with_name(self.path.name + ".tmp")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            os.write(handle, text.encode("ascii"))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(draft, self.path)
        # The rename is durable only once the folder is synced, which Windows does not offer.
        if sys.platform != "win32":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
