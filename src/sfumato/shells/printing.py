"""The output of the commands: text for people, one JSON document for programs, and one line for an error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from sfumato import errors
from sfumato._validate import visible
from sfumato.shells.file_kinds import KEPT, NAMES, kind_of

# Exit codes for scripts. A shell reports 130 for a command that Ctrl-C ended.
FAULT, WRONG_USE, REFUSED, UNMET, INTERRUPTED = 1, 2, 3, 4, 130
# Environment variable: any value but "" and "0" prints the trace of a fault of the program.
TRACE = "SFUMATO_TRACEBACK"
# Longer messages are cut in the middle. The longest of the library's own have about 900 characters.
_LONGEST = 1500
# A URL with a password: from its scheme to the last @ before a space.
_CREDENTIALS = re.compile(r"(\b[A-Za-z][\w+.-]+:/+)\S*:\S*@")
# A password in a connection string or a URL's query: password=... or password='...'.
_PASSWORD = re.compile(r"(password\s*=\s*)('[^']*'|[^&\s'\"]*)", re.IGNORECASE)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there already.")]


class Interrupted(Exception):
    """Ctrl-C, with a sentence on what was charged. typer would turn a KeyboardInterrupt into a silent exit."""


def emit(as_json: bool, document: Any, text: str) -> None:
    """Print the document as JSON, or the text with control characters escaped; numbers that JSON lacks are null."""
    if as_json:
        typer.echo(json.dumps(_plain(document), indent=2, allow_nan=False))
    else:
        typer.echo("\n".join(map(visible, text.split("\n"))))


def write_new(output: Path | None, text: str, wrote: str, overwrite: bool = False, encoding: str = "utf-8") -> None:
    """Write the text to a new file and print `wrote`; print the text itself where no file is given.

    A character that another encoding does not have is written as a question mark.
    """
    if output is None:
        typer.echo(text, nl=False)
        return
    check_new(output, overwrite)
    output.write_text(text, encoding=encoding, errors="replace")
    typer.echo(wrote)


def check_new(output: Path | None, overwrite: bool, *inputs: Path, option: str = "") -> None:
    """Refuse a file that cannot be written, or that is there and must not be written over, before any work is done.

    Releases, ledgers, keys and the files that the command reads are never written over. `option` begins the message where a command
    writes several files.
    """
    if output is None:
        return
    name = f"{option}: {output}" if option else str(output)
    if output.is_dir():
        raise errors.ArgumentError(f"{name} is a folder; name a file in it.")
    if not output.parent.is_dir():
        raise errors.ArgumentError(
            f"{name} cannot be written: the folder {output.parent} does not exist; create it first."
        )
    if not output.exists():
        return
    if not overwrite:
        raise errors.ArgumentError(f"{name} is there already; add --force to write over it, or choose another name.")
    kind = kind_of(output)
    kept = NAMES[kind] if kind in KEPT else ""
    if any(output.samefile(each) for each in inputs if each.exists()):
        kept = "the file that is read"
    if kept:
        raise errors.ArgumentError(f"{name} is {kept}, which is never written over; choose another name.")


def _plain(value: Any) -> Any:
    """Values as JSON has them: arrays as lists, and None for NaN and for infinity, such as an odds ratio above 1e308."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def exit_code(error: Exception) -> int:
    """REFUSED for errors of ledgers and earlier releases, UNMET where no mechanism meets the target, else WRONG_USE."""
    if isinstance(error, errors.LedgerError | errors.PublishError):
        return REFUSED
    if isinstance(error, errors.CalibrationError | errors.MechanismRefused | errors.AssumptionError):
        return UNMET
    return WRONG_USE


def fail(error: Exception) -> NoReturn:
    """Print the error on one line or as JSON, and exit with its code."""
    what = str(error)
    if isinstance(error, OSError) and not isinstance(error, errors.SfumatoError):
        what = of_file(error)
    if isinstance(error, errors.LedgerExhausted):
        what += " In a spec file: a smaller epsilon; sfumato ledger show says what is left."
    leave(what, type(error).__name__, exit_code(error))


def fault(error: BaseException, command: str) -> NoReturn:
    """Report a bug by the type of the exception alone: its text may quote a cell of the data."""
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
    line = one_line(what)
    typer.echo(json.dumps({"error": line, "kind": kind}) if "--json" in sys.argv else f"sfumato: {line}", err=True)
    sys.exit(code)


def redacted(text: str) -> str:
    """The text without the passwords of URLs and connection strings in it."""
    for word in sys.argv:
        # A typed password may hold spaces, which _CREDENTIALS does not match: the whole argument is replaced.
        if "://" in word:
            text = text.replace(word, re.sub(r"://.*:.*@", "://***@", word, flags=re.DOTALL))
    return _PASSWORD.sub(r"\1***", _CREDENTIALS.sub(r"\1***@", text))


def one_line(text: str) -> str:
    """The text as one line: passwords removed, control characters escaped, cut in the middle where it is too long."""
    # The items of a list are lines indented by two spaces: in one line they are separated by semicolons.
    listed = re.sub(r"(?<![:.])\n {2}(?=\S)", "; ", redacted(text))
    joined = " ".join(listed.split())
    shown = "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in joined)
    if len(shown) <= _LONGEST:
        return shown
    # The beginning names the problem and the end the remedy.
    half = _LONGEST // 2
    return f"{shown[:half]} [{len(shown) - 2 * half} characters left out] {shown[-half:]}"


def of_file(error: OSError) -> str:
    """The operating system's error as a sentence with the file's name."""
    name = error.filename
    if name is None:
        return error.strerror or "the operating system refused to read or write a file."
    shown = repr(os.fsdecode(name) if isinstance(name, str | bytes) else name)
    if isinstance(error, FileNotFoundError):
        folder = Path(os.fsdecode(name)).parent if isinstance(name, str | bytes) else Path()
        if not folder.is_dir():
            return f"there is no file {shown}: the folder {str(folder)!r} does not exist."
        return f"there is no file {shown}."
    if isinstance(error, IsADirectoryError):
        return f"{shown} is a folder; a file is needed."
    if isinstance(error, NotADirectoryError):
        return f"{shown} cannot be: a part of this path is a file and not a folder."
    if isinstance(error, PermissionError):
        return f"{shown} may not be read or written by this user (permission denied)."
    return f"{shown} could not be read or written: {error.strerror or type(error).__name__}."
