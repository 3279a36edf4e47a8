"""`sf.plots.trade_off`: how often a test that accuses wrongly so often must miss, whatever it computes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.plots import _drawing
from sfumato.plots._promises import change, promises
from sfumato.queries import attacker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The usual level of a test, at which the picture of one promise says its number.
_MARKED = 0.05


def levels() -> list[float]:
    """Levels from 0 to 1, dense at both ends, where a curve can be steep."""
    edge = np.geomspace(1e-6, 0.02, 40)
    return [
        float(x) for x in np.unique(np.concatenate([[0.0, 1.0, _MARKED], edge, 1 - edge, np.linspace(0.02, 0.98, 97)]))
    ]


def trade_off(given: Any, *, distance: float | None = None) -> Figure:
    """Draw the trade-off of every test between two values of one record: misses against false accusations.

    Under the promise no test lies below the line, whose points are bounds rounded down; the diagonal is guessing without
    looking at the release. `given` and `distance` are as for `privacy_curve`.
    """
    shown = promises(given, distance)
    made, (axis,) = _drawing.figure(f"What a test can tell: {change(shown[0].guarantee, distance)}")
    lines: list[Any] = []
    names: list[str] = []
    for place, promise in enumerate(shown):
        pairs = attacker.trade_off(promise.guarantee, levels())
        lines += axis.plot([a for a, _ in pairs], [b for _, b in pairs], **_drawing.line_style(place))
        names.append(promise.name)
        if len(shown) == 1:
            miss = dict(pairs)[_MARKED]
            lines += axis.plot([_MARKED], [miss], "o", color="black", markerfacecolor="white", markersize=7, zorder=3)
            names.append(f"at 5 % at least {math.floor(100 * miss)} % misses")
    lines += axis.plot([0, 1], [1, 0], color=_drawing.GREY, linestyle=":", linewidth=1.5)
    names.append("blind guessing")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    _drawing.name_axes(axis, "false accusations (probability)", "misses, at least (probability)")
    # The upper right half is empty: no test there is worth making.
    _drawing.legend(axis, lines, names, "upper right")
    return made
