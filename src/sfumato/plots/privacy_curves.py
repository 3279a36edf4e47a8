"""`sf.plots.privacy_curve`: delta against epsilon, for one promise or for several side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.plots import _drawing
from sfumato.plots._promises import Promise, change, promises

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Evenly spaced points of a line, before steep parts are refined.
_POINTS = 81
# Neighbouring points of a line differ by at most this factor in delta, unless they are closer than a pixel.
_RATIO, _CLOSEST = 1.5, 1 / 2000


def privacy_curve(
    given: Any, *, epsilon: float | None = None, delta: float = 1e-9, distance: float | None = None
) -> Figure:
    """Draw delta(epsilon): two neighbouring data sets give any event with P(B|x) <= e^epsilon P(B|y) + delta.

    `given` is a guarantee, a plan or a release; a list of them; or a mapping from names to them. The axes end at `epsilon`
    (by default where every curve has fallen below `delta`) and at `delta`. A point marks the (epsilon, delta) that a plan or
    a release was asked for. `distance` is for guarantees under a distance: how far apart the data sets are.
    """
    least = _validate.between("delta", delta, 0.0, 0.5)
    shown = promises(given, distance)
    right = _right_end(shown, least) if epsilon is None else _validate.positive("epsilon", epsilon)
    made, (axis,) = _drawing.figure(f"Privacy curve: {change(shown[0].guarantee, distance)}")
    lines: list[Any] = []
    names: list[str] = []
    for place, promise in enumerate(shown):
        points = sampled(promise.guarantee.delta, right, least)
        lines += axis.plot([e for e, _ in points], [d for _, d in points], **_drawing.line_style(place))
        names.append(promise.name)
    asked = sorted({promise.asked for promise in shown if promise.asked is not None})
    inside = [point for point in asked if point[0] <= right and point[1] >= least]
    if inside:
        lines += axis.plot(
            [e for e, _ in inside], [d for _, d in inside], "o", color="black", markerfacecolor="white", markersize=7
        )
        names.append("asked for")
    axis.set_yscale("log")
    axis.set_xlim(0, right)
    axis.set_ylim(least, 1)
    _drawing.log_axis(axis.yaxis, least, 1.0)
    _drawing.name_axes(axis, _drawing.EPSILON, "delta (probability)")
    _drawing.legend(axis, lines, names)
    return made


def sampled(delta: Callable[[float], float], right: float, least: float) -> list[tuple[float, float]]:
    """Points (epsilon, delta) of a curve, dense where it falls fast; values below the axis are drawn just below it.

    A curve that reaches zero is thereby drawn down to the axis; a line that stopped above it would suggest a delta of zero
    too early.
    """
    bottom = least / 10
    points = [(e, max(delta(e), bottom)) for e in (right * k / (_POINTS - 1) for k in range(_POINTS))]
    refined = [points[0]]
    for end in points[1:]:
        waiting = [end]
        while waiting:
            (e0, d0), (e1, d1) = refined[-1], waiting[-1]
            steep = max(d0, d1) > _RATIO * min(d0, d1) and max(d0, d1) > least
            if steep and e1 - e0 > right * _CLOSEST:
                middle = (e0 + e1) / 2
                waiting.append((middle, max(delta(middle), bottom)))
            else:
                refined.append(waiting.pop())
    return refined


def _right_end(shown: list[Promise], least: float) -> float:
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
