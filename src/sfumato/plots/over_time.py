"""Intervals of one quantity over several releases, such as one a month."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.reading import model_from_json
from sfumato.pictures.axes import around, linear
from sfumato.pictures.description import Axis, Chart, Line, Whiskers
from sfumato.pictures.dot_plots import dates
from sfumato.plots._render import figure
from sfumato.wording import columns_read, date_of_release

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sfumato.release import Release

# Names of periods that stand beside each other under a picture of six inches.
_MOST_NAMES = 12
# Room for the two lines of the legend above the intervals, as a share of their range.
_LEGEND_ROOM = 0.25


def over_time(releases: Mapping[str, Release], level: float = 0.9, label: str | None = None) -> Figure:
    """Draw the estimate and interval of one quantity for each period, in the order of `releases`.

    `releases` maps the names of periods to releases of the same quantity. Where a release has several (rates by group,
    coefficients), `label` is the one to draw, as in `release.labels`. Intervals are `release.interval(level)`: they include
    the privacy noise and the sampling of the records. Two periods whose intervals overlap may differ all the same.
    """
    if not isinstance(releases, Mapping) or len(releases) < 2:
        raise ArgumentError(
            "releases must map the names of at least two periods to releases, as {'May': may, 'June': june}."
        )
    level = _validate.between("level", level, 0.0, 1.0)
    places = {period: _place(release, period, label) for period, release in releases.items()}
    middles, items = [], []
    for across, (period, release) in enumerate(releases.items()):
        lower, upper = release.interval(level).reshape(2, -1)[:, places[period]]
        middles.append((float(across), float(release.estimate().reshape(-1)[places[period]])))
        items.append((float(across), float(lower), float(upper)))
    first = next(iter(releases.values()))
    chart = _chart(list(releases), _quantity(first, label), level, middles, items, date_of_release(first))
    private = all(release.private for release in releases.values())
    return figure(chart if private else replace(chart, title=f"NOT PRIVATE: made with a seeded stream\n{chart.title}"))


def _place(release: Release, period: str, label: str | None) -> int:
    """Where the quantity stands among the numbers of a release."""
    labels = list(release.labels)
    if label is None and len(labels) == 1:
        return 0
    if label in labels:
        return labels.index(label)
    given = "none was given" if label is None else f"got {label!r}"
    shown = ", ".join(labels[:_MOST_NAMES]) + (", ..." if len(labels) > _MOST_NAMES else "")
    raise ArgumentError(f"label must be one of the labels of the release {period!r} ({shown}); {given}.")


def _quantity(release: Release, label: str | None) -> str:
    """The name of what is drawn: the label, or quantity and column where there is one number."""
    if label is not None:
        return label
    columns = columns_read(release)
    if not columns:
        return str(release.labels[0])
    return f"{model_from_json(release.plan['model']).quantity} ({', '.join(columns)})"


def _chart(
    periods: list[str],
    quantity: str,
    level: float,
    middles: list[tuple[float, float]],
    items: list[tuple[float, float, float]],
    date: Any,
) -> Chart:
    """The description: whiskers for intervals, a thin line through the estimates; numbers of a `date` column are days."""
    shown = "{:.4g}".format if date is None else date.shown
    step = -(-len(periods) // _MOST_NAMES)
    names = tuple((float(k), name) for k, name in enumerate(periods) if k % step == 0)
    low, high = around([end for _, lower, upper in items for end in (lower, upper)])
    high += _LEGEND_ROOM * (high - low)
    percent = f"{100 * level:g} % interval"
    return Chart(
        f"{quantity[:1].upper()}{quantity[1:]}, {periods[0]} to {periods[-1]}",
        Axis("period", -0.5, len(periods) - 0.5, names),
        linear(quantity, low, high) if date is None else dates(quantity, low, high, date),
        (
            Whiskers(tuple(items), 0, f"{percent} (privacy noise and sampling)"),
            Line(tuple(middles), 0, "estimate", 1.0, markers=True),
        ),
        f"{quantity} for {len(periods)} periods: {shown(middles[0][1])} in {periods[0]}, {shown(middles[-1][1])} in {periods[-1]}, "
        f"each with a {percent}.",
        legend="upper left",
    )
