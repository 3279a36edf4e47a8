"""The rooms of the package, from its imports: `python tools/rooms.py` draws them to docs/images/rooms.svg.

A room is a module or a package directly under sfumato. LAYERS lists the rooms from the bottom up; a room imports rooms of
lower layers only. A line in the drawing joins a room to one that it imports, unless a longer way already joins them.
"""

from __future__ import annotations

import ast
import functools
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"
DRAWING = ROOT / "docs" / "images" / "rooms.svg"
LAYERS = [
    ("errors", "_validate", "_version", "_quadrature", "_shown", "_private_files"),
    ("progress", "randomness", "privacy", "schema", "draws", "storage"),
    ("grids", "gathering", "cuda"),
    ("dataset", "ledger", "models", "signing"),
    ("theorems", "engines", "samplers", "calibrate"),
    ("shapes", "mixtures"),
    ("procedures",),
    ("tune", "queries"),
    ("mechanisms",),
    ("rehearsing", "simulating"),
    ("planning", "comparing", "wording", "release_file"),
    ("verifying",),
    ("release",),
    ("publishing", "pictures"),
    ("auditing", "bounds_plan"),
    ("bounds_proposal", "estimators", "plots"),
    ("shells",),
    ("__main__",),
]
# Left out of the drawing: helpers that everybody imports, and rooms without code.
_UNDRAWN = {"errors", "_validate", "_version", "_shown", "_private_files", "__main__", "__init__"}
_WIDTH, _BOX, _ROW = 1080, 116, 62


@functools.cache
def imports(text: str) -> list[tuple[str, int, bool]]:
    """(dotted module, line, whether at import time) for every import in a module's source; relative ones as "<relative>"."""
    listed = []
    tree = ast.parse(text)
    # Imports under TYPE_CHECKING cost nothing at run time but still count as edges between rooms.
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == "sfumato":
                names = [f"sfumato.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            names = ["<relative>"]
        listed += [(name, node.lineno, id(node) in top) for name in names]
    return listed


def sources() -> dict[str, str]:
    """The source of every module, by its path in the package."""
    return {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def room_of(path: str) -> str:
    """The room of a module."""
    return path.split("/", maxsplit=1)[0].removesuffix(".py")


def edges(files: dict[str, str]) -> set[tuple[str, str]]:
    """(room, imported room) for every import between rooms."""
    pairs = set()
    for path, text in files.items():
        for module, _, _ in imports(text):
            parts = module.split(".")
            if parts[0] == "sfumato" and len(parts) > 1:
                pairs.add((room_of(path), parts[1]))
    return {(a, b) for a, b in pairs if a != b and not {a, b} & _UNDRAWN}


def reduced(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs that no longer way through other pairs joins."""
    below: dict[str, set[str]] = {}
    for a, b in pairs:
        below.setdefault(a, set()).add(b)

    @functools.cache
    def reaches(start: str, end: str) -> bool:
        return any(nearer == end or reaches(nearer, end) for nearer in below.get(start, ()))

    return {(a, b) for a, b in pairs if not any(c != b and reaches(c, b) for c in below[a])}


def drawing(files: dict[str, str]) -> str:
    """The rooms as an SVG picture, the topmost layer first."""
    pairs = edges(files)
    present = {room for pair in pairs for room in pair}
    rows = [[room for room in layer if room in present] for layer in reversed(LAYERS)]
    rows = [row for row in rows if row]
    place = {
        room: (_WIDTH * (k + 1) / (len(row) + 1), 34 + _ROW * level)
        for level, row in enumerate(rows)
        for k, room in enumerate(row)
    }
    height = 34 + _ROW * len(rows)
    lines = []
    for a, b in sorted(reduced(pairs)):
        (x, y), (u, v) = place[a], place[b]
        y, v = y + 15, v - 15
        bend = (v - y) / 2
        lines.append(f'<path d="M{x:.0f} {y} C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} {u:.0f} {v}"/>')
    boxes = []
    for room, (x, y) in place.items():
        kind = "package" if (SOURCE / room).is_dir() else "module"
        boxes.append(f'<rect class="{kind}" x="{x - _BOX / 2:.0f}" y="{y - 15}" width="{_BOX}" height="30" rx="5"/>')
        boxes.append(f'<text x="{x:.0f}" y="{y + 5}">{escape(room)}</text>')
    style = (
        "path{fill:none;stroke:#9a8c80;stroke-width:1.1}rect{stroke:#6d4c41;stroke-width:1.2}"
        ".package{fill:#efe3d8}.module{fill:#ffffff}text{font:14px sans-serif;text-anchor:middle;fill:#2b2320}"
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
            "<title>The rooms of Sfumato: each imports rooms below it only</title>",
            f"<style>{style}</style>",
            f'<rect width="{_WIDTH}" height="{height}" style="fill:#fff;stroke:none"/>',
            *lines,
            *boxes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    DRAWING.write_text(drawing(sources()))
    print(f"{DRAWING.relative_to(ROOT)}: {len(edges(sources()))} imports between rooms")
