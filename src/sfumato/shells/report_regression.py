"""The results of a regression in the report: effects on one axis, and the table of coefficients in the columns' own units."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.shells import svg
from sfumato.shells.report_tables import table


def results(release: Any, level: float, most: int) -> str:
    """Chart, table and notes; `most` coefficients are shown."""
    summary = release.summary(level)
    coefficients = summary.coefficients
    head, *rows = coefficients.rows()
    more = f"<p>… and {len(rows) - most} more in the file.</p>" if len(rows) > most else ""
    notes = "".join(
        f"<p>{'<strong>' if note.startswith('*') else ''}{escape(note)}{'</strong>' if note.startswith('*') else ''}</p>"
        for note in summary.notes
    )
    chart = "" if coefficients.intervals is None else _chart(release, level, most)
    facts = escape(f"{summary.title}; coefficients add up to the {dict(summary.facts)['link']}.")
    return f"<p>{facts}</p>{chart}{table(head, rows[:most])}{more}{notes}"


def _chart(release: Any, level: float, most: int) -> str:
    """Intervals of the effects of whole columns, which are comparable; nothing where a column has no range."""
    from sfumato.queries.range_effects import range_effects

    effects = list(range_effects(release.plan, release.schema, release.labels).items())[:most]
    if not effects:
        return ""
    contrasts = [release.contrast(weights, level) for _, weights in effects]
    lower, middle, upper = ([getattr(each, end) for each in contrasts] for end in ("lower", "estimate", "upper"))
    name = "effect of a column from one end to the other"
    return svg.interval_chart([label for label, _ in effects], lower, middle, upper, name, "Effects with intervals")
