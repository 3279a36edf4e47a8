"""Figures of the scripts in one look: matplotlib without pyplot, colours that colour-blind readers can distinguish."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

# Okabe and Ito's colours without yellow, with a dash pattern each, so that a print in grey can be read too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)))
GREY = "#595959"


def panels(
    title: str, rows: int = 1, columns: int = 1, *, size: tuple[float, float] | None = None, **shared: Any
) -> tuple[Figure, Any]:
    """A figure with a title and rows x columns axes (always a two-dimensional array of them)."""
    figure = Figure(figsize=size or (0.9 + 4.6 * columns, 0.9 + 3.1 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    figure.suptitle(title, fontsize=12)
    for axis in axes.flat:
        axis.tick_params(labelsize=9)
        axis.grid(visible=True, color="#DDDDDD", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def style(place: int) -> dict[str, Any]:
    """Colour and dashes of the line at this place."""
    return {"color": COLOURS[place % len(COLOURS)], "linestyle": DASHES[place % len(DASHES)], "linewidth": 1.8}


def label(axis: Any, title: str, x: str, y: str) -> None:
    """Name a panel and its axes."""
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x, fontsize=9)
    axis.set_ylabel(y, fontsize=9)


def legend(axis: Any, **options: Any) -> None:
    """A legend that covers as little as it can."""
    axis.legend(**{"fontsize": 8, "framealpha": 0.9, "handlelength": 2.6, "loc": "best", **options})


def plain_numbers(axis: Any) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
