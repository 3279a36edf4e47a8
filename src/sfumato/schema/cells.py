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
from typing import Any, cast

import numpy as np

from sfumato.schema.category import Category

# Texts that count as yes and as no, in capitals or not; `Boolean` lists them for users.
_YES = frozenset(("true", "t", "yes", "y"))
_NO = frozenset(("false", "f", "no", "n"))


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


def truth(cell: object) -> int:
    """Return 1 for yes, 0 for no, -1 for everything else."""
    word = text(cell)
    if word is not None:
        small = word.casefold()
        if small in _YES or small in _NO:
            return int(small in _YES)
    value = number(cell)
    return int(value) if value in (0.0, 1.0) else -1


def level_finder(column: Category) -> Callable[[object], int]:
    """Return the function from a cell to the position of its level, -1 where it is none of them.

    A number cell and a text that spells it are the same cell; for texts as levels a text cell must be the level itself.
    """
    by_number = dict(numeric_levels(column))
    if isinstance(column.levels[0], int):
        return lambda cell: by_number.get(number(cell), -1)
    by_text = {level: code for code, level in enumerate(column.levels)}

    def find(cell: object) -> int:
        word = text(cell)
        return by_number.get(number(cell), -1) if word is None else by_text.get(word, -1)

    return find


def numeric_levels(column: Category) -> list[tuple[float, int]]:
    """(value, position) of every level that is or spells a finite number; of two equal ones, the first."""
    positions: dict[float, int] = {}
    for code, level in enumerate(column.levels):
        value = number(level)
        if math.isfinite(value):
            positions.setdefault(value, code)
    return list(positions.items())


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
