"""Cells of PUBLIC rows: those that no declaration allows are refused by name, and those that were replaced are counted.

A private row is never refused, because an error would reveal a cell. Rows to predict for are public: a level that is
misspelt or a text among numbers is an error of the caller, and the error shows the cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.schema.cells import text
from sfumato.schema.code_cells import is_code
from sfumato.schema.columns import Boolean, Column, Date, Number
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, Encoded, Repeated, encode

# Texts that are an empty cell: the second is how Python and pandas write one.
_EMPTY = ("", "nan")
# Names of the types of pandas' empty cells; pandas itself is not imported.
_EMPTY_TYPES = ("NAType", "NaTType")
# Levels that an error lists, and letters of a cell that it shows: together they fill two lines.
_LISTED, _LETTERS = 12, 60
# Bound of numbers of a vector, which have none of their own: the square of a sum of thousands of them is a float.
UNBOUNDED = 1e150


class PublicTally(Tally):
    """The counts of one pass over public rows, with the first cell of each column that no declaration allows."""

    def __init__(self) -> None:
        super().__init__()
        self._read: Counter[str] = Counter()
        self._empty: Counter[str] = Counter()
        self._strange: Counter[str] = Counter()
        self._first: dict[str, tuple[int, object]] = {}

    def encode(self, name: str, column: Column, cells: Cells) -> Encoded:
        """Encode a run of cells of one column; empty, clipped and strange ones are counted."""
        encoded = encode(column, cells)
        for place in np.flatnonzero(encoded.missing).tolist():
            cell = _cell(cells, place)
            if is_empty(cell) or is_code(column, cell):
                self._empty[name] += 1
                continue
            self._strange[name] += 1
            self._first.setdefault(name, (self._read[name] + place, cell))
        self._read[name] += len(encoded.missing)
        self.add(name, encoded)
        return encoded

    def refuse(self, columns: Mapping[str, Column]) -> None:
        """Raise for rows of another length and for cells that no declaration allows; the first one is shown."""
        if self.ragged:
            rows = f"{self.ragged:,} row{'s' * (self.ragged > 1)} of X"
            raise ArgumentError(
                f"{rows} must have one cell for each column; an empty line is a row too. Correct the rows."
            )
        if not self._first:
            return
        name = min(self._first, key=lambda each: self._first[each][0])
        (row, cell), column = self._first[name], columns[name]
        others = self._strange.total() - 1
        more = (
            f" {others:,} more cell{'s' * (others > 1)} of X {'are' if others > 1 else 'is'} wrong too."
            if others
            else ""
        )
        raise ArgumentError(
            f"X, row {row + 1:,} (counted from 1), column {name!r}: {_shown(cell)} {_fault(name, column)}.{more} "
            f"Correct the cells; one that is left empty counts as {_missing(column)}."
        )

    def sentence(self, columns: Mapping[str, Column]) -> str:
        """How many cells were clipped or empty, column by column; "" where there were none."""
        parts = []
        for name, count in self.result().columns.items():
            column = columns.get(name)
            if isinstance(column, Number) and count.clipped:
                verb = "lies" if count.clipped == 1 else "lie"
                was = "was" if count.clipped == 1 else "were"
                parts.append(f"{_cells(count.clipped)} of {name} {verb} outside {_ends(column)} and {was} clipped")
            if column is not None and self._empty[name]:
                verb = "counts" if self._empty[name] == 1 else "count"
                parts.append(f"{_cells(self._empty[name], 'empty ')} of {name} {verb} as {_missing(column)}")
        return "; ".join(parts)


def is_empty(cell: object) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA, or a text of spaces."""
    if cell is None or type(cell).__name__ in _EMPTY_TYPES:
        return True
    word = text(cell)
    if word is not None:
        return word.casefold() in _EMPTY
    return isinstance(cell, float | np.floating) and bool(np.isnan(cell))


def _cell(cells: Cells, place: int) -> object:
    """The cell of one row."""
    if isinstance(cells, Repeated):
        at = int(cells.index[place])
        return None if at < 0 else cells.distinct[at]
    cell = cells[place]
    return float(cell) if isinstance(cell, np.floating) else cell


def _shown(cell: object) -> str:
    """A cell as an error shows it: texts in quotes, whole numbers without a point, long cells shortened."""
    word = text(cell)
    if isinstance(cell, float):
        return f"{cell:g}"
    whole = visible(repr(cell if word is None else word))
    return whole if len(whole) <= _LETTERS else f"{whole[:_LETTERS]}..."


def _fault(name: str, column: Column) -> str:
    """What the cell should have been."""
    if isinstance(column, Number):
        ends = f"; {name} runs from {_ends(column)}" if column.upper < UNBOUNDED else ""
        what = f"date of the form {column.format}" if isinstance(column, Date) else "finite number"
        return f"is no {what}{ends}"
    if isinstance(column, Boolean):
        return "is neither yes nor no"
    levels = column.levels
    if levels is None:  # a column type that was added
        return f"is no {column.kind}"
    rest = f", ... and {len(levels) - _LISTED} more" if len(levels) > _LISTED else ""
    return f"is none of the levels {', '.join(map(repr, levels[:_LISTED]))}{rest}"


def _missing(column: Column) -> str:
    """What an empty cell counts as: yes or no, a number, or a level in quotes."""
    value = getattr(column, "missing", None)
    if isinstance(column, Boolean):
        return "yes" if value else "no"
    return column.shown(column.missing) if isinstance(column, Number) else repr(value)


def _ends(column: Number) -> str:
    return f"{column.shown(column.lower)} to {column.shown(column.upper)}"


def _cells(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}cell{'s' * (count > 1)}"
