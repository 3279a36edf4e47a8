"""`sf.plots.utility_curve`: the expected accuracy at each epsilon, and without privacy."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.pictures.promises import named
from sfumato.planning import PriceList
from sfumato.plots import _drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Ratios of the ends beyond which an axis is logarithmic.
_WIDE_X, _WIDE_Y = 5.0, 20.0


def utility_curve(given: Any) -> Figure:
    """Draw `plan.expected` of a price list against epsilon, and the same quantity without privacy where it is known.

    `given` is a price list (`sf.price_list`), a list of them, or a mapping from names to them. Crosses on the lower edge
    stand at prices that no plan meets. Nothing is read but plans: the numbers are what the plans expect, before any data.
    """
    lists = [(name, _checked(item)) for name, item in named(given)]
    quantity = _quantity([item for _, item in lists])
    deltas = sorted({item.delta for _, item in lists})
    made, (axis,) = _drawing.figure(f"Expected error at each price, delta = {', '.join(map(_drawing.number, deltas))}")
    lines: list[Any] = []
    names: list[str] = []
    for place, (name, item) in enumerate(lists):
        kept = sorted((e, plan) for e, plan in zip(item.epsilons, item.plans, strict=True) if plan is not None)
        style = {"marker": _drawing.MARKERS[place], **_drawing.line_style(place)}
        lines += axis.plot([e for e, _ in kept], [plan.expected.value for _, plan in kept], **style)
        names.append(name if name is not None else _mechanisms(item, place, len(lists)))
    bare = _without_privacy([item for _, item in lists])
    for value in bare:
        lines.append(axis.axhline(value, **_drawing.DOTTED))
        names.append(f"without privacy: {_drawing.number(value)}")
    _axes(axis, [item for _, item in lists], bare)
    missed = sorted({e for _, item in lists for e, plan in zip(item.epsilons, item.plans, strict=True) if plan is None})
    if missed:
        edge = axis.get_xaxis_transform()
        lines += axis.plot(missed, [0.02] * len(missed), "x", color="black", markersize=8, transform=edge)
        names.append("no plan at this price")
    _drawing.name_axes(axis, _drawing.EPSILON, "\n".join(textwrap.wrap(quantity, 38)))
    _drawing.legend(axis, lines, names)
    return made


def _checked(item: Any) -> PriceList:
    if not isinstance(item, PriceList):
        raise ArgumentError(f"utility_curve draws price lists (sf.price_list(...)); got {type(item).__name__}.")
    if all(plan is None for plan in item.plans):
        reason = next((reason for reason in item.reasons if reason), "it is empty")
        raise ArgumentError(f"no price of the list can be planned: {reason}")
    return item


def _quantity(lists: list[PriceList]) -> str:
    """The quantity that all plans estimate, with its unit; different ones are refused."""
    expected = [plan.expected for item in lists for plan in item.plans if plan is not None]
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
    known = (plan.expected.without_privacy for item in lists for plan in item.plans if plan is not None)
    # Ten digits, so that roundings of one value make one line.
    return sorted({float(f"{value:.10g}") for value in known if value is not None})


def _axes(axis: Any, lists: list[PriceList], bare: list[float]) -> None:
    """Logarithmic where the values spread widely, with ticks in plain numbers; room on both sides."""
    epsilons = sorted({e for item in lists for e in item.epsilons})
    values = [plan.expected.value for item in lists for plan in item.plans if plan is not None] + bare
    low, high = min(epsilons), max(epsilons)
    if high >= _WIDE_X * low:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.15, high * 1.15)
        _drawing.log_axis(axis.xaxis, low / 1.15, high * 1.15, epsilons)
    # A level of 0 cannot be drawn on a logarithmic axis; the legend shows it.
    least, most = min((value for value in values if value > 0), default=0.0), max(values)
    if least > 0 and min(values) >= 0 and most >= _WIDE_Y * least:
        axis.set_yscale("log")
        axis.set_ylim(least / 1.6, most * 1.6)
        _drawing.log_axis(axis.yaxis, least / 1.6, most * 1.6)
    elif min(values) >= 0:
        axis.set_ylim(0, most * 1.1 if most > 0 else 1.0)
