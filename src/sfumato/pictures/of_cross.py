"""The picture of a cross table: the last column's shares within each row, as a dot plot with a heading for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.pictures.description import Rows
from sfumato.pictures.dot_plots import from_results
from sfumato.pictures.results import Result, Results, even_writer, word
from sfumato.queries import cross_tables
from sfumato.queries.cross_tables import BY_ROW
from sfumato.queries.shares_by_level import Shares


def is_shown(release: Any) -> bool:
    """Whether a release is of a cross table with noisy counts, from which all of its tables are computed."""
    return cross_tables.is_cross(release.plan) and release.draws.totals is not None


def picture(release: Any, level: float = 0.9) -> Rows:
    """Shares of the last column within the rows."""
    return from_results(of_cells(release.cross_table(of=BY_ROW, level=level).cells), None, release.private)


def of_cells(cells: Shares) -> Results:
    """Shares within rows as results; of a column with two levels only the second is shown."""
    *first, last = cells.columns
    levels = cells.levels[-1]
    kept = range(1, 2) if len(levels) == 2 else range(len(levels))
    rows = []
    for index in np.ndindex(*cells.values.shape[:-1]):
        above = [word(own[k]) for own, k in zip(cells.levels, index, strict=False)]
        for k in kept:
            place = (*index, k)
            low = None if cells.lower is None else float(cells.lower[place])
            high = None if cells.upper is None else float(cells.upper[place])
            pair = (", ".join(above), "") if len(levels) == 2 else (word(levels[k]), _heading(first, above))
            rows.append(Result(pair[0], float(cells.values[place]), low, high, pair[1]))
    named = f"{last} = {word(levels[1])}" if len(levels) == 2 else last
    quantity = f"share of {named} within {', '.join(first)}"
    return Results(quantity, float(cells.level or 0.9), tuple(rows), "", even_writer(rows))


def _heading(names: list[str], levels: list[str]) -> str:
    return ", ".join(f"{name} = {level}" for name, level in zip(names, levels, strict=True))
