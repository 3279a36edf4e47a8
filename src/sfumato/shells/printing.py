"""How the commands speak: plain text for people, one JSON document for programs, and one line for what went wrong."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from sfumato import errors

# What a caller's script can tell apart. 1 is left for faults of the program itself.
WRONG_USE, REFUSED, UNMET = 2, 3, 4


def emit(as_json: bool, document: Any, text: str) -> None:
    """Print the document as JSON, or the text."""
    typer.echo(json.dumps(document, indent=2, default=_plain, allow_nan=False) if as_json else text)


def _plain(value: Any) -> Any:
    """Arrays and other numbers as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def exit_code(error: Exception) -> int:
    """3 where a ledger said no, 4 where no mechanism reaches what was asked, 2 for everything else that was asked wrongly."""
    if isinstance(error, errors.LedgerError | errors.PublishError):
        return REFUSED
    if isinstance(error, errors.CalibrationError | errors.MechanismRefused | errors.AssumptionError):
        return UNMET
    return WRONG_USE


def fail(error: Exception) -> None:
    """Say what went wrong, on one line or as JSON, and leave."""
    if isinstance(error, OSError):
        what = f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")
    else:
        what = str(error)
        if isinstance(error, errors.LedgerExhausted):
            what += " In a spec file: a smaller epsilon; sfumato ledger show says what is left."
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": what, "kind": type(error).__name__}), err=True)
    else:
        typer.echo(f"sfumato: {what}", err=True)
    sys.exit(exit_code(error))
