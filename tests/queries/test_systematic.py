"""Levels dealt systematically: counts next to their expectation, chances that are those of the law, records in random order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from effort import sized
from goodness import LEVEL, chi_square_p
from sfumato.errors import ArgumentError
from sfumato.queries.systematic import systematic_codes, systematic_counts, systematic_groups

# Chances of 0 at both ends and inside, tiny ones, and thirds, which no binary number is.
CHANCES = st.sampled_from([0.0, 0.0, 1e-300, 1e-17, 1e-9, 0.1, 1 / 3, 0.5, 1.0, 7.0])


@st.composite
def dealt(draw):
    """Sizes of some groups, and their laws, each with a chance above 0."""
    count, levels = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    laws = np.array(draw(st.lists(st.lists(CHANCES, min_size=levels, max_size=levels), min_size=count, max_size=count)))
    certain = draw(st.lists(st.integers(0, levels - 1), min_size=count, max_size=count))
    empty = laws.sum(axis=1) == 0
    laws[empty, np.array(certain)[empty]] = 1.0
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 10, 999, 10**6]), min_size=count, max_size=count))
    return np.array(sizes, dtype=np.int64), laws / laws.sum(axis=1, keepdims=True), draw(st.integers(0, 99))


@settings(max_examples=sized(150, 3000))
@given(dealt())
def test_every_count_is_its_expectation_rounded_down_or_up(case):
    sizes, laws, seed = case
    # Laws that do not sum to 1 are normalised, without a record for a level of chance 0 at the end.
    counts = systematic_counts(sizes, 0.999 * laws, np.random.default_rng(seed))
    assert (counts.sum(axis=1) == sizes).all()
    assert (counts[laws == 0] == 0).all()
    # Expected counts are rounded to 2^-32 records, and floats of a million records have 2^-33.
    expected, close = sizes[:, None] * laws, 2.0**-30
    assert (counts >= np.floor(expected - close)).all()
    assert (counts <= np.ceil(expected + close)).all()


@settings(max_examples=sized(60, 1000))
@given(dealt(), st.randoms(use_true_random=False))
def test_records_get_the_counts_of_their_own_group_wherever_they_stand(case, shuffle):
    sizes, laws, seed = case
    groups = np.repeat(np.arange(len(sizes)), np.minimum(sizes, 50))
    shuffle.shuffle(groups)
    codes = systematic_codes(groups, laws, np.random.default_rng(seed))
    assert codes.shape == groups.shape
    assert codes.dtype == np.int64
    counts = np.zeros(laws.shape, dtype=np.int64)
    np.add.at(counts, (groups, codes), 1)
    assert (np.abs(counts - np.minimum(sizes, 50)[:, None] * laws) < 1 + 1e-9).all()
    assert (counts[laws == 0] == 0).all()
    assert np.array_equal(codes, systematic_codes(groups, laws, np.random.default_rng(seed)))


SIZES = np.array([1, 2, 3, 7])
LAWS = np.array([[0.3, 0.3, 0.4, 0.0], [0.45, 0.05, 0.4, 0.1], [0.0, 0.6, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25]])


class Fixed:
    """A generator whose offset is always the same."""

    def integers(self, high):
        return high // 2

    def permutation(self, count):
        return np.arange(count)


def p_values(rng, runs: int) -> np.ndarray:
    """p-values of how often each count was rounded up, which must happen with the fraction of its expectation."""
    expected = SIZES[:, None] * LAWS
    fractions = expected - np.floor(expected)
    ups = sum(systematic_counts(SIZES, LAWS, rng) - np.floor(expected).astype(int) for _ in range(runs))
    inside = fractions > 1e-9
    return np.array(
        [stats.binomtest(int(k), runs, f).pvalue for k, f in zip(ups[inside], fractions[inside], strict=True)]
    )


def test_expected_counts_are_those_of_the_laws():
    """Counts are rounded up with the chance that keeps their expectation, over the offsets of all splits."""
    runs = sized(4000, 100_000)
    assert p_values(np.random.default_rng(5), runs).min() > LEVEL
    assert p_values(Fixed(), 100).min() < LEVEL


def test_every_record_of_a_group_is_as_likely_to_have_a_level():
    """Also of two columns: their overlap in one group is that of two random halves of it."""
    rng, runs = np.random.default_rng(6), sized(2000, 20_000)
    groups, laws = np.zeros(8, dtype=np.int64), np.array([[0.5, 0.5]])
    pairs = [(systematic_codes(groups, laws, rng), systematic_codes(groups, laws, rng)) for _ in range(runs)]
    first = np.sum([one for one, _ in pairs], axis=0)
    assert min(stats.binomtest(int(k), runs, 0.5).pvalue for k in first) > LEVEL
    overlaps = np.bincount([int((one & other).sum()) for one, other in pairs], minlength=5)
    assert chi_square_p(overlaps, runs * stats.hypergeom(8, 4, 4).pmf(range(5))) > LEVEL
    # Independent records instead of half of the group each would spread the overlap further.
    assert (
        chi_square_p(overlaps, runs * np.append(stats.binom(8, 0.25).pmf(range(4)), stats.binom(8, 0.25).sf(3))) < LEVEL
    )


def test_many_small_groups_have_the_totals_of_their_laws_too():
    """1,000 groups of one record each: a level's total is off by at most one for each split above it, not by 14."""
    law = np.array([0.3, 0.5, 0.2])
    groups = np.random.default_rng(7).permutation(1000)
    for seed in range(20):
        codes = systematic_codes(groups, np.tile(law, (1000, 1)), np.random.default_rng(seed))
        assert (np.abs(np.bincount(codes, minlength=3) - 1000 * law) <= 2).all()


