"""What a ledger's report is made of: each data set with its charges, every running total composed as the ledger composes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.ledger.account import Account, Price
from sfumato.ledger.address import Address
from sfumato.ledger.records import Entry, Receipt
from sfumato.ledger.units import UNITS

# The beginning of the URL of a ledger in a file (`ledger.url_and_witness`).
_SQLITE = "sqlite:///"


@dataclass(frozen=True)
class Charge:
    """One charge: its own price and the account after it; `sealed` is whether its release is stored in the ledger."""

    number: int
    entry: Entry
    receipt: Receipt
    price: Price
    alone: float
    after: Account
    total: float
    sealed: bool

    @property
    def time(self) -> datetime:
        """When it was recorded, in UTC."""
        return datetime.fromisoformat(self.entry.time).astimezone(UTC)


@dataclass(frozen=True)
class Budget:
    """A data set's registered budget, its account after the last charge, and every charge, oldest first."""

    account: Account
    registered: Entry
    charges: tuple[Charge, ...]
    rows: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.account.name

    @property
    def spent(self) -> float:
        """Epsilon spent so far at the registered delta."""
        return self.charges[-1].total if self.charges else 0.0

    @property
    def share(self) -> float:
        """The spent share of the budget in its own currency, whose shares add up; at most 1."""
        return self.account.units / UNITS


def read(ledger: Any, name: str) -> Budget:
    """Read one data set. Its account is recomputed from the rows, so that all numbers of a page belong to the same moment."""
    rows = ledger.history(name)
    return budget(ledger.spent(name).account, rows)


def budget(account: Account, rows: Sequence[Entry]) -> Budget:
    """The budget of an account whose history these rows are."""
    empty = replace(account, units=0, delta0_units=0, tv_units=0, charges=0)
    sealed = {row.request_id for row in rows if row.kind == "seal"}
    state = empty
    charges: list[Charge] = []
    # Equal prices are common, and an epsilon takes a search.
    prices: dict[Price, float] = {}
    for row in rows:
        if row.receipt is None:
            continue
        price = empty.of_amounts(row.receipt.amount, row.receipt.delta0, row.receipt.tv)
        state = state.plus(price)
        alone = prices.setdefault(price, 0.0) or empty.plus(price).epsilon()
        prices[price] = alone
        charges.append(
            Charge(len(charges) + 1, row, row.receipt, price, alone, state, state.epsilon(), row.request_id in sealed)
        )
    first = next(row for row in rows if row.kind == "register")
    return Budget(state, first, tuple(charges), tuple(rows))


def shown_place(url: str) -> str:
    """The ledger's file name, or its PostgreSQL address without the password."""
    return Path(url.removeprefix(_SQLITE)).name if url.startswith(_SQLITE) else Address.of(url).shown


def minute(time: datetime) -> str:
    """A time in UTC to the minute."""
    return f"{time:%Y-%m-%d %H:%M}"
