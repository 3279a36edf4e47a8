"""The book: rows, chain and witness together, and the order in which every operation goes.

One transaction: walk what is new in the chain, compare with the witness, decide, append at most one row; then the
witness is moved on. Between the commit and the witness a crash leaves the database ahead, which the next use mends.
Every public method is one `forks.operation`: a fork waits for its end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sfumato.errors import ClockSetBack, LedgerDamaged, LedgerReadOnly
from sfumato.ledger.chain import GENESIS, NO_NAME, OLDEST, REMEDY, VERSION, Chain, Row, digest
from sfumato.ledger.forks import operation
from sfumato.ledger.store import Transaction
from sfumato.ledger.system import translated_os
from sfumato.ledger.url_and_witness import Location
from sfumato.ledger.witness import Mark, Witness

# Clocks of machines that share a ledger differ a little; a clock further back than this is a sign of a restored machine.
CLOCK_TOLERANCE = timedelta(seconds=60)
T = TypeVar("T")


def now() -> str:
    """The time in UTC; texts of this form sort as times do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def ticked(chain: Chain) -> str:
    """Return the time for the next row, or refuse a clock that was set back."""
    time = now()
    if chain.time and datetime.fromisoformat(time) < datetime.fromisoformat(chain.time) - CLOCK_TOLERANCE:
        raise ClockSetBack(
            f"the clock says {time}, but the last row was written at {chain.time}. Set the clock right; a clock that was put "
            "back is what a restored machine looks like, so nothing is charged until it has passed that time. If the earlier "
            "clock was ahead and this one is right, say so with ledger.accept_clock(reason=...) or "
            "sfumato ledger accept-clock, which is recorded."
        )
    return time


