"""Shares of noisily counted records: their laws against sums over all counts, and how often intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln

import sfumato as sf
from effort import LONG, sized
from sfumato.errors import ArgumentError
from sfumato.queries.statistics import cell_counts, count_laws
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.count_laws import REFERENCE, Noisy, row_law, share_law


def beta_binomial(k, m, a, b):
    return gammaln(k + m + 1) - gammaln(k + 1) - gammaln(m + 1) + betaln(a + k, b + m)


@pytest.mark.parametrize("prior", [REFERENCE, (1.0, 3.0), (0.2, 0.5)])
@pytest.mark.parametrize(
    ("own", "others"), [((12.3, 4.0), (50.0, 8.0)), ((-3.0, 9.0), (70.0, 27.0)), ((58.0, 25.0), (6.0, 100.0))]
)
def test_a_share_is_the_mixture_over_all_counts(own, others, prior):
    """Every count from 0 to n, both noisy counts taken as they are: no run, no window, no joined count."""
    n, k = 60, np.arange(61.0)
    logs = beta_binomial(k, n - k, *prior) - (k - own[0]) ** 2 / (2 * own[1])
    logs -= (n - k - others[0]) ** 2 / (2 * others[1])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    law = share_law(Noisy(*own), Noisy(*others), n, prior)
    for level in (0.05, 0.5, 0.95):
        end = law.shares.share_quantile(level)
        below = float(weights @ stats.beta.cdf(end, prior[0] + k, prior[1] + n - k))
        assert below == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize("prior", [REFERENCE, (1.0, 3.0)])
@pytest.mark.parametrize("third", [12.0, math.inf])
@pytest.mark.parametrize(
    ("own", "rest"), [((12.3, 4.0), (20.0, 8.0)), ((-2.0, 4.0), (5.0, 9.0)), ((40.0, 9.0), (30.0, 9.0))]
)
def test_a_share_of_a_row_is_the_mixture_over_all_pairs_of_counts(own, rest, third, prior):
    n = 60
    k, m = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij"))
    inside = k + m <= n
    k, m = k[inside], m[inside]
    logs = beta_binomial(k, m, *prior) + beta_binomial(k + m, n - k - m, *REFERENCE)
    logs -= (k - own[0]) ** 2 / (2 * own[1]) + (m - rest[0]) ** 2 / (2 * rest[1]) + (n - k - m - 25) ** 2 / (2 * third)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    law = row_law(Noisy(*own), Noisy(*rest), Noisy(25.0, third), n, prior)
    for level in (0.05, 0.5, 0.95):
        end = law.shares.share_quantile(level)
        below = float(weights @ stats.beta.cdf(end, prior[0] + k, prior[1] + m))
        # Components of nearly equal means are merged, which moves a quantile by up to 0.0005 in probability.
        assert below == pytest.approx(level, abs=5e-4)
        exact = law.counts.share_quantile(level)
        assert float(weights @ stats.beta.cdf(exact, prior[0] + k, prior[1] + m)) == pytest.approx(level, abs=1e-5)


def test_large_counts_are_summed_in_runs_without_loss():
    """Against every whole number, at a noise whose runs hold several numbers."""
    n, own, others = 20_000, Noisy(4000.0, 90.0**2), Noisy(15_900.0, 4 * 90.0**2)
    k = np.arange(n + 1.0)
    logs = beta_binomial(k, n - k, *REFERENCE) - (k - own.count) ** 2 / (2 * own.variance)
    logs -= (n - k - others.count) ** 2 / (2 * others.variance)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    law = share_law(own, others, n)
    assert len(law.counts.own) < 200
    for end, level in zip(law.share_ends(0.9), (0.05, 0.95), strict=True):
        assert float(weights @ stats.beta.cdf(end, 0.5 + k, 0.5 + n - k)) == pytest.approx(level, abs=2e-5)
    low, high = count_laws.count_ends(law, 0.9)
    inside = weights[(k >= low) & (k <= high)].sum()
    # To the far side of a run of 15 numbers.
    assert 0.9 <= inside < 0.94


def test_noise_of_summed_cells_adds_up():
    counts = np.arange(12.0).reshape(3, 4)
    table = Counted(("r", "c"), counts, 2.0)
    assert table.set({"r": 1}) == Noisy(float(counts[1].sum()), 8.0)
    assert table.set({"c": 1}) == Noisy(float(counts[:, 1].sum()), 6.0)
    assert table.set({"r": 1, "c": 2}) == Noisy(6.0, 2.0)
    assert table.outside({"c": 1}) == Noisy(float(counts.sum() - counts[:, 1].sum()), 18.0)
    assert table.apart({"r": 1, "c": 2}, {"r": 1}) == Noisy(float(counts[1].sum() - 6), 6.0)
    assert table.set({}) == Noisy(float(counts.sum()), 24.0)


def test_two_tables_of_the_same_records_are_weighted_by_their_precision():
    both = Noisy(10.0, 4.0).joined(Noisy(16.0, 2.0))
    assert both.count == pytest.approx(14.0)
    assert both.variance == pytest.approx(4 / 3)
    assert Noisy(1.0, 2.0).joined(count_laws.nothing()) == Noisy(1.0, 2.0)
    assert count_laws.nothing().joined(Noisy(1.0, 2.0)) == Noisy(1.0, 2.0)


def test_columns_that_no_table_holds_together_are_refused():
    tables = [Counted(("a", "b"), np.ones((2, 2)), 1.0), Counted(("b", "c"), np.ones((2, 2)), 1.0)]
    assert len(cell_counts.holding(tables, ["b"])) == 2
    with pytest.raises(ArgumentError, match="no single table counts a, c together"):
        cell_counts.share(tables, 4, {"a": 0, "c": 1})


def test_an_end_is_moved_to_0_only_where_no_record_is_not_rejected():
    few, many = (share_law(Noisy(count, 16.0), Noisy(100.0 - count, 16.0), 100) for count in (1.0, 30.0))
    assert few.share_ends(0.9)[0] == 0.0
    assert few.counts.share_ends(0.9)[0] > 0
    assert many.share_ends(0.9)[0] == many.counts.share_ends(0.9)[0] > 0
    assert few.share_ends(0.01) == few.counts.share_ends(0.01)
    declared = share_law(Noisy(1.0, 16.0), Noisy(99.0, 16.0), 100, (1.0, 9.0))
    assert declared.share_ends(0.9)[0] > 0
    every = share_law(Noisy(99.0, 16.0), Noisy(1.0, 16.0), 100)
    assert every.share_ends(0.9)[1] == 1.0


def test_noisy_counts_that_no_records_have_are_refused_or_moved():
    law = row_law(Noisy(90.0, 4.0), Noisy(80.0, 4.0), Noisy(20.0, 4.0), 100)
    low, high = law.share_ends(0.9)
    assert 0.3 < low < high < 0.8


# --- coverage --------------------------------------------------------------------------------------------------------

SIZES, EPSILONS, CELLS, KINDS = (200, 2000, 50_000), (0.1, 1.0, 3.0), (2, 10, 100), ("cell", "margin", "row")
# A table of 100 cells has 25 rows of 4.
ACROSS = {2: 2, 10: 2, 100: 4}


def noise_of(epsilon):
    model = sf.families.Histogram(0, 1, 2)
    return float(sf.plan(model, 1000, epsilon, 1e-6, mechanism="noisy-statistics")["noise"]) * model.sensitivity


def truth_of(kind, cells, rng):
    falling = 1 / np.arange(1, cells + 1)
    return rng.dirichlet(np.ones(cells)) if kind == "prior" else falling / falling.sum()


def held(n, noise, cells, what, truths, sets, believed=1.0, variance_of_sum=None):
    """How many intervals hold the truth, of the largest, middle and smallest cell in turn.

    `believed` scales the noise that the reader reckons with; `variance_of_sum` replaces the variance of every sum of cells.
    """
    rng = np.random.default_rng([7, n, cells, KINDS.index(what)])
    shape, inside = (cells // ACROSS[cells], ACROSS[cells]), 0
    for run in range(sets):
        truth = truth_of(truths, cells, rng)
        counts = (rng.multinomial(n, truth) + noise * rng.standard_normal(cells)).reshape(shape)
        table = Counted(("r", "c"), counts, (believed * noise) ** 2)
        cell = int(np.argsort(-truth, kind="stable")[(0, cells // 2, cells - 1)[run % 3]])
        row, column = divmod(cell, shape[1])
        grid = truth.reshape(shape)
        if what == "cell":
            law, value = cell_counts.share([table], n, {"r": row, "c": column}), truth[cell]
        elif what == "margin":
            value = grid[:, column].sum()
            own, others = table.set({"c": column}), table.outside({"c": column})
            if variance_of_sum is not None:
                own, others = (Noisy(each.count, variance_of_sum) for each in (own, others))
            law = share_law(own, others, n)
        else:
            law = cell_counts.conditional([table], n, {"c": column}, {"r": row})
            value = grid[row, column] / grid[row].sum()
        low, high = law.share_ends(0.9)
        inside += low <= value <= high
    return inside


def bounds(sets, level, alarm=1e-4):
    """Fewest and most of `sets` intervals of this coverage, but for false alarms of this probability on each side."""
    return stats.binom.ppf(alarm, sets, level), stats.binom.isf(alarm, sets, level)


CASES = [
    (what, truths, n, epsilon, cells)
    for what in KINDS for truths in ("prior", "skewed") for n in SIZES for epsilon in EPSILONS for cells in CELLS
    if not (what == "row" and cells == 2)
]  # fmt: skip
# The quick form takes cases in which noise and sampling both matter, of each kind.
QUICK = [case for case in CASES if case[1:] in (("skewed", 2000, 1.0, 10), ("prior", 2000, 1.0, 10))]


@pytest.mark.parametrize(("what", "truths", "n", "epsilon", "cells"), CASES if LONG else QUICK)
def test_intervals_hold_the_truth_nine_times_in_ten(what, truths, n, epsilon, cells):
    """At least 0.87; at most 0.93 where a cell holds far more records than the noise, and n makes the law nearly normal."""
    sets, noise = sized(100 if what == "row" else 300, 2000), noise_of(epsilon)
    inside = held(n, noise, cells, what, truths, sets)
    assert inside >= bounds(sets, 0.87)[0]
    smallest = min(truth_of(truths, cells, np.random.default_rng(0))) if truths == "skewed" else 0.0
    if smallest * n > 20 * max(noise, 1.0):
        assert inside <= bounds(sets, 0.93)[1]


def test_a_reader_who_ignores_the_noise_is_rejected():
    sets, noise = sized(300, 2000), noise_of(0.1)
    assert held(2000, noise, 10, "cell", "skewed", sets) >= bounds(sets, 0.87)[0]
    assert held(2000, noise, 10, "cell", "skewed", sets, believed=0.01) < bounds(sets, 0.87)[0]


def test_a_margin_with_the_noise_of_one_cell_is_rejected():
    """A sum of 25 or 75 cells has 5 or 9 times the deviation of one cell."""
    sets, noise = sized(300, 2000), noise_of(1.0)
    assert held(2000, noise, 100, "margin", "skewed", sets) >= bounds(sets, 0.87)[0]
    assert held(2000, noise, 100, "margin", "skewed", sets, variance_of_sum=noise**2) < bounds(sets, 0.87)[0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_intervals_of_counts_hold_the_count_at_least_as_often_as_they_say(epsilon):
    """Of the records themselves, the noise alone: at least nine in ten, since counts are whole and may be 0."""
    sets, noise, rng, inside = sized(300, 2000), noise_of(epsilon), np.random.default_rng(3), 0
    for run in range(sets):
        counts = rng.multinomial(2000, truth_of("skewed", 10, rng))
        noisy = counts + noise * rng.standard_normal(10)
        place = run % 10
        law = share_law(Noisy(noisy[place], noise**2), Noisy(noisy.sum() - noisy[place], 9 * noise**2), 2000)
        low, high = count_laws.count_ends(law, 0.9)
        inside += low <= counts[place] <= high
    assert inside >= bounds(sets, 0.87)[0]


# --- networks --------------------------------------------------------------------------------------------------------


def network_held(n, noise, rows, what, truths, sets, believed=1.0):
    """How many intervals of shares of a network a -> b hold the truth; each of its two tables has sqrt(2) times the noise."""
    rng = np.random.default_rng([9, n, rows, len(what)])
    deviation, inside = math.sqrt(2) * noise, 0
    for run in range(sets):
        root = truth_of(truths, rows, rng)
        given = np.stack([np.roll(truth_of(truths, 3, rng), k) for k in range(rows)])
        counts = rng.multinomial(n, (root[:, None] * given).ravel()).reshape(rows, 3)
        seen = [counts.sum(axis=1), counts]
        noisy = [each + deviation * rng.standard_normal(each.shape) for each in seen]
        variance = (believed * deviation) ** 2
        tables = [Counted(("a",), noisy[0], variance), Counted(("a", "b"), noisy[1], variance)]
        a, b = int(np.argsort(-root)[(0, rows // 2, rows - 1)[run % 3]]), run % 3
        if what == "root":
            law, value = cell_counts.share(tables, n, {"a": a}), root[a]
        elif what == "child":
            law, value = cell_counts.share(tables, n, {"b": b}), float(root @ given[:, b])
        else:
            law, value = cell_counts.conditional(tables, n, {"b": b}, {"a": a}), given[a, b]
        low, high = law.share_ends(0.9)
        inside += low <= value <= high
    return inside


NETWORK_CASES = [
    (what, truths, n, epsilon, rows)
    for what in ("root", "child", "given") for truths in ("prior", "skewed") for n in SIZES for epsilon in EPSILONS
    for rows in (2, 10, 33)
]  # fmt: skip


@pytest.mark.parametrize(
    ("what", "truths", "n", "epsilon", "rows"),
    NETWORK_CASES if LONG else [case for case in NETWORK_CASES if case[1:] == ("skewed", 2000, 1.0, 10)],
)
def test_intervals_of_networks_hold_the_truth_nine_times_in_ten(what, truths, n, epsilon, rows):
    sets, noise = sized(60 if what == "given" else 200, 2000), noise_of(epsilon)
    assert network_held(n, noise, rows, what, truths, sets) >= bounds(sets, 0.87)[0]


def test_a_reader_of_a_network_who_forgets_its_number_of_tables_is_rejected():
    """Two tables share the price, so each has sqrt(2) times the noise; half the noise is far too little."""
    sets = sized(200, 2000)
    assert network_held(2000, noise_of(0.1), 10, "child", "skewed", sets) >= bounds(sets, 0.87)[0]
    assert network_held(2000, noise_of(0.1), 10, "child", "skewed", sets, believed=0.5) < bounds(sets, 0.87)[0]
