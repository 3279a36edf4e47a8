"""How a ledger finds what it was asked about: names and request ids in their normal form, guarantees as they are recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sfumato.errors import ArgumentError, ChargeRefused, RequestConflict
from sfumato.ledger.account import Account
from sfumato.ledger.book import recorded
from sfumato.ledger.chain import Chain, Row, canonical
from sfumato.ledger.store import Transaction
from sfumato.ledger.terms import label
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.statements import same_guarantee


def matching(accounts: Mapping[str, Account], name: str) -> Account | None:
    """The account of this name: as it is written, or else the one whose normal form is the same."""
    if isinstance(name, str) and name in accounts:
        return accounts[name]
    wanted = label("name", name)
    return next((account for each, account in accounts.items() if label("name", each) == wanted), None)


def find_request(view: Transaction, chain: Chain, kind: str, name: str, request_id: str) -> Row | None:
    """The row of a request id: as it is written, or else the one whose normal form is the same."""
    label("request_id", request_id)
    return recorded(view, chain, kind, name, chain.requests.written(name, request_id))


def read_back(guarantee: Guarantee) -> tuple[dict[str, Any], Guarantee]:
    """Return the guarantee's document and what is read back from it: what is charged is what is recorded."""
    if not isinstance(guarantee, Guarantee):
        raise ArgumentError(f"guarantee must be a Guarantee, such as plan.guarantee; got {type(guarantee).__name__}.")
    try:
        document = json.loads(canonical(guarantee.to_json()))
        return document, Guarantee.from_json(document)
    except (ValueError, TypeError) as error:
        raise ChargeRefused(
            f"the guarantee cannot be written down and read back, so it cannot be charged: {error}"
        ) from error


def refuse_other(before: Mapping[str, Any], content: Mapping[str, Any], name: str, request_id: str) -> None:
    """Raise RequestConflict where a repeated request does not repeat its guarantee, plan and delta0."""
    alike = before["guarantee_digest"] == content["guarantee_digest"] or same_guarantee(
        *(Guarantee.from_json(each["guarantee"]) for each in (before, content))
    )
    same = {
        "guarantee": alike,
        **{key: before[f] == content[f] for key, f in (("plan", "plan_digest"), ("delta0", "delta0"))},
    }
    for word, repeated in same.items():
        if not repeated:
            raise RequestConflict(
                f"request {request_id!r} of {name!r} was charged with another {word}. A request id stands for one release: use "
                "a new one, which will be charged."
            )
