"""The results of a regression in the report: effects on one axis, and the table of coefficients in the columns' own units."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.queries.regression_summary import INCLUDED
from sfumato.shells import svg
from sfumato.shells.report_tables import table


def results(release: Any, level: float, most: int) -> str:
    """Chart, tables of coefficients and of ratios, and notes; `most` coefficients are shown."""
    summary = release.summary(level)
    coefficients = summary.coefficients
    head, *rows = coefficients.rows()
    more = f"<p>… and {len(rows) - most} more in the file.</p>" if len(rows) > most else ""
    notes = "".join(
        f"<p>{'<strong>' if note.startswith('*') else ''}{escape(note)}{'</strong>' if note.startswith('*') else ''}</p>"
        for note in map(_without_errors, summary.notes)
    )
    link = dict(summary.facts)["link"]
    chart = "" if coefficients.intervals is None else _chart(release, level, most, link.partition(" of ")[0])
    facts = escape(f"{summary.title}; coefficients add up to the {link}.")
    tables = "".join(table(*each) for each in _narrow(head, rows[:most], coefficients.ratio, level))
    return f"<p>{facts}</p>{chart}{tables}{more}{notes}"


def _without_errors(note: str) -> str:
    """A note of the summary for tables that show no standard errors."""
    return f"Intervals {INCLUDED}" if note.endswith(INCLUDED) else note


def _narrow(
    head: list[str], rows: list[list[str]], ratio: str | None, level: float
) -> list[tuple[list[str], list[list[str]]]]:
    """A table of coefficients and, where the link has them, one of ratios: each fits a phone. Intervals are one cell."""
    tables = []
    for name in ("coef", *([ratio] if ratio else [])):
        place = head.index(name)
        lower = next((k for k in range(place, len(head)) if head[k].startswith("[")), None)
        kept = [row for row in rows if row[place]]
        ends = [[f"{row[lower]} to {row[lower + 1]}"] if lower else [] for row in kept]
        texts = [[row[0], row[place], *end] for row, end in zip(kept, ends, strict=True)]
        tables.append((["", name, *([f"{100 * level:g} % interval"] if lower else [])], texts))
    return tables


def _chart(release: Any, level: float, most: int, link: str) -> str:
    """Intervals of the effects of whole columns, which are comparable; nothing where a column has no range."""
    from sfumato.queries.range_effects import left_out, range_effects

    effects = list(range_effects(release.plan, release.schema, release.labels).items())[:most]
    others = _others(left_out(release.plan, release.schema))
    if not effects:
        return others
    contrasts = [release.contrast(weights, level) for _, weights in effects]
    lower, middle, upper = ([getattr(each, end) for each in contrasts] for end in ("lower", "estimate", "upper"))
    name = f"effect on the {link}, end to end"
    chart = svg.interval_chart([label for label, _ in effects], lower, middle, upper, name, "Effects with intervals")
    return chart + others


def _others(names: tuple[str, ...]) -> str:
    """A paragraph on the columns that the chart leaves out, and why."""
    if not names:
        return ""
    one = len(names) == 1
    listed = names[0] if one else f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"<p>{escape(listed)} {'is' if one else 'are'} not in the chart: {'it enters' if one else 'they enter'} through powers or "
        f"products, so that {'its' if one else 'their'} effect depends on where {'it starts' if one else 'they start'}. Average "
        "effects over public rows: sfumato query effects.</p>"
    )
