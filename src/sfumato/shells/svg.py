"""Small charts for the report, as SVG text without a library; readable on a phone and in dark mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

# The width of a phone's screen: charts are scaled up only, so that their letters are never smaller than the text around.
WIDTH = 360
# Margins for the axes' numbers and names.
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 10, 40


def line_chart(
    points: Sequence[tuple[float, float]],
    x_label: str,
    y_label: str,
    title: str,
    marked: tuple[float, float] | None = None,
) -> str:
    """A falling curve with a logarithmic vertical axis; `marked` is a point of it, such as the promised one."""
    height = 240
    kept = [(x, y) for x, y in points if y > 0]
    if len(kept) < 2:
        return ""
    low = math.floor(math.log10(min(y for _, y in kept)))
    high = math.ceil(math.log10(max(y for _, y in kept)))
    left, right = min(x for x, _ in kept), max(x for x, _ in kept)

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - left) / (right - left) * (WIDTH - _LEFT - _RIGHT)
        down = _TOP + (high - math.log10(y)) / max(high - low, 1) * (height - _TOP - _BOTTOM)
        return across, down

    every = max(1, math.ceil((high - low) / 5))
    parts = []
    for power in range(low, high + 1, every):
        _, down = place(left, 10.0**power)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down:.1f}" y2="{down:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    for tick in ticks(left, right):
        across, _ = place(tick, 10.0**low)
        parts.append(f'<text x="{across:.1f}" y="{height - _BOTTOM + 16}" text-anchor="middle">{tick:g}</text>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in kept))
    parts.append(f'<polyline class="curve" points="{path}"/>')
    if marked is not None and left <= marked[0] <= right and low <= math.log10(marked[1]) <= high:
        x, y = place(*marked)
        parts.append(f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
    parts.append(_axis_names(height, x_label, y_label))
    return _picture(height, title, parts)


def trade_off_chart(
    claim: Sequence[tuple[float, float]], points: Sequence[tuple[float, float]], x_label: str, y_label: str, title: str
) -> str:
    """A claimed trade-off between two error rates as a line, the diagonal of blind guessing, and an attack as points."""
    height = 300

    def place(x: float, y: float) -> str:
        across, down = _LEFT + x * (WIDTH - _LEFT - _RIGHT), _TOP + (1 - y) * (height - _TOP - _BOTTOM)
        return f"{across:.1f},{down:.1f}"

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        across, down = (float(each) for each in place(tick, tick).split(","))
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down}" y2="{down}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{down + 4}" text-anchor="end">{tick:g}</text>')
        parts.append(f'<text x="{across}" y="{height - _BOTTOM + 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<polyline class="zero" fill="none" points="{place(0, 1)} {place(1, 0)}"/>')
    parts.append(f'<polyline class="curve" points="{" ".join(place(*point) for point in claim)}"/>')
    for point in points:
        x, y = place(*point).split(",")
        parts.append(f'<circle class="attack" cx="{x}" cy="{y}" r="3.5"/>')
    parts.append(_axis_names(height, x_label, y_label))
    return _picture(height, title, parts)


def interval_chart(
    labels: Sequence[str],
    lower: Sequence[float],
    middle: Sequence[float],
    upper: Sequence[float],
    x_label: str,
    title: str,
) -> str:
    """One line for every label: its interval, its mean, and 0 where it lies in the range."""
    row = 40
    height = _TOP + row * len(labels) + _BOTTOM
    left, right = min(lower), max(upper)
    room = 0.04 * (right - left) or max(abs(right), 1.0) * 0.05
    left, right = left - room, right + room
    edge = 14

    def place(x: float) -> float:
        return edge + (x - left) / (right - left) * (WIDTH - 2 * edge)

    parts = []
    bottom = height - _BOTTOM + 4
    for tick in ticks(left, right, 5):
        parts.append(f'<line class="grid" x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{place(tick):.1f}" y="{bottom + 14}" text-anchor="middle">{tick:g}</text>')
    if left < 0 < right:
        parts.append(f'<line class="zero" x1="{place(0):.1f}" x2="{place(0):.1f}" y1="{_TOP}" y2="{bottom}"/>')
    for k, label in enumerate(labels):
        text = _TOP + row * k + 14
        line = text + 14
        shown = label if len(label) <= 44 else label[:43] + "…"
        parts.append(f'<text x="{edge}" y="{text}">{escape(shown)}</text>')
        parts.append(
            f'<line class="curve" x1="{place(lower[k]):.1f}" x2="{place(upper[k]):.1f}" y1="{line}" y2="{line}"/>'
        )
        parts.append(f'<circle class="mark" cx="{place(middle[k]):.1f}" cy="{line}" r="4"/>')
    parts.append(f'<text x="{WIDTH / 2}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>')
    return _picture(height, title, parts)


def ticks(left: float, right: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two ends."""
    width = (right - left) / count
    step = 10.0 ** math.floor(math.log10(width))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= width)
    first = math.ceil(left / step)
    return [round(k * step, 12) for k in range(first, math.floor(right / step) + 1)]


def _power(power: int) -> str:
    return "1" if power == 0 else f'10<tspan dy="-5" font-size="9">{power}</tspan>'


def _axis_names(height: int, x_label: str, y_label: str) -> str:
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    return (
        f'<text x="{middle}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text transform="translate(14 {(height - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )


def _picture(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )
