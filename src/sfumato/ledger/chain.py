"""The chain: what each kind of row says, and the accounts that follow from the rows.

A `Chain` is the prefix of the rows that a process has verified. A row may follow it only if it is, byte for byte, what a ledger
would write there: every field that follows from others is computed again, the price from the recorded guarantee.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from sfumato import _validate
from sfumato.errors import LedgerDamaged, SfumatoError
from sfumato.ledger.account import ROUNDING, Account, Price
from sfumato.ledger.currency import cap_of
from sfumato.ledger.stored_rows import GENESIS, NO_NAME, REMEDY, Row, Verified, canonical, digest, link, payload_of
from sfumato.ledger.terms import Terms, label
from sfumato.privacy.guarantee import Guarantee

# Clocks of machines that share a ledger differ by seconds; a clock further back than this suggests a restored machine.
CLOCK_TOLERANCE = timedelta(seconds=60)
# The form of `book.now`: UTC with microseconds.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
# SHA-256 in hexadecimal, and the number of a folder, which is empty in PostgreSQL.
_HASH, _FOLDER = re.compile(r"[0-9a-f]{64}"), re.compile(r"\d*")
Content = Mapping[str, Any]


@dataclass(frozen=True)
class Chain:
    """A verified prefix of the ledger: its last row's number, hash and time, the database's folder, and the accounts up to it."""

    seq: int = 0
    hash: str = GENESIS
    time: str = ""
    folder: str = ""
    accounts: Mapping[str, Account] = field(default_factory=dict)
    verified: Verified = field(default_factory=Verified)

    def next_row(
        self, kind: str, name: str, request: str, time: str, content: Mapping[str, Any], size: int | None = None
    ) -> Row:
        """Return the row that would follow, with `size` bytes sealed."""
        seq, payload = self.seq + 1, payload_of(kind, name, request, time, content)
        return Row(seq, kind, name, request, payload, self.hash, link(seq, self.hash, payload), size)

    def extended(self, rows: Iterable[Row], seen: int = 0) -> Chain:
        """Return the chain with these rows appended; raise LedgerDamaged at the first row that cannot follow.

        Rows up to number `seen` are in the witness: a process that checked them advanced it (`_charge`).
        """
        chain = self
        for row in rows:
            # Numbers and hashes first: a payload is parsed only if it is the one that was hashed.
            if row.seq != chain.seq + 1:
                raise LedgerDamaged(
                    f"row {chain.seq + 1} is missing: after row {chain.seq} comes row {row.seq}. {REMEDY}"
                )
            if row.previous != chain.hash:
                raise LedgerDamaged(
                    f"row {row.seq} does not follow row {chain.seq}: one of the two was changed. {REMEDY}"
                )
            content = row.checked()
            try:
                after = follow(row, content, chain, row.seq <= seen)
                self.verified.add(row)
            except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, SfumatoError) as error:
                raise LedgerDamaged(f"row {row.seq} says what no ledger would write ({error}). {REMEDY}") from error
            chain = after
        return chain


def behind(time: str, last: str) -> bool:
    """Whether a time is so far before that of an earlier row that the clock was set back."""
    return datetime.fromisoformat(time) + CLOCK_TOLERANCE < datetime.fromisoformat(last)


# --- what each kind of row says, in the words of whoever writes it ----------------------------------------------------------


def registration(terms: Terms, cap: float, folder: str) -> Content:
    """A registration: its terms, the cap that follows from them, and the folder of the database."""
    return {"terms": terms.to_json(), "cap": cap, "folder": folder}


def charge(guarantee: Content, plan_digest: str | None, delta0: float | None, price: Price) -> Content:
    """A charge: the document of its guarantee and its digest, its plan, the reveal probability asked for, and the price."""
    return {
        "guarantee": guarantee,
        "guarantee_digest": digest(canonical(guarantee)),
        "plan_digest": None if plan_digest is None else label("plan_digest", plan_digest),
        "delta0": None if delta0 is None else _validate.probability("delta0", delta0),
        "price": price.to_json(),
    }


def seal(sha256: str, size: int) -> Content:
    """A seal: hash and number of the bytes that are kept beside the row."""
    return {"sha256": sha256, "size": size}


def clock(chain: Chain, reason: str) -> Content:
    """The acceptance of an earlier clock, with the time that it replaces."""
    return {"reason": label("reason", reason), "before": chain.time}


def folder(chain: Chain, reason: str, new: str) -> Content:
    """The acceptance of another folder of the database, with the one that it replaces."""
    return {"reason": label("reason", reason), "before": chain.folder, "folder": new}


# --- and what it must say ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def guarantee_of(document: str) -> Guarantee:
    """Read a guarantee from its canonical document; kept, since many rows hold the same one."""
    guarantee = Guarantee.from_json(json.loads(document))
    if canonical(guarantee.to_json()) != document:
        raise ValueError("the guarantee reads back as another one")
    return guarantee


def follow(row: Row, said: Content, chain: Chain, seen: bool = False) -> Chain:
    """Return the chain after the row; raise unless the row is what a ledger would write after the others."""
    if not isinstance(said["time"], str) or not _TIME.fullmatch(said["time"]):
        raise ValueError(f"the time {said['time']!r}")
    datetime.fromisoformat(said["time"])
    own = row.kind in ("clock", "folder")
    if own != (row.name == NO_NAME) or (not own and label("name", row.name) != row.name):
        raise ValueError(f"the name {row.name!r} for a row of kind {row.kind!r}")
    if not own and (row.kind == "register") == (row.name in chain.accounts):
        raise ValueError(
            f"a {row.kind!r} of {row.name!r}, which was {'' if row.kind == 'register' else 'not '}registered before"
        )
    request = {"register": "", "clock": str(row.seq), "folder": str(row.seq)}.get(row.kind)
    if row.request != (label("request_id", row.request) if request is None else request):
        raise ValueError(f"the request {row.request!r}")
    content, account = _MUST[row.kind](row, said, chain, seen)
    if payload_of(row.kind, row.name, row.request, said["time"], content) != row.payload:
        fields = [key for key in content if content[key] != said.get(key)]
        raise ValueError(f"its {', '.join(fields) or 'form'} cannot be so")
    if row.size != content.get("size"):
        raise ValueError(f"{row.size} sealed bytes")
    accounts = chain.accounts if account is None else {**chain.accounts, row.name: account}
    # Only a recorded correction of the clock lets the time go back.
    time = said["time"] if row.kind == "clock" else max(chain.time, said["time"])
    return Chain(row.seq, row.hash, time, content.get("folder", chain.folder), accounts, chain.verified)


def _registration(row: Row, said: Content, chain: Chain, _: bool) -> tuple[Content, Account]:
    _not_behind(said, chain)
    terms = Terms.from_json(said["terms"])
    account = Account(row.name, terms, _near(said["cap"], cap_of(terms)))
    return registration(terms, account.cap, chain.folder or _folder_number(said)), account


def _charge(row: Row, said: Content, chain: Chain, seen: bool) -> tuple[Content, Account]:
    _not_behind(said, chain)
    account, guarantee = chain.accounts[row.name], guarantee_of(canonical(said["guarantee"]))
    price = account.price_again(guarantee, said["delta0"], said["price"]["amount"], seen)
    if not account.admits(price):
        raise ValueError("a charge that does not fit in the budget")
    return charge(said["guarantee"], said["plan_digest"], said["delta0"], price), account.plus(price)


def _seal(row: Row, said: Content, chain: Chain, _: bool) -> tuple[Content, None]:
    charged = chain.verified.find("charge", row.name, row.request)
    if charged is None or charged > chain.seq:
        raise ValueError(f"a seal of request {row.request!r}, which was never charged")
    if not _HASH.fullmatch(said["sha256"]) or said["time"] < chain.time:
        raise ValueError("a seal with another hash or an earlier time than a ledger would write")
    return seal(said["sha256"], 0 if row.size is None else row.size), None


def _clock(_row: Row, said: Content, chain: Chain, _: bool) -> tuple[Content, None]:
    if said["time"] >= chain.time:
        raise ValueError("the correction of a clock that was not behind")
    return clock(chain, said["reason"]), None


def _folder(_row: Row, said: Content, chain: Chain, _: bool) -> tuple[Content, None]:
    if said["time"] < chain.time:
        raise ValueError("an earlier time than a ledger would write")
    return folder(chain, said["reason"], _folder_number(said)), None


_MUST = {"register": _registration, "charge": _charge, "seal": _seal, "clock": _clock, "folder": _folder}


def _not_behind(said: Content, chain: Chain) -> None:
    if chain.time and behind(said["time"], chain.time):
        raise ValueError(f"the time {said['time']} after {chain.time}")


def _near(recorded: float, again: float) -> float:
    """The recorded number if it differs from the one that was computed again by rounding alone, or that one."""
    return float(recorded) if math.isclose(recorded, again, rel_tol=ROUNDING) else again


def _folder_number(said: Content) -> str:
    if not _FOLDER.fullmatch(said["folder"]):
        raise ValueError(f"the folder {said['folder']!r}")
    return str(said["folder"])
