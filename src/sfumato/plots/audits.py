"""`sf.plots.audit`: the errors of an attack beside the trade-off that the plan claims for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.plots import _drawing
from sfumato.plots.trade_offs import levels
from sfumato.queries import attacker

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def audit(result: Any) -> Figure:
    """Draw an audit: bounds on the two errors of the attack at every threshold, and the claimed trade-off.

    Under the claim no test lies below the line. Points are upper confidence bounds of both errors, so a point
    below the line refutes the claim; points close above it say that the claim is nearly attained.
    """
    made, (axis,) = _drawing.figure("An attack on the plan, and what the plan claims")
    pairs = attacker.trade_off(result.guarantee, levels())
    lines: list[Any] = axis.plot([a for a, _ in pairs], [b for _, b in pairs], **_drawing.line_style(0))
    shown = [point for point in result.points if sum(point) < 1]
    lines += axis.plot(
        [a for a, _ in shown], [b for _, b in shown], "o", color=_drawing.COLOURS[1], markersize=5, zorder=3
    )
    lines += axis.plot([0, 1], [1, 0], **_drawing.DOTTED)
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    _drawing.name_axes(axis, "false accusations (probability)", "misses (probability)")
    sure = f"{100 * result.level:g} %"
    names = ["claim: no test is below", f"attack, {result.runs:,} runs a side ({sure} bounds)", "blind guessing"]
    _drawing.legend(axis, lines, names, "upper right")
    return made
