"""`sf.plots.audit`: the errors of an attack beside the trade-off that the plan claims for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.auditing.result import Audit
from sfumato.errors import ArgumentError
from sfumato.plots import _drawing
from sfumato.plots.trade_offs import levels

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def audit(result: Audit) -> Figure:
    """Draw what `sf.audit` returned: bounds on the two errors of the attack at every threshold, and the claimed trade-off.

    Under the claim no test lies below the line. Points are upper confidence bounds on both errors, valid together, so a point below
    the line contradicts the claim with that confidence; points close above it show that the claim is nearly attained.
    """
    if not isinstance(result, Audit):
        raise ArgumentError(f"plots.audit draws the result of sf.audit; got {type(result).__name__}.")
    made, (axis,) = _drawing.figure("An attack on the plan, and what the plan claims")
    pairs = result.claimed_trade_off(levels())
    lines: list[Any] = axis.plot([a for a, _ in pairs], [b for _, b in pairs], **_drawing.line_style(0))
    style = {"color": _drawing.COLOURS[1], "marker": _drawing.MARKERS[0], "markersize": 5, "linestyle": "none"}
    if result.points:
        lines += axis.plot([a for a, _ in result.points], [b for _, b in result.points], zorder=3, **style)
    lines += axis.plot([0, 1], [1, 0], **_drawing.DOTTED)
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    _drawing.name_axes(axis, "false accusations (probability)", "misses (probability)")
    attack = f"attack: {100 * result.level:g} % bounds, {result.runs:,} runs a side"
    names = ["claim: no test is below", *([attack] if result.points else []), "blind guessing"]
    _drawing.legend(axis, lines, names, "upper right")
    return made
