"""The ledger: a privacy budget kept in a database, with a proved filter, a hash chain and a witness."""

from __future__ import annotations

from sfumato.ledger.ledger import Ledger
from sfumato.ledger.records import Entry, Receipt, Report, Spent

__all__ = ["Entry", "Ledger", "Receipt", "Report", "Spent"]
