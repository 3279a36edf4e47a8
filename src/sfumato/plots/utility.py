"""`sf.plots.utility_curve`: the expected accuracy at each epsilon, and without privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Chart, Dots, Line, Mark, Rule
from sfumato.pictures.promises import EPSILON, named
from sfumato.planning import PriceList
from sfumato.plots import _render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Ratios of the ends beyond which an axis is logarithmic.
_WIDE_X, _WIDE_Y = 5.0, 20.0
# How far above the lower edge crosses stand, as a share of the height.
_EDGE = 0.02


def utility_curve(given: Any) -> Figure:
    """Draw `plan.outlook` of a price list against epsilon, and the same quantity without privacy where it is known.

    `given` is a price list (`sf.price_list`), a list of them, or a mapping from names to them. Crosses on the lower edge
    stand at prices that no plan meets. Nothing is read but plans: the numbers are what the plans expect, before any data.
    """
    lists = [(name, _checked(item)) for name, item in named(given)]
    return _render.figure(_picture(lists))


def _picture(lists: list[tuple[str | None, PriceList]]) -> Chart:
    """A line for each list, a level without privacy, and crosses where there is no plan."""
    bare = _without_privacy([item for _, item in lists])
    x, y = _axes([item for _, item in lists], bare)
    marks: list[Mark] = []
    said = []
    for place, (name, item) in enumerate(lists):
        kept = sorted((e, plan.outlook.value) for e, plan in _pairs(item) if plan is not None)
        marks.append(
            Line(tuple(kept), place, _mechanisms(item, place, len(lists)) if name is None else name, markers=True)
        )
        ends = (f"{axes.number(value)} at epsilon {axes.number(e)}" for e, value in (kept[0], kept[-1]))
        said.append(f"{marks[-1].name}: {', '.join(dict.fromkeys(ends))}")
    for value in bare:
        marks.append(Rule(value, "y", f"without privacy: {axes.number(value)}"))
        said.append(f"without privacy: {axes.number(value)}")
    missed = sorted({e for _, item in lists for e, plan in _pairs(item) if plan is None})
    if missed:
        edge = y.low * (y.high / y.low) ** _EDGE if y.log else y.low + _EDGE * (y.high - y.low)
        marks.append(Dots(tuple((e, edge) for e in missed), None, "no plan at this price", cross=True))
        said.append(f"no plan at epsilon {', '.join(map(axes.number, missed))}")
    deltas = ", ".join(axes.number(delta) for delta in sorted({item.delta for _, item in lists}))
    return Chart(f"Expected error at each price, delta = {deltas}", x, y, tuple(marks), f"{'; '.join(said)}.")


def _pairs(item: PriceList) -> list[tuple[float, Any]]:
    return list(zip(item.epsilons, item.plans, strict=True))


def _checked(item: Any) -> PriceList:
    if not isinstance(item, PriceList):
        raise ArgumentError(f"utility_curve draws price lists (sf.price_list(...)); got {type(item).__name__}.")
    if all(plan is None for plan in item.plans):
        reason = next((reason for reason in item.reasons if reason), "it is empty")
        raise ArgumentError(f"no price of the list can be planned: {reason}")
    return item


def _quantity(lists: list[PriceList]) -> str:
    """The quantity that all plans estimate, with its unit; different ones are refused."""
    expected = [plan.outlook for item in lists for plan in item.plans if plan is not None]
    quantities = sorted({(e.quantity, e.unit) for e in expected})
    if len(quantities) > 1:
        mixed = "; ".join(f"{quantity} {unit}".strip() for quantity, unit in quantities)
        raise ArgumentError(f"the plans expect different quantities ({mixed}): fix mechanism= and goal= in price_list.")
    quantity, unit = quantities[0]
    return f"{quantity} ({unit})" if unit else quantity


def _mechanisms(item: PriceList, place: int, count: int) -> str:
    mechanisms = ", ".join(dict.fromkeys(plan.mechanism for plan in item.plans if plan is not None))
    return f"{mechanisms} ({place + 1})" if count > 1 else mechanisms


def _without_privacy(lists: list[PriceList]) -> list[float]:
    """The distinct expected values without privacy; for one model and one n there is one."""
    known = (plan.outlook.without_privacy for item in lists for plan in item.plans if plan is not None)
    # Ten digits, so that roundings of one value make one line.
    return sorted({float(f"{value:.10g}") for value in known if value is not None})


def _axes(lists: list[PriceList], bare: list[float]) -> tuple[Axis, Axis]:
    """Logarithmic where the values spread widely; room on both sides."""
    epsilons = sorted({e for item in lists for e in item.epsilons})
    values = [plan.outlook.value for item in lists for plan in item.plans if plan is not None] + bare
    x = axes.linear(EPSILON, *axes.around(epsilons))
    if max(epsilons) >= _WIDE_X * min(epsilons):
        x = axes.logarithmic(EPSILON, min(epsilons) / 1.15, max(epsilons) * 1.15)
        if _apart(epsilons, x.low, x.high):
            x = replace(x, ticks=tuple((value, axes.number(value)) for value in epsilons))
    quantity = _quantity(lists)
    # A level of 0 cannot be drawn on a logarithmic axis; the legend shows it.
    least, most = min((value for value in values if value > 0), default=0.0), max(values)
    if least > 0 and min(values) >= 0 and most >= _WIDE_Y * least:
        return x, axes.logarithmic(quantity, least / 1.6, most * 1.6)
    if min(values) >= 0:
        return x, axes.linear(quantity, 0.0, most * 1.1 if most > 0 else 1.0)
    return x, axes.linear(quantity, *axes.around(values))


def _apart(values: Sequence[float], low: float, high: float, most: int = 10) -> bool:
    """Whether the labels of these values have room beside each other."""
    least = math.log(high / low) / most
    near = any(math.log(right / left) < least for left, right in pairwise(values))
    return len(values) >= 2 and not near
