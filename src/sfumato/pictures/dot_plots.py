"""Dot plots of results: estimates with their intervals, by group with the groups' sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Row, Rows
from sfumato.pictures.results import LITTLE, Result, Results

# Rows that an alternative text names from each end.
_NAMED = 2
# Most tick marks of an axis of dates: a date takes ten letters.
_TICKS = 5
# Fewer do not show the scale.
_FEWEST = 2
# Months between tick marks, from decades down to single months.
_MONTHS = (120, 60, 24, 12, 6, 3, 1)


def from_results(results: Results, date: Any = None, private: bool = True) -> Rows:
    """The dot plot of some results; numbers of a `date` column are days."""
    ends = [end for row in results.rows for end in (row.lower, row.upper, row.estimate) if end is not None]
    low, high = axes.around(ends)
    axis = axes.linear(results.quantity, low, high) if date is None else dates(results.quantity, low, high, date)
    # A share or a rate that comes close to 0 is read against 0.
    if date is None and 0 <= min(ends) < 0.35 * max(ends):
        axis = axes.linear(results.quantity, 0.0, high)
    largest = max((row.size or 0.0 for row in results.rows), default=0.0)
    rows = tuple(
        Row(
            row.label,
            row.estimate,
            row.lower,
            row.upper,
            row.group,
            _detail(row, results),
            None if row.size is None or not largest else row.size / largest,
            row.little,
            not row.state,
        )
        for row in results.rows
    )
    sized = any(row.size is not None for row in results.rows)
    title = f"{results.quantity[:1].upper()}{results.quantity[1:]}"
    title += results.with_intervals
    if not private:
        title = f"NOT PRIVATE: {title}"
    reference = 0.0 if min(ends) < 0 < max(ends) else None
    return Rows(
        title, axis, rows, alt(results), reference, f"size of the group (unit: {results.unit})" if sized else ""
    )


def alt(results: Results) -> str:
    """The picture in words: how many rows, the largest and the smallest."""
    ranked = sorted(results.rows, key=lambda row: -row.estimate)
    shown = results.rows if len(ranked) <= 2 * _NAMED else [*ranked[:_NAMED], *ranked[-_NAMED:]]
    listed = "; ".join(f"{row.group} {row.label} {results.middle(row)}".strip() + _ends(row, results) for row in shown)
    between = "" if len(shown) == len(ranked) else f" The largest and the smallest {_NAMED} of {len(ranked)}:"
    return f"Dot plot of {results.quantity}.{between} {listed}."


def _ends(row: Result, results: Results) -> str:
    return f" ({results.ends(row)})" if row.lower is not None else ""


def _detail(row: Result, results: Results) -> str:
    """The text at the end of a row: the size of its group, and what is said where little is known."""
    word = results.middle(row) if row.state else LITTLE if row.little else ""
    parts = [f"{row.size:,.0f}" if row.size is not None else "", word]
    return ", ".join(part for part in parts if part)


def dates(name: str, low: float, high: float, date: Any) -> Axis:
    """An axis of days: first days of years or months as ticks where two of them fit, else days at even distances."""
    values = _firsts(low, high) or _days(low, high)
    return Axis(name, low, high, tuple((float(value), date.shown(float(value))) for value in values))


def _firsts(low: float, high: float) -> list[int]:
    """Days since 1970-01-01 that begin a year, a half, a quarter or a month, at the finest step that gives few enough."""
    chosen: list[int] = []
    for months in _MONTHS:
        first, last = (np.datetime64(math.floor(end), "D").astype("M8[M]").astype(int) for end in (low, high))
        # Months since 1970 are counted from January, so that multiples of 12 begin years.
        begun = range(-(-int(first) // months) * months, int(last) + 1, months)
        days = [int(np.datetime64(month, "M").astype("M8[D]").astype(int)) for month in begun]
        inside = [day for day in days if low <= day <= high]
        if len(inside) > _TICKS:
            break
        chosen = inside
    return chosen if len(chosen) >= _FEWEST else []


def _days(low: float, high: float) -> list[int]:
    count = min(_TICKS - 1, max(int(high - low), 1))
    return sorted({round(low + (high - low) * (k + 0.5) / count) for k in range(count)})
