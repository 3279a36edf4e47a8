"""What came out, in the report: pictures, then the numbers, with what is said of a number beside it."""

from __future__ import annotations

from html import escape
from typing import Any

from sfumato.models.families import DirichletCategorical
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.networks.markov_chain import MarkovChain
from sfumato.models.reading import model_from_json
from sfumato.pictures import of_release, svg
from sfumato.pictures.results import LITTLE, Results, of_family
from sfumato.queries.own_units import regression_of
from sfumato.shells import report_cross, report_learned, report_network, report_regression
from sfumato.shells.html_page import Cell, folded, paragraph, table
from sfumato.wording import clipping_in_words, counting_in_words, missing_in_words

# Rows of numbers that a reader takes in under their picture; more are folded away, and all of them are in the picture.
_MOST_OPEN = 40
_WHY = (
    "The intervals are for the population from which the records were drawn: the privacy noise and the sampling of the records "
    "are both in them."
)
_SUMS = " Each share is estimated by itself, so the shares of a whole need not add up to 1."


def results(release: Any, level: float) -> str:
    """The section for every kind of release."""
    if regression_of(release.plan) is not None:
        return report_regression.results(release, level, _MOST_OPEN) + beside(release, clipping=False)
    if report_cross.is_shown(release):
        return report_cross.results(release, level, _MOST_OPEN) + beside(release)
    if report_learned.is_shown(release):
        return report_learned.results(release, level, _MOST_OPEN) + beside(release)
    if report_network.is_shown(release):
        return report_network.results(release, level, _MOST_OPEN) + beside(release)
    rows = of_family(release, level)
    figure = svg.figure(of_release.picture_of_family(release, rows))
    why = (
        f"<p>{_WHY}{_SUMS if is_summed(release) else ''}</p>"
        if rows.has_intervals
        else f"<p>No interval: {escape(rows.reason)}</p>"
    )
    return (
        figure
        + beside(release)
        + numbers(rows)
        + why
        + paragraph("In place of an estimate", rows.meaning)
        + _little(rows)
    )


def is_summed(release: Any) -> bool:
    """Whether the numbers are the shares of a whole, of which each is shown with its own median."""
    model: Any = model_from_json(release.plan["model"])
    return isinstance(model.model if isinstance(model, HiddenSizes) else model, DirichletCategorical | MarkovChain)


def beside(release: Any, clipping: bool = True) -> str:
    """What bounds, several rows of one person and missing cells do to the numbers, right under their picture."""
    clipped = paragraph("Bounds", clipping_in_words(release)) if clipping else ""
    # The summary of a regression has notes on persons and weights, beside that on its bounds.
    counting = "".join(paragraph(*each) for each in counting_in_words(release)) if clipping else ""
    return clipped + counting + paragraph("Missing values", missing_in_words(release))


def numbers(rows: Results) -> str:
    """The table of results; folded where it is long."""
    sized = any(row.size is not None for row in rows.rows)
    head = [rows.of, rows.name, *([rows.interval_name] if rows.has_intervals else []), *(["size"] if sized else [])]
    lines: list[list[Cell]] = []
    for row in rows.rows:
        name: Cell = (row.label, LITTLE) if row.little and not row.state else row.label
        line: list[Cell] = [name, rows.middle(row)]
        line += [rows.ends(row)] if rows.has_intervals else []
        lines.append([*line, *([f"{row.size:,.0f}" if row.size is not None else ""] if sized else [])])
    groups = [row.group for row in rows.rows] if any(row.group for row in rows.rows) else []
    made = table(head, lines, groups=groups, caption=_caption(rows, sized))
    return made if len(lines) <= _MOST_OPEN else folded(f"All {len(lines)} numbers", made)


def _caption(rows: Results, sized: bool) -> str:
    """What the table shows, as a sentence."""
    sizes = f"; sizes are noisy counts (unit: {rows.unit})" if sized else ""
    return f"{rows.quantity[:1].upper()}{rows.quantity[1:]}{sizes}"


def _little(rows: Results) -> str:
    """What "little known" means, where a row has it."""
    if not any(row.little and not row.state for row in rows.rows):
        return ""
    return (
        f'<p class="beside">“{LITTLE}” stands beside a number whose interval is so wide that the number should not be published '
        "or compared by itself: a rate or share whose standard error is more than a third of it, or a mean whose interval takes "
        "more than half of its bounds.</p>"
    )
