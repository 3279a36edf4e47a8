"""Draw a description (`sfumato.pictures`) with matplotlib: one figure, the look and the order of the report's pictures."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato.pictures import look
from sfumato.pictures.description import (
    Axis,
    Band,
    Bars,
    Chart,
    Dots,
    Graph,
    Line,
    Mark,
    Matrix,
    Panels,
    Picture,
    Row,
    Rows,
    Rule,
)
from sfumato.plots import _drawing, _render_graph, _render_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches of a row, and of the title and axis around them.
_ROW, _AROUND = 0.26, 1.3
# Points across a dot without weight; square points of the lightest and the heaviest dot.
_DOT, _LEAST_DOT, _MOST_DOT = 6.0, 20.0, 140.0
# Characters of an axis's name in one line.
_ACROSS, _UP = 62, 40
# Lines of an axis's name: a short figure is eleven lines high.
_MOST_LINES = 3
# Inches of the highest figure: matplotlib draws at most 2^16 pixels, at the 200 of an inch that `sfumato plot` asks for.
_HIGHEST = 320.0


def figure(picture: Picture) -> Figure:
    """The picture as a matplotlib Figure."""
    if isinstance(picture, Rows):
        return _rows(picture)
    if isinstance(picture, Graph):
        return _render_graph.figure(picture)
    if isinstance(picture, Matrix):
        return _render_matrix.figure(picture)
    charts = picture.charts if isinstance(picture, Panels) else (picture,)
    made, axes = _drawing.figure(picture.title, panels=len(charts))
    for place, (axis, chart) in enumerate(zip(axes, charts, strict=True)):
        # Panels share their vertical axis: its name stands once.
        lines, names = _chart(axis, chart if place == 0 else replace(chart, y=replace(chart.y, name="")))
        if isinstance(picture, Panels):
            _drawing.plain(axis.set_title(chart.title, fontsize=look.PLAIN))
        elif names:
            _drawing.legend(axis, lines, names, chart.legend)
    if isinstance(picture, Panels):
        style = {"fontsize": look.SMALL, "handlelength": 2.4, "frameon": False}
        columns = -(-len(names) // 3)
        for text in made.legend(lines, names, loc="outside lower center", ncols=columns, **style).get_texts():
            _drawing.plain(text)
    return made


def _chart(axis: Any, chart: Chart) -> tuple[list[Any], list[str]]:
    """Draw the marks and axes; the samples and names of a legend."""
    lines: list[Any] = []
    names: list[str] = []
    for mark in chart.marks:
        drawn = _mark(axis, mark)
        if mark.name:
            lines.append(drawn)
            names.append(mark.name)
    _scaled(axis, chart.x, "x")
    _scaled(axis, chart.y, "y")
    return lines, names


def _scaled(axis: Any, given: Axis, along: str) -> None:
    """Scale, ends, ticks and name of one axis, as the description has them."""
    if given.log:
        getattr(axis, f"set_{along}scale")("log")
    getattr(axis, f"set_{along}lim")(given.low, given.high)
    values = [value for value, _ in given.ticks]
    getattr(axis, f"set_{along}ticks")(values, [text for _, text in given.ticks])
    getattr(axis, f"set_{along}ticks")([], minor=True)
    across = _ACROSS if along == "x" else _UP
    # A name of any length leaves room for the picture.
    lines = textwrap.wrap(_drawing.shortened(given.name, _MOST_LINES * across), across)[:_MOST_LINES]
    _drawing.plain(getattr(axis, f"set_{along}label")("\n".join(lines), fontsize=look.PLAIN))
    for text in getattr(axis, f"get_{along}ticklabels")():
        _drawing.plain(text)


def _style(series: int | None, width: float = 2.0) -> dict[str, Any]:
    if series is None:
        return dict(_drawing.DOTTED)
    return {**_drawing.line_style(series), "linewidth": width}


def _colour(series: int | None) -> str:
    return look.GREY if series is None else look.COLOURS[series % look.MOST]


def _mark(axis: Any, mark: Mark) -> Any:
    """Draw one mark; the return value stands for it in a legend."""
    if isinstance(mark, Line):
        marker = {"marker": look.MARKERS[(mark.series or 0) % look.MOST]} if mark.markers else {}
        xs, ys = [x for x, _ in mark.points], [y for _, y in mark.points]
        return axis.plot(xs, ys, **_style(mark.series, mark.width), **marker)[0]
    if isinstance(mark, Dots):
        xs, ys = [x for x, _ in mark.points], [y for _, y in mark.points]
        if mark.cross:
            return axis.plot(xs, ys, "x", color="black", markersize=8, clip_on=False)[0]
        if mark.hollow:
            style = {"color": "black", "markerfacecolor": "white", "markersize": 7, "clip_on": False, "zorder": 4}
            return axis.plot(xs, ys, "o", **style)[0]
        style = {"color": _colour(mark.series), "markersize": 6, "clip_on": False, "zorder": 3}
        return axis.plot(xs, ys, look.MARKERS[0], linestyle="none", **style)[0]
    if isinstance(mark, Rule):
        style = _drawing.DOTTED if mark.series is None else {"color": _colour(mark.series), "linewidth": 1.0}
        style = style if mark.series is None else {**style, "linestyle": ":"}
        return (axis.axvline if mark.along == "x" else axis.axhline)(mark.at, **style)
    if isinstance(mark, Band):
        return axis.axvspan(mark.left, mark.right, color="#E8E8E8", zorder=0)
    if isinstance(mark, Bars):
        left, wide = [a for a, _, _ in mark.items], [b - a for a, b, _ in mark.items]
        style = {"color": look.PAGE["wash"][0], "edgecolor": _colour(mark.series), "linewidth": 0.8}
        return axis.bar(left, [height for _, _, height in mark.items], wide, align="edge", **style)
    at, low, high = zip(*mark.items, strict=True) if mark.items else ((), (), ())
    return axis.vlines(at, low, high, color=_colour(mark.series), linewidth=2.0)


def _rows(picture: Rows) -> Figure:
    """A dot plot: labels at the left, top to bottom, headings where a group begins, texts at the right end."""
    places, headings, down = [], [], 0.0
    group = ""
    for row in picture.rows:
        if row.group != group:
            group = row.group
            if group:
                headings.append((down, group))
                down += 1.0
        places.append(down)
        down += 1.0
    made, (axis,) = _drawing.figure(picture.title, min(max(_drawing.HEIGHT, _ROW * down + _AROUND), _HIGHEST))
    colour = look.COLOURS[0]
    for faint in (False, True):
        kept = [(at, row) for at, row in zip(places, picture.rows, strict=True) if row.faint == faint]
        spans = [(at, row.lower, row.upper) for at, row in kept if row.lower is not None]
        if spans:
            axis.hlines(
                [at for at, _, _ in spans],
                [low for _, low, _ in spans],
                [high for _, _, high in spans],
                color=colour,
                linewidth=2.2,
                linestyle=(0, (3, 1.5)) if faint else "solid",
            )
        if kept:
            _dots(axis, kept, "white" if faint else colour, "black" if faint else colour)
    if picture.reference is not None and picture.x.low < picture.reference < picture.x.high:
        axis.axvline(picture.reference, **_drawing.DOTTED)
    texts = [(at, _drawing.shortened(row.label)) for at, row in zip(places, picture.rows, strict=True)]
    bold = {at for at, _ in headings}
    marks = sorted([*texts, *((at, _drawing.shortened(name)) for at, name in headings)])
    axis.set_yticks([at for at, _ in marks], [text for _, text in marks])
    for (at, _), text in zip(marks, axis.get_yticklabels(), strict=True):
        _drawing.plain(text).set_fontweight("bold" if at in bold else "normal")
    axis.set_ylim(down - 0.4, -0.6)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    _scaled(axis, picture.x, "x")
    _details(axis, picture, places)
    return made


def _details(axis: Any, picture: Rows, places: list[float]) -> None:
    """The texts at the end of the rows, on an axis of their own so that the layout makes room for them."""
    if not any(row.detail for row in picture.rows):
        return
    other = axis.twinx()
    other.set_ylim(axis.get_ylim())
    other.spines[["top", "right"]].set_visible(False)
    kept = [(at, row.detail) for at, row in zip(places, picture.rows, strict=True) if row.detail]
    other.set_yticks([at for at, _ in kept], [_drawing.shortened(text, 32) for _, text in kept])
    other.tick_params(axis="y", length=0, labelsize=look.SMALL, labelcolor=look.GREY)
    for text in other.get_yticklabels():
        _drawing.plain(text)
    if picture.detail:
        _drawing.plain(axis.set_title(picture.detail, loc="right", fontsize=look.SMALL, color=look.GREY))


def _dots(axis: Any, kept: list[tuple[float, Row]], inside: str, edge: str) -> None:
    """The estimates of rows; their areas are the weights, where rows have them."""
    kept = [(at, row) for at, row in kept if row.dot]
    middles, places = [row.middle for _, row in kept], [at for at, _ in kept]
    if all(row.weight is None for _, row in kept):
        axis.plot(middles, places, "o", color=edge, markerfacecolor=inside, markersize=_DOT, zorder=3)
        return
    areas = [_LEAST_DOT + (row.weight or 0.0) * (_MOST_DOT - _LEAST_DOT) for _, row in kept]
    axis.scatter(middles, places, s=areas, color=inside, edgecolors=edge, zorder=3)
