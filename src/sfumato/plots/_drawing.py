"""Shared by all figures: one size, titles and legends in readable fonts; colours and dashes are those of `pictures.look`.

Figures are built without pyplot: no window, no global state, nothing to close.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.pictures import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.0, 4.0  # inches
# The style of lines for comparison: no privacy, blind guessing, an exact draw.
DOTTED = {"color": look.GREY, "linestyle": ":", "linewidth": 1.5}
_LONGEST_TITLE, _LONGEST_NAME, _LONGEST_LABEL = 58, 46, 26  # characters that fit


def figure(title: str, height: float = HEIGHT, panels: int = 1) -> tuple[Figure, list[Any]]:
    """An empty figure of one or more panels beside each other, with its title; margins follow from the texts."""
    try:
        made = import_module("matplotlib.figure").Figure(figsize=(WIDTH, height), layout="constrained")
    except ImportError as error:
        raise ImportError("plots need matplotlib, which is not installed: pip install 'sfumato[plots]'") from error
    axes = list(made.subplots(1, panels, squeeze=False, sharey=True)[0])
    plain(made.suptitle("\n".join(_titled(title)), fontsize=look.LARGE))
    for axis in axes:
        axis.tick_params(labelsize=look.SMALL)
        axis.grid(visible=True, color=look.GRID, linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return made, axes


def _titled(title: str) -> list[str]:
    """A title in lines that fit: a long one is broken at spaces into two, and shortened only beyond that."""
    lines: list[str] = []
    for line in title.split("\n"):
        first, *rest = textwrap.wrap(line, _LONGEST_TITLE, break_long_words=False) or [""]
        lines += [shortened(first, _LONGEST_TITLE), *([shortened(" ".join(rest), _LONGEST_TITLE)] if rest else [])]
    return lines


def line_style(place: int) -> dict[str, Any]:
    """Colour and dashes of the line at this place."""
    return {
        "color": look.COLOURS[place % look.MOST],
        "linestyle": (0, look.DASHES[place % look.MOST]),
        "linewidth": 2.0,
    }


def legend(axis: Any, lines: Sequence[Any], names: Sequence[str], where: str = "best") -> None:
    """A legend of these lines; names are taken as they are, a dollar sign or a leading underscore included."""
    shown = [shortened(name, _LONGEST_NAME) for name in names]
    # matplotlib leaves out a name that begins with an underscore: put an invisible mark before it.
    safe = [f"\u200b{name}" if name.startswith("_") else name for name in shown]
    box = axis.legend(list(lines), safe, loc=where, fontsize=look.SMALL, framealpha=0.9, handlelength=2.6)
    for text in box.get_texts():
        plain(text)


def plain(text: Any) -> Any:
    """The text with matplotlib's math mode off, so that a dollar sign is shown."""
    text.set_parse_math(False)
    return text


def shortened(text: str, longest: int = _LONGEST_LABEL) -> str:
    """The text, or its two ends where it is too long: labels often differ only at the end."""
    if len(text) <= longest:
        return text
    tail = longest // 2
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"
