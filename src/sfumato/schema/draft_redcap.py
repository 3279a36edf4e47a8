"""Data dictionaries of REDCap, by the names that its column headings have in small letters."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.schema.draft_entries import Entry, is_number
from sfumato.schema.draft_levels import read_levels

# Headings of a REDCap data dictionary.
_NAME, _TYPE, _LABEL = "variable / field name", "field type", "field label"
_CHOICES = "choices, calculations, or slider labels"
_VALIDATION = "text validation type or show slider number"
_LOWER, _UPPER = "text validation min", "text validation max"
# How raw exports write dates and times, by the validation type without its order of day, month and year.
_FORMATS = {"datetime": "%Y-%m-%d %H:%M", "datetime_seconds": "%Y-%m-%d %H:%M:%S"}
# Field types with a list of choices, and those that hold nothing to be counted.
_LISTS, _OTHER = ("radio", "dropdown", "select"), ("notes", "file", "descriptive", "signature", "sql")


def redcap_entries(lines: Iterable[tuple[int, dict[str, str]]]) -> list[Entry]:
    """Return the variables; a checkbox is exported as one column of 0 and 1 for each choice."""
    entries: list[Entry] = []
    for _, cells in lines:
        kind = cells[_TYPE].casefold()
        entry = Entry(cells[_NAME], cells.get(_LABEL, ""), _kind(kind, cells.get(_VALIDATION, "").casefold()))
        if kind in _LISTS:
            entry.levels = read_levels(cells.get(_CHOICES, ""))
        if kind == "checkbox":
            entries += [
                Entry(f"{entry.name}___{code.casefold()}", f"{entry.label}: {label}", "boolean")
                for code, label in read_levels(cells.get(_CHOICES, ""))
            ]
            continue
        entry.lower, entry.upper = (_bound(entry.kind, cells.get(what, "")) for what in (_LOWER, _UPPER))
        entry.format = _FORMATS.get(cells.get(_VALIDATION, "").casefold().rpartition("_")[0], "%Y-%m-%d")
        if not entry.kind:
            entry.omitted = "holds free text or files and is left out."
        entries.append(entry)
    return entries


def _kind(field: str, validation: str) -> str:
    if field in _LISTS:
        return "category"
    if field in ("yesno", "truefalse", "checkbox"):
        return "boolean"
    if field in ("calc", "slider"):
        return "number"
    if field in _OTHER:
        return ""
    if validation.startswith(("date", "datetime")):
        return "date"
    return {"integer": "integer"}.get(validation, "number" if validation.startswith("number") else "")


def _bound(kind: str, text: str) -> str:
    """A bound that the book states as a number or, for dates, as 2020-01-31; today and other formulas are left open."""
    if kind == "date":
        return text[:10] if len(text) >= 10 and text[4] == text[7] == "-" else ""
    return text if is_number(text) else ""
