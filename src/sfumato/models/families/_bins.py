"""Public bins of a number: edges from a number of bins, a list or a width, their names, and the bin of a value.

Bins are [a, b), the last one [a, b] closed. Edges come from the caller and the declared bounds, never from a record. They are
computed in decimal fractions as written: the third multiple of 0.1 is the float nearest to 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.schema import Date, Number

Edges = tuple[float, ...]
# Most bins of a histogram: more are finer than a page or an interval can show.
MOST_BINS = 1000
# Digits of an edge in a label: as few as keep all edges different.
_DIGITS = (6, 9, 12, 17)


def equal_edges(lower: float, upper: float, count: int, whole: bool = False) -> Edges:
    """Edges of `count` equal bins; of whole numbers, bins of nearly equally many values, with whole edges."""
    low, high = Fraction(repr(lower)), Fraction(repr(upper))
    if whole:
        values = int(high - low) + 1
        return (*(float(low + k * values // count) for k in range(count)), upper)
    return (*(float(low + (high - low) * k / count) for k in range(count)), upper)


def width_edges(lower: float, upper: float, width: float) -> Edges:
    """The bounds, and between them the multiples of `width`: the first and the last bin may be narrower."""
    low, high, step = Fraction(repr(lower)), Fraction(repr(upper)), Fraction(repr(width))
    first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
    if last - first + 2 > MOST_BINS:
        raise ArgumentError(
            f"width = {width:g} cuts [{lower:g}, {upper:g}] into {last - first + 2:,} bins; at most {MOST_BINS:,}. "
            "Write a larger width."
        )
    return (lower, *(float(k * step) for k in range(first, last + 1)), upper)


def read_edges(
    lower: float | None,
    upper: float | None,
    bins: Any = None,
    width: Any = None,
    edges: Any = None,
    whole: bool = False,
) -> Edges:
    """The edges that one of `bins` (a number, or a list of edges), `width` and `edges` describes; none of them is 10 bins."""
    given = [name for name, value in (("bins", bins), ("width", width), ("edges", edges)) if value is not None]
    if len(given) > 1:
        raise ArgumentError(f"give one of bins, width and edges; got {' and '.join(given)}.")
    listed = edges if edges is not None else bins
    if lower is None or upper is None:
        if not _is_list(listed):
            raise ArgumentError(
                "a histogram needs lower and upper, the public bounds of its column, or a list of edges."
            )
        lower, upper = _ends(listed)
    low, high = _bounds(lower, upper, whole)
    if width is not None:
        return _checked(width_edges(low, high, _positive_width(width, whole)), low, high, whole, "width")
    if edges is None and hasattr(listed, "__index__") and not isinstance(listed, bool):
        return equal_edges(low, high, _count(listed, low, high, whole), whole)
    if listed is None:
        return equal_edges(low, high, min(10, int(high - low) + 1) if whole else 10, whole)
    if not _is_list(listed):
        raise ArgumentError(
            f"bins must be a whole number such as 10, or a list of edges such as [{low:g}, ..., {high:g}]; "
            f"got {_validate.shown(listed)}."
        )
    return _checked(tuple(_validate.finite("an edge of bins", edge) + 0.0 for edge in listed), low, high, whole, "bins")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and len(value) > 1


def _ends(listed: Any) -> tuple[float, float]:
    return _validate.finite("the first edge", listed[0]), _validate.finite("the last edge", listed[-1])


def _bounds(lower: Any, upper: Any, whole: bool) -> tuple[float, float]:
    low, high = _validate.finite("lower", lower) + 0.0, _validate.finite("upper", upper) + 0.0
    if not low < high or math.isinf(high - low):
        raise ArgumentError(
            f"upper must be greater than lower by a finite width; got lower={low!r} and upper={high!r}."
        )
    if not isinstance(whole, bool):
        raise ArgumentError(f"whole must be True or False; got {_validate.shown(whole)}.")
    if whole and not (low.is_integer() and high.is_integer()):
        raise ArgumentError(f"bounds of whole numbers must be whole; got {low!r} and {high!r}.")
    return low, high


def _count(bins: Any, low: float, high: float, whole: bool) -> int:
    count = _validate.whole("bins", bins, 2, MOST_BINS, "finer bins than these hold too few records each")
    if whole and count > high - low + 1:
        raise ArgumentError(
            f"bins = {count} is more than the {int(high - low) + 1} whole numbers from {low:g} to {high:g}: "
            f"write at most bins = {int(high - low) + 1}."
        )
    return count


def _positive_width(width: Any, whole: bool) -> float:
    if isinstance(width, bool) or not hasattr(width, "__float__") or isinstance(width, str):
        raise ArgumentError(f"width must be a number greater than 0, such as width = 5; got {_validate.shown(width)}.")
    step = _validate.positive("width", width)
    if whole and not step.is_integer():
        raise ArgumentError(f"the column holds whole numbers: write a whole width, such as width = 1; got {step:g}.")
    return step


def _checked(edges: Edges, low: float, high: float, whole: bool, what: str) -> Edges:
    """Rising edges from the lower to the upper bound; of whole numbers whole ones, the last bin perhaps of one value."""
    # Of whole numbers the last bin may hold the upper bound alone: its two edges are then the same number.
    rising = all(a < b for a, b in pairwise(edges[:-1])) and (
        edges[-2] < edges[-1] or (whole and edges[-2] == edges[-1])
    )
    if len(edges) < 3 or not rising:
        if what == "width":
            raise ArgumentError(f"width must cut [{low:g}, {high:g}] into at least two bins. Write a smaller width.")
        raise ArgumentError(
            f"bins must list rising edges of at least two bins, such as [{low:g}, {low / 2 + high / 2:g}, {high:g}]; "
            f"got {_validate.shown(list(edges))}."
        )
    if edges[0] != low or edges[-1] != high:
        raise ArgumentError(
            f"the edges of bins must begin at the lower bound {low:g} and end at the upper bound {high:g}, since every value "
            f"between them is counted; got {edges[0]:g} to {edges[-1]:g}."
        )
    if whole and not all(edge.is_integer() for edge in edges):
        raise ArgumentError(
            f"the column holds whole numbers: write whole edges; got {next(e for e in edges if not e.is_integer()):g}."
        )
    if len(edges) - 1 > MOST_BINS:
        raise ArgumentError(f"bins must be at most {MOST_BINS:,}; got {len(edges) - 1:,}. Write fewer edges.")
    return edges


def check_whole_column(name: str, column: Number, edges: Edges, whole: bool) -> None:
    """Refuse bins of whole numbers for another column, and for a column of whole numbers a bin that holds none."""
    if whole and not column.integer:
        raise ArgumentError(
            f"the model's bins are of whole numbers and column {name!r} is not declared as one (integer = true)."
        )
    if column.integer and not whole:
        for a, b in pairwise(edges):
            if math.ceil(a) >= b and not (b == edges[-1] and b == math.floor(b)):
                raise ArgumentError(
                    f"the bin [{a:g}, {b:g}) of column {name!r} holds no whole number, and the column holds whole numbers: write "
                    "whole edges."
                )


def codes_of(values: Any, edges: Edges) -> NDArray[np.int64]:
    """The bin of each value, in [0, bins): a value on an edge belongs to the bin that begins there."""
    return np.searchsorted(np.array(edges[1:-1]), np.asarray(values, dtype=np.float64), side="right").astype(np.int64)


def labels_of(edges: Edges, whole: bool = False) -> tuple[str, ...]:
    """The bins in words, "[18, 65)", the last one closed; of whole numbers a bin of one value is that value."""
    shown = _shown(edges)
    labels = [f"[{a}, {b})" for a, b in pairwise(shown)]
    labels[-1] = f"[{shown[-2]}, {shown[-1]}]"
    if whole:
        ends = [*edges[1:-1], edges[-1] + 1]
        labels = [shown[k] if ends[k] - edges[k] == 1 else label for k, label in enumerate(labels)]
    return tuple(labels)


def in_numbers(column: Number, given: Any) -> Any:
    """Bins as a caller gives them, with dates among the edges of a Date column as numbers of days."""
    return [column.edge(edge) for edge in given] if _is_list(given) else given


def labels_in(column: object, labels: tuple[Any, ...], edges: Edges | None) -> tuple[Any, ...]:
    """The bins as a reader of this column writes its values: of a Date in dates, else the labels as they are."""
    if not isinstance(column, Date) or edges is None:
        return labels
    # A record is a whole day: the first one of a bin is the first at or after its lower edge.
    days = [column.shown(math.ceil(edge)) for edge in edges]
    dates = [f"[{a}, {b})" for a, b in pairwise(days)]
    return (*dates[:-1], f"[{days[-2]}, {days[-1]}]")


def _shown(edges: Edges) -> list[str]:
    """Edges with as few digits as keep them different; whole numbers whole."""
    for digits in _DIGITS:
        texts = [f"{edge:.0f}" if edge.is_integer() and abs(edge) < 1e15 else f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(set(edges)):
            break
    return texts
