"""A graph as SVG: nodes in levels from top to bottom, arrows as thick as their dependence is strong."""

from __future__ import annotations

import math

from sfumato.pictures._svg_text import fitted, width, written
from sfumato.pictures.description import Graph

# Pixels: height of a node, room around its name, room between levels and between nodes, and the ends of an arrow's thickness.
_NODE, _PAD, _LEVEL, _GAP = 30, 12, 46, 14
_THIN, _THICK = 1.4, 6.0
_TIP = 7.0


def drawn(picture: Graph, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a graph that is `across` pixels wide; a level with more nodes than fit goes on in a second line."""
    boxes, height = _boxes(picture, across)
    parts = []
    for edge in picture.edges:
        (ax, ay, _), (bx, by, _) = boxes[edge.start], boxes[edge.end]
        up = _NODE / 2
        thick = _THIN + min(max(edge.strength, 0.0), 1.0) * (_THICK - _THIN)
        start, end = (ax, ay + up), (bx, by - up - _TIP)
        if by <= ay:
            # Nodes of one level in two lines: leave and arrive at the sides that face each other.
            start, end = (ax, ay + up), (bx, by + up + _TIP)
        middle = (start[1] + end[1]) / 2
        curve = f"M{start[0]:.1f} {start[1]:.1f}C{start[0]:.1f} {middle:.1f} {end[0]:.1f} {middle:.1f} {end[0]:.1f} {end[1]:.1f}"
        sign = 1 if by > ay else -1
        wing = max(_TIP * 0.7, thick)
        tip = f"M{end[0] - wing:.1f} {end[1]:.1f}h{2 * wing:.1f}l{-wing:.1f} {sign * _TIP:.1f}z"
        parts.append(f'<path class="arrow" stroke-width="{thick:.1f}" d="{curve}"/><path class="tip" d="{tip}"/>')
    for node, (x, y, wide) in zip(picture.nodes, boxes, strict=True):
        corner = f'x="{x - wide / 2:.1f}" y="{y - _NODE / 2:.1f}" width="{wide:.1f}" height="{_NODE}"'
        parts.append(f'<rect class="node" {corner} rx="6"/>')
        parts.append(written(fitted(node.name, wide - _PAD), x, y + 4.5, "middle", full=node.name))
    return height, parts


def _boxes(picture: Graph, across: int) -> tuple[list[tuple[float, float, float]], float]:
    """(middle across, middle down, width) of every node, and the height of them all."""
    places: list[tuple[float, float, float]] = [(0.0, 0.0, 0.0)] * len(picture.nodes)
    down = 4.0
    for level in range(max((node.level for node in picture.nodes), default=-1) + 1):
        line: list[int] = []
        members = [k for k, node in enumerate(picture.nodes) if node.level == level]
        for k in sorted(members, key=lambda each: picture.nodes[each].place):
            if line and sum(_wide(picture, each, across) + _GAP for each in [*line, k]) - _GAP > across:
                down = _line(picture, line, across, down, places)
                line = []
            line.append(k)
        down = _line(picture, line, across, down, places)
        down += _LEVEL - _GAP
    return places, down - _LEVEL + 8


def _line(picture: Graph, line: list[int], across: int, down: float, places: list[tuple[float, float, float]]) -> float:
    """Spread nodes evenly over one line; the return value is where the next one starts."""
    if not line:
        return down
    wides = [_wide(picture, k, across) for k in line]
    gap = (across - sum(wides)) / (len(line) + 1)
    at = gap
    for k, wide in zip(line, wides, strict=True):
        places[k] = (at + wide / 2, down + _NODE / 2, wide)
        at += wide + gap
    return down + _NODE + _GAP


def _wide(picture: Graph, node: int, across: int) -> float:
    return min(width(picture.nodes[node].name) + 2 * _PAD, math.floor(0.45 * across))
