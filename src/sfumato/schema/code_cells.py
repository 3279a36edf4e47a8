"""Which cells are missing codes of their column: rules that look at one cell at a time and never raise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import cells as rules
from sfumato.schema.date import Date
from sfumato.schema.missing_codes import Code

if TYPE_CHECKING:
    from sfumato.schema.encoding import Plain


def is_code(column: Any, cell: object) -> bool:
    """Whether one cell is a missing code of its column."""
    return bool(getattr(column, "missing_codes", ())) and bool(code_mask(column, [cell])[0])


def code_mask(column: Any, cells: Plain) -> NDArray[np.bool_]:
    """Which cells are missing codes of the column. Each cell is looked at by itself."""
    mask: NDArray[np.bool_] = np.zeros(len(cells), dtype=bool)
    if isinstance(column, Date):
        # A date is compared by its day, whatever its type is: the code may be written as the table's dates or as 1900-01-01.
        mask |= np.isin(column.days(cells), column.code_days)
    if not isinstance(cells, np.ndarray) or cells.dtype.kind != "M":
        values = [value for value in map(rules.number, _numbers(column)) if math.isfinite(value)]
        floats = cells if isinstance(cells, np.ndarray) else np.array(rules.numbers(cells), dtype=np.float64)
        mask |= np.isin(floats, values)
    if isinstance(cells, np.ndarray):
        return mask
    texts = {code for code in column.missing_codes if isinstance(code, str)}
    spelled: NDArray[np.bool_] = np.fromiter(
        (rules.text(cell) in texts for cell in cells), dtype=bool, count=len(cells)
    )
    return mask | spelled


def _numbers(column: Any) -> list[Code]:
    """The codes that are compared by value: of a column whose levels are texts ("09" is not "9") the numbers alone."""
    spelled = column.levels is not None and isinstance(column.levels[0], str)
    return [code for code in column.missing_codes if not (spelled and isinstance(code, str))]


def blanked(column: Any, cells: Plain) -> Plain:
    """Return the cells with every missing code replaced by an empty cell."""
    with np.errstate(all="ignore"):
        mask = code_mask(column, cells)
    if not mask.any():
        return cells
    if isinstance(cells, np.ndarray):
        out = cells.copy()
        out[mask] = np.datetime64("NaT") if cells.dtype.kind == "M" else np.nan
        return out
    return [None if code else cell for cell, code in zip(cells, mask.tolist(), strict=True)]
