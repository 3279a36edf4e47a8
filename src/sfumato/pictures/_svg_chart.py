"""A chart of lines, points, bars and whiskers between two axes as SVG, with its legend below."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.pictures import look
from sfumato.pictures._svg_rows import scale, spaced
from sfumato.pictures._svg_text import fitted, width, wrapped, written
from sfumato.pictures.description import Band, Bars, Chart, Dots, Line, Mark, Rule, Whiskers

Place = Callable[[float], float]
# Pixels: the numbers under the plot, a line of text, and the sample before a name in the legend.
_NUMBERS, _TEXT, _SAMPLE = 22, 18, 30
_TOP, _RIGHT = 8, 10
# Height over width of the plot, and its ends.
_SHAPE, _LOWEST, _HIGHEST = 0.5, 190, 320


def drawn(picture: Chart, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a chart that is `across` pixels wide."""
    name = wrapped(picture.y.name, across)
    top = _TOP + _TEXT * len(name) if picture.y.name else _TOP
    numbers = max((width(text) for _, text in picture.y.ticks), default=0.0)
    left, right = numbers + 10, across - _RIGHT
    bottom = top + min(max(_SHAPE * across, _LOWEST), _HIGHEST)
    x, y = scale(picture.x, left, right), scale(picture.y, bottom, top)
    parts = [written(line, 0, 12 + _TEXT * k, style="soft") for k, line in enumerate(name if picture.y.name else [])]
    for value, text in spaced(picture.y, y):
        at = y(value)
        parts.append(f'<path class="grid" d="M{left:.1f} {at:.1f}H{right:.1f}"/>')
        parts.append(written(text, left - 6, min(max(at + 4.5, 12), bottom + 4), "end", "soft"))
    for value, text in spaced(picture.x, x):
        half = width(text) / 2
        at = min(max(x(value), half), across - half)
        parts.append(f'<path class="grid" d="M{x(value):.1f} {bottom:.1f}v5"/>')
        parts.append(written(text, at, bottom + 19, "middle", "soft"))
    # What is shaded lies behind everything else.
    ordered = sorted(picture.marks, key=lambda mark: not isinstance(mark, Band | Bars))
    for mark in ordered:
        parts += _mark(mark, x, y, (left, right, top, bottom), picture)
    down = bottom + _NUMBERS
    for line in wrapped(picture.x.name, across) if picture.x.name else []:
        half = width(line) / 2
        down += _TEXT
        parts.append(written(line, min(max((left + right) / 2, half), across - half), down - 4, "middle", "soft"))
    legend, down = _legend(picture, across, down + 6)
    return down + 4, [*parts, *legend]


def _mark(mark: Mark, x: Place, y: Place, box: tuple[float, float, float, float], picture: Chart) -> list[str]:
    left, right, top, bottom = box
    if isinstance(mark, Line):
        line = _path(_clipped(mark.points, picture), x, y)
        parts = [f'<path class="{_line(mark.series)}" stroke-width="{mark.width:g}"{_dashes(mark)} d="{line}"/>']
        return parts + ([_dot(x(a), y(b), f"d{mark.series or 0}") for a, b in mark.points] if mark.markers else [])
    if isinstance(mark, Dots):
        if mark.cross:
            cross = "".join(f"M{x(a) - 4:.1f} {y(b) - 4:.1f}l8 8m0 -8l-8 8" for a, b in mark.points)
            return [f'<path class="{_line(mark.series)}" stroke-width="2" d="{cross}"/>']
        style = "hollow" if mark.hollow else f"d{mark.series or 0}"
        return [_dot(x(a), y(b), style, 5.0 if mark.hollow else 4.0) for a, b in mark.points]
    if isinstance(mark, Rule):
        path = (
            f"M{x(mark.at):.1f} {top:.1f}V{bottom:.1f}"
            if mark.along == "x"
            else f"M{left:.1f} {y(mark.at):.1f}H{right:.1f}"
        )
        return [f'<path class="{_line(mark.series)}" d="{path}"/>']
    if isinstance(mark, Band):
        return [_box(x(mark.left), x(mark.right), top, bottom)]
    if isinstance(mark, Bars):
        return [_box(x(a), x(b), y(height), bottom, "bar") for a, b, height in mark.items]
    return [
        f'<path class="span {_line(mark.series)}" d="M{x(at):.1f} {y(low):.1f}V{y(high):.1f}"/>'
        for at, low, high in mark.items
    ]


def _clipped(points: tuple[tuple[float, float], ...], picture: Chart) -> list[tuple[float, float]]:
    """The points up to the first one beyond the picture on each side: a line that leaves it does not run along its edge."""
    low, high = picture.y.low, picture.y.high
    inside = [k for k, (_, value) in enumerate(points) if low <= value <= high]
    if not inside:
        return []
    return list(points[max(inside[0] - 1, 0) : inside[-1] + 2])


def _path(points: list[tuple[float, float]], x: Place, y: Place) -> str:
    return "M" + "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points) if points else ""


def _line(series: int | None) -> str:
    return "zero" if series is None else f"l{series % look.MOST}"


def _dashes(mark: Line) -> str:
    dashes = None if mark.series is None else look.DASHES[mark.series % look.MOST]
    return "" if dashes is None else f' stroke-dasharray="{" ".join(f"{each * mark.width:g}" for each in dashes)}"'


def _dot(x: float, y: float, style: str, radius: float = 4.0) -> str:
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _box(left: float, right: float, top: float, bottom: float, style: str = "wash") -> str:
    size = f'width="{max(right - left, 0.5):.1f}" height="{max(bottom - top, 0):.1f}"'
    return f'<rect class="{style}" x="{left:.1f}" y="{top:.1f}" {size}/>'


def _legend(picture: Chart, across: int, down: float) -> tuple[list[str], float]:
    """A sample and the name of every named mark, as many in a line as fit."""
    parts: list[str] = []
    at, middle = 0.0, down + 8
    for mark in picture.marks:
        if not mark.name:
            continue
        name = fitted(mark.name, across - _SAMPLE)
        wide = _SAMPLE + width(name) + 18
        if at and at + wide - 18 > across:
            at, middle = 0.0, middle + _TEXT
        parts += [*_sample(mark, at, middle), written(name, at + _SAMPLE, middle + 4.5, full=mark.name)]
        at += wide
    return parts, (middle + 10 if parts else down)


def _sample(mark: Mark, at: float, middle: float) -> list[str]:
    if isinstance(mark, Band | Bars):
        return [_box(at, at + 22, middle - 6, middle + 6, "wash" if isinstance(mark, Band) else "bar")]
    if isinstance(mark, Dots):
        if mark.cross:
            return [
                f'<path class="{_line(mark.series)}" stroke-width="2" d="M{at + 7:.1f} {middle - 4:.1f}l8 8m0 -8l-8 8"/>'
            ]
        return [_dot(at + 11, middle, "hollow" if mark.hollow else f"d{mark.series or 0}", 4.5)]
    if isinstance(mark, Whiskers):
        return [f'<path class="span {_line(mark.series)}" d="M{at + 11:.1f} {middle - 7:.1f}v14"/>']
    dashes = _dashes(mark) if isinstance(mark, Line) else ""
    thick = f' stroke-width="{mark.width:g}"' if isinstance(mark, Line) else ""
    parts = [f'<path class="{_line(mark.series)}"{thick}{dashes} d="M{at:.1f} {middle:.1f}h22"/>']
    return parts + ([_dot(at + 11, middle, f"d{mark.series or 0}")] if isinstance(mark, Line) and mark.markers else [])
