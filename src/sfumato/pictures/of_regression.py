"""The picture of a regression: a forest plot of effects that fit one axis, as ratios where the link has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.pictures import axes
from sfumato.pictures.description import Axis, Row, Rows
from sfumato.pictures.results import LITTLE, even_decimals
from sfumato.queries.at_the_edge import NOT_KNOWN
from sfumato.queries.own_units import is_intercept
from sfumato.queries.range_effects import range_effects
from sfumato.schema import Boolean, Category, Schema
from sfumato.schema.coding import chosen_reference

# Logarithms of ratios beyond which the axis does not go: nobody reads an odds ratio of a million.
_POWER = 4
_FARTHEST = _POWER * math.log(10.0)
# Ratios from here on are written with a power of ten, and beyond exp(700), near the largest float64, not at all.
_MILLION, _LARGEST = 1e6, 700.0
# Logarithms of ratios that are as good as 0: the fourth decimal would not show them.
_NO_EFFECT = 5e-5
# Fewer numbers on an axis do not show its scale.
_TICKS = 3
# Effects that an alternative text names.
_NAMED = 4


def picture(release: Any, level: float = 0.9) -> Rows:
    """Effects of whole columns with intervals: a number from its lower bound to its upper, a level against its reference.

    Coefficients in own units do not fit one axis; these effects do. Where no such effects exist (rows without named columns,
    several classes) the coefficients themselves are drawn, with intervals where the release has them.
    """
    table = release.coefficients(level)
    effects = range_effects(release.plan, release.schema, release.labels)
    schema = Schema.from_json(release.schema["document"])
    if effects:
        rows = _sorted([_effect(release, schema, table, label, weights) for label, weights in effects.items()])
    else:
        rows = [
            _placed(schema, label, (float(value), *_ends(table.intervals, k)), table, (label,))
            for k, (label, value) in enumerate(zip(table.labels, table.estimates, strict=True))
            if not is_intercept(label) or len(table.labels) == 1
        ]
    target = dict(release.summary(level).facts)["link"]
    ratio = table.ratio if effects else None
    axis, shown = _axis(rows, ratio, target)
    spelled = tuple(_in_ratios(row) if ratio else row for row in rows)
    write = _writer(rows, ratio)
    # The texts have the whole interval; only what is drawn ends at the axis. Coefficients are for one unit of each column, so
    # that their sizes differ: each has the digits of its own interval.
    details = [_detail(row, write if effects else _writer([row], None)) for row in rows]
    detailed = tuple(replace(row, detail=detail) for row, detail in zip(spelled, details, strict=True))
    what = f"{ratio[:1].upper()}{ratio[1:]}s" if ratio else "Effects" if effects else "Coefficients"
    title = f"{what} for {target.partition(' of ')[2] or target}"
    title += f", with {100 * level:g} % intervals" if table.intervals is not None else ""
    head = title if release.private else f"NOT PRIVATE: {title}"
    shown += " (interval)" if table.intervals is not None else ""
    return Rows(head, axis, detailed, alt(detailed, head, bool(ratio)), 1.0 if ratio else 0.0, shown)


def _sorted(rows: Sequence[Row]) -> list[Row]:
    """Single effects first, the largest before the others; then the levels of each category, from the largest down."""
    single = sorted((row for row in rows if not row.group), key=lambda row: (not row.dot, -abs(row.middle)))
    order = list(dict.fromkeys(row.group for row in rows if row.group))
    grouped = [row for row in rows if row.group]
    return [*single, *sorted(grouped, key=lambda row: (order.index(row.group), not row.dot, -row.middle))]


def _ends(intervals: Any, place: int) -> tuple[float | None, float | None]:
    return (None, None) if intervals is None else (float(intervals[0, place]), float(intervals[1, place]))


def _effect(release: Any, schema: Schema, table: Any, label: str, weights: Mapping[str, float]) -> Row:
    """The effect of a column over its range; its interval where the release has intervals."""
    if table.intervals is None:
        known = dict(zip(table.labels, table.estimates, strict=True))
        middle = sum(weight * float(known[name]) for name, weight in weights.items())
        return _placed(schema, label, (middle, None, None), table, ())
    contrast = release.contrast(weights, table.level)
    ends = (contrast.estimate, contrast.lower, contrast.upper)
    return _placed(schema, label, ends, table, weights)


def _placed(
    schema: Schema,
    label: str,
    values: tuple[float, float | None, float | None],
    table: Any,
    names: Iterable[str],
) -> Row:
    """A row under the heading of its column, if that is a category; of a truth value "yes against no".

    It is faint where little is known of one of the coefficients `names`, and has no dot where next to nothing is.
    """
    faint, dot = not set(names).isdisjoint(table.little), set(names).isdisjoint(table.unknown)
    name, level = column_and_level(schema, label)
    column = schema.columns.get(name)
    if isinstance(column, Category):
        base = chosen_reference(name, column, None)
        against = "the mean of its levels" if base is None else str(column.levels[base])
        return Row(level, *values, f"{name}, against {against}", faint=faint, dot=dot)
    shown = f"{label}, yes against no" if isinstance(schema.columns.get(label), Boolean) else label
    return Row(shown, *values, faint=faint, dot=dot)


def column_and_level(schema: Schema, label: str) -> tuple[str, str]:
    """The column and the level that a coefficient is named after; ("", label) where it is of no single level."""
    name, gap, level = label.partition("=")
    column = schema.columns.get(name)
    # A product, or a column whose own name has an equals sign, is no level.
    if gap and isinstance(column, Category) and level in map(str, column.levels):
        return name, level
    return "", label


def _in_ratios(row: Row) -> Row:
    def power(value: float | None) -> float | None:
        return None if value is None else math.exp(min(max(value, -_FARTHEST), _FARTHEST))

    return replace(row, middle=power(row.middle) or 0.0, lower=power(row.lower), upper=power(row.upper))


def _axis(rows: Sequence[Row], ratio: str | None, link: str) -> tuple[Axis, str]:
    """The axis, and the heading of the texts at the end of the rows."""
    values = [each for row in rows for each in (row.lower, row.upper, row.middle) if each is not None]
    if not ratio:
        low, high = axes.around([*values, 0.0])
        return axes.linear(f"effect on the {link}", low, high), "estimate"
    reach = [min(max(value, -_FARTHEST), _FARTHEST) for value in values]
    low, high = axes.around([*reach, 0.0])
    cut = f", cut at 1e-{_POWER} and 1e{_POWER}" if reach != values else ""
    ends, name = (math.exp(low), math.exp(high)), f"{ratio} (logarithmic axis{cut})"
    axis = axes.logarithmic(name, *ends)
    # Between few round powers there are enough round numbers.
    return (axis if len(axis.ticks) >= _TICKS else replace(axis, ticks=axes.linear("", *ends).ticks)), ratio


def _writer(rows: Sequence[Row], ratio: str | None) -> Any:
    """Ratios with two decimals, two digits where they are small; effects with even decimals."""
    if ratio:
        return _ratio_in_words
    halves = [(row.upper - row.lower) / 2 for row in rows if row.lower is not None and row.upper is not None]
    return even_decimals(halves, [row.middle for row in rows])


def _ratio_in_words(logarithm: float) -> str:
    """The ratio of an effect: two decimals, two digits where it is small or huge, more where they keep it apart from 1."""
    if logarithm > _LARGEST:
        return f"above {math.exp(_LARGEST):.0e}"
    value = math.exp(logarithm)
    text = f"{value:,.0f}" if 100 <= value < _MILLION else f"{value:.2f}" if 0.1 <= value < 100 else f"{value:.2g}"
    if text != "1.00" or abs(logarithm) < _NO_EFFECT:
        return text
    return f"{value:.3f}" if f"{value:.3f}" != "1.000" else f"{value:.4f}"


def _detail(row: Row, write: Any) -> str:
    ends = "" if row.lower is None or row.upper is None else f" ({write(row.lower)} to {write(row.upper)})"
    return f"{write(row.middle) if row.dot else NOT_KNOWN}{ends}{f', {LITTLE}' if row.faint and row.dot else ''}"


def alt(rows: Sequence[Row], title: str, ratio: bool) -> str:
    """The picture in words: the largest effects, of ratios those farthest from 1."""
    sizes = [abs(math.log(row.middle)) if ratio and row.middle > 0 else abs(row.middle) for row in rows]
    order = np.argsort([-size for size in sizes], kind="stable")
    listed = "; ".join(
        ": ".join(part for part in (rows[k].group, rows[k].label, rows[k].detail) if part) for k in order[:_NAMED]
    )
    more = f" The largest of {len(rows)}:" if len(rows) > _NAMED else ""
    return f"Forest plot. {title}.{more} {listed}."
