"""Checks that a receipt is possible for its release: its digests and amounts follow from the guarantee and the plan.

The row's number, time and hash are known to the ledger alone: an invented receipt with the right digests and amounts is only
detected by comparing with the ledger (`Release.verify(ledger=...)`).
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

from sfumato.errors import ArgumentError, FormatError
from sfumato.ledger.account import CHARGEABLE
from sfumato.ledger.currency import BY_NAME, concentrated, gaussian_cost
from sfumato.ledger.records import Receipt
from sfumato.ledger.stored_rows import canonical, digest
from sfumato.ledger.terms import label
from sfumato.ledger.units import UNITS, float_above
from sfumato.privacy.guarantee import Guarantee
from sfumato.release_file import version_of
from sfumato.verifying.record import Record

# SHA-256 in hexadecimal.
_HASH = re.compile(r"[0-9a-f]{64}")
# The amount is computed by the same code as at the charge; another machine may round the last digits otherwise.
_ROUNDING = 1e-9


def check_receipt(record: Record) -> None:
    """A receipt has the digests of this plan and guarantee, and an amount that the guarantee costs in its currency."""
    document = record.release.receipt
    if document is None:
        return
    receipt, guarantee = Receipt.from_json(document), record.release.guarantee
    charged = digest(canonical(guarantee.to_json(version_of(record.release))))
    wanted = {
        "plan digest": receipt.plan_digest == record.release.plan_digest,
        "guarantee digest": receipt.guarantee_digest == charged,
        "trust of what was charged": guarantee.trust in CHARGEABLE,
        "name or request": _labelled(receipt.ledger) and _labelled(receipt.request_id),
        "row, time or hash": _row(receipt),
        "total-variation slack": receipt.tv == guarantee.slack,
        "amount": _amounts(receipt) and _costs(receipt, guarantee),
    }
    for what, holds in wanted.items():
        if not holds:
            raise FormatError(f"the receipt was not given for this release: its {what} cannot be so.")


def _labelled(value: Any) -> bool:
    try:
        return bool(label("a name in a receipt", value) == value)
    except ArgumentError:
        return False


def _row(receipt: Receipt) -> bool:
    """A row after the registration, at a time, with a hash."""
    if type(receipt.seq) is not int or receipt.seq < 2 or not isinstance(receipt.time, str):
        return False
    try:
        datetime.fromisoformat(receipt.time)
    except ValueError:
        return False
    return isinstance(receipt.hash, str) and _HASH.fullmatch(receipt.hash) is not None


def _amounts(receipt: Receipt) -> bool:
    amounts = (receipt.amount, receipt.delta0, receipt.tv)
    plain = all(isinstance(a, int | float) and not isinstance(a, bool) and 0 <= a < math.inf for a in amounts)
    return plain and type(receipt.units) is int and 1 <= receipt.units <= UNITS


def _costs(receipt: Receipt, guarantee: Guarantee) -> bool:
    """Whether the amount is what the curve costs in this currency. The order of a Renyi ledger is not in a receipt."""
    curve = guarantee.curve
    if receipt.currency not in BY_NAME:
        return False
    if receipt.currency == "gdp":
        amount, reveal = gaussian_cost(curve, receipt.delta0)
    elif receipt.currency == "zcdp":
        rho = concentrated(curve)
        amount, reveal = None if rho is None else float_above(rho), 0.0
    else:
        return receipt.delta0 == 0 and 0 < receipt.amount <= curve.renyi(math.inf)
    near = amount is not None and math.isclose(receipt.amount, amount, rel_tol=_ROUNDING)
    return near and receipt.delta0 == reveal
