"""Reading a hand-written TOML file: every error is one sentence with the file's name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError, FormatError

# Far more than a hand-written file has, and little enough for memory. A device such as /dev/zero has no end.
LARGEST = 16 * 2**20
# The longest text: names, paths (PATH_MAX of Linux) and choices.
_TEXT = 4096


def read_toml(file: Path) -> dict[str, Any]:
    """Return the document, with whole numbers of 64 bits and texts without control characters, or raise FormatError."""
    with file.open("rb") as stream:
        raw = stream.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise FormatError(f"{file.name} is larger than {LARGEST // 2**20} MiB: it is no file that a person wrote.")
    try:
        document = tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{file.name} is not UTF-8 text: byte {error.start + 1} cannot be read. Save it as UTF-8 in your editor."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{file.name} cannot be read as TOML: {error}") from error
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        raise FormatError(f"{file.name} cannot be read as TOML: a number or a list in it is too long.") from None
    try:
        _validate.document(document)
    except ArgumentError as error:
        raise FormatError(f"{file.name}: {error}") from None
    _check_texts(file.name, document, "")
    return document


def _check_texts(file: str, value: Any, where: str) -> None:
    """Refuse a text that is too long or holds the character 0, anywhere in the document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_texts(file, inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for inner in value:
            _check_texts(file, inner, where)
    elif isinstance(value, str) and (len(value) > _TEXT or "\x00" in value):
        raise FormatError(
            f"{file}: {_validate.shown(where)[1:-1]} must be a text of at most {_TEXT} characters without the character 0; got "
            f"{_validate.shown(value)}."
        )
