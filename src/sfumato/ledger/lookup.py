"""Look-ups by name and request id in their normal form, and the comparison of a repeated request with its first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.errors import ArgumentError, ChargeRefused, RequestConflict
from sfumato.ledger.account import Account
from sfumato.ledger.chain import Chain, guarantee_of
from sfumato.ledger.store import Transaction
from sfumato.ledger.stored_rows import Row, canonical
from sfumato.ledger.terms import label
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.statements import same_guarantee


def registered(accounts: Mapping[str, Account], name: str) -> Account:
    """The account of this name; raise where none is registered under it."""
    account = accounts.get(label("name", name))
    if account is None:
        raise ArgumentError(
            f"name must be a registered one ({', '.join(sorted(accounts)) or 'there is none yet'}); got {name!r}. "
            "Register it first: ledger.register(name, epsilon, delta, unit=...), or sfumato ledger register."
        )
    return account


def find_request(view: Transaction, chain: Chain, kind: str, name: str, request_id: str) -> Row | None:
    """The row of this kind and request id, or None; a row that is no longer the one that was verified is damage."""
    seq = chain.verified.find(kind, name, label("request_id", request_id))
    # Another thread may have verified rows after those of this view.
    return None if seq is None or seq > chain.seq else chain.verified.confirmed(view.row(seq), seq)


def named(view: Transaction, chain: Chain, name: str) -> list[Row]:
    """Every row of one name up to the end of the chain, each as it was verified."""
    rows = {row.seq: row for row in view.named(name)}
    return [chain.verified.confirmed(rows.get(seq), seq) for seq in chain.verified.named(name) if seq <= chain.seq]


def read_back(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee as it is read back from its document, so that the recorded one is the charged one."""
    if not isinstance(guarantee, Guarantee):
        raise ArgumentError(f"guarantee must be a Guarantee, such as plan.guarantee; got {type(guarantee).__name__}.")
    try:
        return guarantee_of(canonical(guarantee.to_json()))
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
