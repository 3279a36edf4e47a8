"""A cross table in the report: a picture of the shares within rows, then shares and counts as tables with intervals."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

from sfumato.pictures import of_cross, svg
from sfumato.pictures.of_cross import is_shown
from sfumato.pictures.results import word
from sfumato.queries.cross_tables import BY_ROW, COUNTS, SHARES
from sfumato.shells.html_page import Cell, folded, table

__all__ = ["is_shown", "results"]
# Headings of the tables that a report shows.
_SHOWN = {BY_ROW: "Shares within each row", SHARES: "Shares of all records", COUNTS: "Records in the data"}


def results(release: Any, level: float, most: int) -> str:
    """The picture, and a table for row shares, shares and counts; long ones are folded."""
    parts = [svg.figure(of_cross.picture(release, level))]
    for of, heading in _SHOWN.items():
        view = release.cross_table(of=of, level=level)
        made = f"{_both(view, heading)}<p>{escape(view.note)}</p>"
        long = view.cells.values.size > most or of != BY_ROW
        parts.append(folded(heading, made) if long else f"<h3>{escape(heading)}</h3>{made}")
    noise = (
        "An estimate is followed by its interval in brackets. The noise of the cells that are summed adds up: a margin is known "
        "less exactly than one cell."
    )
    return "".join(parts) + f"<p>{noise}</p>"


def _both(view: Any, heading: str) -> str:
    """The table as a grid for a wide screen, and with one line a cell for a narrow one."""
    cells = replace(view.cells, levels=tuple(tuple(map(word, levels)) for levels in view.cells.levels))
    head, *rows = replace(view, cells=cells).grid()
    *above, last = cells.columns
    first = len(above)
    spaced: list[list[Cell]] = [[*row[:first], *(_split(cell) for cell in row[first:])] for row in rows]
    names = [cell.removeprefix(f"{last}=") for cell in head]
    caption = f"{heading}: {last} across"
    long_head, *long_rows = cells.grid()
    groups, lines = [", ".join(row[:first]) for row in long_rows], [row[first:] for row in long_rows]
    wide = table(names, spaced, caption=caption)
    narrow = table(long_head[first:], lines, groups=groups, caption=heading)
    return f'<div class="for-wide">{wide}</div><div class="for-narrow">{narrow}</div>'


def _split(cell: str) -> tuple[str, str]:
    """An estimate and its interval in brackets as two texts, so that the second may go under the first."""
    main, gap, ends = cell.partition(" [")
    return main, f"[{ends}" if gap else ""
