"""Code books that are text files: one line per variable, one line per value, or a data dictionary of REDCap.

A book is known by the names of its columns alone. Their names are not shown in errors: in a file of data without a header
they would be a record.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from sfumato.errors import ArgumentError
from sfumato.schema.draft_entries import Entry, is_number, kind_of
from sfumato.schema.draft_levels import date_format, read_levels, read_range
from sfumato.schema.draft_redcap import redcap_entries
from sfumato.schema.first_line import split
from sfumato.schema.form import SEPARATORS

# Columns of a code book by their names in small letters, with marks between words as spaces.
_SYNONYMS = {
    "name": "name, variable, variable name, var, varname, var name, field, field name, column, column name",
    "type": "type, data type, datatype, field type, variable type, kind, class, measure, measurement level, level of measurement",
    "label": "label, description, variable label, question, question text, title, definition, var label",
    "lower": "lower, min, minimum, lower bound, minimum value, min value, low, from",
    "upper": "upper, max, maximum, upper bound, maximum value, max value, high, to",
    "levels": "levels, values, value labels, codes, categories, choices, options, allowed values, permitted values, valid values, "
    "response options, coding, code list, range",
    "value": "value, code, level, category, response",
    "value label": "value label, code label, level label, meaning, value description, code description",
    "missing": "missing",
    "format": "format, date format, display format",
    "missing codes": "missing codes, missing values, missing value, missing code, na values, na codes, nodata",
    "": "unit, units, note, notes, comment, comments, remark, remarks, section, group, position, width, length, source, "
    "universe, required, no, number, nr, order, index, decimals, role, form, table",
}
KNOWN = {word: name for name, words in _SYNONYMS.items() for word in words.split(", ")}
_TYPES = "number, integer, category, boolean and date"
# The refusal of a file that is no code book.
_NO_BOOK = (
    "a data dictionary is a text file whose first line has the columns name (or variable, field), type, lower (min), upper "
    "(max), levels (values, codes), missing, missing codes and label (description), name and one of type, lower, upper and "
    "levels at least; or the columns variable, value and label; or a data dictionary of REDCap. This file is none of these. "
    "A draft is never made from rows of data. If this is a file of data whose first line names its columns, add --header "
    "(header=True): that line alone is then read."
)
# Of these a book of one line per variable has at least one.
_NEEDED = {"type", "lower", "upper", "levels"}


def dictionary_entries(path: Path) -> list[Entry]:
    """Return the variables of a code book."""
    try:
        return _read(path)
    except csv.Error as error:  # a quote that does not close swallows the rest of the file, a field beyond the limit
        fault = str(error)
    raise ArgumentError(f"the data dictionary is no well-formed .csv file: {fault}.")


def _read(path: Path) -> list[Entry]:
    with path.open("rb") as raw:
        wide = raw.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    with path.open(encoding="utf-16" if wide else "utf-8-sig", errors="replace", newline="") as file:
        first = file.readline()
    for separator in sorted(SEPARATORS, key=lambda mark: -first.count(mark)):
        columns = split(first, separator) or []
        words = [" ".join(name.replace("_", " ").replace("-", " ").casefold().split()) for name in columns]
        if "variable / field name" in words and "field type" in words:
            return redcap_entries(_lines(path, separator, words))
        known = _first_of_each([KNOWN.get(word) for word in words])
        by_value = "value" in known and ("label" in known or "value label" in known)
        if None not in known and "name" in known and (by_value or set(known) & _NEEDED):
            lines = _lines(path, separator, [name or f"({place})" for place, name in enumerate(known)])
            return _by_value(lines) if by_value else _by_variable(lines)
    raise ArgumentError(_NO_BOOK)


def _first_of_each(known: list[str | None]) -> list[str | None]:
    """A book may have a label and a description, a type and a measure: the first of each is taken. Two names are none."""
    if known.count("name") > 1:
        return [None]
    return ["" if name in known[:place] else name for place, name in enumerate(known)]


def _encoding(path: Path) -> str:
    """The encoding of a code book, which is public: UTF-16 and UTF-8 show themselves, others are taken for that of Windows."""
    with path.open("rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
    try:
        with path.open(encoding="utf-8-sig") as text:
            while text.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _lines(path: Path, separator: str, names: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the cells of every line after the first; blank lines are left out."""
    with path.open(encoding=_encoding(path), errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter=separator, strict=True)
        next(reader)
        for cells in reader:
            if len(cells) > len(names):
                raise ArgumentError(
                    f"line {reader.line_num} of the data dictionary must have a name and at most {len(names)} fields; "
                    f"put quotes around a text with {separator!r}."
                )
            if any(cell.strip() for cell in cells):
                padded = [*cells, *[""] * (len(names) - len(cells))]
                yield reader.line_num, {name: cell.strip() for name, cell in zip(names, padded, strict=True)}


