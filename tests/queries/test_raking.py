"""Raking: pooled shares are least squares over all tables, conditional laws keep their dependence, releases are closer."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL
from sfumato.models.networks import BayesianNetwork, MarkovChain, _elimination
from sfumato.queries import tables
from sfumato.queries.raking import pooled_shares, raked, raked_rows
from sfumato.queries.statistics.cell_counts import Counted

# --- shares of one column --------------------------------------------------------------------------------------------

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
N = 1000


def noisy(rng) -> tuple[Counted, ...]:
    """Column a in three tables of 1, 3 and 10 cells for each of its levels, with other noise in each."""
    alone = Counted(("a",), N * SHARES + rng.normal(0, 9, 4), 81.0)
    parent = Counted(("a", "b"), N * np.outer(SHARES, [0.5, 0.2, 0.3]) + rng.normal(0, 4, (4, 3)), 16.0)
    middle = np.multiply.outer(np.full(2, 0.5), np.outer(SHARES, np.full(5, 0.2)))
    return alone, parent, Counted(("c", "a", "d"), N * middle + rng.normal(0, 2, (2, 4, 5)), 4.0)


def scaled_error(shares: np.ndarray) -> float:
    """Squared error over the variance 1 / (1/81 + 1/48 + 1/40) of a count: chi-square with 3 degrees, the sum being known."""
    return float(((N * (shares - SHARES)) ** 2).sum() * (1 / 81 + 1 / 48 + 1 / 40))


def test_pooled_shares_have_the_variance_of_all_tables_together():
    runs = sized(400, 4000)
    rng = np.random.default_rng(1)
    seen = [noisy(rng) for _ in range(runs)]
    law = stats.chi2(3 * runs)
    total = sum(scaled_error(pooled_shares(each, "a", N)) for each in seen)
    assert 2 * min(law.cdf(total), law.sf(total)) > LEVEL
    # A single table is further off.
    for k in range(3):
        assert law.sf(sum(scaled_error(pooled_shares([each[k]], "a", N)) for each in seen)) < LEVEL


def test_pooled_shares_by_hand():
    """Counts (-4, 8) of variance 1 and margins (0, 14) of variance 3: three to one (-3, 9.5), projected to (0, 1)."""
    both = (Counted(("a",), np.array([-4.0, 8.0]), 1.0), Counted(("a", "b"), np.array([[-3.0, 2, 1], [4, 4, 6]]), 1.0))
    assert pooled_shares(both, "a", 10).tolist() == [0.0, 1.0]
    # Of (3, 5) and (6, 14): (3.75, 7.25), which sum to 11 where 10 records are: half a record less of each.
    both = (Counted(("a",), np.array([3.0, 5.0]), 1.0), Counted(("a", "b"), np.array([[3.0, 2, 1], [4, 4, 6]]), 1.0))
    assert np.allclose(pooled_shares(both, "a", 10), [0.325, 0.675], atol=1e-12)


# --- one table -------------------------------------------------------------------------------------------------------

CELLS = st.sampled_from([0.0, 0.0, 1e-6, 0.1, 0.3, 1.0])


@st.composite
def tabled(draw):
    """Conditional laws with zeros, weights of their rows and target shares, with zeros too."""
    rows, levels = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    cells = np.array(draw(st.lists(st.lists(CELLS, min_size=levels, max_size=levels), min_size=rows, max_size=rows)))
    cells[:, draw(st.integers(0, levels - 1))] += 0.2
    weights = np.array(draw(st.lists(CELLS, min_size=rows, max_size=rows)))
    target = np.array(draw(st.lists(CELLS, min_size=levels, max_size=levels)))
    if not target.any():
        target[0] = 1.0
    return tuple(np.asarray(each / each.sum(-1, keepdims=True)) for each in (cells, weights + 1e-3, target))


@settings(max_examples=sized(150, 3000))
@given(tabled())
def test_raked_rows_are_laws_with_the_same_zeros_and_no_further_from_the_target(case):
    rows, weights, target = case
    moved = raked_rows(rows, weights, target)
    assert np.isfinite(moved).all()
    assert (moved >= 0).all()
    assert np.allclose(moved.sum(axis=1), 1, atol=1e-12)
    assert (moved[rows == 0] == 0).all()
    assert np.abs(weights @ moved - target).sum() <= np.abs(weights @ rows - target).sum() + 1e-9


def test_raked_rows_meet_the_target_and_keep_their_odds_ratios():
    """Proportional fitting multiplies levels and rows: shares become the target, ratios of ratios stay."""
    rng = np.random.default_rng(2)
    rows, weights, target = rng.dirichlet(np.ones(4), 6), rng.dirichlet(np.ones(6)), np.array([0.1, 0.2, 0.3, 0.4])
    moved = raked_rows(rows, weights, target)
    assert np.allclose(weights @ moved, target, atol=1e-9)
    for table in (rows, moved):
        ratios = np.log(table[:, 1:] * table[:1, :1] / (table[:, :1] * table[:1, 1:]))
        assert np.allclose(ratios, np.log(rows[:, 1:] * rows[:1, :1] / (rows[:, :1] * rows[:1, 1:])), atol=1e-9)
    assert np.abs(moved - rows).max() > 0.02


def test_shares_out_of_reach_end_in_the_nearest_law():
    """Half of the records can only have level 0, of which the target wants a tenth: the other half has none of it."""
    moved = raked_rows(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.1, 0.9]))
    assert moved[0].tolist() == [1.0, 0.0]
    assert moved[1, 0] < 1e-6
    # A level that the target leaves out, in a row that has no other.
    assert raked_rows(np.eye(2), np.array([0.5, 0.5]), np.array([0.0, 1.0])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


# --- releases --------------------------------------------------------------------------------------------------------

PARENTS = {"b": ["a"], "c": ["b", "a"], "d": ["c"]}
LEVELS = {"a": list("xyz"), "b": ["no", "yes"], "c": list("pqrs"), "d": list("uvw")}
SCHEMA = sf.Schema({name: sf.Category(levels, missing=levels[0]) for name, levels in LEVELS.items()}, name="raked")
MODEL = BayesianNetwork.from_schema(SCHEMA, PARENTS)
ROWS = 2000


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.choice(3, ROWS, p=[0.6, 0.3, 0.1])
    b = (rng.random(ROWS) < np.array([0.2, 0.5, 0.8])[a]).astype(int)
    c = np.where(rng.random(ROWS) < 0.5, a + b, rng.integers(0, 4, ROWS))
    d = np.where(rng.random(ROWS) < 0.7, c % 3, rng.integers(0, 3, ROWS))
    return {"a": a, "b": b, "c": c, "d": d}


CODES = data()
TABLE = {name: np.array(LEVELS[name])[codes] for name, codes in CODES.items()}
DATA = sf.Dataset.from_table(TABLE, schema=SCHEMA)
PLAN = sf.plan(MODEL, ROWS, 1.0, 1e-6, mechanism="noisy-statistics")
RELEASES = [sf.publish(PLAN, DATA, randomness=sf.seeded(seed)) for seed in range(sized(5, 50))]


def test_marginals_conditionals_and_synthetic_rows_have_the_pooled_shares():
    for release in RELEASES[:3]:
        network = tables.read(release.draws, release.plan, release.schema)
        counts = release.synthesize(ROWS, 1)
        for name in LEVELS:
            want = pooled_shares(network.counted, name, ROWS)
            shares = tables.marginal(network, name).values
            assert np.allclose(shares, want, atol=1e-6)
            seen = np.array([(counts[name] == level).sum() for level in LEVELS[name]])
            # Each level of a column is off by less than one row in every combination of its parents, at most 6 here, and by
            # what those combinations are off themselves; independent draws would be off by 20.
            assert (np.abs(seen - ROWS * want) < 8).all()
        given = tables.conditional(network, "d", "c").values
        c, d = (tables.marginal(network, name).values for name in "cd")
        assert np.allclose(c @ given, d, atol=1e-9)


def test_a_draw_alone_and_tables_with_the_prior_stay_as_they_were_drawn():
    release = RELEASES[0]
    drawn = release.draws.pooled()[0]
    for settings_of in ({"draw": 0, "debias": False}, {"debias": False}):
        assert np.array_equal(release.conditional("d", "c", **settings_of).values, MODEL.table_of["d"].of(drawn))
    freed = MODEL.unshrunk(drawn, ROWS, 1.0, 1.0)
    alone = release.conditional("d", "c", draw=0).values
    assert np.array_equal(alone, MODEL.table_of["d"].of(freed))
    assert np.abs(alone - release.conditional("d", "c").values).max() > 1e-4


def gaps(release: sf.Release, other: dict[str, np.ndarray], **asked) -> float:
    """Mean distance in total variation of the tables' shares of single columns."""
    network = tables.read(release.draws, release.plan, release.schema, **asked)
    return float(np.mean([np.abs(tables.marginal(network, name).values - other[name]).sum() / 2 for name in LEVELS]))


