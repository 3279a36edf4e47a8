"""Draw the description of a graph with matplotlib: the boxes and routes of the report's picture."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.pictures import look
from sfumato.pictures._svg_graph import pieces, placed, thickness, tip_corners
from sfumato.pictures._svg_text import fitted
from sfumato.pictures.description import Graph
from sfumato.pictures.layering import BOX
from sfumato.plots import _drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Pixels of the drawing across the figure, and inches of the title. At 6 inches a name of 13 pixels has 10 points.
_ACROSS, _TITLE = 560, 0.5
# Points for each pixel.
_POINT = 72 * _drawing.WIDTH / _ACROSS
# Pixels between a name and the ends of its box, and the rounding of its corners.
_PAD, _ROUND = 12, 6


def figure(picture: Graph) -> Figure:
    """The graph as a matplotlib Figure."""
    drawing = placed(picture, _ACROSS)
    height = max(drawing.height * _drawing.WIDTH / _ACROSS + _TITLE, _drawing.HEIGHT)
    made, (axis,) = _drawing.figure(picture.title, height)
    axis.set_axis_off()
    for edge, route in zip(picture.edges, drawing.routes, strict=True):
        thick = thickness(edge, drawing.room)
        axis.add_patch(_curve(route, thick, edge.faint))
        axis.add_patch(_patches().Polygon(tip_corners(route[-1], thick), color=look.COLOURS[0], linewidth=0))
    for node, box in zip(picture.nodes, drawing.boxes, strict=True):
        corner = (box.x - box.wide / 2 + _ROUND, box.y - BOX / 2 + _ROUND)
        style = {"facecolor": look.PAGE["box"][0], "edgecolor": look.PAGE["accent"][0], "zorder": 3}
        shape = f"round,pad={_ROUND},rounding_size={_ROUND}"
        axis.add_patch(
            _patches().FancyBboxPatch(corner, box.wide - 2 * _ROUND, BOX - 2 * _ROUND, boxstyle=shape, **style)
        )
        text = axis.text(box.x, box.y, fitted(node.name, box.wide - _PAD), ha="center", va="center", zorder=4)
        _drawing.plain(text).set_fontsize(look.LETTER * _POINT * 0.94)
    axis.set_xlim(0, _ACROSS)
    axis.set_ylim(drawing.height, 0)
    axis.set_aspect("equal")
    return made


def _curve(route: Any, thick: float, faint: bool) -> Any:
    """The line of one arrow."""
    path = import_module("matplotlib.path").Path
    points: list[Any] = []
    codes: list[Any] = []
    for part in pieces(route):
        points += part
        codes += [path.CURVE4] * 3 if len(part) == 3 else [path.MOVETO if not codes else path.LINETO]
    dashes = (0, (3, 2)) if faint else "solid"
    style = {"fill": False, "edgecolor": look.COLOURS[0], "linewidth": thick * _POINT, "linestyle": dashes}
    return _patches().PathPatch(path(points, codes), capstyle="butt", **style)


def _patches() -> Any:
    return import_module("matplotlib.patches")
