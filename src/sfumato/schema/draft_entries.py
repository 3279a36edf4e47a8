"""One variable of a code book, whatever the form of the book, and its part of a draft.

What a book leaves open is written as REQUIRED; labels become comments.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato import _validate
from sfumato.schema.category import OWN_LEVEL
from sfumato.schema.columns import REQUIRED
from sfumato.schema.date_format import day_reader, iso_day
from sfumato.schema.documents import toml_key, toml_value

# Names of types in code books.
_WORDS = {
    **dict.fromkeys(("number", "numeric", "float", "double", "real", "decimal", "continuous", "scale"), "number"),
    **dict.fromkeys(("integer", "int", "whole", "count", "long", "short", "byte"), "integer"),
    **dict.fromkeys(("category", "categorical", "factor", "enum", "nominal", "ordinal", "text", "string"), "category"),
    **dict.fromkeys(("character", "char", "varchar", "str", "ordered", "coded"), "category"),
    **dict.fromkeys(("boolean", "bool", "logical", "flag", "yes/no", "yesno", "truefalse", "binary"), "boolean"),
    **dict.fromkeys(("date", "datetime", "timestamp", "date/time", "day", "posixct"), "date"),
}
# Labels of codes that are no answer.
_NO = re.compile(
    r"refus|declin|no answer|not answer|not ask|n[o'’]?t know|missing|n/a|\bna\b|not appl|inappl|not stated|no response|unknown",
    re.IGNORECASE,
)
# What a column of 1 = yes and 2 = no says of its other type.
_ONE_OR_TWO = (
    'rates and regressions of "yes" take type = "boolean" with alias = { 2 = false }: 1 is read as yes, and 2 as no'
)
# Codes that a column of yes and no reads.
_YES_OR_NO = ("0", "1", "yes", "no", "y", "n", "true", "false", "t", "f")
# Letters of a comment: two lines of an editor.
_COMMENT = 200
# A whole number as code books write it; programs that keep all numbers as floats write 1.0.
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@dataclass
class Entry:
    """The facts that a code book states about one variable; "" and () where it states none.

    kind: number, integer, category, boolean, date or "". levels: (code, label) in order. codes: missing codes. fill: the
    value that a missing cell counts as. format: of dates as texts; "" where dates have a type of their own. notes: sentences for
    comments. omitted: why the variable is left out of the draft.
    """

    name: str
    label: str = ""
    kind: str = ""
    lower: str = ""
    upper: str = ""
    levels: list[tuple[str, str]] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    fill: str = ""
    format: str = REQUIRED
    notes: list[str] = field(default_factory=list)
    omitted: str = ""


def kind_of(word: str) -> str:
    """The kind that a code book's word for a type stands for, "" if it is not known."""
    return _WORDS.get(word.strip().casefold(), "")


def is_number(text: str) -> bool:
    """Whether a text spells a finite number."""
    return _NUMBER.fullmatch(text) is not None


def plain_code(text: str) -> str | int | float:
    """A code as a document holds it: whole numbers and decimals as numbers, everything else as text."""
    if _WHOLE.fullmatch(text) and not re.match(r"[+-]?0[0-9]", text):  # 01 is a text: the zero is part of it
        return int(float(text))
    return float(text) if is_number(text) and not re.match(r"[+-]?0[0-9]", text) else text


def entry_text(entry: Entry) -> str:
    """The variable's table in a draft, with its labels as comments."""
    if entry.omitted:
        return f"\n# {toml_value(entry.name)} {entry.omitted}\n"
    lines = ["", f"[columns.{toml_key(entry.name)}]"]
    lines += [f"# {comment(entry.label)}"] if entry.label else []
    lines += [f"{fact} = {toml_value(value)}" for fact, value in facts_of(_sorted(entry)).items()]
    labelled = [f"{code} = {label}" for code, label in entry.levels if label]
    lines += [f"# {comment(', '.join(labelled[at : at + 6]))}" for at in range(0, len(labelled), 6)]
    answers = {code: label.casefold() for code, label in entry.levels}
    notes = [*entry.notes, _ONE_OR_TWO] if (answers.get("1"), answers.get("2")) == ("yes", "no") else entry.notes
    lines += [f"# {comment(note)}" for note in notes]
    return "\n".join(lines) + "\n"


def comment(text: str) -> str:
    """One line of visible text, shortened."""
    line = "".join(letter for letter in " ".join(text.split()) if not _validate.invisible(letter))
    return line if len(line) <= _COMMENT else line[: _COMMENT - 3] + "..."


