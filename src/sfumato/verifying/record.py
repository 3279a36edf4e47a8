"""The input of the checks: a release with its model and schema read back and its price recomputed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.errors import FormatError
from sfumato.mechanisms import repriced
from sfumato.mechanisms.plan import VERSION
from sfumato.models.model import Model
from sfumato.privacy.codec import refuse_unknown
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import task_of
from sfumato.procedures.protocol import Procedure, Task
from sfumato.schema import Schema

# The fields of a plan's document (`mechanisms.plan`); those of version 2 also name the procedure.
_PLAN_KEYS = (
    "sfumato", "version", "mechanism", "model", "n", "draws", "goal", "keep", "parameters", "guarantee", "expected", "cost",
    "target",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A release whose plan matches its digest, with the model and schema that it was made with."""

    release: Any
    plan: Mapping[str, Any]
    procedure: Procedure[Any, Any]
    task: Task[Any, Any]
    schema: Schema

    @classmethod
    def of(cls, release: Any) -> Record:
        """Read model and schema back, from a plan that matches its digest."""
        text = json.dumps(release.plan, sort_keys=True, separators=(",", ":"), allow_nan=False)
        if hashlib.sha256(text.encode()).hexdigest() != release.plan_digest:
            raise FormatError("the plan does not match its digest: the record was edited.")
        version = release.plan["version"]
        first = release.written_promise is not None  # a file of version 1, which held plans of version 1 alone
        if type(version) is not int or not 1 <= version <= VERSION or (version == 1) != first:
            raise FormatError(f"a plan must say version 1 to {VERSION}; got {version!r}. Update Sfumato.")
        keys = (
            _PLAN_KEYS
            + (("procedure",) if version > 1 else ())
            + tuple(name for name in ("persons", "weight") if name in release.plan)
        )
        plan = refuse_unknown(release.plan, keys, "a plan")
        if plan["sfumato"] != "plan":
            raise FormatError(f"a plan must say that it is one; got {plan['sfumato']!r}.")
        return cls(release, plan, *task_of(plan), Schema.from_json(release.schema["document"]))

    @property
    def model(self) -> Model:
        """The model, read back."""
        return self.task.model  # type: ignore[no-any-return]

    @cached_property
    def price(self) -> Guarantee:
        """The guarantee of the recorded model, mechanism, procedure and numbers, recomputed."""
        return repriced(self.plan["mechanism"], self.procedure.NAME, self.plan["goal"], self.task)[1]


def require(holds: bool, what: str) -> None:
    """Raise FormatError, naming the part, unless it holds."""
    if not holds:
        raise FormatError(f"the {what} of the release is not what its plan and schema say: the record was edited.")
