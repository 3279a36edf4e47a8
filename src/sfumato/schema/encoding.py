"""From a run of cells to a compact array: every value inside the declared bounds, whatever the cells held.

Numbers become float64 in [lower, upper], levels the smallest unsigned integer that counts them, yes and no uint8. The
dtype and the length depend on the schema and the number of rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import cells as rules
from sfumato.schema.code_cells import blanked
from sfumato.schema.columns import Column

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Cells given as distinct objects and, per row, the position of one of them (-1 where the cell is empty)."""

    distinct: Sequence[object]
    index: NDArray[np.intp]


# What a reader hands over: plain numbers (NaN where there is none), dates (NaT where there is none), or objects of any kind.
Dates = NDArray[np.datetime64]
Plain = Floats | Dates | Sequence[object]
Cells = Plain | Repeated
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Encoded:
    """The stored values, which cells were mapped to the missing value, and which rows were clipped.

    Both masks are private. `clipped` is for the curator's counts alone; `missing` is kept beside the column (`missing_cells`).
    """

    values: NDArray[Any]
    missing: Mask
    clipped: Mask

    def take(self, index: NDArray[np.intp]) -> Encoded:
        """Return the rows at these positions."""
        return Encoded(self.values[index], self.missing[index], self.clipped[index])


def encode(column: Column, cells: Cells) -> Encoded:
    """Encode cells by the declared rules of their column. Never raises, never warns, looks at one cell at a time."""
    if isinstance(cells, Repeated):
        # The empty cell is put last, where the position -1 finds it.
        return encode(column, [*cells.distinct, None]).take(cells.index)
    cells = blanked(column, cells) if getattr(column, "missing_codes", ()) else cells
    with np.errstate(all="ignore"):
        return column.encoded(cells)


def to_floats(cells: Plain) -> Floats:
    """Return numbers as they are and every other cell by the rule for one."""
    if isinstance(cells, np.ndarray):
        return np.asarray(cells, dtype=np.float64) if cells.dtype.kind != "M" else np.full(len(cells), np.nan)
    return np.array(rules.numbers(cells), dtype=np.float64)


def filled(places: NDArray[np.int64], fill: int, dtype: np.dtype[Any]) -> Encoded:
    """Replace the position -1 of an unknown cell by that of the missing value."""
    unknown = places < 0
    values = np.where(unknown, fill, places).astype(dtype)
    return Encoded(values, unknown, np.zeros(len(places), dtype=bool))
