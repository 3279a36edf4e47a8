"""The book: rows, chain and witness together, and the steps of every operation.

In one transaction: check the rows that are new since the last operation, compare with the witness, decide, append at most one
row. After the commit the witness is advanced; a crash between the two leaves the database ahead, and the next operation
advances the witness. Every public method is one `forks.operation`: a fork waits for its end.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from sfumato.errors import ArgumentError, ClockSetBack, FolderChanged, LedgerDamaged
from sfumato.ledger import chain as said
from sfumato.ledger.chain import Chain, behind, follow
from sfumato.ledger.forks import operation
from sfumato.ledger.store import Transaction
from sfumato.ledger.stored_rows import NO_NAME, REMEDY, VERSION, Row, digest
from sfumato.ledger.system import translated_os
from sfumato.ledger.url_and_witness import Location
from sfumato.ledger.witness import Mark, Witness

T = TypeVar("T")


def now() -> str:
    """The time in UTC as a text; such texts sort in the order of the times."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def ticked(chain: Chain) -> str:
    """Return the time for the next row, or refuse a clock that was set back."""
    time = now()
    if chain.time and behind(time, chain.time):
        raise ClockSetBack(
            f"the clock says {time}, but the last row was written at {chain.time}. Set the clock right; a clock that was put "
            "back is what a restored machine looks like, so nothing is charged until it has passed that time. If the earlier "
            "clock was ahead and this one is right, say so with ledger.accept_clock(reason=...) or "
            "sfumato ledger accept-clock, which is recorded."
        )
    return time


