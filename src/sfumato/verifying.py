"""Whether the record of a release adds up: its price, computed again, and everything that follows from plan and schema."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sfumato.errors import FormatError, SfumatoError
from sfumato.mechanisms import reprice, retold
from sfumato.models.reading import model_from_json
from sfumato.models.regression import released
from sfumato.privacy.guarantee import Guarantee
from sfumato.schema import Schema
from sfumato.wording import promise_of


def verify(release: Any) -> None:
    """Raise FormatError where a record contradicts itself, or lacks a part; see `Release.verify`."""
    try:
        _check_price(release)
        for name, holds in _checks(release).items():
            if not holds:
                raise FormatError(
                    f"the {name} of the release is not what its plan and schema say: the record was edited."
                )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise FormatError(f"the release's record is incomplete or damaged: {error!r}.") from error


def _check_price(release: Any) -> None:
    text = json.dumps(release.plan, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if hashlib.sha256(text.encode()).hexdigest() != release.plan_digest:
        raise FormatError("the plan does not match its digest: the record was edited.")
    found = reprice(release.plan)
    planned = Guarantee.from_json(release.plan["guarantee"])
    for said, where in ((release.guarantee, "recorded"), (planned, "planned")):
        if (said.curve, said.slack) != (found.curve, found.slack):
            raise FormatError(f"the {where} guarantee {said.curve!r} is not what the plan costs, {found.curve!r}.")
        if (said.adjacency, said.draws) != (found.adjacency, found.draws):
            raise FormatError(f"the {where} neighbours or number of draws are not those of the plan.")
        if said.trust not in (found.trust, "not private"):
            raise FormatError(f"the {where} guarantee says {said.trust!r}; the plan is {found.trust!r}.")
        if _reasons(said) != _reasons(found):
            raise FormatError(f"the {where} theorem or its hypotheses are not those that price the plan.")


def _reasons(guarantee: Guarantee) -> tuple[Any, ...]:
    """Why a guarantee holds: theorem, source and hypotheses; their values are shown rounded and follow from the plan."""
    hypotheses = [(a.name, a.symbol, a.required, a.origin) for a in guarantee.assumptions]
    return guarantee.theorem, guarantee.source, hypotheses


def _checks(release: Any) -> dict[str, bool]:
    """What else must agree, by the name of the part."""
    plan, schema = release.plan, Schema.from_json(json.loads(release.schema["document"]))
    model = model_from_json(plan["model"])
    labels, shape = released(model, schema)
    return {
        "promise": release.promise == promise_of(plan, release.guarantee),
        "number of records": isinstance(plan["n"], int) and plan["n"] >= 1,
        "number of draws": release.draws.shape[0] * release.draws.shape[1] == plan["draws"],
        "kind": release.kind == ("estimate" if plan["goal"] == "estimate" else "draws"),
        "unit": release.guarantee.unit == release.schema.get("unit"),
        "schema": schema.digest == release.schema["digest"],
        "shape": release.draws.labels == labels and release.draws.shape[2:] == shape,
        "transcript or totals": retold(plan, model, release.draws),
    }
