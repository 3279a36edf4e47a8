"""A dot plot as SVG: labels beside the lines where there is room, above them on a narrow screen, never on a gridline."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from sfumato.pictures._svg_text import BOLD, fitted, width, wrapped, written
from sfumato.pictures.description import Axis, Row, Rows

# Pixels: a row, a heading, a row whose label stands above its line, and the numbers with the name of the axis.
_ROW, _HEADING, _TALL, _AXIS = 24, 30, 42, 24
_LINE = 17
# Lines of a label that stands above its row.
_MOST_LINES = 3
# The largest share of the picture that labels and the texts at the end may take.
_LABELS, _DETAILS = 0.4, 0.36
# The least share that the plot between them takes, and its least width: below, it shows too little.
_PLOT, _LEAST_PLOT = 0.33, 150
# Radii of dots: without weights, and between the lightest and the heaviest.
_DOT, _LEAST_DOT, _MOST_DOT = 4.0, 3.0, 8.0
_GAP, _EDGE = 12, 10
# With more rows than fit a screen the numbers of the axis stand above them too.
_SCREEN = 25


def drawn(picture: Rows, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a dot plot that is `across` pixels wide."""
    details = max((width(row.detail) for row in picture.rows), default=0.0)
    labels = max((width(row.label) + (_GAP if row.group else 0) for row in picture.rows), default=0.0)
    # One pixel more, so that a rounding does not shorten the longest label.
    left = min(labels + 1, _LABELS * across)
    right = min(details, _DETAILS * across)
    if across - left - right - 2 * _GAP >= max(_LEAST_PLOT, _PLOT * across) and labels <= _LABELS * across:
        return _beside(picture, across, left + _GAP, across - (right + _GAP if right else _EDGE))
    return _above(picture, across)


def _beside(picture: Rows, across: int, left: float, right: float) -> tuple[float, list[str]]:
    """Labels on the left, texts on the right, all lines between."""
    place = scale(picture.x, left + _EDGE, right - _EDGE)
    top = _LINE + 6.0 if picture.detail else 4.0
    texts = [written(fitted(picture.detail, across), across, _LINE - 4, "end", "soft")] if picture.detail else []
    texts += _numbers(picture, place, top + 12, across) if len(picture.rows) > _SCREEN else []
    top += _AXIS - 4 if len(picture.rows) > _SCREEN else 0.0
    down, group, lines = top, "", []
    strips: list[tuple[float, float]] = []
    for row in picture.rows:
        if row.group != group:
            group = row.group
            down += _HEADING if group else 0.0
            texts += [written(fitted(group, across / BOLD), 0, down - 8, "start", "strong", group)] if group else []
        middle, inset = down + _ROW / 2, _GAP if row.group else 0
        label, detail = fitted(row.label, left - _GAP - inset), fitted(row.detail, across - right - 2)
        texts.append(written(label, inset, middle + 4.5, style=_soft(row), full=row.label))
        texts += [written(detail, across, middle + 4.5, "end", "soft", row.detail)] if row.detail else []
        lines += _marks(row, place, middle)
        # A heading has its line to itself: the gridlines of the rows above end before it.
        joined = bool(strips) and strips[-1][1] == down
        strips[-1:] = [(strips[-1][0], down + _ROW)] if joined else [*strips[-1:], (down, down + _ROW)]
        down += _ROW
    frame = _grid(picture, place, strips)
    named, bottom = _axis(picture, place, down + 4, across, (left + right) / 2)
    return bottom, [*frame, *lines, *texts, *named]


def _above(picture: Rows, across: int) -> tuple[float, list[str]]:
    """Each label above its line, with its text at the other end; gridlines only beside the lines."""
    place = scale(picture.x, _EDGE, across - _EDGE)
    texts: list[str] = []
    lines: list[str] = []
    strips: list[tuple[float, float]] = []
    down, group = 4.0, ""
    if picture.detail:
        texts.append(written(fitted(picture.detail, across), across, 13, "end", "soft"))
        down += _LINE
    if len(picture.rows) > _SCREEN:
        texts += _numbers(picture, place, down + 14, across)
        down += _AXIS
    for row in picture.rows:
        if row.group != group:
            group = row.group
            for line in _lines(group, across / BOLD) if group else []:
                texts.append(written(line, 0, down + 18, "start", "strong", group))
                down += _LINE
            down += _HEADING - 4 - _LINE if group else 0
        room = across - (width(row.detail) + _GAP if row.detail else 0)
        # A text that leaves too little room for the label goes on a line of its own.
        apart = bool(row.detail) and room < min(width(row.label), 0.35 * across)
        room = across if apart else room
        label = _lines(row.label, room)
        texts += [
            written(line, 0, down + 14 + k * _LINE, style=_soft(row), full=row.label) for k, line in enumerate(label)
        ]
        down += _LINE * (len(label) - 1)
        if row.detail:
            down += _LINE if apart else 0
            texts.append(written(fitted(row.detail, across), across, down + 14, "end", "soft", row.detail))
        lines += _marks(row, place, down + 28)
        strips.append((down + 20, down + 37))
        down += _TALL
    frame = _grid(picture, place, strips)
    named, bottom = _axis(picture, place, down, across, across / 2)
    return bottom, [*frame, *lines, *texts, *named]


