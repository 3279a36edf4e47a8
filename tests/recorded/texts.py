"""Recorded texts: how an output is written down, and how a new one is compared with it.

`SFUMATO_RECORD=1 pytest tests/recorded` (`make recorded`) writes the files anew. A comparison is exact, except that a number
with a point or an exponent may differ in its sixth digit, and spaces where such a number differs: other processors round
otherwise.
"""

from __future__ import annotations

import difflib
import itertools
import math
import os
import re
from html.parser import HTMLParser
from pathlib import Path

from sfumato._version import __version__

FOLDER = Path(__file__).parent / "texts"
RECORDING = os.environ.get("SFUMATO_RECORD") == "1"
# Relative difference of two numbers that count as the same, and the size below which both count as 0.
NEAR, NOTHING = 2e-5, 1e-9
# Numbers that are not whole, and are no part of a name or a version.
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)(?![\w.]*\w)", re.IGNORECASE)
# A digest has digits and letters; the one that ends a row of a ledger may have only the one or the other.
DIGEST = re.compile(
    r"(?<![0-9a-zA-Z.])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}(?![0-9a-zA-Z])|(?<=; )[0-9a-f]{16}$", re.MULTILINE
)
# Sentences of this length and more are written out once in a file; after that their beginning stands for them.
LONG, BEGINNING = 60, 24
SENTENCES = re.compile(r"(\n|(?<=[.:;]) )")
USED: set[Path] = set()


def brief(text: str) -> str:
    """The text with every long sentence that occurred before cut to its beginning."""
    seen: set[str] = set()
    parts = []
    for part in SENTENCES.split(text):
        parts.append(f"{part[:BEGINNING]} …" if len(part) >= LONG and part in seen else part)
        seen.add(part)
    return "".join(parts)


def plain(text: str) -> str:
    """The text without what differs from run to run: digests, addresses, the version; numbers with at most six digits."""
    text = DIGEST.sub("<digest>", text.replace(f"Sfumato {__version__}", "Sfumato <version>"))
    text = re.sub(r" at 0x[0-9a-f]+>", " at <address>>", text)
    return NUMBER.sub(lambda found: _short(found[0]), text)


def _short(number: str) -> str:
    digits = re.sub(r"e.*", "", number.lower()).replace("-", "").replace(".", "").lstrip("0")
    return number if len(digits) <= 6 else f"{float(number):.6g}"


def same(old: str, new: str) -> bool:
    """Whether two texts agree but for the last digits of their numbers."""
    if old == new:
        return True
    first, second = NUMBER.findall(old), NUMBER.findall(new)
    if first == second or len(first) != len(second):
        return False
    around = [" ".join(NUMBER.sub("#", text).split()) for text in (old, new)]
    return around[0] == around[1] and all(_near(float(a), float(b)) for a, b in zip(first, second, strict=True))


def _near(old: float, new: float) -> bool:
    return math.isclose(old, new, rel_tol=NEAR, abs_tol=NOTHING)


def check(name: str, text: str) -> None:
    """Compare a text with the recorded one of this name, or record it."""
    path = FOLDER / f"{name.replace(' ', '-')}.txt"
    USED.add(path)
    text = "\n".join(line.rstrip() for line in brief(plain(text)).splitlines()) + "\n"
    if RECORDING:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path.name} is not recorded: make recorded, and read what it holds"
    old = path.read_text(encoding="utf-8")
    if not same(old, text):
        lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "recorded", "now", lineterm="", n=2)
        raise AssertionError(
            f"{path.relative_to(FOLDER)} differs (make recorded, if that is meant)\n" + "\n".join(lines)
        )


# Attributes of places, in the order in which they are written down; and cells, which stand in the line of their row.
PLACES = ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height", "d", "points", "transform")
CELLS = ("th", "td", "tspan", "strong", "em", "code", "a", "span")
# Stands where a picture ends.
END = "svg ends"
# Lines of one picture that are written down; of the others those of one kind are counted, and their numbers added up.
KEPT = 28


class _Page(HTMLParser):
    """The elements of a page, one a line: tag, attributes, places and text. What has neither text nor attributes is left out."""

    def __init__(self, drawn: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.drawn, self.hidden = drawn, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.hidden:
            return
        said = [f"{key}={value}" for key, value in attrs if key not in PLACES]
        placed = [_places(value or "") for key in PLACES for name, value in attrs if name == key]
        text = " ".join([tag, *said, *placed])
        if tag in CELLS and self.lines:
            self.lines[-1] += f" | {' '.join([*said, *placed])}".rstrip()
        else:
            self.lines.append(text)
        if tag == "style" or (tag == "svg" and not self.drawn):
            self.hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""
        if tag == "svg":
            self.lines.append(END)

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and self.lines and not self.hidden:
            self.lines[-1] += f": {text}"


def _places(text: str) -> str:
    """Coordinates to a whole pixel."""
    return re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.0f}", text)


def _shortened(lines: list[str]) -> list[str]:
    """The first lines of a picture, and of the others how many there are of each kind and the sum of their numbers."""
    rest: dict[str, list[int]] = {}
    for line in lines[KEPT:]:
        rest.setdefault(" ".join(re.findall(r"^\w+|class=\w+", line)), []).extend(map(int, re.findall(r"-?\d+", line)))
    return [
        *lines[:KEPT],
        *(f"... more {kind}: {len(found)} numbers, sum {sum(found)}" for kind, found in rest.items()),
    ]


def elements(page: str, drawn: bool = True) -> str:
    """A page or a picture as text: a line for each element; style sheets are left out, and pictures unless `drawn`."""
    parser = _Page(drawn)
    parser.feed(page)
    lines = [line for line in parser.lines if re.search(r"[ :]", line)]
    starts = [place for place, line in enumerate(lines) if line.startswith("svg ")]
    parts = [lines[start:end] for start, end in itertools.pairwise([0, *starts, len(lines)])]
    shown = [_shortened(part) if part and part[0].startswith("svg ") and part[0] != END else part for part in parts]
    return "\n".join(line for part in shown for line in part if line != END)