class Book:
    """A ledger's rows at one location, as far as this process has checked them."""

    def __init__(self, location: Location) -> None:
        """Store the location; nothing is opened."""
        self.location = location
        self.store = location.store()
        self._witness = Witness(location.witness)
        # A verified prefix. Threads may overwrite it with an older one, which is still correct and only longer to extend.
        self.chain = Chain()
        self._ready = False

    # --- reading, writing and verifying -----------------------------------------------------------------------------

    def read(self, look: Callable[[Transaction, Chain], T]) -> T:
        """Return `look` of one consistent view."""
        with operation():
            self.prepare()
            # Chain and witness are read before the view is opened, so the view can only be newer.
            base, mark = self.chain, self._witness.read()
            with self.store.reading() as view:
                chain = self._caught_up(view, base, mark)
                result = look(view, chain)
            self.chain = chain
            return result

    def write(self, act: Callable[[Transaction, Chain], tuple[T, Row | None]], data: bytes | None = None) -> T:
        """Append the row that `act` returns, if any, while no other process can write; durable on return."""
        with operation():
            self.prepare()
            return self._write(act, data)

    def accept_folder(self, reason: str) -> bool:
        """Append a row that the database has moved to the folder where it is now; False where that is known already."""
        with operation():
            self.prepare(create=False, moved=True)
            mark = self._witness.read()

            def act(view: Transaction, chain: Chain) -> tuple[bool, Row | None]:
                """Add the folder unless chain and witness know no other."""
                if not view.folder:
                    raise ArgumentError("a ledger in PostgreSQL lies in no folder: there is nothing to accept.")
                if not _moved(view, chain, mark):
                    return False, None
                content = said.folder(chain, reason, view.folder)
                return True, chain.next_row("folder", NO_NAME, str(chain.seq + 1), max(chain.time, now()), content)

            return self._write(act, moved=True)

    def _write(
        self,
        act: Callable[[Transaction, Chain], tuple[T, Row | None]],
        data: bytes | None = None,
        moved: bool = False,
    ) -> T:
        self._witness.check_writable()
        base = self.chain
        with self.store.writing() as view:
            # Read behind the lock, for which others may have been waited: meanwhile another folder may have been accepted.
            chain = self._caught_up(view, base, self._witness.read(), moved)
            result, row = act(view, chain)
            if row is not None:
                follow(row, row.checked(), chain)  # nothing is written that would be refused when it is read
                view.append(row, data)
        self.chain = chain
        seq, last = (chain.seq, chain.hash) if row is None else (row.seq, row.hash)
        self._witness.advance(Mark(seq, last, view.folder))
        return result

    def verify(self) -> int:
        """Check every row from the first on, sealed bytes included, and compute every price again; return the number of rows."""
        with operation():
            self.prepare()
            mark = self._witness.read()
            with self.store.reading() as view:
                self._caught_up(view, self.chain, mark)
                chain = Chain().extended(view.rows(1))
                for row in view.rows(1):
                    if row.kind == "seal":
                        sealed_bytes(view, row)
            return chain.seq

    # --- opening ----------------------------------------------------------------------------------------------------

    def prepare(self, new_witness: bool = False, create: bool = True, moved: bool = False) -> None:
        """Once: make the table and the witness where both are new, check the chain, advance the witness."""
        if self._ready:
            return
        with operation():
            mark = self._witness.read()
            self.store.prepare(create, expected=mark is not None and mark.seq > 0)
            if mark is None:
                mark = self._first_mark(new_witness)
            with self.store.reading() as view:
                chain = self._caught_up(view, Chain(), mark, moved)
            if chain.seq > mark.seq:
                self._witness.advance(Mark(chain.seq, chain.hash, mark.folder))
            self.chain, self._ready = chain, True

    def _first_mark(self, new_witness: bool) -> Mark:
        """Start a witness for an empty ledger, before any row can be written; rows without a witness are refused."""
        with self.store.reading() as view:
            chain = Chain().extended(view.rows(1))
        if chain.seq == 0 or new_witness:
            folder = self.location.witness.parent
            with translated_os(f"the folder {folder}"):
                folder.mkdir(parents=True, exist_ok=True)
            self._witness.advance(Mark(chain.seq, chain.hash, chain.folder or view.folder))
        # Another process may have started it in the meantime: the witness is written before the first row.
        mark = self._witness.read()
        if mark is None:
            raise LedgerDamaged(
                f"{self.location.shown} holds {chain.seq} rows, but its witness {self.location.witness} is missing, so a rollback "
                "could not be seen. Give its place with witness=..., or accept the database as it stands with "
                "Ledger.open(..., new_witness=True), e.g. on a machine that uses it for the first time."
            )
        return mark

    # --- checks -----------------------------------------------------------------------------------------------------

    def _caught_up(self, view: Transaction, base: Chain, mark: Mark | None, moved: bool = False) -> Chain:
        """Check the rows after `base`, whose last row must be unchanged, and the folder unless it may have `moved`."""
        self._check_objects(view)
        rows = view.rows(max(base.seq, 1))
        if base.seq:
            base.verified.confirmed(next(rows, None), base.seq)
        chain = base.extended(rows, 0 if mark is None else mark.seq)
        self._compare(view, chain, mark)
        if mark is not None and not moved and _moved(view, chain, mark):
            raise FolderChanged(
                f"{self.location.shown} is not in the folder where it was used before. A database that is reached through two "
                "folders has two logs and two locks, and both spend its budget. If it was moved or restored, and no other copy of "
                'it is in use, say so: sfumato ledger accept-folder PLACE --reason "...", which is recorded.'
            )
        return chain

    def _compare(self, view: Transaction, chain: Chain, mark: Mark | None) -> None:
        """Raise unless the database holds the row that the witness saw, and no row outside the chain."""
        stray = view.stray()
        if stray is not None:
            raise LedgerDamaged(
                f"{self.location.shown} holds a row numbered {stray.seq}; rows are numbered from 1, so nobody counted it. {REMEDY}"
            )
        if mark is None:
            raise LedgerDamaged(
                f"the witness {self.location.witness} of {self.location.shown} has disappeared. Put it back, or open the ledger "
                "anew with new_witness=True to accept the database as it stands."
            )
        if mark.seq > chain.seq:
            raise LedgerDamaged(
                f"{self.location.shown} ends at row {chain.seq}, but the witness saw row {mark.seq}: the database was rolled back "
                "(a restored backup, a cut log) and charges are missing. Put the newer database back; if it is lost, count what "
                "was released as spent and start another ledger."
            )
        if mark.seq in (0, chain.seq):
            present = chain.hash if mark.seq else mark.hash
        else:
            row = view.row(mark.seq)
            present = "" if row is None else row.hash
        if present != mark.hash:
            raise LedgerDamaged(
                f"row {mark.seq} of {self.location.shown} is not the one that the witness saw: the database was rolled back and "
                f"written again, or edited. {REMEDY}"
            )

    def _check_objects(self, view: Transaction) -> None:
        """Raise unless the database has this format, and holds the ledger's table and nothing that could change what it keeps."""
        version = view.format()
        if version != VERSION:
            raise LedgerDamaged(
                f"{self.location.shown} has format {version}, and this Sfumato reads {VERSION}: another version wrote it, or it "
                "was edited. Use the Sfumato that wrote it."
            )
        altered = view.altered()
        if altered:
            raise LedgerDamaged(
                f"{self.location.shown} holds what the ledger did not make, or lacks what it made ({altered}). A trigger, a view "
                f"or a rule can drop or change rows without an error. {REMEDY}"
            )


def _moved(view: Transaction, chain: Chain, mark: Mark | None) -> bool:
    """Whether the database lies in another folder than the witness or the rows say."""
    return any(known not in ("", view.folder) for known in (chain.folder, "" if mark is None else mark.folder))


def sealed_bytes(view: Transaction, row: Row) -> bytes:
    """Return the bytes of a seal row if they match its hash, or raise."""
    content, data = row.checked(), view.data(row.seq)
    if digest(data) != content["sha256"]:
        raise LedgerDamaged(f"the bytes sealed in row {row.seq} were changed: they do not match their hash. {REMEDY}")
    return data