class Book:
    """A ledger's rows at one location, as far as this process has walked them."""

    def __init__(self, location: Location) -> None:
        """Name the place; nothing is opened."""
        self.location = location
        self.store = location.store()
        self._witness = Witness(location.witness)
        # A verified prefix. Threads may replace it by one another's: an older prefix is as good, only longer to walk.
        self.chain = Chain()
        self._ready = False

    # --- the three ways in ------------------------------------------------------------------------------------------

    def read(self, look: Callable[[Transaction, Chain], T]) -> T:
        """Answer a question from one consistent view."""
        with operation():
            self.prepare()
            # Both are read before the view is opened, so the view can only be newer.
            base, mark = self.chain, self._witness.read()
            with self.store.reading() as view:
                chain = self._caught_up(view, base, mark)
                found = look(view, chain)
            self.chain = chain
            return found

    def write(self, act: Callable[[Transaction, Chain], tuple[T, Row | None]], data: bytes | None = None) -> T:
        """Let `act` decide on at most one row while no other process can write; durable on return."""
        with operation():
            self.prepare()
            if self.chain.version < VERSION:
                self._migrate()
            return self._write(act, data)

    def _write(self, act: Callable[[Transaction, Chain], tuple[T, Row | None]], data: bytes | None = None) -> T:
        self._witness.check_writable()
        base, mark = self.chain, self._witness.read()
        with self.store.writing() as view:
            chain = self._caught_up(view, base, mark)
            answer, row = act(view, chain)
            if row is not None:
                view.append(row, data)
        self.chain = chain
        self._witness.advance(Mark(chain.seq, chain.hash) if row is None else Mark(row.seq, row.hash))
        return answer

    def verify(self) -> int:
        """Walk everything anew, sealed bytes included; return the number of rows."""
        with operation():
            self.prepare()
            mark = self._witness.read()
            with self.store.reading() as view:
                chain = Chain().extended(view.rows(1))
                for row in view.rows(1):
                    if row.kind == "seal":
                        sealed_bytes(view, row)
                self._compare(view, chain, mark)
            return chain.seq

    # --- opening ----------------------------------------------------------------------------------------------------

    def prepare(self, new_witness: bool = False, create: bool = True) -> None:
        """Once: make the table and the witness where both are new, walk the chain, let the witness catch up, migrate."""
        if self._ready:
            return
        with operation():
            mark = self._witness.read()
            self.store.prepare(create, expected=mark is not None and mark.seq > 0)
            if mark is None:
                mark = self._first_mark(new_witness)
            with self.store.reading() as view:
                chain = Chain().extended(view.rows(1))
                self._compare(view, chain, mark)
                outdated = view.format() < VERSION
            if chain.seq > mark.seq:
                self._witness.advance(Mark(chain.seq, chain.hash))
            self.chain, self._ready = chain, True
            if outdated:
                # Whoever may not write can still look at an older ledger.
                with suppress(LedgerReadOnly):
                    self._migrate()

    def _migrate(self) -> None:
        """Bring an older database to the current format, in one transaction that the chain records."""

        def act(view: Transaction, chain: Chain) -> tuple[None, Row | None]:
            if view.format() >= VERSION:
                return None, None  # new, or another process migrated it
            view.upgrade()
            content = {"from": max(chain.version, OLDEST), "to": VERSION}
            return None, chain.next_row("migrate", NO_NAME, str(VERSION), max(chain.time, now()), content)

        self._write(act)

    def _first_mark(self, new_witness: bool) -> Mark:
        """Start a witness for an empty ledger, before any row can be written; rows without a witness are refused."""
        with self.store.reading() as view:
            chain = Chain().extended(view.rows(1))
        if chain.seq == 0 or new_witness:
            folder = self.location.witness.parent
            with translated_os(f"the folder {folder}"):
                folder.mkdir(parents=True, exist_ok=True)
            self._witness.advance(Mark(chain.seq, chain.hash))
        # Another process may have started it in the meantime: whoever has rows had a witness first.
        mark = self._witness.read()
        if mark is None:
            raise LedgerDamaged(
                f"{self.location.shown} holds {chain.seq} rows, but its witness {self.location.witness} is missing, so a rollback "
                "could not be seen. Give its place with witness=..., or accept the database as it stands with "
                "Ledger.open(..., new_witness=True), e.g. on a machine that uses it for the first time."
            )
        return mark

    # --- checks -----------------------------------------------------------------------------------------------------

    def _caught_up(self, view: Transaction, base: Chain, mark: Mark | None) -> Chain:
        """Walk what is new since `base`, which must still be where this process left it."""
        rows = view.rows(max(base.seq, 1))
        if base.seq:
            last = next(rows, None)
            if last is None or (last.seq, last.hash) != (base.seq, base.hash):
                raise LedgerDamaged(
                    f"row {base.seq} of {self.location.shown}, which this process has read before, is gone or changed: the "
                    f"database was rolled back or edited. {REMEDY}"
                )
        chain = base.extended(rows)
        self._compare(view, chain, mark)
        return chain

    def _compare(self, view: Transaction, chain: Chain, mark: Mark | None) -> None:
        """The database must hold the row that the witness saw, no row outside the chain, and its own format."""
        self._check_format(view.format(), chain)
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
            found = chain.hash if mark.seq else mark.hash
        else:
            row = view.row(mark.seq)
            found = "" if row is None else row.hash
        if found != mark.hash:
            raise LedgerDamaged(
                f"row {mark.seq} of {self.location.shown} is not the one that the witness saw: the database was rolled back and "
                f"written again, or edited. {REMEDY}"
            )

    def _check_format(self, found: int, chain: Chain) -> None:
        """The format that the database carries must be the one that its rows have."""
        if found > VERSION:
            raise LedgerDamaged(
                f"{self.location.shown} has format {found}, this Sfumato reads up to {VERSION}. Update Sfumato."
            )
        if chain.version not in (0, found):
            raise LedgerDamaged(
                f"{self.location.shown} carries format {found}, but its rows have format {chain.version}. {REMEDY}"
            )


def recorded(view: Transaction, chain: Chain, kind: str, name: str, request: str) -> Row | None:
    """Return the row of this kind, name and request id, or None; a row that is no link of the chain is damage."""
    row = view.find(kind, name, request)
    if row is None:
        return None
    before = view.row(row.seq - 1) if row.seq > 1 else None
    previous = GENESIS if before is None else before.hash
    if not 1 <= row.seq <= chain.seq or row.previous != previous:
        raise LedgerDamaged(f"row {row.seq} is no part of the chain of rows 1 to {chain.seq}. {REMEDY}")
    row.checked()
    return row


def sealed_bytes(view: Transaction, row: Row) -> bytes:
    """Return the bytes of a seal row if they match its hash, or raise."""
    said, data = row.checked(), view.data(row.seq)
    if digest(data) != said["sha256"]:
        raise LedgerDamaged(f"the bytes sealed in row {row.seq} were changed: they do not match their hash. {REMEDY}")
    return data