def test_raked_shares_are_closer_to_the_data_and_to_the_estimates_with_intervals():
    truth = {name: np.bincount(CODES[name], minlength=len(LEVELS[name])) / ROWS for name in LEVELS}
    near = [gaps(release, truth) for release in RELEASES]
    far = [gaps(release, truth, draw=0) for release in RELEASES]
    assert np.mean(near) < 0.75 * np.mean(far)
    for release in RELEASES[:3]:
        estimates = {name: release.marginal(name, interval=0.9).values for name in LEVELS}
        assert gaps(release, estimates) < 0.5 * gaps(release, estimates, draw=0)


def test_intervals_do_not_depend_on_raking(monkeypatch):
    before = [RELEASES[0].marginal(["c", "b"], interval=0.9), RELEASES[0].conditional("d", "c", interval=0.9)]
    monkeypatch.setattr(tables, "raked", lambda factors, counted, n: factors)
    after = [RELEASES[0].marginal(["c", "b"], interval=0.9), RELEASES[0].conditional("d", "c", interval=0.9)]
    for one, other in zip(before, after, strict=True):
        for part in ("values", "lower", "upper"):
            assert np.array_equal(getattr(one, part), getattr(other, part))


def test_a_column_whose_parents_are_too_many_together_keeps_its_table(monkeypatch):
    release = RELEASES[0]
    network = tables.read(release.draws, release.plan, release.schema, draw=0)
    # The joint law of a and b, the parents of c, has 6 cells, and that of c is computed through it.
    monkeypatch.setattr(_elimination, "LARGEST", 5)
    moved = {factor.column: factor.values for factor in raked(network.factors, network.counted, ROWS)}
    for factor in network.factors:
        assert np.array_equal(moved[factor.column], factor.values) == (factor.column in ("c", "d")), factor.column


def test_chains_and_releases_without_counts_are_left_alone(monkeypatch):
    monkeypatch.setattr(tables, "raked", None)
    schema = sf.Schema({f"t{k}": sf.Category(["x", "y"], missing="x") for k in range(2)})
    steps = sf.Dataset.from_table({"t0": ["x", "y"] * 50, "t1": ["x", "x", "y", "y"] * 25}, schema=schema)
    plan = sf.plan(MarkovChain(["x", "y"]), 100, 1.0, 1e-6, mechanism="noisy-statistics")
    release = sf.publish(plan, steps, randomness=sf.seeded(1))
    assert np.allclose(release.conditional("t1", "t0").values.sum(axis=1), 1)
    drawn = sf.publish(sf.plan(MODEL, ROWS, mechanism="exact"), DATA, randomness=sf.seeded(1))
    assert abs(drawn.marginal("a").values.sum() - 1) < 1e-12
