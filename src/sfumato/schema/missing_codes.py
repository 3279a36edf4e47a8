"""Missing codes: cells such as "NA", "." or -9 that a code book declares to mean "no answer".

A code is compared with one cell at a time: texts after the space around them is dropped, numbers by their value. A cell
that equals a code counts as missing before anything else is done to it. So a code may lie inside a number's bounds (999
between 0 and 2000): it is still missing. A code that is a level, or that spells yes or no, contradicts its column and is
refused.
"""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from sfumato.errors import ArgumentError
from sfumato.schema.texts import public_text

# A missing code: a text, or a number compared by value.
Code = str | int | float
Typed = TypeVar("Typed")
# Letters of a code and codes of one list: far more than a code book has. A cell longer than this is never a code.
LETTERS, _MOST = 200, 1000
# Whole numbers below this size are kept as integers: float64 separates them.
_WHOLE = 2**53


def read_codes(where: str, codes: object) -> tuple[Code, ...]:
    """Return a list of codes in its declared order, each once; refuse what is no list of texts and numbers."""
    if isinstance(codes, str | bytes) or not isinstance(codes, Sequence) or len(codes) > _MOST:
        raise ArgumentError(
            f'{where}: missing_codes must be a list of texts and numbers such as ["NA", -9]; got {codes!r}.'
        )
    return tuple(dict.fromkeys(_code(where, code) for code in codes))


def _code(where: str, code: object) -> Code:
    if isinstance(code, datetime.date):
        return code.isoformat()[:10]
    if isinstance(code, str):
        if len(code) > LETTERS:
            raise ArgumentError(f"{where}: a missing code must have at most {LETTERS} letters; got one of {len(code)}.")
        return public_text(f"{where}: a missing code", code)
    number = isinstance(code, int | float) and not isinstance(code, bool)
    if not number or not math.isfinite(code):  # type: ignore[arg-type]
        raise ArgumentError(
            f"{where}: a missing code must be a text or a finite number (empty cells and NaN are missing without a code); "
            f"got {code!r}."
        )
    value = float(code)  # type: ignore[arg-type]
    return int(value) if value.is_integer() and abs(value) < _WHOLE else value


def with_codes(name: str, column: Typed, codes: Sequence[Code]) -> Typed:
    """Return the column with these codes beside its own; refuse one that the column declares to be a value."""
    own: tuple[Code, ...] = getattr(column, "missing_codes", ())
    both = tuple(dict.fromkeys((*codes, *own)))
    for code in both:
        meaning = _meaning(column, code)
        if meaning:
            raise ArgumentError(
                f"column {name!r}: the missing code {code!r} {meaning}, so that one cell would mean two things. Take it out "
                "of the one or the other; a code that is missing in other columns only belongs to those, not to the table."
            )
    if both == own:
        return column
    made = copy.copy(column)
    vars(made).update(missing_codes=both)
    return made


def _meaning(column: Any, code: Code) -> str:
    """What a column of levels or of yes and no reads in a code, "" if nothing."""
    from sfumato.schema.boolean import Boolean
    from sfumato.schema.category import Category

    if not isinstance(column, Category | Boolean):
        return ""
    from sfumato.schema import cells

    place = cells.level_finder(column)(code)
    if isinstance(column, Boolean):
        return {1: "means yes", 0: "means no"}.get(place, "")
    return "" if place < 0 else f"is the level {column.levels[place]!r}"
