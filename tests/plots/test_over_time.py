"""Pictures of one quantity over several releases show the numbers of each release, in the order that was given."""

from __future__ import annotations

import numpy as np
import pytest
from picture_checks import faults, texts

import sfumato as sf
from sfumato.errors import ArgumentError

REGIONS = ["north", "south"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def published(rate: float, seed: int, randomness=None):
    schema = sf.Schema({"ill": sf.Boolean(missing=False)}, name="clinic", unit="patient")
    data = sf.Dataset.from_table({"ill": np.random.default_rng(seed).random(2_000) < rate}, schema=schema)
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 2_000, 0.5, 1e-6, mechanism="noisy-statistics")
    return sf.publish(plan, data, randomness=randomness)


def by_region():
    schema = sf.Schema(
        {"region": sf.Category(REGIONS, missing=REGIONS[0]), "ill": sf.Boolean(missing=False)},
        target="ill",
        name="clinic",
    )
    table = {"region": np.repeat(REGIONS, 1_000), "ill": np.arange(2_000) % 3 == 0}
    rates = sf.grouped(sf.families.BetaBernoulli(1, 1), by="region", levels=REGIONS)
    return sf.publish(sf.plan(rates, 2_000, 1.0, 1e-6), sf.Dataset.from_table(table, schema=schema))


def shown(figure):
    """Estimates and intervals as they stand in the picture, by place."""
    axis = figure.axes[0]
    middles = axis.get_lines()[-1].get_ydata()
    return middles, np.array([path.vertices[:, 1] for path in axis.collections[0].get_paths()])


def test_every_period_has_the_estimate_and_interval_of_its_release():
    releases = {name: published(0.1 + 0.05 * k, k) for k, name in enumerate(("May", "June", "July"))}
    middles, ends = shown(sf.plots.over_time(releases, level=0.8))
    assert np.allclose(middles, [float(each.estimate()) for each in releases.values()])
    assert np.allclose(np.sort(ends, axis=1), [each.interval(0.8).reshape(2) for each in releases.values()])


def test_a_year_of_months_is_readable_and_names_what_is_drawn():
    one = published(0.2, 1)
    figure = sf.plots.over_time(dict.fromkeys(MONTHS, one))
    assert faults(figure) == []
    words = [text.get_text() for text in texts(figure)]
    assert {"Rate (ill), Jan to Dec", "90 % interval (privacy noise and sampling)", *MONTHS} <= set(words)


@pytest.mark.planted
def test_the_label_picks_the_quantity():
    release = by_region()
    middles, _ = shown(sf.plots.over_time({"a": release, "b": release}, label="region=south"))
    assert np.allclose(middles, release.estimate()[1])
    assert not np.allclose(middles, release.estimate()[0])


@pytest.mark.parametrize(
    ("periods", "label", "words"),
    [
        (["a"], None, "at least two periods"),
        (["a", "b"], None, r"region=north, region=south\); none was given"),
        (["a", "b"], "region=west", "got 'region=west'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(periods, label, words):
    with pytest.raises(ArgumentError, match=words):
        sf.plots.over_time(dict.fromkeys(periods, by_region()), label=label)


def test_a_seeded_release_is_marked():
    figure = sf.plots.over_time({"a": published(0.2, 1), "b": published(0.2, 1, sf.seeded(1))})
    assert figure.get_suptitle().startswith("NOT PRIVATE")


def test_days_of_a_date_column_are_written_as_dates():
    column = sf.Date("2020-01-01", "2021-12-31")
    schema = sf.Schema({"day": column}, name="visits")
    rows = {"day": ["2020-05-05", "2021-03-03"] * 500}
    model = sf.families.BoundedMean(column.lower, column.upper)
    plan = sf.plan(model, 1_000, 2.0, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_table(rows, schema=schema))
    axis = sf.plots.over_time({"May": release, "June": release}).axes[0]
    ticks = axis.get_yticklabels()
    assert len(ticks) >= 2
    for tick in ticks:
        assert tick.get_text() == column.shown(tick.get_position()[1])
    low, high = axis.get_ylim()
    assert low < release.interval(0.9).min() < release.interval(0.9).max() < high
