"""The picture of a histogram: bars over the bins' own edges, with intervals."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from sfumato.models.families.histogram import Histogram
from sfumato.models.reading import model_from_json
from sfumato.pictures import axes
from sfumato.pictures.description import Bars, Chart, Whiskers
from sfumato.pictures.dot_plots import alt, dates
from sfumato.pictures.results import Results
from sfumato.schema import Date, Schema


def picture(release: Any, results: Results) -> Chart:
    """Shares as bars; where bins differ in width, shares for one unit of it, so that areas are shares."""
    model: Histogram = model_from_json(release.plan["model"])
    schema = Schema.from_json(json.loads(release.schema["document"]))
    name = model.columns(schema)[0]
    column = schema.columns[name]
    edges = [float(edge) for edge in model.edges]
    widths = [right - left for left, right in pairwise(edges)]
    unequal = max(widths) > 1.01 * min(widths)
    scale = [width if unequal else 1.0 for width in widths]
    bars = tuple(
        (left, right, 0.0 if row.state else max(row.estimate, 0.0) / each)
        for (left, right), row, each in zip(pairwise(edges), results.rows, scale, strict=True)
    )
    spans = tuple(
        ((left + right) / 2, row.lower / each, row.upper / each)
        for (left, right), row, each in zip(pairwise(edges), results.rows, scale, strict=True)
        if row.lower is not None and row.upper is not None
    )
    top = 1.05 * max([height for _, _, height in bars] + [high for _, _, high in spans] + [1e-9])
    across = (
        dates(name, edges[0], edges[-1], column)
        if isinstance(column, Date)
        else axes.linear(name, edges[0], edges[-1], 6)
    )
    up = axes.linear("share of records for one unit" if unequal else "share of records", 0.0, top)
    title = f"Histogram of {name}{results.with_intervals}"
    marks = (Bars(bars, 0, "estimate"), *((Whiskers(spans, 0, results.interval_name),) if spans else ()))
    head = title if release.private else f"NOT PRIVATE: {title}"
    return Chart(
        head, across, up, marks, alt(results).replace(f"Dot plot of {results.quantity}", f"Histogram of {name}", 1)
    )
