"""From a cell to a number or a level: rules that use that cell and public facts alone, and never raise.

Whatever a cell holds, it becomes a float (NaN for "no number") or a position (-1 for "no level"); the caller replaces
NaN and -1 by the declared missing value. A rule that raised, or that depended on another cell, would reveal something about
a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.category import numbered


class Unread:
    """A cell of which no text is kept: the start of a long one, bytes that are no text in the encoding, None in a broken line.

    It is no number and no level. Counts for the curator and errors about public rows look at what it holds.
    """

    __slots__ = ("cell",)

    def __init__(self, cell: str | bytes | None) -> None:
        self.cell = cell

    def __repr__(self) -> str:
        return repr(self.cell)


def number(cell: object) -> float:
    """Return the cell as a float64: numbers, and texts as Python's `float` reads them; NaN for everything else.

    The type of the cell decides, and the known base type's own method converts it: methods that a subclass overrides, and
    `__class__` of the object, are not used.
    """
    kind = type(cell)
    if kind is float:
        return cast(float, cell)
    try:
        for base, convert in _CONVERSIONS:
            if issubclass(kind, base):
                return convert(cell)
    except Exception:  # a whole number beyond float64, a text that spells no number, a signalling decimal
        return math.nan
    return math.nan


def _numpy_number(cell: np.generic) -> float:
    """A numpy scalar. Complex numbers and spans of time are no numbers here, though numpy would convert them."""
    if isinstance(cell, np.complexfloating | np.timedelta64):
        return math.nan
    with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, without a warning
        return float.__float__(np.generic.astype(cell, np.float64))


# Base types of cells that may be numbers, with the base type's own conversion; np.float64 is a float, np.str_ a str.
_CONVERSIONS: tuple[tuple[type, Callable[[Any], float]], ...] = (
    (str, lambda cell: float(str.strip(cell))),
    (bytes, lambda cell: float(bytes.decode(cell, "utf-8"))),
    (float, float.__float__),
    (int, int.__float__),
    (np.number, _numpy_number),
    (np.bool_, _numpy_number),
    (Decimal, Decimal.__float__),
    (Fraction, Fraction.__float__),
)


def text(cell: object) -> str | None:
    """Return the cell as a text without space around it; None for everything else, and for bytes that are no UTF-8."""
    kind = type(cell)
    if issubclass(kind, str):
        return str.strip(cast(str, cell))
    if issubclass(kind, bytes):
        try:
            return bytes.decode(cast(bytes, cell), "utf-8").strip()
        except UnicodeDecodeError:
            return None
    return None


def texts_of(column: Any) -> dict[str, int]:
    """Every text that is declared, as it is compared, with the position of its level."""
    pairs = [(spelling, code) for spelling, code in column.spellings() if isinstance(spelling, str)]
    return {spelling.casefold() if column.fold_case else spelling: code for spelling, code in pairs}


@lru_cache(maxsize=256)
def level_finder(column: Any) -> Callable[[object], int]:
    """Return the function from a cell to the position of its level, or to 1 for yes and 0 for no; -1 where it is none of them.

    A number cell and a text that spells it are the same cell; for texts as levels a text cell must be spelled as declared. A
    text that is longer than every spelling is looked at no further.
    """
    by_number, by_text = dict(numeric_levels(column)), texts_of(column)
    longest, spelled = max(map(len, by_text), default=0), isinstance(column.levels[0], str)
    fold = column.fold_case

    def find(cell: object) -> int:
        word = text(cell)
        if word is not None and len(word) <= longest:
            place = by_text.get(word.casefold() if fold else word, -1)
            if place >= 0:
                return place
        return -1 if spelled and word is not None else by_number.get(number(cell), -1)

    return find


def numeric_levels(column: Any) -> list[tuple[float, int]]:
    """(value, position) of every spelling that is or spells a finite number; of two equal ones, the first."""
    return list(numbered(column.spellings()).items())


def places(column: Any, cells: NDArray[Any] | Sequence[object]) -> NDArray[np.int64]:
    """The position of the level of every cell of a column of levels, -1 where it is none."""
    if not isinstance(cells, np.ndarray):
        return np.array(codes(cells, level_finder(column)), dtype=np.int64)
    found = np.full(len(cells), -1, dtype=np.int64)
    levels = sorted(numeric_levels(column))
    if levels:
        # Searched among sorted values: many cells are encoded at once.
        known, positions = np.array([v for v, _ in levels]), np.array([c for _, c in levels], dtype=np.int64)
        nearest = np.minimum(np.searchsorted(known, cells), len(known) - 1)
        found = np.where(known[nearest] == cells, positions[nearest], found)
    return found


def _all_texts(cells: Sequence[object]) -> bool:
    """Whether every cell is exactly a str. Types are compared by identity: a metaclass may define == and hash."""
    return all(type(cell) is str for cell in cells)


def codes(cells: Sequence[object], rule: Callable[[object], int]) -> list[int]:
    """Apply the rule to every cell; for texts, once to each distinct one."""
    if _all_texts(cells):
        code_of = {cell: rule(cell) for cell in set(cells)}
        return [code_of[cell] for cell in cells]
    return [rule(cell) for cell in cells]


def numbers(cells: Sequence[object]) -> list[float]:
    """Return every cell as a float64; texts go through `float` at once while all of them spell numbers."""
    if _all_texts(cells):
        try:
            return [float(cell) for cell in cells]  # type: ignore[arg-type]
        except ValueError:
            pass  # the same rule again, cell by cell
    return [number(cell) for cell in cells]
