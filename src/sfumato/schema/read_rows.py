"""Rows of a matrix, one record at a time: each row of a list is read by itself, whatever the other rows are.

numpy gives a list of rows one shape and one type. There one label `None` among one-element lists makes every label an
object of its own, and one text makes every number a text: one record would decide how all are read. So no list is ever
handed to numpy as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.cells import Unread
from sfumato.schema.columns import Column
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, Repeated, to_floats
from sfumato.schema.read_columns import Reader, numpy_cells, open_column

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Entries:
    """A matrix of numbers that is read a run of rows at a time.

    shape: (rows, columns). read(start, stop): those rows as a new array of floats, NaN where a cell is no number.
    """

    shape: tuple[int, int]
    read: Callable[[int, int], Floats]


def row_cells(row: object, width: int) -> Sequence[object] | None:
    """Return the cells of one row, or None where it does not have `width` of them.

    A row is a list, a tuple or a one-dimensional numpy array; a row of one cell may also be the cell itself. A text is
    a cell, not a row of letters. Methods that a subclass overrides (its length, its items) are not called. Cells are made
    only if the length fits: an array of a billion equal numbers takes 8 bytes, a list of them all of the memory.
    """
    length = _length(row)
    if length is None:
        return [row] if width == 1 else None
    if length != width:
        return None
    try:
        return _cells(row)
    except Exception:  # an array of a subclass whose own methods fail
        return None


def _length(row: object) -> int | None:
    """Return how many cells a row has, without making them; None if its type is not that of a row."""
    kind = type(row)
    if issubclass(kind, list):
        return list.__len__(cast(list[object], row))
    if issubclass(kind, tuple):
        return tuple.__len__(cast(tuple[object, ...], row))
    if not issubclass(kind, np.ndarray):
        return None
    shape = np.ndarray.shape.__get__(row)
    # An array without sides is one cell. Rows of rows are rows of no width that is ever declared.
    return 1 if not shape else int(shape[0]) if len(shape) == 1 else 0


def _cells(row: object) -> Sequence[object]:
    """Return the cells of a row for which `_length` is known."""
    kind = type(row)
    if kind is list or kind is tuple:
        return cast(Sequence[object], row)
    if issubclass(kind, list):
        return list.__getitem__(cast(list[object], row), slice(None))
    if issubclass(kind, tuple):
        return tuple.__getitem__(cast(tuple[object, ...], row), slice(None))
    array = cast(NDArray[Any], row)
    # A masked entry is an empty cell; the plain array below it still holds what was masked.
    listed = np.ma.MaskedArray.tolist(array) if isinstance(array, np.ma.MaskedArray) else np.ndarray.tolist(array)
    return [listed] if np.ndarray.ndim.__get__(array) == 0 else listed


def common_width(rows: Sequence[object]) -> int | None:
    """Return the length that most rows of a list have; None where most are no rows at all.

    For readers without a declared width. All rows are counted, so that no single one decides; at a tie the larger length is
    taken.
    """
    lengths = Counter(-1 if length is None else length for length in map(_length, rows))
    if not lengths:
        return None
    width = max(lengths, key=lambda length: (lengths[length], length))
    return None if width < 0 else width


def open_rows(rows: Sequence[object], width: int, tally: Tally) -> Entries:
    """Return a list of rows as numbers; a row of another length is one of missing cells, counted for the curator."""

    def read(start: int, stop: int) -> Floats:
        part = [whole_row(row, width, tally) for row in rows[start:stop]]
        return np.array([floats(row) for row in part], dtype=np.float64).reshape(len(part), width)

    return Entries((len(rows), width), read)


def open_grid(matrix: NDArray[Any]) -> Entries:
    """Return a numpy matrix of an accepted type as numbers."""
    count, width = matrix.shape
    return Entries((count, width), lambda start, stop: floats(matrix[start:stop]).reshape(-1, width))


def open_frame(columns: Sequence[Reader]) -> Entries:
    """Return columns of equal length as the columns of a matrix of numbers."""

    def read(start: int, stop: int) -> Floats:
        matrix = np.empty((stop - start, len(columns)))
        for place, (_, cells) in enumerate(columns):
            matrix[:, place] = floats(cells(start, stop))
        return matrix

    return Entries((columns[0][0] if columns else 0, len(columns)), read)


def whole_row(row: object, width: int, tally: Tally) -> Sequence[object]:
    """Return the cells of one row; a row of another length is one of missing cells."""
    cells = row_cells(row, width)
    if cells is None:
        tally.ragged += 1
        return [Unread(None)] * width
    return cells


def floats(entries: NDArray[Any] | Cells) -> Floats:
    """Return entries as a new flat array of floats, NaN where there is no number."""
    with np.errstate(all="ignore"):
        if isinstance(entries, Repeated):
            return to_floats([*entries.distinct, None])[entries.index]
        cells = numpy_cells(entries.reshape(-1)) if isinstance(entries, np.ndarray) else entries
        return np.array(to_floats(cells), dtype=np.float64)


def open_labels(name: str, column: Column, values: Any, private: bool = False) -> Reader:
    """Open the target beside a matrix: a column whose labels are cells or, each by itself, rows of one cell."""
    count, read = open_column(name, column, values, private)

    def single(start: int, stop: int) -> Cells:
        cells = read(start, stop)
        if isinstance(cells, np.ndarray | Repeated):
            return cells
        return [(row_cells(cell, 1) or (None,))[0] for cell in cells]

    return count, single
