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
from sfumato.schema.columns import Boolean, Category, Column, Number

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Cells given as distinct objects and, per row, the position of one of them (-1 where the cell is empty)."""

    distinct: Sequence[object]
    index: NDArray[np.intp]


# What a reader hands over: plain numbers (NaN where there is none), or objects of any kind.
Cells = Floats | Sequence[object] | Repeated


@dataclass(frozen=True, slots=True)
class Encoded:
    """The stored values, which cells were mapped to the missing value, and which rows were clipped.

    The two masks are for the curator's counts alone.
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
    with np.errstate(all="ignore"):
        if isinstance(column, Number):
            return _encode_numbers(column, to_floats(cells))
        if isinstance(column, Category):
            return _encode_levels(column, cells)
        return _encode_truths(column, cells)


def to_floats(cells: Floats | Sequence[object]) -> Floats:
    """Return numbers as they are and every other cell by the rule for one."""
    return cells if isinstance(cells, np.ndarray) else np.array(rules.numbers(cells), dtype=np.float64)


def _encode_numbers(column: Number, numbers: Floats) -> Encoded:
    whole = np.rint(numbers) if column.integer else numbers
    # NaN passes np.clip, and an infinite cell is no measurement: both are replaced afterwards.
    unusable = ~np.isfinite(numbers)
    outside = ((whole < column.lower) | (whole > column.upper)) & ~unusable
    values = np.clip(whole, column.lower, column.upper)
    values[unusable] = column.missing
    values += 0.0  # one zero: -0.0 becomes 0.0
    return Encoded(values, unusable, outside)


def _encode_levels(column: Category, cells: Floats | Sequence[object]) -> Encoded:
    if isinstance(cells, np.ndarray):
        places = np.full(len(cells), -1, dtype=np.int64)
        levels = sorted(rules.numeric_levels(column))
        if levels:
            # Searched among sorted values: many cells are encoded at once.
            known, codes = np.array([v for v, _ in levels]), np.array([c for _, c in levels], dtype=np.int64)
            nearest = np.minimum(np.searchsorted(known, cells), len(known) - 1)
            places = np.where(known[nearest] == cells, codes[nearest], places)
    else:
        places = np.array(rules.codes(cells, rules.level_finder(column)), dtype=np.int64)
    fill = column.levels.index(column.missing)
    return _filled(places, fill, np.min_scalar_type(len(column.levels) - 1))


def _encode_truths(column: Boolean, cells: Floats | Sequence[object]) -> Encoded:
    if isinstance(cells, np.ndarray):
        places = np.where(cells == 1, 1, np.where(cells == 0, 0, -1))
    else:
        places = np.array(rules.codes(cells, rules.truth), dtype=np.int64)
    return _filled(places, int(column.missing), np.dtype(np.uint8))


def _filled(places: NDArray[np.int64], fill: int, dtype: np.dtype[Any]) -> Encoded:
    """Replace the position -1 of an unknown cell by that of the missing value."""
    unknown = places < 0
    values = np.where(unknown, fill, places).astype(dtype)
    return Encoded(values, unknown, np.zeros(len(places), dtype=bool))
