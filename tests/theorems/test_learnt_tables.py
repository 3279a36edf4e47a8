"""Prices of learnt tables against 50 digits, and the law of a choice listed over every pair of small data sets."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.stats import norm

from sfumato.errors import AssumptionError, SfumatoError
from sfumato.models.families import _count_tree
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.procedures import choosing_pairs
from sfumato.theorems import tables

SETTINGS = settings(max_examples=40, deadline=None)
# What is charged may exceed the exact mu by its roundings, and never lie below.
ROUNDED = 1e-13


def exact_choice(power: float, error: float = 0.0, moved: float = 2.0) -> mpf:
    """Mu with Phi(-mu/2) = 1/(1 + exp(moved power + 2 error)), by the inverse of erf in 50 digits."""
    with mp.workdps(50):
        tail = 1 / (1 + mp.exp(moved * mpf(power) + 2 * mpf(error)))
        return mp.findroot(
            lambda mu: mp.log(mp.erfc(mu / mp.sqrt(8)) / 2) - mp.log(tail), 2 * abs(norm.ppf(float(tail)))
        )


@SETTINGS
@given(
    st.lists(st.tuples(st.floats(1e-6, 1e12), st.integers(1, 12)), min_size=1, max_size=40),
)
def test_noisy_tables_cost_the_root_of_the_sum_of_squares(parts):
    noises, moves = [noise for noise, _ in parts], [2 * move for _, move in parts]
    mu = tables.noisy_tables(noises=noises, squared_moves=moves, one_cell=True).curve.mu
    with mp.workdps(50):
        exact = mp.sqrt(mp.fsum(mpf(move) / mpf(noise) ** 2 for noise, move in zip(noises, moves, strict=True)))
        assert 1 <= mpf(mu) / exact <= 1 + ROUNDED
    plain = tables.noisy_tables(noises=noises, one_cell=True).curve.mu
    with mp.workdps(50):
        assert 1 <= mpf(plain) / mp.sqrt(mp.fsum(2 / mpf(noise) ** 2 for noise in noises)) <= 1 + ROUNDED


@pytest.mark.parametrize("power", [1e-9, 1e-3, 0.1, 0.7, 3.0, 16.0])
def test_choices_cost_that_of_a_range_of_four_powers(power):
    for choices, error in ((1, 0.0), (7, 1e-12), (60, 1e-6)):
        claim = tables.chosen_tables(
            power=power, choices=choices, log_error=error, one_cell=True, public_reference=True
        )
        exact = mp.sqrt(choices) * exact_choice(power, error)
        assert exact <= claim.curve.mu <= exact * (1 + 1e-9)
        # One that moved by 1 alone would cost half, and at large powers the root of a half.
        assert claim.curve.mu > 1.4 * mp.sqrt(choices) * exact_choice(power, 0.0, moved=1.0)


def test_parts_add_up_in_squares():
    noisy = tables.noisy_tables(noises=[1.0, 2.0], one_cell=True)
    chosen = tables.chosen_tables(power=0.4, choices=3, one_cell=True, public_reference=True)
    whole = tables.learnt_table([noisy, chosen], fixed_beforehand=True).curve.mu
    exact = mp.sqrt(mpf(5) / 2 + 3 * exact_choice(0.4) ** 2)
    assert exact <= whole <= exact * (1 + 1e-9)


def test_what_would_cost_nothing_is_refused():
    for noises in ([1.0, 0.0], [1.0, math.nan], [math.nan, 1.0], [1.0, math.inf], [-1.0], []):
        with pytest.raises(AssumptionError):
            tables.noisy_tables(noises=noises, one_cell=True)
    for moves in ([0], [-2], [0.5], [2, 2]):
        with pytest.raises((SfumatoError, ValueError)):
            tables.noisy_tables(noises=[1.0], squared_moves=moves, one_cell=True)
    # So little that a float has no square for it: never 0.
    assert tables.noisy_tables(noises=[1e200], one_cell=True).curve.mu > 0
    with pytest.raises(SfumatoError):
        tables.noisy_tables(noises=[1e-200], one_cell=True)
    with pytest.raises(AssumptionError):
        tables.chosen_tables(power=1.0, choices=1, one_cell=True, public_reference=False)
    parts = [tables.noisy_tables(noises=[1.0], one_cell=True, unit=unit) for unit in ("row", "person")]
    with pytest.raises(SfumatoError, match="same neighbours"):
        tables.learnt_table(parts, fixed_beforehand=True)


# --- the law of a choice, listed -------------------------------------------------------------------------------------

COLUMNS, OTHERS = 4, 3
PAIRS = list(combinations(range(COLUMNS), 2))
RECORDS = np.array(list(product((0, 1), repeat=COLUMNS)))


def cells_of(records: np.ndarray) -> np.ndarray:
    """(records, tables, 4): one count in one cell of each table."""
    codes = np.stack([2 * records[:, a] + records[:, b] for a, b in PAIRS], axis=1)
    return np.eye(4)[codes]


def laws(counts: np.ndarray, reference: np.ndarray, power: float, choices: int) -> np.ndarray:
    """Probabilities of every ordered choice of so many tables without replacement, (data sets, outcomes)."""
    weights = np.exp(power * np.abs(counts - reference).sum(axis=2))
    outcomes = []
    for order in permutations(range(len(PAIRS)), choices):
        left, share = weights.sum(axis=1), np.ones(len(weights))
        for table in order:
            share, left = share * weights[:, table] / left, left - weights[:, table]
        outcomes.append(share)
    return np.stack(outcomes, axis=1)


def largest_delta(reference: np.ndarray, power: float, choices: int, epsilons: np.ndarray) -> np.ndarray:
    """The largest hockey-stick divergence at each epsilon over all pairs of neighbours of four records."""
    single, worst = cells_of(RECORDS), np.zeros(len(epsilons))
    for others in combinations_with_replacement(range(len(RECORDS)), OTHERS):
        law = laws(single + single[list(others)].sum(axis=0), reference, power, choices)
        gaps = law[:, None] - np.exp(epsilons)[:, None, None, None] * law[None]
        worst = np.maximum(worst, np.maximum(gaps, 0).sum(axis=3).max(axis=(1, 2)))
    return worst


@pytest.mark.planted
@pytest.mark.parametrize("choices", [1, 2])
def test_the_listed_law_of_a_choice_keeps_to_its_claim_and_not_to_one_for_misfits_that_move_by_1(choices):
    power, epsilons = 0.8, np.array([0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0])
    # A reference that no data set has: every count is on one side of it.
    reference = np.tile([1.0, 1.0, 1.0, 1.0], (len(PAIRS), 1))
    seen = largest_delta(reference, power, choices, epsilons)
    claim = tables.chosen_tables(power=power, choices=choices, one_cell=True, public_reference=True)
    assert all(delta <= claim.delta(epsilon) for delta, epsilon in zip(seen, epsilons, strict=True))
    halved = tables.chosen_tables(power=power / 2, choices=choices, one_cell=True, public_reference=True)
    assert any(delta > halved.delta(epsilon) for delta, epsilon in zip(seen, epsilons, strict=True))


# --- how far a record moves tables, trees and misfits ----------------------------------------------------------------


@SETTINGS
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(2, 6), min_size=2, max_size=5), st.integers(2, 40))
def test_a_record_moves_tables_by_the_root_of_2_trees_by_that_of_2h_and_misfits_by_2(seed, sizes, cells):
    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(len(sizes))]
    model = LearnedNetwork(list(zip(names, sizes, strict=True)), missing=names[:1], chosen=1)
    n = 30
    rows = {name: rng.integers(0, size, n) for name, size in zip(names, sizes, strict=True)}
    rows[" missing: c0"] = rng.random(n) < 0.3
    other = {name: column.copy() for name, column in rows.items()}
    for column in other.values():
        column[0] = rng.integers(0, 2)
    counts = [model.tally(block, names) for block in (rows, other)]
    assert all(each[table.first : table.last].sum() == n for each in counts for table in model.counted)
    for table in model.counted:
        moved = (counts[0] - counts[1])[table.first : table.last]
        assert (moved**2).sum() <= 2
        assert np.abs(moved).sum() <= 2
    # References of any kind, infinities and numbers that are none among them, and numbers of records that fill 63 bits.
    levels = sum(model.sizes.values())
    reference = rng.choice([0.0, 1.0, 0.3, -5.0, 1e30, math.inf, -math.inf, math.nan], (levels, levels))
    for known in (n, 2**53):
        misfits = []
        for each in counts:
            exact = {table.columns: each[table.first : table.last].tolist() for table in model.counted}
            counting = SimpleNamespace(exact=exact, part_of=lambda pair: SimpleNamespace(deviation=3.0))
            misfits.append(
                [choosing_pairs.misfit_of(model, known, counting, reference, k) for k in range(len(model.open_pairs))]
            )
        assert max(abs(a - b) for a, b in zip(*misfits, strict=True)) <= 2 * choosing_pairs._SCALE
    edges = np.arange(cells + 1.0)
    tree = LearnedNetwork([("x", 2), ("y", 2)], quantiles=[("x", edges)])
    values = rng.uniform(-1, cells + 1, n)
    changed = values.copy()
    changed[0] = rng.choice([-math.inf, math.inf, math.nan, cells / 2])
    trees = [tree.tally_cells({"x": each}, ()) for each in (values, changed)]
    height = len(_count_tree.radices_for(cells))
    assert ((trees[0] - trees[1]) ** 2).sum() <= 2 * height
