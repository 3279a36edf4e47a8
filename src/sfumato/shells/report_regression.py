"""The results of a regression in the report: a forest plot, then coefficients and ratios in the columns' own units in one table."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.pictures import of_regression, svg
from sfumato.pictures.results import LITTLE
from sfumato.queries.regression_summary import INCLUDED
from sfumato.schema import Schema
from sfumato.shells.html_page import Cell, folded, table


def results(release: Any, level: float, most: int) -> str:
    """The forest plot, the table of coefficients, folded where it is long, and notes."""
    from sfumato.queries.range_effects import left_out, range_effects

    summary = release.summary(level)
    coefficients = summary.coefficients
    notes = "".join(f"<p>{escape(note)}</p>" for note in map(_for_the_table, summary.notes))
    link = dict(summary.facts)["link"]
    facts = f"<p>{escape(f'{summary.title}; coefficients add up to the {link}.')}</p>"
    made = _table(release, coefficients, level)
    shown = made if len(coefficients.labels) <= most else folded(f"All {len(coefficients.labels)} coefficients", made)
    others = _others(left_out(release.plan, release.schema))
    if range_effects(release.plan, release.schema, release.labels):
        compared = (
            '<p class="beside">The picture compares the ends of each column’s range, and levels with the one they are compared '
            f"with; the table has coefficients for one unit of each column. {others}</p>"
        )
    else:
        compared = f'<p class="beside">The picture shows the coefficients of the table. {others}</p>'
    return f"{facts}{svg.figure(of_regression.picture(release, level))}{compared}{shown}{notes}"


def _for_the_table(note: str) -> str:
    """A note of the summary for a table that shows no standard errors and no stars."""
    if note.endswith(INCLUDED):
        return f"Intervals {INCLUDED}"
    return note.removeprefix("* ")


def _table(release: Any, coefficients: Any, level: float) -> str:
    """A line for each coefficient: the coefficient and, where the link has one, its ratio, each with its interval."""
    head, *rows = coefficients.rows()
    ratio, ends = coefficients.ratio, coefficients.intervals is not None
    columns = [("coef", "coefficient"), *([(ratio, ratio)] if ratio else [])]
    lines: list[list[Cell]] = []
    groups: list[str] = []
    schema = Schema.from_json(release.schema["document"])
    places = [
        (*of_regression.column_and_level(schema, label), label, row)
        for label, row in zip(coefficients.labels, rows, strict=True)
    ]
    # Levels under the heading of their column come after the columns that have one coefficient.
    for group, name, label, row in sorted(places, key=lambda place: bool(place[0])):
        groups.append(group)
        line: list[Cell] = [
            (name, LITTLE) if label in coefficients.little and label not in coefficients.unknown else name
        ]
        for key, _ in columns:
            place = head.index(key)
            low = place + (2 if key == "coef" else 1)
            line.append((row[place], f"({row[low]} to {row[low + 1]})" if ends and row[place] else ""))
        lines.append(line)
    names = [f"{name}{f' ({100 * level:g} % interval)' if ends else ''}" for _, name in columns]
    return table(
        ["column", *names],
        lines,
        groups=groups if any(groups) else [],
        caption="Coefficients for one unit of each column",
    )


def _others(names: tuple[str, ...]) -> str:
    """A paragraph on the columns that the picture leaves out, and why."""
    if not names:
        return ""
    one = len(names) == 1
    listed = names[0] if one else f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"{escape(listed)} {'enters' if one else 'enter'} through powers or products, so that {'its' if one else 'their'} effect "
        f"depends on where {'it starts' if one else 'they start'} and is not drawn. Average effects over public rows: "
        "sfumato query effects."
    )
