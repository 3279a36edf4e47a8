"""Draws of networks' tables: each hypothesis is asked for, and a trajectory's price is never below brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import gammaln

from sfumato.errors import AssumptionError
from sfumato.models.networks import MarkovChain
from sfumato.privacy.posterior_profiles import beta_renyi
from sfumato.theorems import conjugate, metric_examples, networks

TABLES = {"smallest_cells": [1.0, 2.0, 2.0], "parents": [[], [0], [0]], "power": 0.2}
FLOORED = {"parents": [[], [0]], "cardinalities": [2, 3], "floor": 0.05, "power": 0.3}
WALKS = {"first_cell": 1.0, "next_cell": 0.5, "moves": 3, "power": 0.05}

DROPPED = [
    (networks.table_draws, TABLES, {"smallest_cells": [1.0, 0.0, 2.0]}),
    (networks.table_draws, TABLES, {"parents": [[], [0]]}),
    (networks.table_draws, TABLES, {"parents": [[], [0], [7]]}),
    (networks.table_draws, TABLES, {"adjacency": "add-remove"}),
    (networks.table_draws, TABLES, {"power": 0.0}),
    (networks.table_draws, TABLES, {"strength": -1.0}),
    (networks.table_draws, TABLES, {"draws": 0}),
    (networks.table_draws, TABLES, {"log_error": math.inf}),
    (networks.truncated_draws, FLOORED, {"floor": 0.0}),
    (networks.truncated_draws, FLOORED, {"floor": 0.5}),
    (networks.truncated_draws, FLOORED, {"parents": [[1], [0]]}),
    (networks.truncated_draws, FLOORED, {"adjacency": "add-remove"}),
    (networks.truncated_draws, FLOORED, {"power": 0.0}),
    (networks.truncated_draws, FLOORED, {"draws": 0}),
    (networks.truncated_draws, FLOORED, {"log_error": -1.0}),
    (networks.trajectory_draws, WALKS, {"first_cell": 0.0}),
    (networks.trajectory_draws, WALKS, {"next_cell": 0.0}),
    (networks.trajectory_draws, WALKS, {"moves": 0}),
    (networks.trajectory_draws, WALKS, {"power": 0.0}),
    (networks.trajectory_draws, WALKS, {"strength": 0.0}),
    (networks.trajectory_draws, WALKS, {"draws": 0}),
    (networks.trajectory_draws, WALKS, {"log_error": math.inf}),
]


@pytest.mark.parametrize(("theorem", "given", "broken"), DROPPED)
def test_each_hypothesis_is_asked_for(theorem, given, broken):
    theorem(**given)
    with pytest.raises(AssumptionError):
        theorem(**{**given, **broken})


def test_equal_cells_cost_what_the_plain_theorem_says():
    plain = conjugate.network(smallest_cells=[1.5] * 3, power=0.2, draws=2, log_error=1e-7)
    tables = networks.table_draws(smallest_cells=[1.5] * 3, parents=[[], [0], [1]], power=0.2, draws=2, log_error=1e-7)
    assert tables.curve == plain.curve
    assert (tables.draws, tables.adjacency) == (2, "replace-one")


def test_different_cells_cost_the_same_by_either_way_of_composing():
    """Renyi curves add; both ways of writing the product agree, with several draws and with an error."""
    given = {"smallest_cells": [1.0, 2.0, 2.0], "power": 0.2, "draws": 3, "log_error": 1e-7}
    plain, tables = conjugate.network(**given), networks.table_draws(**given, parents=[[], [0], [0]])
    for order in (1.5, 3.0, 5.0):
        assert math.isclose(tables.curve.renyi(order), plain.curve.renyi(order), rel_tol=1e-12)
    assert tables.delta(1.0) <= plain.delta(1.0)


def test_an_entry_moves_its_own_table_and_its_childrens():
    """Node 0 has two children, so three tables; a chain moves two: the smallest two cells decide."""
    star = networks.table_draws(**TABLES, adjacency="replace-entry")
    assert star.curve == networks.table_draws(**TABLES).curve
    chain = networks.table_draws(
        smallest_cells=[1.0, 2.0, 2.0], parents=[[], [0], [1]], power=0.2, adjacency="replace-entry"
    )
    two = conjugate.network(smallest_cells=[1.0, 2.0], power=0.2)
    assert math.isclose(chain.curve.renyi(3.0), two.curve.renyi(3.0), rel_tol=1e-12)
    assert chain.adjacency == "replace-entry"


def test_the_error_of_the_masses_widens_the_range_four_times():
    bare = networks.truncated_draws(**FLOORED)
    exact = metric_examples.network_draws(**FLOORED)
    assert bare.curve == exact.curve
    off = networks.truncated_draws(**FLOORED, log_error=0.01)
    assert math.isclose(off.epsilon(0.0), bare.epsilon(0.0) + 0.04, rel_tol=1e-12)
    assert len(networks.truncated_draws(**FLOORED, draws=2).assumptions) > len(exact.assumptions)


# --- trajectories ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "t", "order"), [(1.0, 0.3, 2.0), (0.2, 0.05, 3.0), (400.0, 3.0, 40.0), (5.0, 0.01, 300.0)]
)
def test_one_cell_matches_quadrature_of_gammas(x, t, order):
    """In the variable log y, whose density decays on both sides."""
    mp.dps = 30
    x, t, order = mpf(x), mpf(t), mpf(order)

    def renyi(p, q):
        log_density = lambda k, z: k * z - mp.exp(z) - mp.loggamma(k)
        mixed = order * p + (1 - order) * q
        centre, width = mp.log(mixed), 1 / mp.sqrt(mixed)
        left, right = centre - max(60 / mixed, 40 * width), centre + max(6, 40 * width)
        cuts = [left + (right - left) * k / 60 for k in range(61)]
        total = mp.quad(lambda z: mp.exp(order * log_density(p, z) + (1 - order) * log_density(q, z)), cuts)
        return float(mp.log(total) / (order - 1))

    orders, shifts = np.array([float(order)]), np.array([float(t)])
    up = float(networks.one_cell(float(x), shifts, orders, True)[0, 0])
    down = float(networks.one_cell(float(x), shifts, orders, False)[0, 0])
    assert math.isclose(up, renyi(x + t, x), rel_tol=1e-8, abs_tol=1e-12)
    assert math.isclose(down, renyi(x, x + t), rel_tol=1e-8, abs_tol=1e-12)


def test_one_cell_of_a_tiny_shift_keeps_an_absolute_allowance():
    """Divergences of 1e-20 to 1e-10 are differences of remainders that are off by 1e-18 whatever the shift."""
    draw = np.random.default_rng(36)
    low = []
    with mp.workdps(50):
        for _ in range(500):
            x, t = (float(10.0 ** draw.uniform(*ends)) for ends in ((-3, 2), (-14, -9)))
            order = float(1 + 10.0 ** draw.uniform(-6, -0.3) * x / t)
            for upward in (True, False):
                p, q = (mpf(x) + mpf(t), mpf(x)) if upward else (mpf(x), mpf(x) + mpf(t))
                a = mpf(order)
                exact = (mp.loggamma(a * p + (1 - a) * q) - a * mp.loggamma(p)) / (a - 1) + mp.loggamma(q)
                found = float(networks.one_cell(x, np.array([t]), np.array([order]), upward)[0, 0])
                if found < exact:
                    low.append((x, t, order, upward, found, float(exact)))
    assert low == []


def test_one_move_is_the_pair_of_one_node():
    orders = np.array([1.5, 2.0, 5.0])
    found = networks.worst_split(2.0, 0.3, 1, orders)
    for order, value in zip(orders, found, strict=True):
        assert math.isclose(value, beta_renyi(2.0, 2.0, 0.3, float(order)), rel_tol=1e-10)


def dirichlet_renyi(first: np.ndarray, second: np.ndarray, order: float) -> float:
    """Renyi divergence of two Dirichlets; infinite where the mixed cells leave the domain."""
    mixed = order * first + (1 - order) * second
    if (mixed <= 0).any():
        return math.inf
    partition = lambda cells: gammaln(cells).sum() - gammaln(cells.sum())
    return float((partition(mixed) - order * partition(first)) / (order - 1) + partition(second))


def all_renyi(chain: MarkovChain, first: np.ndarray, second: np.ndarray, order: float) -> float:
    pairs = [rows for table in chain.tables for rows in zip(table.of(first), table.of(second), strict=True)]
    return sum(dirichlet_renyi(one, other, order) for one, other in pairs)


@pytest.mark.parametrize(
    ("states", "length", "alpha", "power", "n"),
    [(2, 3, 1.0, 0.2, 2), (2, 4, 0.3, 0.04, 1), (3, 3, 0.1, 0.05, 1), (2, 3, 5.0, 1.0, 2)],
)
def test_the_price_of_a_trajectory_is_never_below_brute_force(states, length, alpha, power, n):
    chain = MarkovChain(states, alpha=alpha, record="trajectory", length=length, end="end")
    names = [f"t{k}" for k in range(length)]
    walks = list(itertools.product(range(states + 1), repeat=length))
    counts = {tuple(chain.tally({name: np.array([w[k]]) for k, name in enumerate(names)}, names)) for w in walks}
    facts = dict(chain.claim(n).facts)
    curve = networks.trajectory_draws(**facts, power=power).curve
    for order, claimed in list(zip(curve.orders, curve.values, strict=True))[::9]:
        worst = 0.0
        for rest in itertools.combinations_with_replacement(counts, n - 1):
            base = chain.prior + power * np.array(rest).sum(axis=0) if rest else chain.prior
            for old, new in itertools.permutations(counts, 2):
                worst = max(worst, all_renyi(chain, base + power * np.array(old), base + power * np.array(new), order))
        assert worst <= claimed
        assert worst > 0.3 * claimed


@pytest.mark.planted
def test_all_moves_in_one_cell_are_not_the_worst_split_of_small_cells():
    """The planted fault: pricing a trajectory as one cell moved m times is exceeded by a walk through m cells."""
    alpha, power, states = 0.005, 0.1, 4
    order = 1 + 0.3 * alpha / (2 * power)
    chain = MarkovChain(states, alpha=alpha, record="trajectory", length=3)
    names = ["t0", "t1", "t2"]
    walks = [(0, *w) for w in itertools.product(range(states), repeat=2)]
    cells = [
        chain.prior + power * chain.tally({name: np.array([w[k]]) for k, name in enumerate(names)}, names)
        for w in walks
    ]
    truth = max(all_renyi(chain, one, other, order) for one, other in itertools.permutations(cells, 2))
    at = np.array([order])
    naive = sum(float(networks.one_cell(alpha, np.array([2 * power]), at, upward)[0, 0]) for upward in (True, False))
    assert naive < truth <= float(networks.worst_split(alpha, power, 2, at)[0])


def test_large_cells_are_worst_where_all_moves_share_one():
    orders = np.array([1.5, 4.0, 16.0])
    shifts = 0.1 * np.arange(1.0, 5.0)
    one = sum(networks.one_cell(20.0, shifts, orders, upward)[-1] for upward in (True, False))
    assert np.allclose(networks.worst_split(20.0, 0.1, 4, orders), one, rtol=1e-12)


def test_a_trajectory_costs_more_than_one_transition_and_draws_add_up():
    one, three = (networks.trajectory_draws(**{**WALKS, "moves": m}).curve for m in (1, 3))
    order = 1.5
    assert three.renyi(order) > 3 * one.renyi(order) - 3 * beta_renyi(1.0, 1.0, 0.05, order)
    twice = networks.trajectory_draws(**WALKS, draws=2)
    assert math.isclose(twice.curve.values[5], 2 * three.values[5], rel_tol=1e-12)
    assert three.renyi(1 + 0.5 / (3 * 0.05)) == math.inf


@pytest.mark.parametrize(
    ("first", "following", "limit"),
    [(1.0, 9.0, 1 + 1.0 / 0.05), (9.0, 1.5, 1 + 1.5 / (3 * 0.05))],
)
def test_a_trajectory_is_priced_up_to_nearly_the_order_at_which_its_price_ends(first, following, limit):
    """Finite below 1 + min(x_0/r, x/(m r)); a listed order comes within a tenth of that, and none is beyond."""
    claim = networks.trajectory_draws(first_cell=first, next_cell=following, moves=3, power=0.05)
    top = max(claim.curve.orders)
    assert 1 + 0.9 * (limit - 1) < top < limit
    assert math.isfinite(claim.curve.renyi(top))
