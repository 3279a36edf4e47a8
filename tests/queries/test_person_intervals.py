"""Intervals of families on persons with several rows hold the truth, however alike the rows of one person are."""

from __future__ import annotations

import math

import pytest

from benchmarks.person_coverage import CASES, CORRELATIONS, SIZES, held
from effort import sized

SETS = sized(40, 1_000)
ROOM = 4 * math.sqrt(0.09 / SETS)  # four standard errors of a coverage of .90
QUICK = [("rate", SIZES[0], 0.0), ("rate", SIZES[0], 0.9), ("rates by group", SIZES[0], 0.3)]
FULL = [(name, size, each) for name in CASES if name != "mean" for size in SIZES for each in CORRELATIONS]


@pytest.mark.parametrize(("name", "size", "correlation"), sized(QUICK, FULL))
def test_intervals_by_the_number_of_persons_are_never_too_narrow(name, size, correlation):
    shares, _ = held(CASES[name], *size, correlation, SETS)
    assert shares.min() >= max(0.9 - ROOM, sized(0.0, 0.88 - 0.5 * ROOM))


@pytest.mark.parametrize("size", sized(SIZES[:1], SIZES))
@pytest.mark.parametrize("correlation", sized((0.0, 0.9), CORRELATIONS))
def test_intervals_by_the_released_spread_between_persons_hold_the_mean_nine_times_in_ten(correlation, size):
    shares, _ = held(CASES["mean"], *size, correlation, SETS)
    assert abs(shares[0] - 0.9) <= ROOM


@pytest.mark.planted
def test_intervals_that_take_rows_for_records_are_too_narrow():
    shares, _ = held(CASES["rate"], *SIZES[0], 0.9, SETS, by_row=True)
    assert shares[0] < 0.9 - ROOM


@pytest.mark.planted
def test_the_released_spread_is_that_between_persons():
    """Rows that are all alike leave intervals wider than independent rows do: the mean of a person varies more."""
    alone, alike = (held(CASES["mean"], *SIZES[0], each, 5)[1] for each in (0.0, 0.9))
    assert alike > 1.3 * alone
