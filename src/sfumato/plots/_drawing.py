"""Shared by all pictures: one size, fonts that are readable on a page, colours that colour-blind readers can distinguish.

Figures are built without pyplot: no window, no global state, nothing to close.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.0, 4.0  # inches
SMALL, PLAIN, LARGE = 10, 11, 12  # points

# Okabe and Ito's colours, without yellow, which vanishes on white; each line has its own dashes too, for print in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00")
# Lengths of strokes and gaps in line widths; None is a solid line.
_DASHES = (None, (5, 1.5), (1, 1), (5, 1.5, 1, 1.5), (3, 1, 1, 1, 1, 1), (8, 2))
# One for each colour.
MARKERS = ("o", "s", "^", "D", "v", "X")
# The darkest grey that still recedes behind the lines: contrast 7 to 1 on white.
GREY = "#595959"
# The style of lines for comparison: no privacy, blind guessing, an exact draw.
DOTTED = {"color": GREY, "linestyle": ":", "linewidth": 1.5}
MOST = len(COLOURS)
_LONGEST_TITLE, _LONGEST_NAME, _LONGEST_LABEL = 58, 46, 26  # characters that fit
# The name of the axis of epsilon, the same in every picture.
EPSILON = "epsilon (log ratio of probabilities, nats)"


def figure(title: str, height: float = HEIGHT, panels: int = 1) -> tuple[Figure, list[Any]]:
    """An empty figure of one or more panels beside each other, with its title; margins follow from the texts."""
    try:
        made = import_module("matplotlib.figure").Figure(figsize=(WIDTH, height), layout="constrained")
    except ImportError as error:
        raise ImportError("plots need matplotlib, which is not installed: pip install 'sfumato[plots]'") from error
    axes = list(made.subplots(1, panels, squeeze=False, sharey=True)[0])
    plain(made.suptitle("\n".join(shortened(line, _LONGEST_TITLE) for line in title.split("\n")), fontsize=LARGE))
    for axis in axes:
        axis.tick_params(labelsize=SMALL)
        axis.grid(visible=True, color="#DDDDDD", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return made, axes


def line_style(place: int) -> dict[str, Any]:
    """Colour and dashes of the line at this place."""
    return {"color": COLOURS[place % MOST], "linestyle": (0, _DASHES[place % MOST]), "linewidth": 2.0}


def name_axes(axis: Any, x: str, y: str) -> None:
    """Write the axes' names."""
    plain(axis.set_xlabel(x, fontsize=PLAIN))
    plain(axis.set_ylabel(y, fontsize=PLAIN))


def legend(axis: Any, lines: Sequence[Any], names: Sequence[str], where: str = "best") -> None:
    """A legend of these lines; names are taken as they are, a dollar sign or a leading underscore included."""
    shown = [shortened(name, _LONGEST_NAME) for name in names]
    # matplotlib leaves out a name that begins with an underscore: put an invisible mark before it.
    safe = [f"\u200b{name}" if name.startswith("_") else name for name in shown]
    box = axis.legend(list(lines), safe, loc=where, fontsize=SMALL, framealpha=0.9, handlelength=2.6)
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


def log_axis(axis: Any, low: float, high: float, wanted: Sequence[float] = ()) -> None:
    """Ticks of a logarithmic axis as plain numbers: an exponent set small would be too small to read.

    They stand at the `wanted` values where these are few and far enough apart, else at round numbers.
    """
    ticker = import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.FixedLocator(list(wanted) if _apart(wanted, low, high) else log_ticks(low, high)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(ticker.NullLocator())


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Round numbers between two positive ends, evenly spaced in the logarithm as far as they can be, at most `most`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        candidates = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        inside = [value for value in candidates if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return inside
    # Too many powers of ten: keep every second, third, ... counted from the largest.
    every = math.ceil(len(inside) / most)
    return inside[::-1][::every][::-1]


def _apart(values: Sequence[float], low: float, high: float, most: int = 10) -> bool:
    """Whether the labels of these values have room beside each other."""
    least = math.log(high / low) / most
    near = any(math.log(right / left) < least for left, right in pairwise(values))
    return len(values) >= 2 and not near


def number(value: float) -> str:
    """A number in its usual notation: 0.05, 300, 1e-6."""
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(power)}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