def _sorted(entry: Entry) -> Entry:
    """Labelled codes of a number are its missing codes, if they lie outside its bounds or look like such codes."""
    if entry.kind == "boolean" and any(code.casefold() not in _YES_OR_NO for code, _ in entry.levels):
        return Entry(**{**vars(entry), "kind": "category"})
    if not entry.levels or entry.kind not in ("number", "integer"):
        return _without_refusals(entry)
    special = all(_outside(code, entry) for code, _ in entry.levels)
    if special:
        own = [code for code, _ in entry.levels if code not in entry.codes]
        return Entry(**{**vars(entry), "levels": [], "codes": [*entry.codes, *own]})
    if entry.lower or entry.upper:
        return Entry(**{**vars(entry), "levels": []})  # a scale whose ends have names: the labels stay as comments
    return _without_refusals(Entry(**{**vars(entry), "kind": "category"}))


def _without_refusals(entry: Entry) -> Entry:
    """The levels without those that are missing codes by custom (-9, 99, 999) and by their label (refused, not asked)."""
    unbounded = Entry(entry.name)
    refused = [
        code for code, label in entry.levels if _outside(code, unbounded) and is_number(code) and _NO.search(label)
    ]
    codes = [*entry.codes, *(code for code in refused if code not in entry.codes)]
    return Entry(**{**vars(entry), "codes": codes}) if refused else entry


def _outside(code: str, entry: Entry) -> bool:
    if not is_number(code):
        return True
    if is_number(entry.lower) and is_number(entry.upper):
        return not float(entry.lower) <= float(code) <= float(entry.upper)
    # No bounds are stated: negative codes, 99, 999 and the like are codes of no answer by custom.
    return float(code) < 0 or (len(code) > 1 and set(code) == {"9"})


def facts_of(entry: Entry) -> dict[str, Any]:
    """The facts of one variable in the order of a document, with REQUIRED for those that are still unknown."""
    levels = [code for code, _ in entry.levels if code not in entry.codes]
    kind = entry.kind or ("category" if levels else "number" if entry.lower or entry.upper else "")
    codes: Sequence[Any] = [plain_code(code) for code in entry.codes]
    facts: dict[str, Any] = {"type": "number" if kind == "integer" else kind or REQUIRED}
    if kind in ("number", "integer"):
        facts |= {"lower": _bound(entry.lower), "upper": _bound(entry.upper)}
        facts |= {"integer": True} if kind == "integer" else {}
    elif kind == "date":
        facts |= {"lower": _date(entry.lower, entry.format), "upper": _date(entry.upper, entry.format)}
        facts |= {"format": entry.format} if entry.format else {}
    elif kind == "category":
        facts["levels"] = _levels(levels) or REQUIRED
    fill = _date(entry.fill, entry.format) if kind == "date" and entry.fill else entry.fill
    facts |= _missing(entry.fill if fill == REQUIRED else fill, facts, codes)
    return facts


def _date(text: str, format: str) -> str:
    """A date of the book as a schema writes it, 2020-01-31; REQUIRED where it is none in the book's own format."""
    day = iso_day(text)
    if day is None and format not in ("", REQUIRED):
        day = day_reader(format)(text.strip())
    return REQUIRED if day is None else datetime.date.fromordinal(day).isoformat()


def _levels(levels: list[str]) -> list[Any]:
    plain = [plain_code(level) for level in levels]
    whole = all(isinstance(level, int) for level in plain)
    return list(dict.fromkeys(plain if whole else levels))


def _missing(fill: str, facts: Mapping[str, Any], codes: Sequence[Any]) -> dict[str, Any]:
    """`missing` where the book's value can stand for a missing cell; otherwise it is a missing code."""
    kind, code = facts["type"], plain_code(fill)
    listed = list(codes)
    fits: Any = None
    if kind in ("category", "boolean"):  # levels have no default
        fits = OWN_LEVEL if fill.casefold() == OWN_LEVEL else REQUIRED
    if fill and kind == "boolean" and fill.casefold() in ("true", "false", "yes", "no", "0", "1"):
        fits = fill.casefold() in ("true", "1", "yes")
    elif fill and kind == "category" and facts["levels"] != REQUIRED:
        fits = code if code in facts["levels"] else fill if fill in facts["levels"] else fits
    elif fill and kind == "number" and not isinstance(code, str):
        low, high = facts["lower"], facts["upper"]
        inside = (low == REQUIRED or low <= code) and (high == REQUIRED or code <= high)
        fits = float(code) if inside else None
    elif fill and kind == "date" and facts["lower"] != REQUIRED and facts["lower"] <= fill <= str(facts["upper"]):
        fits = fill
    if fill and fits in (None, REQUIRED) and code not in listed:
        listed.append(code)
    return {**({} if fits is None else {"missing": fits}), **({"missing_codes": listed} if listed else {})}


def _bound(text: str) -> float | str:
    return float(text) if text else REQUIRED
