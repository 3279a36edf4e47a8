"""The results of a cross table in the report: shares, and shares within rows, as tables with intervals."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.queries import cross_tables
from sfumato.queries.cross_tables import BY_ROW, COUNTS, SHARES
from sfumato.shells.report_tables import table

# Headings of the tables that a report shows.
_SHOWN = {SHARES: "Shares of all records", COUNTS: "Records in the data", BY_ROW: "Shares within each row"}


def is_shown(release: Any) -> bool:
    """Whether a release is of a cross table with noisy counts, from which all of its tables are computed."""
    return cross_tables.is_cross(release.plan) and release.draws.totals is not None


def results(release: Any, level: float, most: int) -> str:
    """A table for shares, counts and row shares; of more rows than fit a page the first ones."""
    parts = []
    for of, heading in _SHOWN.items():
        view = release.cross_table(of=of, level=level)
        head, *rows = view.grid()
        more = f"<p>… and {len(rows) - most} more rows in the file.</p>" if len(rows) > most else ""
        parts.append(f"<h3>{escape(heading)}</h3>{table(head, rows[:most])}{more}<p>{escape(view.note)}</p>")
    noise = (
        "An estimate is followed by its interval in brackets. The noise of the cells that are summed adds up: a margin is known "
        "less exactly than one cell."
    )
    return "".join(parts) + f"<p>{noise}</p>"
