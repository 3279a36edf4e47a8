"""`sf.Ledger`: a privacy budget that cannot be overspent.

Charges are durable before they return and have no refund. account.py is the filter, book.py runs the transactions with the witness.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sfumato._shown import Shown
from sfumato.errors import ArgumentError, RequestConflict
from sfumato.ledger import chain as said
from sfumato.ledger.account import Account
from sfumato.ledger.book import Book, now, sealed_bytes, ticked
from sfumato.ledger.chain import Chain
from sfumato.ledger.currency import cap_of
from sfumato.ledger.lookup import find_request, named, read_back, refuse_other, registered
from sfumato.ledger.records import Entry, Receipt, Report, Spent
from sfumato.ledger.store import Transaction
from sfumato.ledger.stored_rows import NO_NAME, Row, digest
from sfumato.ledger.terms import Terms, label
from sfumato.ledger.url_and_witness import Location
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee

T = TypeVar("T")


class Ledger(Shown):
    """A ledger at a URL. It copies and pickles as that URL; each operation opens a connection and closes it again."""

    def __init__(self, url: str | os.PathLike[str], witness: str | os.PathLike[str] | None = None) -> None:
        """Store the location; nothing is opened before the first use. `Ledger.open` opens and checks at once."""
        self._book = Book(Location.of(url, witness))

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        witness: str | os.PathLike[str] | None = None,
        *,
        new_witness: bool = False,
        create: bool = True,
    ) -> Ledger:
        """Open the ledger at a path, "sqlite:///path" or "postgresql://..."; where there is none, `create` makes it.

        The whole chain is walked and compared with the witness (default: beside a SQLite file; for PostgreSQL in the
        user's state folder). `new_witness=True` starts a missing witness from the database as it stands, e.g. on a second
        machine.
        """
        ledger = cls(where, witness)
        ledger._book.prepare(new_witness, create)
        return ledger

    @property
    def url(self) -> str:
        """The ledger's URL, password included."""
        return self._book.location.url

    @property
    def witness(self) -> Path:
        """The path of the witness file."""
        return self._book.location.witness

    # --- registering and charging -------------------------------------------------------------------------------------

    def register(
        self,
        name: str,
        epsilon: float,
        delta: float,
        currency: str = "gdp",
        slack: float = 0.01,
        order: float | None = None,
        adjacency: str = "replace-one",
        unit: str = "row",
        tv: float = 0.0,
        id_column: str | None = None,
        allow_weak: bool = False,
    ) -> None:
        """Promise (epsilon, delta) to every `unit` of the data set called `name`; fixed for ever.

        All that is ever charged to `name` is (epsilon, delta)-differentially private together, however adaptively it was
        chosen. `currency` is "gdp", "zcdp" or "renyi" (with one `order`); `slack` is the share of delta set aside for curves
        without a mu of their own (gdp alone), `tv` the summed total-variation distance allowed to inexact samplers, paid
        out of delta. `id_column` is that of the schema's persons, who are promised this with all of their rows (adjacency
        "replace-person"). An epsilon above 50 or a delta above 0.001 needs `allow_weak`, which the promise then states. The same
        terms again do nothing; other terms are an error. Names are compared in Unicode's NFC.
        """
        name = label("name", name)
        terms = Terms(epsilon, delta, currency, slack, order, adjacency, unit, tv, id_column, allow_weak)
        cap = cap_of(terms)

        def act(view: Transaction, chain: Chain) -> tuple[None, Row | None]:
            """Add the promise, or nothing where the same one is registered already."""
            known = chain.accounts.get(name)
            if known is None:
                content = said.registration(terms, cap, view.folder)
                return None, chain.next_row("register", name, "", ticked(chain), content)
            if known.terms != terms:
                raise RequestConflict(
                    f"{name!r} is registered as {known.terms}, for ever; got {terms}. Another name would "
                    "be another promise: use one for other people only."
                )
            return None, None

        self._book.write(act)

    def charge(
        self,
        name: str,
        guarantee: Guarantee,
        request_id: str,
        plan_digest: str | None = None,
        *,
        delta0: float | None = None,
    ) -> Receipt:
        """Charge `guarantee` to `name`, durably, before anything is drawn; there is no refund.

        The same request id with the same guarantee and plan returns the same receipt and charges nothing; with others it
        is an error. A curve without a mu of its own also takes `delta0` of the reveal probability (default:
        slack*delta/64). What does not fit raises LedgerExhausted, what can never fit ChargeRefused; no row is written.
        """
        request = label("request_id", request_id)
        checked = read_back(guarantee)
        account = self._registered(name)
        name, price = account.name, account.price(checked, delta0)
        content = said.charge(checked.to_json(), plan_digest, delta0, price)

        def act(view: Transaction, chain: Chain) -> tuple[Receipt | Account, Row | None]:
            """Add the charge if it fits; a repeated request gets its first receipt."""
            account = chain.accounts[name]
            before = find_request(view, chain, "charge", name, request_id)
            if before is not None:
                refuse_other(before.fields, content, name, request)
                return Receipt.of(before, account.terms.currency), None
            time = ticked(chain)
            if not account.admits(price):
                return account, None
            row = chain.next_row("charge", name, request, time, content)
            return Receipt.of(row, account.terms.currency), row

        answer = self._book.write(act)
        if isinstance(answer, Account):
            # Composing the message takes longer than the charge, so it is done after the transaction has ended.
            raise answer.exhausted(price)
        return answer

    # --- sealing ------------------------------------------------------------------------------------------------------

    def seal(self, name: str, request_id: str, data: bytes) -> None:
        """Keep the released bytes with their charge; the same bytes again do nothing, others are an error."""
        if self.seal_first(name, request_id, data) != data:
            raise RequestConflict(
                f"request {request_id!r} of {name!r} is sealed with other bytes. Use a new request id."
            )

    def seal_first(self, name: str, request_id: str, data: bytes) -> bytes:
        """Seal the bytes unless others are sealed under this id already; return the sealed ones.

        Where several processes finish the same request, all of them return the bytes of the first that seals.
        """
        if not isinstance(data, bytes):
            raise ArgumentError(f"data must be bytes; got {type(data).__name__}.")
        name = self._registered(name).name
        content = said.seal(digest(data), len(data))

        def act(view: Transaction, chain: Chain) -> tuple[bytes, Row | None]:
            """Add the seal to its charge, or return the bytes that were sealed before."""
            charge = find_request(view, chain, "charge", name, request_id)
            if charge is None:
                raise RequestConflict(
                    f"request {request_id!r} of {name!r} was never charged, so nothing can be sealed."
                )
            before = find_request(view, chain, "seal", name, request_id)
            if before is not None:
                return sealed_bytes(view, before), None
            # A charged request may always be sealed, also while the clock is behind the last row.
            return data, chain.next_row("seal", name, charge.request, max(chain.time, now()), content, len(data))

        return self._book.write(act, data)

    def sealed(self, name: str, request_id: str) -> bytes | None:
        """Return the bytes sealed under a request id, or None."""
        return self._look_up("seal", name, request_id, sealed_bytes)

    def receipt(self, name: str, request_id: str) -> Receipt | None:
        """Return the receipt of a charged request id, or None."""
        currency = self._registered(name).terms.currency
        return self._look_up("charge", name, request_id, lambda _, row: Receipt.of(row, currency))

    def status(self, name: str, request_id: str) -> str:
        """Return "unknown", "charged" or "sealed"."""
        name = self._registered(name).name

        def look(view: Transaction, chain: Chain) -> str:
            if find_request(view, chain, "seal", name, request_id) is not None:
                return "sealed"
            return "unknown" if find_request(view, chain, "charge", name, request_id) is None else "charged"

        return self._book.read(look)

    def _look_up(self, kind: str, name: str, request_id: str, read: Callable[[Transaction, Row], T]) -> T | None:
        """`read` applied to the row of this kind and request id, or None where there is no such row."""
        name = self._registered(name).name

        def look(view: Transaction, chain: Chain) -> T | None:
            row = find_request(view, chain, kind, name, request_id)
            return None if row is None else read(view, row)

        return self._book.read(look)

    def accept_clock(self, reason: str) -> None:
        """Go on from the present clock although earlier rows carry later times; the reason is recorded for ever.

        For a machine whose clock was once ahead. Without this, charges wait until that time has passed.
        """
        label("reason", reason)

        def act(_: Transaction, chain: Chain) -> tuple[None, Row | None]:
            """Add the correction, or nothing where the clock is not behind."""
            time = now()
            if time >= chain.time:
                return None, None
            return None, chain.next_row("clock", NO_NAME, str(chain.seq + 1), time, said.clock(chain, reason))

        self._book.write(act)

    def accept_folder(self, reason: str) -> bool:
        """Go on with the database in the folder where it is now; the reason is recorded for ever.

        For a database that was moved, or restored from a backup into another folder. Make sure that no other copy of it is
        in use: two folders have two logs and two locks. Call it on `sf.Ledger(place)`, since `Ledger.open` refuses the new
        folder. Returns False where it is the folder that is known already.
        """
        label("reason", reason)
        return self._book.accept_folder(reason)

    # --- reading ------------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the registered names."""
        return self._book.read(lambda _, chain: sorted(chain.accounts))

    def spent(self, name: str) -> Spent:
        """Return the spent budget, as units and as epsilon at the registered delta."""
        return Spent.of(self._account(name))

    def remaining(self, name: str) -> Curve:
        """Return the remaining budget as a curve: sf.plan(target=ledger.remaining(name)) makes a plan that fits exactly once.

        gdp: Profile "revealing-gaussian", with the reveal probability of one charge; zcdp: Gaussian; renyi: Renyi.
        """
        return self._account(name).remaining()

    def history(self, name: str) -> list[Entry]:
        """Return every row of this name, oldest first."""
        account = self._registered(name)
        rows = self._book.read(lambda view, chain: named(view, chain, account.name))
        return [Entry.of(row, account.terms.currency) for row in rows]

    def events(self) -> list[Entry]:
        """Return the rows about the ledger itself: corrections of the clock and other folders that were accepted."""
        return [Entry.of(row, "") for row in self._book.read(lambda view, chain: named(view, chain, NO_NAME))]

    def report(self, name: str) -> Report:
        """Return the charged guarantees composed tightly. Information, not the promise: a filter must not stop by it."""
        charged = [entry.guarantee for entry in self.history(name) if entry.guarantee is not None]
        return Report.of(self.spent(name), charged)

    def verify(self) -> int:
        """Check the chain, every sealed byte and the witness; return the number of rows, or raise at the first damaged one."""
        return self._book.verify()

    def _account(self, name: str) -> Account:
        """The account after the newest row."""
        return registered(self._book.read(lambda _, chain: chain.accounts), name)

    def _registered(self, name: str) -> Account:
        """The account as this process last read it: enough for its terms, which never change."""
        return self._book.chain.accounts.get(label("name", name)) or self._account(name)

    # --- copies -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Do nothing: every operation closes its own connection. `with` blocks call it."""

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, Path]]:
        return type(self), (self.url, self.witness)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._book.location == other._book.location

    def __hash__(self) -> int:
        return hash(self._book.location)

    def __repr__(self) -> str:
        return f"Ledger({self._book.location.shown!r})"