def _lines(text: str, room: float) -> list[str]:
    """A label in lines that fit; one that needs too many is shortened in its middle."""
    lines = wrapped(text, room)
    return lines if len(lines) <= _MOST_LINES else [fitted(text, room)]


def _soft(row: Row) -> str:
    return "soft" if row.faint else ""


def _marks(row: Row, place: Callable[[float], float], down: float) -> list[str]:
    """The interval and the estimate; the lines of a faint row are broken and its dot is hollow."""
    parts = []
    if row.lower is not None and row.upper is not None:
        ends = f'x1="{place(row.lower):.1f}" x2="{place(row.upper):.1f}" y1="{down:.1f}" y2="{down:.1f}"'
        parts.append(f'<line class="span l0{" faint" if row.faint else ""}" {ends}/>')
    if not row.dot:
        return parts
    radius = _DOT if row.weight is None else math.sqrt(_LEAST_DOT**2 + row.weight * (_MOST_DOT**2 - _LEAST_DOT**2))
    style = "hollow" if row.faint else "d0"
    parts.append(f'<circle class="{style}" cx="{place(row.middle):.1f}" cy="{down:.1f}" r="{radius:.1f}"/>')
    return parts


def _grid(picture: Rows, place: Callable[[float], float], strips: list[tuple[float, float]]) -> list[str]:
    """Gridlines at the ticks, and a dashed line at the reference, in the stretches that hold lines."""
    parts = []
    values = [(value, "grid") for value, _ in picture.x.ticks if value != picture.reference]
    if picture.reference is not None and picture.x.low <= picture.reference <= picture.x.high:
        values.append((picture.reference, "zero"))
    for value, style in values:
        at = place(value)
        path = "".join(f"M{at:.1f} {top:.1f}V{bottom:.1f}" for top, bottom in strips)
        parts.append(f'<path class="{style}" d="{path}"/>')
    return parts


def _axis(
    picture: Rows, place: Callable[[float], float], down: float, across: int, middle: float
) -> tuple[list[str], float]:
    """The numbers and the name of the axis, and where they end."""
    parts = _numbers(picture, place, down + 16, across)
    axis = picture.x
    lines = wrapped(axis.name, across) if axis.name else []
    for k, line in enumerate(lines):
        half = width(line) / 2
        at = min(max(middle, half), across - half)
        parts.append(written(line, at, down + _AXIS + 14 + _LINE * k, "middle", "soft"))
    return parts, down + _AXIS + 2 + _LINE * len(lines) + 4


def _numbers(picture: Rows, place: Callable[[float], float], down: float, across: int) -> list[str]:
    """The numbers of the axis on one line, within the picture."""
    parts, previous = [], -math.inf
    for value, text in spaced(picture.x, place):
        half = width(text) / 2
        at = min(max(place(value), half), across - half)
        if at - half > previous:
            parts.append(written(text, at, down, "middle", "soft"))
            previous = at + half + 4
    return parts


def scale(axis: Axis, left: float, right: float) -> Callable[[float], float]:
    """From a value to its place in pixels; values beyond the ends stand at the ends."""
    low, high = (math.log(axis.low), math.log(axis.high)) if axis.log else (axis.low, axis.high)

    def place(value: float) -> float:
        if axis.log:
            value = math.log(value) if value > 0 else low
        share = (value - low) / (high - low)
        return left + min(max(share, 0.0), 1.0) * (right - left)

    return place


def spaced(axis: Axis, place: Callable[[float], float]) -> list[tuple[float, str]]:
    """The ticks whose numbers have room: all of them, or every second, third, ... one."""
    for every in range(1, len(axis.ticks) + 1):
        kept = list(axis.ticks[::every])
        apart = (
            abs(place(b) - place(a)) >= (width(left) + width(right)) / 2 + 8 for (a, left), (b, right) in pairwise(kept)
        )
        if all(apart):
            return kept
    return []
