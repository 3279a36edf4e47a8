"""`sf.plots.renyi_curve`: the Renyi divergence against its order, for one promise or for several side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.pictures import axes
from sfumato.pictures.description import Chart, Dots, Line, Mark, Rule
from sfumato.pictures.promises import Promise, change, named, promises
from sfumato.plots import _render
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.renyi import Renyi

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points of a line; they are denser towards an asymptote.
_POINTS = 160
# Where an asymptote lies is computed to this share of the axis: a tenth of a pixel.
_PIXEL = 1e-4
# Without `epsilon` the axis ends at the largest divergence at this share of a line's length, before it becomes steep.
_SHOWN = 0.85


def renyi_curve(
    given: Any,
    *,
    orders: tuple[float, float] = (1.0, 32.0),
    epsilon: float | None = None,
    distance: float | None = None,
) -> Figure:
    """Draw epsilon(order): the Renyi divergence of two neighbouring data sets' releases is at most epsilon at this order.

    `given` is a guarantee, a plan or a release; a list of them; or a mapping from names to them. `orders` are the first and
    the last order of the axis, 1 being the KL divergence; `epsilon` is the top of the other axis. Where a curve becomes
    infinite a thin vertical line stands; draws of conjugate posteriors have such an order (Geumlek et al. 2017, Theorem 12).
    Points mark the Renyi targets of plans. `distance` is for guarantees under a distance.
    """
    low, high = _ends(orders)
    shown = promises(given, distance)
    ends = [_last_finite(promise.guarantee, low, high, promise.name) for promise in shown]
    tops = [
        promise.guarantee.renyi(low + _SHOWN * (end - low) if end < high else high)
        for promise, end in zip(shown, ends, strict=True)
    ]
    # A curve known at few orders may be infinite at every order shown but the first, whose value is then its top.
    tops = [tip if tip < math.inf else promise.guarantee.renyi(low) for tip, promise in zip(tops, shown, strict=True)]
    top = 1.05 * max(*tops, 1e-9) if epsilon is None else _validate.positive("epsilon", epsilon)
    asked = sorted({point for _, item in named(given) for point in _asked(item) if low <= point[0] <= high})
    title = f"Renyi curve: {change(shown[0].guarantee, distance)}"
    return _render.figure(_picture(title, list(zip(shown, ends, strict=True)), asked, (low, high), top))


def _picture(
    title: str,
    shown: list[tuple[Promise, float]],
    asked: list[tuple[float, float]],
    orders: tuple[float, float],
    top: float,
) -> Chart:
    """A line for each promise, an upright one where it becomes infinite, and the points that were asked for."""
    low, high = orders
    marks: list[Mark] = []
    said = []
    for place, (promise, end) in enumerate(shown):
        points = _points(promise.guarantee, low, end)
        said.append(f"{promise.name}: epsilon {axes.number(points[0][1])} at order {axes.number(low)}, ")
        if end < high:
            # The last finite point may lie below the top of the axis: the rest of the rise is narrower than a pixel.
            points.append((end, max(points[-1][1], 2 * top)))
            marks.append(Rule(end, "x", series=place))
            said[-1] += f"infinite from order {axes.number(end)}"
        else:
            said[-1] += f"{axes.number(points[-1][1])} at order {axes.number(high)}"
        marks.append(Line(tuple(points), place, promise.name))
    if asked:
        marks.append(Dots(tuple(asked), None, "asked for", hollow=True))
    x = axes.linear("order of the Renyi divergence", low, high, 6)
    y = axes.linear("epsilon (Renyi divergence, nats)", 0.0, top)
    return Chart(title, x, y, tuple(marks), f"{'; '.join(said)}.")


def _ends(orders: Any) -> tuple[float, float]:
    """The first and the last order, checked."""
    try:
        low, high = (_validate.finite("orders", order) for order in orders)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"orders must be two numbers, the first and the last; got {orders!r}.") from error
    if not 1 <= low < high:
        raise ArgumentError(f"orders must be two numbers 1 <= first < last; got {low:g} and {high:g}.")
    return low, high


def _last_finite(guarantee: Guarantee, low: float, high: float, name: str) -> float:
    """The order from which the curve is infinite, or `high`; the curve is monotone, so it is found by halving."""
    if guarantee.renyi(low) == math.inf:
        raise ArgumentError(
            f"{name!r} has no finite Renyi divergence at order {low:g}: draw it with sf.plots.privacy_curve, or from a lower "
            "order."
        )
    if guarantee.renyi(high) < math.inf:
        return high
    finite, infinite = low, high
    while infinite - finite > _PIXEL * (high - low):
        middle = 0.5 * (finite + infinite)
        finite, infinite = (middle, infinite) if guarantee.renyi(middle) < math.inf else (finite, middle)
    return infinite


def _points(guarantee: Guarantee, low: float, end: float) -> list[tuple[float, float]]:
    """Orders and divergences of a line, denser towards its end; infinite values are left out."""
    orders = [end - (end - low) * (1 - k / (_POINTS - 1)) ** 2 for k in range(_POINTS)]
    values = [(order, guarantee.renyi(max(order, low))) for order in orders]
    return [(order, value) for order, value in values if value < math.inf]


def _asked(item: Any) -> list[tuple[float, float]]:
    """(order, epsilon) of a plan's or release's Renyi target."""
    if isinstance(item, Guarantee):
        return []
    if isinstance(item, Plan):
        curve = None if item.target is None else item.target.curve
    else:
        document = (item.plan["target"] or {}).get("curve")
        curve = None if document is None else Renyi.from_json(document)
    return list(zip(curve.orders, curve.values, strict=True)) if isinstance(curve, Renyi) else []
