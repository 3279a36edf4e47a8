"""How the commands speak: plain text for people, one JSON document for programs, and one line for what went wrong."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from typing import Any, NoReturn

import typer

from sfumato import errors
from sfumato._validate import visible

# What a caller's script can tell apart. A shell reports 130 for a command that Ctrl-C ended.
FAULT, WRONG_USE, REFUSED, UNMET, INTERRUPTED = 1, 2, 3, 4, 130
# Set to anything but nothing or 0, it prints the trace of a fault of the program.
TRACE = "SFUMATO_TRACEBACK"
# A message longer than this hides what it says. The longest of the library's own have about 900 characters.
_LONGEST = 1500
# A URL with a password: from its scheme to the last @ before a space.
_CREDENTIALS = re.compile(r"(\b[A-Za-z][\w+.-]+:/+)\S*:\S*@")
_PASSWORD = re.compile(r"(password\s*=\s*)('[^']*'|[^&\s'\"]*)", re.IGNORECASE)


class Interrupted(Exception):
    """Ctrl-C, with the sentence that says what was charged. typer would turn a KeyboardInterrupt into a silent exit."""


def emit(as_json: bool, document: Any, text: str) -> None:
    """Print the document as JSON, or the text, whose lines hold nothing that a terminal would act on."""
    if as_json:
        typer.echo(json.dumps(document, indent=2, default=_plain, allow_nan=False))
    else:
        typer.echo("\n".join(map(visible, text.split("\n"))))


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


def fail(error: Exception) -> NoReturn:
    """Say what was asked wrongly, on one line or as JSON, and leave."""
    if isinstance(error, OSError) and not isinstance(error, errors.SfumatoError):
        what = of_file(error)
    else:
        what = str(error)
        if isinstance(error, errors.LedgerExhausted):
            what += " In a spec file: a smaller epsilon; sfumato ledger show says what is left."
    leave(what, type(error).__name__, exit_code(error))


def fault(error: BaseException, command: str) -> NoReturn:
    """Report a fault of the program by its kind alone: the text of an unforeseen exception may quote a cell."""
    if os.environ.get(TRACE, "0") not in ("", "0"):
        traceback.print_exception(error)
    leave(
        f"this is a fault of Sfumato, not of your files: '{command}' stopped at an unforeseen {type(error).__name__}. "
        f"Set {TRACE}=1 and repeat to see the trace; it may quote cells of the data, so read it before you pass it on.",
        "Fault",
        FAULT,
    )


def leave(what: str, kind: str, code: int) -> NoReturn:
    """Print the one line, or the JSON document where --json was asked for, and exit."""
    said = one_line(what)
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": said, "kind": kind}), err=True)
    else:
        typer.echo(f"sfumato: {said}", err=True)
    sys.exit(code)


def redacted(text: str) -> str:
    """The text without the passwords of URLs and connection strings in it."""
    for word in sys.argv:
        if (
            "://" in word
        ):  # a password that was typed may hold spaces: the whole word is known, so all of it is replaced
            text = text.replace(word, re.sub(r"://.*:.*@", "://***@", word, flags=re.DOTALL))
    return _PASSWORD.sub(r"\1***", _CREDENTIALS.sub(r"\1***@", text))


def one_line(text: str) -> str:
    """One line that a terminal shows as it is: no password, control characters escaped, and what is too long cut."""
    joined = " ".join(redacted(text).split())
    shown = "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in joined)
    if len(shown) <= _LONGEST:
        return shown
    half = _LONGEST // 2
    return f"{shown[:half]} [{len(shown) - 2 * half} characters left out] {shown[-half:]}"


def of_file(error: OSError) -> str:
    """What the operating system refused, with the file."""
    name = error.filename
    if name is None:
        return error.strerror or "the operating system refused to read or write a file."
    shown = repr(os.fsdecode(name) if isinstance(name, str | bytes) else name)
    if isinstance(error, FileNotFoundError):
        return f"there is no file {shown}."
    if isinstance(error, IsADirectoryError):
        return f"{shown} is a folder; a file is needed."
    if isinstance(error, NotADirectoryError):
        return f"{shown} cannot be: a part of this path is a file and not a folder."
    if isinstance(error, PermissionError):
        return f"{shown} may not be read or written by this user (permission denied)."
    return f"{shown} could not be read or written: {error.strerror or type(error).__name__}."
