"""Keys of a spec's tables: unknown ones are refused, and the error suggests the nearest known word."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from sfumato.errors import FormatError


def known_keys(file: str, table: Any, keys: tuple[str, ...], what: str) -> None:
    """Refuse an unknown key; the error suggests the nearest known one."""
    if not isinstance(table, Mapping):
        raise FormatError(f"{file}: {what} must be a table.")
    for key in table:
        if key not in keys:
            raise FormatError(f"{file}: {what} has the keys {', '.join(keys)}; got {key!r}.{nearest(key, keys)}")


def nearest(word: str, known: tuple[str, ...], similarity: float = 0.6) -> str:
    """A suggestion of the nearest known word, or nothing where none is similar."""
    near = difflib.get_close_matches(word, known, 1, similarity)
    return f" Did you mean {near[0]!r}?" if near else ""


def are_names(value: Any) -> bool:
    """Whether a value of the file is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
