"""Missing cells of a synthetic column, in the form that each kind of table has for them.

`gone` is drawn from a release, never read from rows: True where the synthetic cell is missing. The type of a result depends
on the column alone and not on whether any cell is missing, and the schema that made the table reads the same missing cells
back from it, from a .csv or .parquet file written from it too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.queries.convert import needed
from sfumato.schema import Date, Number
from sfumato.schema.columns import Column
from sfumato.schema.encoding import encode

Mask = NDArray[np.bool_]


def blanked(values: NDArray[Any], gone: Mask, column: Column) -> NDArray[Any]:
    """A column for a plain mapping: numbers as float64 with NaN; levels, dates and yes or no as objects with None.

    Levels that are whole numbers are labels and stay whole.
    """
    if isinstance(column, Number) and not isinstance(column, Date):
        return np.where(gone, np.nan, values.astype(np.float64))
    cells = values.astype(object)
    cells[gone] = None
    return cells


def arrow_array(values: NDArray[Any], gone: Mask) -> Any:
    """The column as an Arrow array with nulls: whole numbers, floats, booleans and texts keep their type."""
    import pyarrow

    # Stated for texts: Arrow would guess the type from the cells that are there, and there may be none.
    return pyarrow.array(values, type=pyarrow.string() if values.dtype == object else None, mask=gone)


def pandas_array(values: NDArray[Any], gone: Mask) -> Any:
    """The column as pandas holds missing cells: Int64, boolean, float64 with NaN, texts (dates as written) with None."""
    pandas = needed("pandas", "to='pandas'")
    if values.dtype.kind == "b":
        return pandas.arrays.BooleanArray(values.copy(), np.array(gone))
    if values.dtype.kind in "iu":
        return pandas.arrays.IntegerArray(values.astype(np.int64), np.array(gone))
    if values.dtype.kind == "f":
        return np.where(gone, np.nan, values)
    # Objects, as columns of texts without missing cells are given: pandas chooses its type of texts for both.
    cells = values.astype(object)
    cells[gone] = None
    return cells


def off_codes(numbers: NDArray[Any], column: Number) -> NDArray[Any]:
    """Whole numbers, or days of a Date, of which none would be read back as a missing code of the column.

    No record that counts has a code as its value, and a synthetic one that had it would be missing to a reader: it gets the
    nearest value inside the bounds that is no code. Numbers with fractions are returned as they are.
    """
    if not (column.integer and column.missing_codes):
        return numbers
    distinct, place = np.unique(numbers, return_inverse=True)
    moved = distinct.copy()
    for at in np.flatnonzero(_is_read_as_missing(column, distinct)).tolist():
        # Among so many neighbours on one side at least one is no code.
        steps = np.arange(1, len(column.missing_codes) + 1)
        near = np.stack([distinct[at] - steps, distinct[at] + steps], axis=1).reshape(-1)
        near = near[(near >= column.lower) & (near <= column.upper)]
        free = near[~_is_read_as_missing(column, near)]
        moved[at] = free[0] if len(free) else distinct[at]
    return moved[place]


def _is_read_as_missing(column: Number, numbers: NDArray[Any]) -> Mask:
    """Which values the column's own rules count as missing, when written as the synthetic table writes them."""
    if isinstance(column, Date):
        return encode(column, [column.written(day) for day in numbers]).missing
    return encode(column, numbers.astype(np.float64)).missing
