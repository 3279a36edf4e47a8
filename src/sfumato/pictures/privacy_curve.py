"""The picture of a privacy curve: delta at every epsilon, the sampler's slack included."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.pictures import axes
from sfumato.pictures.description import Chart, Dots, Line, Mark
from sfumato.pictures.promises import EPSILON, Promise, asked_of, change

# Evenly spaced points of a line, before steep parts are refined: of a picture in a report, and of one of `sf.plots`.
_IN_REPORT, _POINTS = 61, 81
# Neighbouring points of a line differ by at most this factor in delta, unless they are closer than a pixel.
_RATIO, _CLOSEST = 1.5, 1 / 2000
# Below this a delta protects against everything; the axis of a report would only grow.
_FLOOR = 1e-12
# The curve of a release is drawn to this epsilon, and to twice what was asked for where that is further.
_LEAST_END = 3.0


def drawn(shown: Sequence[Promise], right: float, least: float, distance: float | None = None) -> Chart:
    """The curves of promises from epsilon 0 to `right` and from delta 1 to `least`, with the points that were asked for."""
    title = f"Privacy curve: {change(shown[0].guarantee, distance)}"
    lines = [
        Line(tuple(sampled(promise.guarantee.delta, right, least)), place, promise.name)
        for place, promise in enumerate(shown)
    ]
    return _chart(title, lines, sorted({each.asked for each in shown if each.asked is not None}), right, (least, 1.0))


def of_release(release: Any) -> Chart:
    """The privacy curve of one release, for its report; nothing but its guarantee and its target is read."""
    asked = asked_of(release)
    right = max(_LEAST_END, 2.0 * (asked[0] if asked else 1.0))
    points = sampled(release.guarantee.delta, right, _FLOOR, _IN_REPORT)
    seen = [(epsilon, delta) for epsilon, delta in points if delta > _FLOOR]
    low = 10.0 ** math.floor(math.log10(min(delta for _, delta in seen))) if seen else _FLOOR
    # The axis ends where the curve does.
    right = min(right, 1.05 * max([*(epsilon for epsilon, _ in seen), asked[0] if asked else 0.0])) or right
    title = f"Privacy curve: {change(release.guarantee, None)}"
    if not release.private:
        title = "NOT PRIVATE: made with a seeded stream. Curve of its plan"
    # A line that stays at 1 still needs an axis.
    return _chart(title, [Line(tuple(points))], [] if asked is None else [asked], right, (min(low, 0.1), 1.0))


def _chart(
    title: str, lines: list[Line], asked: list[tuple[float, float]], right: float, ends: tuple[float, float]
) -> Chart:
    """Lines with the asked points that lie inside the axes."""
    inside = tuple(point for point in asked if point[0] <= right and point[1] >= ends[0])
    marks: list[Mark] = [*lines, *([Dots(inside, None, "asked for", hollow=True)] if inside else [])]
    said = [_in_words(line, right, ends[0]) for line in lines]
    points = [f"epsilon {axes.number(e)} at delta {axes.number(d)}" for e, d in inside]
    alt = "; ".join(said) + (f". Asked for: {', '.join(points)}." if points else ".")
    x = axes.linear(EPSILON, 0.0, right, 6)
    return Chart(title, x, axes.logarithmic("delta (probability)", *ends), tuple(marks), alt[0].upper() + alt[1:])


def _in_words(line: Line, right: float, least: float) -> str:
    first, last = (_bounded(delta, least) for _, delta in (line.points[0], line.points[-1]))
    named = f"{line.name}: " if line.name else ""
    return f"{named}delta is {first} at epsilon 0 and {last} at epsilon {axes.above(right)}"


def _bounded(delta: float, least: float) -> str:
    return f"below {axes.number(least)}" if delta < least else axes.above(delta)


def sampled(
    delta: Callable[[float], float], right: float, least: float, count: int = _POINTS
) -> list[tuple[float, float]]:
    """Points (epsilon, delta) of a curve, dense where it falls fast; values below the axis are drawn just below it.

    A curve that reaches zero is thereby drawn down to the axis; a line that stopped above it would suggest a delta of zero
    too early.
    """
    bottom = least / 10
    points = [(e, max(float(delta(e)), bottom)) for e in (right * k / (count - 1) for k in range(count))]
    refined = [points[0]]
    for end in points[1:]:
        waiting = [end]
        while waiting:
            (e0, d0), (e1, d1) = refined[-1], waiting[-1]
            steep = max(d0, d1) > _RATIO * min(d0, d1) and max(d0, d1) > least
            if steep and e1 - e0 > right * _CLOSEST:
                middle = (e0 + e1) / 2
                waiting.append((middle, max(float(delta(middle)), bottom)))
            else:
                refined.append(waiting.pop())
    return refined


def right_end(shown: Sequence[Promise], least: float) -> float:
    """The epsilon at which every curve is below `least`, or as low as a sampler's slack lets it fall."""
    ends = []
    for promise in shown:
        # A slack may keep delta above `least` for ever: then the smallest power of ten that it reaches is taken.
        for power in range(12):
            end = promise.guarantee.epsilon(min(0.9, least * 10**power))
            if math.isfinite(end):
                ends.append(end)
                break
        if promise.asked is not None:
            ends.append(promise.asked[0])
    return 1.05 * max([*ends, 0.01]) if ends else 10.0
