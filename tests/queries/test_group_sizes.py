"""The sizes of groups, whose noisy counts are part of the price, and what a plan says of groups before it is paid."""

import math
from functools import cache

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError

F = sf.families
LEVELS = ["a", "b", "c", "d"]
SIZES = [1_000, 600, 300, 100]
SCHEMA = {"g": sf.Category(LEVELS, missing=LEVELS[0])}
TABLE = {"g": [level for level, size in zip(LEVELS, SIZES, strict=True) for _ in range(size)]}
MODELS = {
    "means": (F.BoundedMean(0, 10), sf.Number(0, 10), np.arange(2_000) % 7),
    "rates": (F.BetaBernoulli(1, 1), sf.Boolean(missing=False), np.arange(2_000) % 3 == 0),
    "shares": (
        F.DirichletCategorical(["x", "y", "z"]),
        sf.Category(["x", "y", "z"], missing="x"),
        ["x", "y", "z", "x"] * 500,
    ),
    "events": (F.GammaPoisson(2, 1, 6), sf.Number(0, 6, integer=True), np.arange(2_000) % 5),
}


@cache
def planned(name, epsilon):
    model, column, cells = MODELS[name]
    schema = sf.Schema({**SCHEMA, "v": column}, name="groups")
    plan = sf.plan(sf.grouped(model, "g", LEVELS), 2_000, epsilon, 1e-6, goal=model.goal)
    return plan, sf.Dataset.from_table({**TABLE, "v": cells}, schema=schema)


def release(name, seed, epsilon=1.0):
    return sf.publish(*planned(name, epsilon), randomness=sf.seeded(seed))


@pytest.mark.parametrize("name", sized(["means", "rates"], list(MODELS)))
def test_the_intervals_of_sizes_hold_them_nine_times_in_ten(name):
    runs, held, widths = sized(30, 200), 0, []
    for seed in range(runs):
        sizes = release(name, seed).group_sizes()
        assert sizes.what == "records"
        for level, size in zip(LEVELS, SIZES, strict=True):
            low, high = sizes.interval(level)
            held += low <= size <= high
            widths.append(high - low)
    # Ends are moved outwards to whole numbers. The noise of groups of one release sums to 0, so they are not independent.
    assert 0.9 - 4.5 * math.sqrt(0.09 / runs / 3) <= held / (4 * runs) <= 0.97
    assert 4 < np.median(widths) < 120


def test_sizes_sum_to_the_public_number_of_records():
    assert release("means", 1).group_sizes().values.sum() == pytest.approx(2_000, abs=2)


def test_releases_without_sizes_say_so():
    model, schema = (
        F.BetaBernoulli(1, 1),
        sf.Schema({"g": sf.Category(LEVELS, missing=LEVELS[0]), "v": sf.Boolean(missing=False)}, name="groups"),
    )
    data = sf.Dataset.from_table({**TABLE, "v": MODELS["rates"][2]}, schema=schema)
    plan = sf.plan(sf.grouped(model, "g", LEVELS), 2_000, 1.0, 1e-6, mechanism="diffused")
    with pytest.raises(ArgumentError, match="noisy-statistics"):
        sf.publish(plan, data, randomness=sf.seeded(1)).group_sizes()
    one = sf.Schema({"v": sf.Boolean(missing=False)}, name="one")
    whole = sf.publish(sf.plan(model, 4, 1.0, 1e-6), sf.Dataset.from_table({"v": [1, 0, 1, 1]}, schema=one))
    with pytest.raises(ArgumentError, match="by group"):
        whole.group_sizes()


def test_a_plan_says_how_small_a_group_may_be():
    few, many = (
        str(sf.plan(sf.grouped(F.BoundedMean(0, 10), "g", list(range(groups))), 2_000, 1.0, 1e-6, goal="estimate"))
        for groups in (4, 200)
    )
    assert "4 of 500 records on average; the number of records of one is known to +/- 12.5 (90 %)" in few
    assert "Groups of fewer than about 28 records have intervals wider than half" in few
    assert "take fewer groups" not in few
    assert "take fewer groups, or a larger epsilon" in many


@pytest.mark.parametrize("name", ["means", "rates"])
def test_groups_below_the_stated_size_have_wide_intervals_and_larger_ones_do_not(name):
    """At epsilon 0.3 the stated size is 86: the group of 100 is near it, that of 1,000 far above."""
    made = [release(name, seed, epsilon=0.3) for seed in range(12)]
    assert "fewer than about 86 records" in str(planned(name, 0.3)[0])
    span = 10 if name == "means" else 1
    widths = np.mean([np.diff(each.interval(), axis=0)[0] / span for each in made], axis=0)
    assert 0.35 < widths[3] < 0.65
    assert widths[0] < 0.15


def test_what_has_no_interval_is_said_before_paying():
    assert "intervals  none. A drawn quantile" in str(sf.plan(F.Quantile(0.5, [1.0, 2.0]), 100, 1.0, 0.0))
    by = sf.grouped(F.Finite.bernoulli(0.125), "g", LEVELS)
    assert "intervals  none. No interval by group" in str(sf.plan(by, 100, 1.0, 1e-6))
