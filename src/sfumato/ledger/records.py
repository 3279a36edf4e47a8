"""The values that a ledger returns: receipts, the spent budget, the history and the report. Frozen, with readable texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sfumato._shown import Shown
from sfumato.ledger.account import Account, shown
from sfumato.ledger.currency import BY_NAME
from sfumato.ledger.stored_rows import Row
from sfumato.ledger.units import UNITS
from sfumato.privacy.codec import refuse_unknown
from sfumato.privacy.compose import compose
from sfumato.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Receipt:
    """Proof that a charge was recorded: the row, the amounts, and the digests of guarantee and plan."""

    ledger: str
    request_id: str
    seq: int
    time: str
    currency: str
    amount: float
    delta0: float
    tv: float
    units: int
    guarantee_digest: str
    plan_digest: str | None
    hash: str

    @classmethod
    def of(cls, row: Row, currency: str) -> Receipt:
        """Read a receipt off its row."""
        content = row.fields
        price = content["price"]
        return cls(
            ledger=row.name,
            request_id=row.request,
            seq=row.seq,
            time=content["time"],
            currency=currency,
            amount=price["amount"],
            delta0=price["delta0"],
            tv=price["tv"],
            units=price["units"],
            guarantee_digest=content["guarantee_digest"],
            plan_digest=content["plan_digest"],
            hash=row.hash,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a document that `from_json` reads back to an equal receipt."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Receipt:
        """Read a receipt; unknown keys are refused."""
        return cls(**refuse_unknown(document, tuple(f.name for f in fields(cls)), "a receipt"))

    def __str__(self) -> str:
        word = BY_NAME[self.currency].word
        reveal = f", reveal probability {shown(self.delta0)}" if self.delta0 else ""
        tv = f", total variation {shown(self.tv)}" if self.tv else ""
        return (
            f"row {self.seq} of {self.ledger!r}, {self.time}: request {self.request_id!r} charged {word} "
            f"{shown(self.amount)}{reveal}{tv} ({_share(self.units)} of the budget); {self.hash[:16]}"
        )


@dataclass(frozen=True)
class Entry:
    """One line of a ledger's history."""

    seq: int
    kind: str
    time: str
    request_id: str
    hash: str
    receipt: Receipt | None
    guarantee: Guarantee | None
    reason: str = ""

    @classmethod
    def of(cls, row: Row, currency: str) -> Entry:
        """Read a line off its row."""
        content, receipt, guarantee = row.fields, None, None
        if row.kind == "charge":
            receipt, guarantee = Receipt.of(row, currency), Guarantee.from_json(content["guarantee"])
        reason = content.get("reason", "")
        return cls(row.seq, row.kind, content["time"], row.request, row.hash, receipt, guarantee, reason)

    def __str__(self) -> str:
        if self.receipt is not None:
            return str(self.receipt)
        what = {
            "register": "registered",
            "seal": f"request {self.request_id!r} sealed",
            "clock": f"the clock was accepted although earlier rows carry later times ({self.reason})",
            "folder": f"another folder of the database was accepted ({self.reason})",
        }[self.kind]
        return f"row {self.seq}, {self.time}: {what}; {self.hash[:16]}"


@dataclass(frozen=True)
class Spent(Shown):
    """The spent budget. The epsilon is information: the promise is the registered cap, whatever was spent so far."""

    name: str
    units: int
    epsilon: float
    amount: float
    delta0: float
    tv: float
    charges: int
    account: Account

    @classmethod
    def of(cls, account: Account) -> Spent:
        """Read off an account."""
        a = account
        return cls(a.name, a.units, a.epsilon(), a.amount, a.delta0, a.tv, a.charges, a)

    @property
    def delta(self) -> float:
        """The registered delta, at which `epsilon` is read off."""
        return self.account.terms.delta

    @property
    def mu(self) -> float | None:
        """Root of the summed squares of mu, in a gdp ledger."""
        return self._amount_in("gdp")

    @property
    def rho(self) -> float | None:
        """Sum of rho, in a zcdp ledger."""
        return self._amount_in("zcdp")

    @property
    def renyi(self) -> float | None:
        """Sum of the Renyi divergences at the registered order, in a renyi ledger."""
        return self._amount_in("renyi")

    def _amount_in(self, currency: str) -> float | None:
        return self.amount if self.account.terms.currency == currency else None

    def __str__(self) -> str:
        a, terms = self.account, self.account.terms
        reveal = (
            f"; chance of a failure, reveal probability {shown(self.delta0)} of {float(terms.reveal):.4g}"
            if self.delta0
            else ""
        )
        tv = f", total variation {shown(self.tv)} of {terms.tv:.4g}" if terms.tv else ""
        return (
            f"{self.name}: spent epsilon {shown(self.epsilon)} of {terms.epsilon:g} at delta {terms.delta:g} in "
            f"{self.charges} charge{'s' * (self.charges != 1)}, {_share(self.units)} of the budget (counted as "
            f"{a.currency.word} {shown(self.amount)} of {shown(a.cap)}{reveal}{tv}). "
            f"The promise is the whole budget, spent or not: {terms}."
        )


@dataclass(frozen=True)
class Report:
    """The charged guarantees composed as tightly as is known. Information, not the promise: that is the cap."""

    name: str
    guarantee: Guarantee | None
    epsilon: float
    delta: float
    spent: Spent

    @classmethod
    def of(cls, spent: Spent, charged: Sequence[Guarantee]) -> Report:
        """Compose the charged guarantees as if they had been chosen in advance."""
        if not charged:
            return cls(spent.name, None, 0.0, spent.delta, spent)
        whole = Guarantee(
            compose([(guarantee.curve, 1) for guarantee in charged]),
            charged[0].adjacency,
            "composition of everything charged, as if chosen in advance",
            "information, not the promise",
            unit=charged[0].unit,
            trust="proved with slack" if any(g.trust != "proved" for g in charged) else "proved",
            draws=sum(guarantee.draws for guarantee in charged),
            slack=min(1.0, math.fsum(guarantee.slack for guarantee in charged)),
            id_column=charged[0].id_column,
            rows=charged[0].rows,
            weak=any(guarantee.weak for guarantee in charged),
        )
        # The epsilon is read off at the registered delta, so that it can be compared with the promise.
        return cls(spent.name, whole, whole.epsilon(spent.delta), spent.delta, spent)

    def __str__(self) -> str:
        if self.guarantee is None:
            return f"{self.name}: nothing charged.\n{self.spent}"
        return (
            f"{self.name}: information, not the promise: the {self.spent.charges} charged guarantee(s) composed tightly give "
            f"epsilon {shown(self.epsilon)} at delta {self.delta:g}, had they been chosen in advance.\n{self.spent}"
        )


def _share(units: int) -> str:
    return f"{shown(100 * units / UNITS)} %"
