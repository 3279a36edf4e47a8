"""How objects are shown in notebooks and drawn: `_repr_html_` and `plot`, written in rooms above and loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Shown:
    """An object that a notebook shows as a small page (`pictures.notebook`)."""

    def _repr_html_(self) -> str:
        """The object as HTML, for Jupyter: no script, no request, and nothing but what `str` may print."""
        return str(import_module("sfumato.pictures.notebook").fragment(self))


class Drawn(Shown):
    """An object with a picture of its own."""

    def plot(self, level: float = 0.9) -> Figure:
        """The picture of the result as a matplotlib Figure: estimates with intervals of this level, where there are some."""
        figure: Figure = import_module("sfumato.plots.releases").released(self, level)
        return figure
