"""A release file that was edited can make any question fail anywhere. Then the record is checked, and blamed by name.

The checksums of a file show damage, not forgery: whoever edits it makes new ones. So a command that stops at an unforeseen
error while it answers from a release checks the record of that release; only a sound record makes it a fault of Sfumato.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from sfumato import _validate
from sfumato.errors import FormatError, SfumatoError

# What every record says, by its place in the document. Where a part may be absent, None stands among the kinds.
_NUMBER = (int, float)
_FIELDS: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "plan": (Mapping,),
    "plan_digest": (str,),
    "schema": (Mapping,),
    "receipt": (Mapping, type(None)),
    "plan.mechanism": (str,),
    "plan.model": (Mapping,),
    "plan.n": (int,),
    "plan.draws": (int,),
    "plan.goal": (str,),
    "plan.keep": (list,),
    "plan.parameters": (Mapping,),
    "plan.guarantee": (Mapping,),
    "plan.expected": (Mapping,),
    "plan.expected.value": _NUMBER,
    "plan.cost": (Mapping,),
    "plan.target": (Mapping, type(None)),
    "schema.name": (str,),
    "schema.unit": (str,),
    "schema.digest": (str,),
    "schema.document": (str,),
    "receipt.ledger": (str,),
    "receipt.request_id": (str,),
    "receipt.seq": (int,),
}
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    Mapping: "a table",
    type(None): "absent",
}
# What Python raises where a document is not what the code takes it for. A SfumatoError has its own sentence.
_UNFORESEEN = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, NotImplementedError)


def blames_a_forged_file(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command that answers from a release, its argument `file`."""

    @wraps(command)
    def run(*words: Any, **options: Any) -> None:
        try:
            command(*words, **options)
        except _UNFORESEEN as error:
            if not isinstance(error, SfumatoError):
                _check_file(Path(options["file"]))
            raise

    return run


def _check_file(file: Path) -> None:
    """Raise FormatError with what is wrong with the record, or nothing where it is sound."""
    from sfumato.release import load

    try:
        found = load(file)
        check_record(found)
        found.verify()
    except SfumatoError as error:
        raise FormatError(f"{file.name} is no sound release: {error}") from None
    except _UNFORESEEN:
        raise FormatError(f"{file.name} is no sound release: its record has parts that cannot be read.") from None


def check_record(release: Any) -> None:
    """Raise FormatError at the first field of a release that is absent or of another kind than every release has."""
    if not all(isinstance(label, str) for label in release.draws.labels):
        raise FormatError("its labels must be texts.")
    for place, kinds in _FIELDS.items():
        value: Any = getattr(release, place.split(".")[0])
        for key in place.split(".")[1:]:
            value = None if value is None else value.get(key, _ABSENT)
        if value is None and place.startswith("receipt"):
            continue
        if not isinstance(value, kinds) or isinstance(value, bool):
            wanted = " or ".join(_WORDS[kind] for kind in kinds)
            raise FormatError(f"{place} must be {wanted}; it is {_validate.shown(value)}.")
    for name, number in release.plan["parameters"].items():
        if not isinstance(number, int | float):
            raise FormatError(f"plan.parameters.{name} must be a number; it is {_validate.shown(number)}.")


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()
