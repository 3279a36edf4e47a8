"""Look-ups by name and request id in their normal form, and the comparison of a repeated request with its first one."""

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


def registered(accounts: Mapping[str, Account], name: str) -> Account:
    """The account of this name; raise where none is registered under it."""
    account = matching(accounts, name)
    if account is None:
        raise ArgumentError(
            f"name must be a registered one ({', '.join(sorted(accounts)) or 'there is none yet'}); got {name!r}. "
            "Register it first: ledger.register(name, epsilon, delta, unit=...), or sfumato ledger register."
        )
    return account


def find_request(view: Transaction, chain: Chain, kind: str, name: str, request_id: str) -> Row | None:
    """The row of a request id: as it is written, or else the one whose normal form is the same."""
    label("request_id", request_id)
    return recorded(view, chain, kind, name, chain.requests.written(name, request_id))


def read_back(guarantee: Guarantee) -> tuple[dict[str, Any], Guarantee]:
    """Return the guarantee's document and the guarantee read back from it, so that the recorded one is the charged one."""
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
    # Two versions of Sfumato may describe one guarantee in other words: then its numbers and identifiers are compared.
    same_digest = before["guarantee_digest"] == content["guarantee_digest"]
    guarantees = (Guarantee.from_json(each["guarantee"]) for each in (before, content))
    repeated = {
        "guarantee": same_digest or same_guarantee(*guarantees),
        "plan": before["plan_digest"] == content["plan_digest"],
        "delta0": before["delta0"] == content["delta0"],
    }
    for word, same in repeated.items():
        if not same:
            raise RequestConflict(
                f"request {request_id!r} of {name!r} was charged with another {word}. A request id stands for one release: use "
                "a new one, which will be charged."
            )