def _by_variable(lines: Iterator[tuple[int, dict[str, str]]]) -> list[Entry]:
    """One line per variable. Types of which none is known, without bounds or levels, are those of a file of data (name, class)."""
    entries: dict[str, Entry] = {}
    types: set[str] = set()
    stated = False
    for line, cells in lines:
        name = cells["name"]
        if not name:
            raise ArgumentError(f"line {line} of the data dictionary must have a name.")
        if name in entries:
            # The name is not shown: if this is a file of data after all, it is a cell.
            raise ArgumentError(
                f"line {line} of the data dictionary names a variable that an earlier line names; each has one line."
            )
        entries[name] = _entry(name, cells, line)
        types.add(cells.get("type", ""))
        stated = stated or any(cells.get(what) for what in ("lower", "upper", "levels"))
    if types - {""} and not stated and not any(map(kind_of, types)):
        raise ArgumentError(_NO_BOOK)
    return list(entries.values())


def _by_value(lines: Iterator[tuple[int, dict[str, str]]]) -> list[Entry]:
    """One line per value: a line without a name goes on with the variable of the line before."""
    entries: dict[str, Entry] = {}
    name = ""
    for line, cells in lines:
        name = cells["name"] or name
        if not name:
            raise ArgumentError(f"line {line} of the data dictionary must have a name.")
        value, label = cells.pop("value"), cells.get("value label", "")
        if name not in entries:
            # Without a column for labels of values, `label` is the one.
            own = cells if "value label" in cells else {**cells, "label": ""}
            entries[name] = _entry(name, own, line)
        if not value:
            entries[name].label = entries[name].label or cells.get("label", "")
        elif "=" in value or "|" in value:
            entries[name].levels += read_levels(value)
        elif (bounds := read_range(value)) is not None:
            entries[name].lower, entries[name].upper = bounds
        else:
            entries[name].levels.append((value, label or cells.get("label", "")))
    return list(entries.values())


def _entry(name: str, cells: Mapping[str, str], line: int) -> Entry:
    kind = kind_of(cells.get("type", ""))
    entry = Entry(name, cells.get("label", ""), kind, cells.get("lower", ""), cells.get("upper", ""))
    listed = cells.get("levels", "")
    bounds = read_range(listed)
    if bounds is not None and not (entry.lower or entry.upper) and kind in ("", "number", "integer"):
        entry.lower, entry.upper = bounds
    elif listed:
        entry.levels = read_levels(listed)
    entry.codes = [code for code, _ in read_levels(cells.get("missing codes", ""))]
    entry.fill, entry.format = cells.get("missing", ""), date_format(cells.get("format", ""))
    if len(several := read_levels(entry.fill)) > 1:
        entry.fill, entry.codes = "", [*entry.codes, *(code for code, _ in several)]
    for what in ("lower", "upper"):
        bound = getattr(entry, what)
        if bound and kind == "date" and entry.format:
            setattr(entry, what, _in_iso(bound, entry.format))
        elif bound and kind != "date" and not is_number(bound):
            unknown = "" if kind or not cells.get("type", "") else f" Its type is none of {_TYPES}."
            raise ArgumentError(
                f"line {line} of the data dictionary: {what} must be a number or empty, and is another text.{unknown}"
            )
    return entry


def _in_iso(bound: str, form: str) -> str:
    """A bound of dates that the book writes as the table does, in the form that a schema has; any other is left as it is."""
    try:
        return datetime.strptime(bound, form).date().isoformat()
    except ValueError:
        return bound
