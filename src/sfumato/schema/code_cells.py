"""Which cells are missing codes of their column: rules that look at one cell at a time and never raise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import cells as rules
from sfumato.schema.date import Date
from sfumato.schema.number import Number

if TYPE_CHECKING:
    from sfumato.schema.encoding import Dates, Plain

Mask = NDArray[np.bool_]


def is_code(column: Any, cell: object) -> bool:
    """Whether one cell is a missing code of its column."""
    if not getattr(column, "missing_codes", ()):
        return False
    if isinstance(column, Date):
        return bool(_date_mask(column, [cell], column.days([cell]))[0])
    return bool(_mask(column, [cell])[0])


def blanked(column: Any, cells: Plain) -> Plain:
    """Return the cells with every missing code replaced by an empty cell; those of numbers and dates as numbers and dates."""
    with np.errstate(all="ignore"):
        if isinstance(column, Date):
            days = column.days(cells)
            return np.where(_date_mask(column, cells, days), np.datetime64("NaT"), days)
        mask = _mask(column, cells)
        if isinstance(cells, np.ndarray):
            return np.where(mask, np.nan, np.asarray(cells, dtype=np.float64))
        if type(column) is Number:  # a type that extends Number may read other cells
            return np.where(mask, np.nan, np.array(rules.numbers(cells), dtype=np.float64))
    return [None if code else cell for cell, code in zip(cells, mask.tolist(), strict=True)]


def _mask(column: Any, cells: Plain) -> Mask:
    """Which cells are codes of a column other than a Date."""
    # Of a column whose levels are texts, where "09" is not "9", codes that are texts are compared as such alone.
    spelled = column.levels is not None and isinstance(column.levels[0], str)
    listed = [code for code in column.missing_codes if not (spelled and isinstance(code, str))]
    values = [value for value in map(rules.number, listed) if math.isfinite(value)]
    if isinstance(cells, np.ndarray):
        return np.isin(cells, values)
    texts = {code for code in column.missing_codes if isinstance(code, str)}
    mask: Mask = np.isin(np.array(rules.numbers(cells), dtype=np.float64), values) if values else _none(cells)
    return mask | _spelled(cells, texts)


def _date_mask(column: Date, cells: Plain, days: Dates) -> Mask:
    """Which cells are codes of a Date: by their day, as texts, and numbers by value.

    A code is written as the table writes dates, or as 1900-01-01; a number also stands for the text of its digits.
    """
    mask: Mask = np.isin(days, column.code_days)
    values = [code for code in column.missing_codes if not isinstance(code, str)]
    if isinstance(cells, np.ndarray):
        return mask if cells.dtype.kind == "M" else mask | np.isin(cells, values)
    texts = {str(code) for code in column.missing_codes}
    numbers = {float(value) for value in values}
    whole = (
        _none(cells) if not numbers else np.array([rules.text(c) is None and rules.number(c) in numbers for c in cells])
    )
    return mask | whole | _spelled(cells, texts)


def _spelled(cells: Any, texts: set[str]) -> Mask:
    return np.fromiter((rules.text(cell) in texts for cell in cells), dtype=bool, count=len(cells))


def _none(cells: Any) -> Mask:
    return np.zeros(len(cells), dtype=bool)
