"""Shares or counts by the levels of one or more columns, with or without intervals: the answer to questions of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.queries.convert import needed

Array = NDArray[np.float64]


def named_columns(what: str, known: Iterable[str], columns: str | Sequence[str]) -> tuple[str, ...]:
    """The columns that a question names: one or several, none twice, all of them known; `what` is what has these columns."""
    wanted, listed = (columns,) if isinstance(columns, str) else tuple(columns), tuple(known)
    if not wanted or len(set(wanted)) != len(wanted):
        raise ArgumentError(f"name at least one column, none twice; got {columns!r}.")
    for name in wanted:
        if name not in listed:
            raise ArgumentError(f"the {what} has the columns {', '.join(listed)}; got {name!r}.")
    return wanted


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the combinations of some columns: `values` has one axis per column, `levels` name its entries.

    `lower` and `upper` are the ends of intervals of this `level`, where they were asked for; `what` is "share" or "records".
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    level: float | None = None
    what: str = "share"

    def __getitem__(self, combination: Any) -> float:
        """The share of one level, or of one combination of levels."""
        return float(self.values[self._place(combination)])

    def interval(self, combination: Any) -> tuple[float, float]:
        """Lower and upper end for one level, or for one combination of levels."""
        if self.lower is None or self.upper is None:
            raise ArgumentError("these shares were asked for without intervals: add interval=0.9.")
        place = self._place(combination)
        return float(self.lower[place]), float(self.upper[place])

    def _place(self, combination: Any) -> tuple[int, ...]:
        key = combination if isinstance(combination, tuple) else (combination,)
        if len(key) != len(self.columns):
            raise ArgumentError(f"name one level of each of {', '.join(self.columns)}; got {combination!r}.")
        pairs = zip(self.columns, self.levels, key, strict=True)
        return tuple(place_of(column, levels, level) for column, levels, level in pairs)

    def at(self, place: tuple[int, ...]) -> Shares:
        """The part at these positions of the first axes."""
        kept = len(place)
        lower, upper = (None if ends is None else ends[place] for ends in (self.lower, self.upper))
        return Shares(self.columns[kept:], self.levels[kept:], self.values[place], lower, upper, self.level, self.what)

    def to_dict(self) -> dict[Any, float]:
        """Combination -> share; single levels where there is one column."""
        if len(self.columns) == 1:
            return dict(zip(self.levels[0], map(float, self.values), strict=True))
        return {
            tuple(levels[k] for levels, k in zip(self.levels, index, strict=True)): float(value)
            for index, value in np.ndenumerate(self.values)
        }

    def to_pandas(self) -> Any:
        """One row per combination: its levels, the share or count, and the ends of the interval where there is one."""
        pandas = needed("pandas", "to_pandas")
        rows = []
        for index, value in np.ndenumerate(self.values):
            row = {name: levels[k] for name, levels, k in zip(self.columns, self.levels, index, strict=True)}
            row[self.what] = float(value)
            if self.lower is not None and self.upper is not None:
                row["lower"], row["upper"] = float(self.lower[index]), float(self.upper[index])
            rows.append(row)
        return pandas.DataFrame(rows)

    def grid(self) -> list[list[str]]:
        """The lines of the printed table as texts, the head first."""
        ends = self.lower is not None and self.upper is not None
        head = [*self.columns, self.what]
        rows = [[*head, f"{100 * (self.level or 0):g} % interval"] if ends else head]
        for index, value in np.ndenumerate(self.values):
            row = [*(str(levels[k]) for levels, k in zip(self.levels, index, strict=True)), self.shown(float(value))]
            if self.lower is not None and self.upper is not None:
                row.append(f"{self.shown(float(self.lower[index]))} to {self.shown(float(self.upper[index]))}")
            rows.append(row)
        return rows

    def __str__(self) -> str:
        return aligned([list(map(visible, row)) for row in self.grid()])

    def shown(self, value: float) -> str:
        """A share with four digits, a count as a whole number."""
        return f"{value:.4f}" if self.what == "share" else f"{value:,.0f}"


def place_of(column: str, levels: tuple[Any, ...], level: Any) -> int:
    """The position of a level; an unknown one is refused."""
    if level not in levels:
        raise ArgumentError(f"column {column!r} has the levels {', '.join(map(repr, levels))}; got {level!r}.")
    return levels.index(level)


def aligned(rows: list[list[str]], right: int | None = None) -> str:
    """Rows of texts in columns; those from the place `right` on are aligned to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right is not None and k >= right else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
