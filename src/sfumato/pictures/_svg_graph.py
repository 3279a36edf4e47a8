"""A graph as SVG: boxes in rows from top to bottom, arrows as thick as their dependence is strong."""

from __future__ import annotations

from sfumato.pictures._svg_text import fitted, width, written
from sfumato.pictures.description import Edge, Graph, Point
from sfumato.pictures.layering import BOX, Drawing, laid_out

# Pixels: room around a name in its box, the ends of an arrow's thickness, the length of its tip, and its least half width.
_PAD = 12
_THIN, _THICK = 1.4, 6.0
TIP, _WING = 8.0, 4.5


def drawn(picture: Graph, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a graph that is `across` pixels wide; a level with more nodes than fit goes on in a second row."""
    drawing = placed(picture, across)
    parts = []
    # Strong arrows first: a thin one that crosses them stays visible at its ends.
    order = sorted(range(len(picture.edges)), key=lambda k: -picture.edges[k].strength)
    for k in order:
        edge, thick = picture.edges[k], thickness(picture.edges[k], drawing.room)
        style = "arrow faint" if edge.faint else "arrow"
        parts.append(f'<path class="{style}" stroke-width="{thick:.1f}" d="{_path(drawing.routes[k])}"/>')
    parts += [f'<path class="tip" d="{_tip(drawing, k, picture.edges[k])}"/>' for k in order]
    for node, box in zip(picture.nodes, drawing.boxes, strict=True):
        corner = f'x="{box.x - box.wide / 2:.1f}" y="{box.y - BOX / 2:.1f}" width="{box.wide:.1f}" height="{BOX:.0f}"'
        parts.append(f'<rect class="node" {corner} rx="6"/>')
        parts.append(written(fitted(node.name, box.wide - _PAD), box.x, box.y + 4.5, "middle", full=node.name))
    return drawing.height, parts


def placed(picture: Graph, across: float) -> Drawing:
    """Boxes and routes of a graph."""
    wides = [width(node.name) + 2 * _PAD for node in picture.nodes]
    return laid_out(wides, [(edge.start, edge.end) for edge in picture.edges], across)


def thickness(edge: Edge, room: float) -> float:
    """Pixels of an arrow's line, from its strength; no thicker than the room beside it."""
    strength = 0.0 if edge.faint else min(max(edge.strength, 0.0), 1.0)
    return max(min(_THIN + strength * (_THICK - _THIN), room), 1.0)


def pieces(route: tuple[Point, ...]) -> list[tuple[Point, ...]]:
    """The route as its start, then curves of three further points and straight lines of one; it ends where its tip begins."""
    (x, y), last = route[0], len(route) - 1
    parts: list[tuple[Point, ...]] = [((x, y),)]
    for k, (right, bottom) in enumerate(route[1:], start=1):
        down = bottom - TIP if k == last else bottom
        if k % 2 == 0:
            parts.append(((right, down),))
        else:
            middle = (y + down) / 2
            parts.append(((x, middle), (right, middle), (right, down)))
        x, y = right, down
    return parts


def tip_corners(end: Point, thick: float) -> tuple[Point, Point, Point]:
    """The triangle at the end of an arrow."""
    wing = max(_WING, 0.9 * thick)
    return (end[0] - wing, end[1] - TIP), (end[0] + wing, end[1] - TIP), end


def _path(route: tuple[Point, ...]) -> str:
    first, *others = pieces(route)
    path = f"M{_written(first)}"
    return path + "".join(f"{'C' if len(points) == 3 else 'L'}{_written(points)}" for points in others)


def _tip(drawing: Drawing, k: int, edge: Edge) -> str:
    return f"M{_written(tip_corners(drawing.routes[k][-1], thickness(edge, drawing.room)))}z"


def _written(points: tuple[Point, ...]) -> str:
    return " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
