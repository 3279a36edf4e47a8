"""A page with every kind of picture, of numbers that are hard to draw: many rows, long names, labels near lines."""

from __future__ import annotations

import math
from pathlib import Path

from sfumato.pictures import axes, look, svg
from sfumato.pictures.description import (
    Band,
    Bars,
    Chart,
    Dots,
    Edge,
    Graph,
    Line,
    Node,
    Panels,
    Picture,
    Row,
    Rows,
    Rule,
    Whiskers,
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
LONG = "a region with a name that is rather long for a table"


def _curves() -> Chart:
    """Falling curves on a logarithmic axis, a point that was asked for, a line for comparison."""
    points = [(k / 10, 10 ** (-k / 6)) for k in range(41)]
    other = [(x, y**0.7) for x, y in points]
    marks = (
        Line(tuple(points), 0, "one release"),
        Line(tuple(other), 1, "two releases"),
        Line(((0, 1), (4, 1e-3)), None, "for comparison"),
        Dots(((2, 10 ** (-20 / 6)),), 0, "what was asked for", hollow=True),
        Rule(1e-6, "y", "one in a million"),
    )
    return Chart(
        "The privacy curve", axes.linear("epsilon", 0, 4), axes.logarithmic("delta", 1e-7, 1), marks, "It falls"
    )


def _bars() -> Chart:
    """A histogram with intervals and a shaded stretch."""
    heights = [round(200 * math.exp(-((k - 6) ** 2) / 9)) for k in range(14)]
    marks = (
        Band(20, 40, "bounds"),
        Bars(tuple((5.0 * k, 5.0 * k + 5, float(h)) for k, h in enumerate(heights)), 0, "records"),
        Whiskers(
            tuple((5.0 * k + 2.5, max(0.0, h - 12.0), h + 12.0) for k, h in enumerate(heights)), 0, "90 % interval"
        ),
    )
    return Chart("Lengths of stay", axes.linear("days", 0, 70), axes.linear("records", 0, 230), marks, "Most near 30")


def _rows(count: int) -> Rows:
    """Rows in groups, with sizes, some with wide intervals; every seventh has a long name."""
    rows = tuple(
        Row(
            f"{LONG} {k}" if k % 7 == 0 else f"area {k}",
            0.3 + 0.2 * math.sin(k),
            0.3 + 0.2 * math.sin(k) - 0.05 * (1 + k % 3),
            0.3 + 0.2 * math.sin(k) + 0.05 * (1 + k % 3),
            f"group {k * 4 // count}",
            f"0.{300 + k}",
            (1 + k % 5) / 5,
            k % 11 == 0,
        )
        for k in range(count)
    )
    return Rows(f"{count} rates", axes.linear("rate", -0.2, 0.8), rows, "Rates near 0.3", 0.0, "rate")


def _graph() -> Graph:
    """A network of three levels, with an arrow that skips one and a broken one."""
    names = ["age", "region of birth", "a column with a long name", "smoker", "ill", "days in hospital", "cost"]
    nodes = tuple(map(Node, names))
    arrows = (Edge(0, 3, 0.9), Edge(1, 4, 0.2, faint=True), Edge(2, 4), Edge(3, 5, 1.0), Edge(0, 6, 0.4), Edge(4, 6))
    return Graph("The network", nodes, arrows, "Age, region and a third column point to four others")


def drawings() -> list[Picture]:
    """One picture of each kind, and two more dot plots: 60 coefficients and 200 rates."""
    pair = Panels("Side by side", (_bars(), _bars()), "Two histograms")
    return [_curves(), _bars(), _rows(12), _rows(60), _rows(200), _graph(), pair]


def page(pictures: list[Picture]) -> str:
    """The pictures under a heading each, in a page with the look of a report and nothing else."""
    body = "".join(f"<h2>Picture {k + 1}</h2>{svg.figure(picture)}" for k, picture in enumerate(pictures))
    style = f"{look.COLOUR_STYLE}{look.SVG_STYLE}{svg.CHOICE_STYLE}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>Pictures</title><style>{style}'
        "body { margin:0; background:var(--paper); color:var(--ink); font:17px/1.5 serif; }"
        "main { max-width:42rem; margin:0 auto; padding:1rem; }"
        f"</style></head><body><main><h1>Pictures</h1>{body}</main></body></html>"
    )


def written(folder: Path) -> Path:
    """The page in a folder."""
    path = folder / "drawings.html"
    path.write_text(page(drawings()), encoding="utf-8")
    return path
