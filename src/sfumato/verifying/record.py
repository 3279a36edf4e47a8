"""What the checks look at: a release with its model, its schema and its price, each read back or computed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.errors import FormatError
from sfumato.mechanisms import reprice
from sfumato.models.reading import model_from_json
from sfumato.privacy.codec import refuse_unknown
from sfumato.privacy.guarantee import Guarantee
from sfumato.schema import Schema

_PLAN_KEYS = (
    "sfumato", "version", "mechanism", "model", "n", "draws", "goal", "keep", "parameters", "guarantee", "expected", "cost",
    "target",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A release whose plan matches its digest, with the model and schema that it was made with."""

    release: Any
    plan: Mapping[str, Any]
    model: Any
    schema: Schema

    @classmethod
    def of(cls, release: Any) -> Record:
        """Read model and schema back, from a plan that matches its digest."""
        text = json.dumps(release.plan, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if hashlib.sha256(text.encode()).hexdigest() != release.plan_digest:
            raise FormatError("the plan does not match its digest: the record was edited.")
        plan = refuse_unknown(release.plan, _PLAN_KEYS, "a plan")
        if plan["sfumato"] != "plan" or type(plan["version"]) is not int or plan["version"] != 1:
            raise FormatError(f"a plan must say version 1; got {plan['version']!r}. Update Sfumato.")
        schema = Schema.from_json(release.schema["document"])
        return cls(release, plan, model_from_json(plan["model"]), schema)

    @cached_property
    def price(self) -> Guarantee:
        """What the recorded model, mechanism and parameters cost, computed again."""
        return reprice(self.plan)


def require(holds: bool, what: str) -> None:
    """Raise FormatError, naming the part, unless it holds."""
    if not holds:
        raise FormatError(f"the {what} of the release is not what its plan and schema say: the record was edited.")
