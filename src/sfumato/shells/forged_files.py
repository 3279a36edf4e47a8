"""Unforeseen errors of commands that read a release file: the file's record is verified, and reported if it is at fault.

The checksums of a file show damage, not forgery: an editor can recompute them, and an edited record can make any command
fail. A command that stops at an unforeseen error therefore verifies the record; only with a sound one it is a bug of Sfumato.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from sfumato import _validate
from sfumato.errors import FormatError, SfumatoError

# The fields of every record by their types; None is among the types of a part that may be absent. Tables come first, since
# the other fields are looked up in them.
_FIELDS: dict[tuple[type, ...], str] = {
    (Mapping,): "plan schema plan.model plan.parameters plan.guarantee plan.expected plan.cost",
    (Mapping, type(None)): "receipt plan.target",
    (str,): "kind plan_digest plan.mechanism plan.goal schema.name schema.unit schema.digest schema.document "
    "receipt.ledger receipt.request_id",
    (int,): "plan.n plan.draws receipt.seq",
    (int, float): "plan.expected.value",
    (list,): "plan.keep",
}
# The types by their names in TOML and JSON.
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    Mapping: "a table",
    type(None): "absent",
}
# The errors that Python raises where a document has another structure than the code expects.
_UNFORESEEN = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, NotImplementedError)


def blames_a_forged_file(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command that answers from a release, its argument `file`."""

    @wraps(command)
    def run(*words: Any, **options: Any) -> None:
        """Run the command; an unforeseen error of a forged file becomes a FormatError. A SfumatoError passes as it is."""
        try:
            command(*words, **options)
        except _UNFORESEEN as error:
            if not isinstance(error, SfumatoError):
                _check_file(Path(options["file"]))
            raise

    return run


def _check_file(file: Path) -> None:
    """Raise FormatError if the record of the release is not sound."""
    from sfumato.release import load

    try:
        release = load(file)
        check_record(release)
        release.verify()
    except SfumatoError as error:
        raise FormatError(f"{file.name} is no sound release: {error}") from None
    except _UNFORESEEN:
        raise FormatError(f"{file.name} is no sound release: its record has parts that cannot be read.") from None


def check_record(release: Any) -> None:
    """Raise FormatError at the first field of a release that is absent or of the wrong type."""
    if not all(isinstance(label, str) for label in release.draws.labels):
        raise FormatError("its labels must be texts.")
    for place, kinds in ((place, kinds) for kinds, places in _FIELDS.items() for place in places.split()):
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
