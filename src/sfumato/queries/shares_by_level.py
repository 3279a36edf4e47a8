"""Shares or counts by the levels of one or more columns, with or without intervals: the answer to questions of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato._validate import visible
from sfumato.errors import ArgumentError
from sfumato.queries.at_the_edge import in_words, meaning, state
from sfumato.queries.convert import needed

Array = NDArray[np.float64]


# The logarithm of the factor that makes shares add up to 1 is found by halving this interval.
_FARTHEST, _HALVINGS = 40.0, 60


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

    `lower` and `upper` are the ends of intervals of this `level`, where they were asked for; `what` is "share" or "records", `most`
    the largest value that is possible.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    values: Array
    lower: Array | None = None
    upper: Array | None = None
    level: float | None = None
    what: str = "share"
    most: float = 1.0

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
        levels = self.levels[kept:]
        return replace(
            self, columns=self.columns[kept:], levels=levels, values=self.values[place], lower=lower, upper=upper
        )

    def state(self, index: tuple[int, ...]) -> str:
        """What is said in place of an estimate; "" where it stands."""
        if self.lower is None or self.upper is None:
            return ""
        estimate, low, high = (float(each[index]) for each in (self.values, self.lower, self.upper))
        return state(estimate, low, high, (0.0, self.most), True)

    @property
    def meaning(self) -> str:
        """What the words mean that stand in place of estimates; "" where there are none."""
        return meaning(map(self.state, np.ndindex(*self.values.shape)))

    def said(self, index: tuple[int, ...], shown: Callable[[float], str] | None = None) -> tuple[str, str]:
        """An estimate in words, and its interval; "" where it has none. `shown` writes a number."""
        write = shown or self.shown
        if self.lower is None or self.upper is None:
            return write(float(self.values[index])), ""
        low, high = float(self.lower[index]), float(self.upper[index])
        return in_words(
            float(self.values[index]), low, high, self.state(index), write
        ), f"{write(low)} to {write(high)}"

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Names of columns, and a row for each combination: its levels, the share or count, and interval and state."""
        ends = self.lower is not None and self.upper is not None
        rows = []
        for index, value in np.ndenumerate(self.values):
            row = [levels[k] for levels, k in zip(self.levels, index, strict=True)]
            if self.lower is not None and self.upper is not None:
                said = self.state(index)
                row += [None if said else float(value), float(self.lower[index]), float(self.upper[index]), said]
            else:
                row.append(float(value))
            rows.append(row)
        return [*self.columns, self.what, *(("lower", "upper", "state") if ends else ())], rows

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
        names, rows = self.table()
        return pandas.DataFrame(rows, columns=names)

    def grid(self) -> list[list[str]]:
        """The lines of the printed table as texts, the head first."""
        ends = self.lower is not None and self.upper is not None
        head = [*self.columns, self.what]
        rows = [[*head, f"{100 * (self.level or 0):g} % interval"] if ends else head]
        for index in np.ndindex(*self.values.shape):
            named = (str(levels[k]) for levels, k in zip(self.levels, index, strict=True))
            rows.append([*named, *self.said(index)[: 1 + ends]])
        return rows

    def __str__(self) -> str:
        table = aligned([list(map(visible, row)) for row in self.grid()])
        return f"{table}\n\n{self.meaning}" if self.meaning else table

    def shown(self, value: float) -> str:
        """A share with four digits, a count as a whole number."""
        return f"{value:.4f}" if self.what == "share" else f"{value:,.0f}"


def adding_up(values: Array, lower: Array, upper: Array, over: tuple[int, ...]) -> Array:
    """Shares of wholes, each along the axes `over`, multiplied by one factor for each whole so that they add up to 1.

    Each stays in its interval. The median of one share knows nothing of the others: where noise is large theirs add up to more.
    """
    factor = np.ones_like(values.sum(axis=over, keepdims=True))
    low, high = np.full_like(factor, -_FARTHEST), np.full_like(factor, _FARTHEST)
    for _ in range(_HALVINGS):
        factor = 0.5 * (low + high)
        large = np.clip(values * np.exp(factor), lower, upper).sum(axis=over, keepdims=True) > 1
        low, high = np.where(large, low, factor), np.where(large, factor, high)
    return np.asarray(np.clip(values * np.exp(factor), lower, upper))


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
