"""Draw the description of a matrix of pairs with matplotlib: the dots and names of the report's picture."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.pictures import look
from sfumato.pictures._svg_matrix import LINE, placed
from sfumato.pictures._svg_text import wrapped
from sfumato.pictures.description import Matrix, Pair
from sfumato.plots import _drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pixels of the drawing across the figure, and inches of the title. At 6 inches a name of 13 pixels has 10 points.
_ACROSS, _TITLE = 560, 0.5
_POINT = 72 * _drawing.WIDTH / _ACROSS
# Pixels between the matrix and its key, and between a dot and its text.
_BELOW, _PAD = 8.0, 6.0


def figure(picture: Matrix) -> Figure:
    """The matrix as a matplotlib Figure."""
    layout = placed(picture, _ACROSS)
    indent = layout.cell + _PAD
    texts = [(pair, wrapped(text, _ACROSS - indent)) for pair, text in picture.key]
    high = layout.height + _BELOW + LINE * sum(len(lines) for _, lines in texts)
    made, (axis,) = _drawing.figure(picture.title, max(high * _drawing.WIDTH / _ACROSS + _TITLE, _drawing.HEIGHT))
    axis.set_axis_off()
    for left, top, right, bottom in layout.lines():
        axis.plot([left, right], [top, bottom], color=look.GRID, linewidth=0.8, zorder=1)
    for pair in picture.pairs:
        axis.add_patch(_dot(pair, layout.middle(pair.first, pair.second), layout.radius(pair)))
    for text, left, middle in layout.names:
        _written(axis, left, middle, text)
    down = layout.height + _BELOW
    for pair, lines in texts:
        axis.add_patch(_dot(pair, (layout.cell / 2, down + LINE / 2), layout.radius(pair)))
        for line in lines:
            _written(axis, indent, down + LINE / 2, line)
            down += LINE
    axis.set_xlim(0, _ACROSS)
    axis.set_ylim(high, 0)
    axis.set_aspect("equal")
    return made


def _written(axis: Any, left: float, middle: float, text: str) -> None:
    shown = axis.text(left, middle, text, ha="left", va="center", zorder=4)
    _drawing.plain(shown).set_fontsize(look.LETTER * _POINT * 0.94)


def _dot(pair: Pair, middle: tuple[float, float], radius: float) -> Any:
    colour = look.GREY if pair.unclear or pair.guessed else look.COLOURS[0]
    face = "white" if pair.guessed and not pair.unclear else colour
    patches = import_module("matplotlib.patches")
    return patches.Circle(middle, radius, facecolor=face, edgecolor=colour, linewidth=1.0, zorder=3)
