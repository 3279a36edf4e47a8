"""Counts of records simulated from the tables of a network, and draws above a floor: against their exact laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.models.networks import _floor, _invented

# a and b are parents of c, c and a of d: neither a tree nor a complete network.
PARENTS = {"a": [], "b": ["a"], "c": ["b", "a"], "d": ["c", "a"], "e": []}
LEVELS = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}
MODEL = sf.networks.BayesianNetwork(PARENTS, LEVELS, alpha=2.0)
RECORDS, SETS = 300, 400
# Two-sided, for all cells of a test together.
FALSE_ALARM = 1e-6


def tables() -> np.ndarray:
    """One draw of the conditional tables from the prior."""
    truth, _ = MODEL.simulate(np.random.default_rng(5), 1, 10)
    return truth[0]


def exact_chances(truth: np.ndarray) -> np.ndarray:
    """The probability that a record falls into each cell of each table, by summing over all records."""
    chances = np.zeros_like(truth)
    for record in itertools.product(*(range(MODEL.sizes[node]) for node in MODEL.order)):
        codes = dict(zip(MODEL.order, record, strict=True))
        places, chance = [], 1.0
        for node in MODEL.order:
            row = 0
            for parent in MODEL.above[node]:
                row = row * MODEL.sizes[parent] + codes[parent]
            places.append(MODEL.table_of[node].first + row * MODEL.sizes[node] + codes[node])
            chance *= truth[places[-1]]
        chances[places] += chance
    return chances


def by_cells(truth: np.ndarray) -> np.ndarray:
    return _invented._by_cells(MODEL, np.random.default_rng(1), np.tile(truth, (SETS, 1)), RECORDS)


def one_by_one(truth: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.stack([_invented._records(MODEL, rng, truth, RECORDS, RECORDS) for _ in range(SETS)])


@pytest.mark.parametrize("simulated", [by_cells, one_by_one])
def test_counts_of_invented_records_have_the_law_of_the_network(simulated):
    """A cell's count is binomial: its total over all sets, and its variance among them."""
    truth = tables()
    counts, chances = simulated(truth), exact_chances(truth)
    tail = FALSE_ALARM / (4 * len(chances))
    low, high = (stats.binom.ppf(at, RECORDS * SETS, chances) for at in (tail, 1 - tail))
    assert ((low <= counts.sum(axis=0)) & (counts.sum(axis=0) <= high)).all()
    # Sample variances of binomials this large: a kurtosis of at most 3 + 1/(n p (1-p)) bounds their deviation.
    variance = RECORDS * chances * (1 - chances)
    spread = variance * np.sqrt((2 + 1 / variance) / SETS)
    assert (np.abs(counts.var(axis=0, ddof=1) - variance) <= -stats.norm.ppf(tail) * 1.5 * spread).all()


@pytest.mark.parametrize("simulated", [by_cells, one_by_one])
def test_tables_of_one_set_of_records_agree_with_each_other(simulated):
    counts = simulated(tables())
    own = {node: MODEL.table_of[node].of(counts) for node in MODEL.order}
    for node, above in PARENTS.items():
        assert (own[node].sum(axis=(-2, -1)) == RECORDS).all()
        for parent in above:
            rows = own[node].sum(axis=-1).reshape(SETS, *(LEVELS[each] for each in MODEL.above[node]))
            others = tuple(1 + k for k, each in enumerate(MODEL.above[node]) if each != parent)
            assert (rows.sum(axis=others) == own[parent].sum(axis=-2)).all()


def test_a_wide_network_is_simulated_record_by_record(monkeypatch):
    """The joint table of 24 open columns has more cells than there are records."""
    wide = {**{f"p{k}": [] for k in range(24)}, **{f"c{k}": [f"p{k}", f"p{(k + 1) % 24}"] for k in range(24)}}
    model = sf.networks.BayesianNetwork(wide, dict.fromkeys(wide, 2))
    monkeypatch.setattr(_invented, "_by_cells", lambda *_: pytest.fail("2^24 cells"))
    _, counts = model.simulate(np.random.default_rng(1), 3, 50)
    assert counts.shape == (3, 24 * 2 + 24 * 8)
    assert (counts.sum(axis=1) == 48 * 50).all()


def test_draws_above_a_floor_have_the_truncated_law():
    """A share of Dirichlet(3, 2) above 0.25 is a Beta(3, 2) restricted to [0.25, 0.75]: Kolmogorov-Smirnov."""
    shares = _floor.sketch(np.random.default_rng(3), np.tile([3.0, 2.0], (20_000, 1)), 0.25)[:, 0]
    law = stats.beta(3, 2)
    low, high = law.cdf(0.25), law.cdf(0.75)
    assert stats.kstest(shares, lambda x: (law.cdf(x) - low) / (high - low)).pvalue > FALSE_ALARM


def test_shares_that_are_never_drawn_above_a_floor_are_redrawn_by_pairs():
    """Dirichlet(0.01, 50, 50) has its first share below 0.1 with probability above 1 - 1e-8."""
    shares = _floor.sketch(np.random.default_rng(4), np.tile([0.01, 50.0, 50.0], (50, 1)), 0.1)
    assert (shares >= 0.1 - 1e-12).all()
    assert shares.sum(axis=1) == pytest.approx(np.ones(50))
