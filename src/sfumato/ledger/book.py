"""The book: rows, chain and witness together, and the steps of every operation.

In one transaction: check the rows that are new since the last operation, compare with the witness, decide, append at most one
row. After the commit the witness is advanced; a crash between the two leaves the database ahead, and the next operation
advances the witness. Every public method is one `forks.operation`: a fork waits for its end.
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

# Clocks of machines that share a ledger differ by seconds; a clock further back than this suggests a restored machine.
CLOCK_TOLERANCE = timedelta(seconds=60)
T = TypeVar("T")


def now() -> str:
    """The time in UTC as a text; such texts sort in the order of the times."""
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
            if self.chain.version < VERSION:
                self._migrate()
            return self._write(act, data)

    def _write(self, act: Callable[[Transaction, Chain], tuple[T, Row | None]], data: bytes | None = None) -> T:
        self._witness.check_writable()
        base, mark = self.chain, self._witness.read()
        with self.store.writing() as view:
            chain = self._caught_up(view, base, mark)
            result, row = act(view, chain)
            if row is not None:
                view.append(row, data)
        self.chain = chain
        self._witness.advance(Mark(chain.seq, chain.hash) if row is None else Mark(row.seq, row.hash))
        return result

    def verify(self) -> int:
        """Check every row from the first on, sealed bytes included; return the number of rows."""
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
        """Once: make the table and the witness where both are new, check the chain, advance the witness, migrate."""
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
                # Users without write permission can still read a ledger of an older format.
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

    def _caught_up(self, view: Transaction, base: Chain, mark: Mark | None) -> Chain:
        """Check the rows after `base`, whose last row must be unchanged."""
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
        """Raise unless the database holds the row that the witness saw, no row outside the chain, and a readable format."""
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
            present = chain.hash if mark.seq else mark.hash
        else:
            row = view.row(mark.seq)
            present = "" if row is None else row.hash
        if present != mark.hash:
            raise LedgerDamaged(
                f"row {mark.seq} of {self.location.shown} is not the one that the witness saw: the database was rolled back and "
                f"written again, or edited. {REMEDY}"
            )

    def _check_format(self, version: int, chain: Chain) -> None:
        """Raise unless the format `version` recorded in the database is that of its rows."""
        if version > VERSION:
            raise LedgerDamaged(
                f"{self.location.shown} has format {version}, this Sfumato reads up to {VERSION}. Update Sfumato."
            )
        if chain.version not in (0, version):
            raise LedgerDamaged(
                f"{self.location.shown} carries format {version}, but its rows have format {chain.version}. {REMEDY}"
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
    content, data = row.checked(), view.data(row.seq)
    if digest(data) != content["sha256"]:
        raise LedgerDamaged(f"the bytes sealed in row {row.seq} were changed: they do not match their hash. {REMEDY}")
    return data
