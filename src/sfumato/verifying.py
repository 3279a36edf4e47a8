"""Whether the record of a release adds up: its price, computed again, and everything that follows from plan and schema."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sfumato.errors import FormatError
from sfumato.mechanisms import reprice, retold
from sfumato.models.reading import model_from_json
from sfumato.models.regression import released
from sfumato.privacy.guarantee import Guarantee
from sfumato.schema import Schema
from sfumato.wording import promise_of


def verify(release: Any) -> None:
    """Raise FormatError where a record contradicts itself; see `Release.verify`."""
    text = json.dumps(release.plan, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if hashlib.sha256(text.encode()).hexdigest() != release.plan_digest:
        raise FormatError("the plan does not match its digest: the record was edited.")
    try:
        found = reprice(release.plan)
        planned = Guarantee.from_json(release.plan["guarantee"])
        expected = promise_of(release.plan, release.guarantee)
        goal, draws = release.plan["goal"], release.plan["draws"]
    except (KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"the plan's record is incomplete: {error!r}.") from error
    for said, where in ((release.guarantee, "recorded"), (planned, "planned")):
        if (said.curve, said.slack) != (found.curve, found.slack):
            raise FormatError(f"the {where} guarantee {said.curve!r} is not what the plan costs, {found.curve!r}.")
        if (said.adjacency, said.draws) != (found.adjacency, found.draws):
            raise FormatError(f"the {where} neighbours or number of draws are not those of the plan.")
        if said.trust not in (found.trust, "not private"):
            raise FormatError(f"the {where} guarantee says {said.trust!r}; the plan is {found.trust!r}.")
    checks = {
        "promise": release.promise == expected,
        "number of draws": release.draws.shape[0] * release.draws.shape[1] == draws,
        "kind": release.kind == ("estimate" if goal == "estimate" else "draws"),
        "unit": release.guarantee.unit == release.schema.get("unit"),
    }
    schema = Schema.from_json(json.loads(release.schema["document"]))
    checks["schema"] = schema.digest == release.schema["digest"]
    model = model_from_json(release.plan["model"])
    labels, shape = released(model, schema)
    checks["shape"] = release.draws.labels == labels and release.draws.shape[2:] == shape
    checks["transcript or totals"] = retold(release.plan, model, release.draws)
    for name, holds in checks.items():
        if not holds:
            raise FormatError(f"the {name} of the release is not what its plan and schema say: the record was edited.")