def test_groups_have_their_weights_and_come_in_order():
    groups = systematic_groups(np.array([0.0, 2.0, 1.0, 0.0]), 100, np.random.default_rng(1))
    assert (np.diff(groups) >= 0).all()
    counts = np.bincount(groups, minlength=4)
    assert counts[0] == counts[3] == 0
    assert counts[1] in (66, 67)
    assert len(groups) == 100


def test_more_groups_than_sixteen_bits_number():
    count = 70_000
    laws = np.zeros((count, 2))
    laws[np.arange(count), np.arange(count) % 2] = 1.0
    groups = np.arange(count)[::-1].copy()
    assert np.array_equal(systematic_codes(groups, laws, np.random.default_rng(0)), groups % 2)


def test_laws_that_are_none_are_refused():
    rng, sizes = np.random.default_rng(0), np.array([2, 0])
    for row in ([0.0, 0.0], [np.nan, 1.0], [-0.5, 1.5], [np.inf, 0.0]):
        with pytest.raises(ArgumentError):
            systematic_counts(sizes, np.array([row, [0.5, 0.5]]), rng)
    # A group without records needs no law.
    assert systematic_counts(sizes, np.array([[0.5, 0.5], [0.0, 0.0]]), rng).tolist() == [[1, 1], [0, 0]]


def test_two_columns_of_the_same_small_groups_do_not_seem_dependent():
    """2,000 groups of one record and two columns with the same law: both levels together as often as if independent."""
    rng = np.random.default_rng(3)
    groups, laws = np.arange(2000), np.tile([0.7, 0.3], (2000, 1))
    together = np.array(
        [(systematic_codes(groups, laws, rng) & systematic_codes(groups, laws, rng)).sum() for _ in range(200)]
    )
    # Given 600 records of each, the number of both is hypergeometric: mean 180, variance 600 .3 .7 2000/1999 = 126 * .7. In a
    # fixed order of the groups both take every third one, and the variance is a hundred times as large.
    variance = 600 * 0.3 * 0.7 * 0.7 * 2000 / 1999
    assert abs(together.mean() - 180) < 5 * math.sqrt(variance / 200)
    assert together.var() < variance * (1 + 5 * math.sqrt(2 / 200))
