"""Column types: a number between bounds, one of some levels, or a yes or no.

A column is a public fact. Nothing here is ever read from the rows, so a missing bound or list of levels is an error; the
smallest value in the data is itself a fact about one person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError

# Placeholder in a document for a fact that is still to be declared.
REQUIRED = "REQUIRED"
# Whole levels are compared as float64, which separates whole numbers below this one.
_LARGEST_LEVEL = 2**53


@dataclass(frozen=True)
class Number:
    """A number in [lower, upper].

    The cell x is stored as min(max(x, lower), upper); a cell that is empty, no number, NaN or infinite is stored as
    `missing`, by default the middle of the bounds. With `integer=True` a cell is first rounded to the nearest whole
    number (ties to the even one) and the bounds and `missing` are whole.
    """

    lower: float
    upper: float
    missing: float
    integer: bool = False
    kind = "number"

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        missing: float | None = None,
        integer: bool = False,
    ) -> None:
        """Refuse bounds that are absent, not finite, or in the wrong order."""
        for name, bound in (("lower", lower), ("upper", upper)):
            if bound is None:
                raise ArgumentError(f"Number needs {name}: {_DECLARE.format('a public bound')}")
        low, high = (_validate.finite(name, bound) + 0.0 for name, bound in (("lower", lower), ("upper", upper)))
        if not low < high or math.isinf(high - low):
            raise ArgumentError(f"Number: lower must be below upper by a finite width; got {low!r} and {high!r}.")
        if not isinstance(integer, bool):
            raise ArgumentError(f"Number: integer must be True or False; got {integer!r}.")
        middle = low / 2 + high / 2
        fill = (math.floor(middle) if integer else middle) if missing is None else _validate.finite("missing", missing)
        if integer and any(value != math.floor(value) for value in (low, high, fill)):
            raise ArgumentError(
                f"Number: lower, upper and missing must be whole when integer=True; got {low!r}, {high!r}, {fill!r}."
            )
        if not low <= fill <= high:
            raise ArgumentError(f"Number: missing must lie in [{low!r}, {high!r}]; got {fill!r}.")
        vars(self).update(lower=low, upper=high, missing=float(fill) + 0.0, integer=integer)

    def to_json(self) -> dict[str, Any]:
        """Every fact, the default of `missing` written out."""
        facts = {"type": self.kind, "lower": self.lower, "upper": self.upper, "missing": self.missing}
        return {**facts, "integer": True} if self.integer else facts

    def __repr__(self) -> str:
        whole = ", integer=True" if self.integer else ""
        return f"Number({self.lower:.12g}, {self.upper:.12g}, missing={self.missing:.12g}{whole})"


@dataclass(frozen=True)
class Category:
    """One of a declared list of levels: texts, or whole numbers.

    The cell is stored as the position of its level; a cell that is empty or no level is stored as `missing`, by default
    the FIRST level: put first the level that a missing answer should count as, or declare a level for it. Space around a
    text is dropped before it is compared, and nothing else is: "F" is not "f". A number and the text that spells it are
    the same cell, so Category([0, 1]) reads the text "1" and Category(["0", "1"]) reads the number 1.
    """

    levels: tuple[str, ...] | tuple[int, ...]
    missing: str | int
    kind = "category"

    def __init__(self, levels: Sequence[str] | Sequence[int] | None = None, missing: str | int | None = None) -> None:
        """Refuse levels that are absent, repeated or of mixed kinds; a set has no order and is refused too."""
        if levels is None:
            raise ArgumentError(f"Category needs levels: {_DECLARE.format('the public list of them, in order')}")
        if not isinstance(levels, list | tuple | range) or not levels:
            raise ArgumentError(f"Category: levels must be a list with at least one entry; got {levels!r}.")
        known = tuple(_level(level) for level in levels)
        if len({type(level) for level in known}) > 1:
            raise ArgumentError(f"Category: levels must be all texts or all whole numbers; got {known!r}.")
        if len(set(known)) < len(known):
            raise ArgumentError(f"Category: levels must be distinct; got {known!r}.")
        fill = known[0] if missing is None else _level(missing)
        if fill not in known:
            raise ArgumentError(f"Category: missing must be one of the levels {known!r}; got {missing!r}.")
        vars(self).update(levels=known, missing=fill)

    def to_json(self) -> dict[str, Any]:
        """Every fact, the default of `missing` written out."""
        return {"type": self.kind, "levels": list(self.levels), "missing": self.missing}

    def __repr__(self) -> str:
        shown = list(self.levels) if len(self.levels) <= 6 else f"[{self.levels[0]!r}, ..., {self.levels[-1]!r}]"
        return f"Category({shown}, missing={self.missing!r})"


@dataclass(frozen=True)
class Boolean:
    """A yes or no, stored as 1 or 0.

    Yes is True, 1 and the texts true, t, yes, y, 1; no is False, 0 and the texts false, f, no, n, 0, in capitals or not.
    Every other cell, the numbers 2 and 0.5 included, is stored as `missing`.
    """

    missing: bool = False
    kind = "boolean"

    def __post_init__(self) -> None:
        if not isinstance(self.missing, bool):
            raise ArgumentError(f"Boolean: missing must be True or False; got {self.missing!r}.")

    def to_json(self) -> dict[str, Any]:
        """Every fact."""
        return {"type": self.kind, "missing": self.missing}


# Every column type, and the one of each `type` in a document.
Column = Number | Category | Boolean
COLUMNS: dict[str, type[Number] | type[Category] | type[Boolean]] = {
    column.kind: column for column in (Number, Category, Boolean)
}

# End of the error for a fact that was not declared.
_DECLARE = (
    "declare {} from what is known without the rows (a code book, a definition, a law); it is never read from them."
)


def public_text(what: str, text: object) -> str:
    """Return a text that documents hold and terminals show: not blank, no space around it, no control or format characters.

    The word for an unknown fact is refused too.
    """
    if not isinstance(text, str) or not text or text != text.strip() or text == REQUIRED:
        raise ArgumentError(f"{what} must be a text without space around it, and not {REQUIRED!r}; got {text!r}.")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ArgumentError(f"{what} must be a text that UTF-8 can write; got {text!r}.")
    if _validate.invisible(text):
        raise ArgumentError(
            f"{what} must be one line of visible text, without control or format characters (line ends, tabs, ESC, marks "
            f"of direction); got {_validate.shown(text)}. Rename it in the table and in the schema."
        )
    return text


def _level(level: object) -> str | int:
    if isinstance(level, str):
        return public_text("Category: a level", level)
    if isinstance(level, bool) or not hasattr(level, "__index__"):
        raise ArgumentError(f"Category: a level must be a text or a whole number; got {level!r}.")
    whole = int(level.__index__())
    if abs(whole) >= _LARGEST_LEVEL:
        raise ArgumentError(f"Category: a whole level must be smaller than 2**53 in size; got {whole}.")
    return whole
