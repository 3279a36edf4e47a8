"""`release.plot()`: the picture that shows what was released, the same as in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato import _validate
from sfumato.pictures import of_release
from sfumato.plots import _render
from sfumato.release import Release

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def released(release: Release, level: float = 0.9) -> Figure:
    """Draw the main picture of a release."""
    return _render.figure(of_release.pictures(release, _validate.between("level", level, 0.0, 1.0))[0])
