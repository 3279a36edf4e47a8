"""From a cell to a number or a level: rules that look at that cell alone, know only public facts, and never raise.

Whatever a cell holds, it becomes a float (NaN for "no number") or a position (-1 for "no level"); the caller replaces
NaN and -1 by the declared missing value. A rule that raised, or that depended on another cell, would tell something
about a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sfumato.schema.columns import Category

_NUMBERS = (int, float, np.number, np.bool_, Decimal, Fraction)
_YES = frozenset(("true", "t", "yes", "y"))
_NO = frozenset(("false", "f", "no", "n"))


def number(cell: object) -> float:
    """Return the cell as a float64: numbers, and texts as Python's `float` reads them; NaN for everything else."""
    try:
        if isinstance(cell, str):
            return float(cell)
        if isinstance(cell, bytes):
            return float(cell.decode("utf-8", "replace"))
        # A complex number has no place on the line; numpy would drop its imaginary part under a warning.
        if isinstance(cell, _NUMBERS) and not isinstance(cell, np.complexfloating):
            return float(cell)
    except Exception:  # a whole number beyond float64, a text that spells no number, a signalling decimal
        return math.nan
    return math.nan


def text(cell: object) -> str | None:
    """Return the cell as a text without space around it, bytes read as UTF-8; None for everything else."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    return str.strip(cell) if isinstance(cell, str) else None


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
    """(value, position) of every level that is or spells a finite number; of two that spell the same, the first counts."""
    found: dict[float, int] = {}
    for code, level in enumerate(column.levels):
        value = number(level)
        if math.isfinite(value):
            found.setdefault(value, code)
    return list(found.items())


def codes(cells: Sequence[object], rule: Callable[[object], int]) -> list[int]:
    """Return the rule's answer for every cell; a text that is there many times is asked about once."""
    if set(map(type, cells)) == {str}:
        answers = {cell: rule(cell) for cell in set(cells)}
        return [answers[cell] for cell in cells]
    return [rule(cell) for cell in cells]


def numbers(cells: Sequence[object]) -> list[float]:
    """Return every cell as a float64; texts go through `float` at once while all of them spell numbers."""
    if set(map(type, cells)) == {str}:
        try:
            return [float(cell) for cell in cells]  # type: ignore[arg-type]
        except ValueError:
            pass  # the same rule again, cell by cell
    return [number(cell) for cell in cells]
