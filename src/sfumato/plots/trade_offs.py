"""`sf.plots.trade_off`: the least rate of misses of any test for one record, against its rate of false accusations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.pictures import trade_off as picture
from sfumato.pictures.promises import promises
from sfumato.plots import _render

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trade_off(given: Any, *, distance: float | None = None) -> Figure:
    """Draw the trade-off of every test between two values of one record: misses against false accusations.

    Under the promise no test lies below the line, whose points are bounds rounded down; the diagonal is guessing without
    looking at the release. `given` and `distance` are as for `privacy_curve`.
    """
    return _render.figure(picture.drawn(promises(given, distance), distance))
