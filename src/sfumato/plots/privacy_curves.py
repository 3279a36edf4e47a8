"""`sf.plots.privacy_curve`: delta against epsilon, for one promise or for several side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.pictures import privacy_curve as picture
from sfumato.pictures.promises import promises
from sfumato.plots import _render

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    right = picture.right_end(shown, least) if epsilon is None else _validate.positive("epsilon", epsilon)
    return _render.figure(picture.drawn(shown, right, least, distance))
