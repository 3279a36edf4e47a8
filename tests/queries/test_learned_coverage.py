"""How often intervals of a learnt table hold the truth, small in the quick form and with 2,000 data sets in the long one."""

from __future__ import annotations

import math

import pytest

from benchmarks.learned_coverage import CASES, LEVEL, held
from tests.effort import LONG, sized

# Chosen pairs need two fits of a mixture for every data set.
SETS = {case: sized(16 if case == "chosen" else 100, 2000) for case in CASES}


def bounds(sets: int) -> tuple[float, float]:
    """The coverage that is asked for, .87 to .95, and beyond it four standard errors: less than once in ten thousand."""
    room = 4 * math.sqrt(LEVEL * (1 - LEVEL) / sets)
    return (0.87, 0.95) if LONG else (0.87 - room, 0.95 + room)


@pytest.mark.parametrize("case", CASES)
def test_intervals_of_one_and_two_columns_hold_the_truth_as_often_as_they_say(case):
    low, high = bounds(SETS[case])
    for n, epsilon in ((5000, 1.0), *sized((), ((500, 1.0), (5000, 0.3)))):
        assert all(low <= share <= high for share in held(case, n, epsilon, SETS[case])), (n, epsilon)


def test_a_reader_who_believes_in_half_the_noise_is_wrong_too_often():
    """At 5,000 records and epsilon .3 noise is most of the error of a cell: 1.645 deviations become .82, which hold 59 %."""
    _, two = held("all pairs", 5000, 0.3, 120, slack=0.5)
    assert two < bounds(120)[0]
