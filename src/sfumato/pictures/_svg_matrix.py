"""A matrix of pairs as SVG: each name stands on the diagonal, its pairs left of it in its row and below it in its column.

No name is turned or repeated: right of the diagonal nothing else is drawn, so that a name has the room to the edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from sfumato.pictures._svg_text import fitted, width, wrapped, written
from sfumato.pictures.description import Matrix, Pair

# Pixels: the height of a row, more where there are few; how much wider than high a cell may be; and the least room of a name.
_ROW, _HIGH, _FEW, _WIDER, _NAME = 20.0, 28.0, 12, 1.5, 88.0
# Radii: the point of an unclear pair, and the smallest dot.
POINT, _LEAST = 1.5, 2.4
# Between a row's line and its name; around a dot of the key; and a line of the key.
_GAP, _PAD, LINE = 5.0, 6.0, 20.0


@dataclass(frozen=True)
class Layout:
    """Width and height of a cell, and the names as far as they fit, each with its place."""

    cell: float
    row: float
    names: tuple[tuple[str, float, float], ...]

    @property
    def height(self) -> float:
        """Of all rows."""
        return len(self.names) * self.row

    def middle(self, first: int, second: int) -> tuple[float, float]:
        """Where the dot of a pair stands: in the row of the later name."""
        early, late = sorted((first, second))
        return (early + 0.5) * self.cell, (late + 0.5) * self.row

    def radius(self, pair: Pair) -> float:
        """The radius of a dot, whose area grows with the strength."""
        if pair.unclear:
            return POINT
        most = min(self.cell, self.row) / 2 - 0.5
        return max(most * math.sqrt(min(max(pair.strength, 0.0), 1.0)), min(_LEAST, most))

    def lines(self) -> list[tuple[float, float, float, float]]:
        """The guides from dots to names: (x, y, x, y) of each, along a row to its name and from a name down its column."""
        count = len(self.names)
        middles = [((k + 0.5) * self.cell, (k + 0.5) * self.row) for k in range(count)]
        across = [(0.0, middles[k][1], k * self.cell, middles[k][1]) for k in range(1, count)]
        down = [(middles[k][0], (k + 1) * self.row, middles[k][0], self.height) for k in range(count - 1)]
        return [*across, *down]


def placed(picture: Matrix, across: float) -> Layout:
    """Cells as wide as leave every name its room; where that is too narrow, names are shortened."""
    last, row = max(len(picture.names) - 1, 1), _HIGH if len(picture.names) <= _FEW else _ROW
    fitting = [(across - _GAP - width(name)) / k for k, name in enumerate(picture.names) if k]
    cell = min(_WIDER * row, max(min(fitting, default=row), (across - _NAME) / last))
    names = []
    for k, name in enumerate(picture.names):
        left = k * cell + (_GAP if k else 0.0)
        names.append((fitted(name, across - left), left, (k + 0.5) * row))
    return Layout(cell, row, tuple(names))


def drawn(picture: Matrix, across: int) -> tuple[float, list[str]]:
    """(height, parts) of a matrix that is `across` pixels wide, with its key below."""
    layout = placed(picture, across)
    path = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in layout.lines())
    parts = [f'<path class="grid" d="{path}"/>']
    for pair in picture.pairs:
        names = f"{picture.names[pair.first]}, {picture.names[pair.second]}"
        parts.append(_dot(pair, *layout.middle(pair.first, pair.second), layout.radius(pair), names))
    for (text, left, middle), name in zip(layout.names, picture.names, strict=True):
        parts.append(written(text, left, middle + 4.5, full=name))
    down, indent = layout.height + 8.0, layout.cell + _PAD
    for pair, text in picture.key:
        parts.append(_dot(pair, layout.cell / 2, down + LINE / 2, layout.radius(pair)))
        for line in wrapped(text, across - indent):
            parts.append(written(line, indent, down + LINE / 2 + 4.5, style="soft"))
            down += LINE
    return down + 4.0, parts


def _dot(pair: Pair, x: float, y: float, radius: float, names: str = "") -> str:
    style = "soft" if pair.unclear else "guess" if pair.guessed else "d0"
    hint = f"<title>{escape(names)}</title>" if names else ""
    return f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">{hint}</circle>'
