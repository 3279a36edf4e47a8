"""`sf.plots.trade_off`: the least rate of misses of any test for one record, against its rate of false accusations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.plots import _drawing
from sfumato.plots._promises import change, promises
from sfumato.queries import attacker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The usual level of a test; a picture of one promise marks its rate of misses there.
_MARKED = 0.05


def levels() -> list[float]:
    """Levels from 0 to 1, dense at both ends, where a curve can be steep."""
    edge, inner = np.geomspace(1e-6, 0.02, 40), np.linspace(0.02, 0.98, 97)
    return sorted({0.0, 1.0, _MARKED, *edge.tolist(), *(1 - edge).tolist(), *inner.tolist()})


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
    lines += axis.plot([0, 1], [1, 0], **_drawing.DOTTED)
    names.append("blind guessing")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    _drawing.name_axes(axis, "false accusations (probability)", "misses, at least (probability)")
    # The upper right half is empty: no test there is worth making.
    _drawing.legend(axis, lines, names, "upper right")
    return made
