"""Lists of levels as code books write them: f|m|x, "1=male; 2=female", "1, Male | 2, Female", one to a line."""

from __future__ import annotations

import re

from sfumato.errors import ArgumentError
from sfumato.schema.columns import REQUIRED
from sfumato.schema.date_format import day_reader

# Marks between the entries of a list, the strongest first: an entry may hold the weaker ones.
_MARKS = ("|", "\n", ";", ",")
# Marks between a code and its label, each with the form that every entry must have for it to be one.
_LABELS = (
    re.compile(r"([^=]+?)\s*=\s*(.*)", re.DOTALL),
    re.compile(r"([\w.+-]+)\s*:\s+(.*)", re.DOTALL),
    re.compile(r"([+-]?[\w.]+)\s*,\s*(.*)", re.DOTALL),
    re.compile(r"([+-]?[0-9]+)\s+(\D.*)", re.DOTALL),
)
# Bounds written as one text: 0-110, 0..110, 18 to 99.
_RANGE = re.compile(r"([+-]?[0-9.]*[0-9])\s*(?:-|–|\.\.+|to|thru|through)\s*([+-]?[0-9.]*[0-9])", re.IGNORECASE)


def read_levels(text: str) -> list[tuple[str, str]]:
    """Return (code, label) for every entry of a list; the label is "" where the list has none."""
    mark = next((mark for mark in _MARKS if mark in text), None)
    parts = [text] if mark is None else text.split(mark)
    entries = [_unquoted(part) for part in parts if part.strip()]
    for form in _LABELS:
        matches = [form.fullmatch(entry) for entry in entries]
        if entries and all(matches):
            return [(_unquoted(match[1]), _unquoted(match[2])) for match in matches if match]
    return [(entry, "") for entry in entries]


def read_range(text: str) -> tuple[str, str] | None:
    """Return the two bounds of a text such as 0-110; None for everything else."""
    match = _RANGE.fullmatch(text.strip())
    return None if match is None else (match[1], match[2])


def date_format(text: str) -> str:
    """The format of a date as a schema states it, from %d.%m.%Y or DD.MM.YYYY; REQUIRED for everything else."""
    given = text.strip() if "%" in text else text.strip().casefold()
    for word, directive in (("yyyy", "%Y"), ("yy", "%y"), ("mm", "%m"), ("dd", "%d")):
        given = given if "%" in text else given.replace(word, directive)
    try:
        day_reader(given)
    except ArgumentError:
        return REQUIRED
    return given


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
