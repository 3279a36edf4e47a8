"""Conjugate families: Renyi formula, where it ends, worst pairs, domination, against quadrature and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import betaln, gammaln

from sfumato.errors import ArgumentError, AssumptionError
from sfumato.theorems import conjugate


def beta_partition(eta):
    a, b = eta
    return math.inf if a <= 0 or b <= 0 else float(betaln(a, b))


def beta_renyi_by_quadrature(p, q, order):
    """log of the integral of P^a Q^(1-a) over (a-1), in logit coordinates."""
    (a, b), (c, d) = p, q
    first, second = order * a + (1 - order) * c, order * b + (1 - order) * d
    logs = lambda x: -first * np.logaddexp(0, -x) - second * np.logaddexp(0, x)
    top = logs(math.log(first / second))
    value, _ = quad(
        lambda x: math.exp(logs(x) - top),
        -400,
        400,
        points=[math.log(first / second)],
        limit=500,
        epsabs=0,
        epsrel=1e-12,
    )
    return (math.log(value) + top - order * betaln(a, b) - (1 - order) * betaln(c, d)) / (order - 1)


@settings(max_examples=40)
@given(
    a=st.floats(0.3, 60),
    b=st.floats(0.3, 60),
    power=st.floats(0.05, 2),
    share=st.floats(0.05, 0.9),
    order=st.floats(1.05, 8),
)
def test_renyi_formula_matches_quadrature(a, b, power, share, order):
    order = min(order, 1 + share * b / power)
    p, q = (a + power, b), (a, b + power)
    expected = beta_renyi_by_quadrature(p, q, order)
    generic = conjugate.exponential_family_renyi(beta_partition, p, q, order)
    pair = conjugate.beta_any_n(alpha=a, beta=b, power=power).curve
    assert generic == pytest.approx(expected, rel=1e-7, abs=1e-8)
    assert pair.renyi(order) >= expected * (1 - 1e-8) - 1e-9


@pytest.mark.planted
def test_the_partition_function_needs_the_logarithm_of_gamma():
    """Geumlek prints C with Gamma; with it the formula is nowhere near the integral."""
    printed = lambda eta: math.gamma(eta[0]) + math.gamma(eta[1]) - math.gamma(eta[0] + eta[1])
    p, q = (3.0, 2.0), (2.0, 3.0)
    truth = beta_renyi_by_quadrature(p, q, 1.5)
    assert conjugate.exponential_family_renyi(beta_partition, p, q, 1.5) == pytest.approx(truth, rel=1e-8)
    assert abs(conjugate.exponential_family_renyi(printed, p, q, 1.5) - truth) > 0.1


def test_renyi_ends_at_lambda_star():
    curve = conjugate.beta_bernoulli(alpha=2.0, beta=5.0, n=20, power=0.5).curve
    star = conjugate.largest_order([2.0, 5.0], power=0.5)
    assert star == 5.0
    assert math.isfinite(curve.renyi(star * (1 - 1e-9)))
    assert curve.renyi(star) == math.inf
    concentrated = conjugate.beta_bernoulli(alpha=2.0, beta=5.0, n=20, strength=3.0).curve
    assert conjugate.largest_order([2.0, 5.0], strength=3.0) == 7.0
    assert math.isfinite(concentrated.renyi(6.999))
    assert concentrated.renyi(7.0) == math.inf
    assert conjugate.exponential_family_renyi(beta_partition, (2.5, 5.0), (2.0, 5.5), 12.0) == math.inf
    with pytest.raises(ArgumentError, match="order"):
        conjugate.exponential_family_renyi(beta_partition, (2.5, 5.0), (2.0, 5.5), 1.0)


@pytest.mark.parametrize(("order", "golden"), [(2.0, 1.0986122887), (1.5, 0.7740883683)])
def test_dirichlet_golden_values(order, golden):
    guarantee = conjugate.dirichlet(cells=[2.0, 2.0, 2.0])
    assert guarantee.renyi(order) == pytest.approx(golden, abs=5e-11)
    mp.dps = 40
    c = lambda x, y: mp.loggamma(x) + mp.loggamma(y)
    o = mpf(order)
    exact = (c(2 + o, 3 - o) - o * c(3, 2)) / (o - 1) + c(2, 3)
    assert guarantee.renyi(order) == pytest.approx(float(exact), rel=1e-9)
    assert mpf(guarantee.renyi(order)) >= exact


def dirichlet_renyi(p, q, order):
    mixed = [order * x + (1 - order) * y for x, y in zip(p, q, strict=True)]
    if min(mixed) <= 0:
        return math.inf
    c = lambda v: sum(gammaln(x) for x in v) - gammaln(sum(v))
    return (c(mixed) - order * c(p)) / (order - 1) + c(q)


@pytest.mark.parametrize("power", [0.3, 1.0])
def test_dirichlet_brute_force_over_all_counts(power):
    """Every neighbouring pair of counts at n = 6, K = 3 stays below; vertices alone, the paper's worst case, do not."""
    cells, n, order = (0.9, 1.7, 2.2), 6, 1.6
    claim = conjugate.dirichlet(cells=cells, power=power).renyi(order)
    counts = [c for c in itertools.product(range(n), repeat=3) if sum(c) == n - 1]
    worst, vertices = 0.0, 0.0
    for rest in counts:
        for i, j in itertools.permutations(range(3), 2):
            p = [x + power * (c + (k == i)) for k, (x, c) in enumerate(zip(cells, rest, strict=True))]
            q = [x + power * (c + (k == j)) for k, (x, c) in enumerate(zip(cells, rest, strict=True))]
            value = dirichlet_renyi(p, q, order)
            worst = max(worst, value)
            if rest[i] == n - 1 or rest[j] == n - 1:  # all other records in one of the two cells: a vertex of the hull
                vertices = max(vertices, value)
    assert claim == pytest.approx(worst, rel=1e-9)
    assert claim >= worst * (1 - 1e-12)
    assert vertices < 0.97 * worst


def test_vertices_of_dir_222_give_less_than_the_truth():
    n = 50
    value = dirichlet_renyi((2.0 + n, 2.0, 2.0), (2.0 + n - 1, 3.0, 2.0), 2.0)
    other = dirichlet_renyi((2.0 + n - 1, 3.0, 2.0), (2.0 + n, 2.0, 2.0), 2.0)
    assert max(value, other) < 0.80
    assert conjugate.dirichlet(cells=[2, 2, 2]).renyi(2) > 1.09


@pytest.mark.planted
def test_corollary_2_must_use_the_tempered_count():
    """With n in place of r n the ends look further away and the cost is understated."""
    alpha, beta, n, power, order = 3.0, 3.0, 40, 0.2, 2.0
    truth = max(
        beta_renyi_by_quadrature(p, q, order)
        for k in range(n)
        for p, q in itertools.permutations(
            [(alpha + power * (k + 1), beta + power * (n - 1 - k)), (alpha + power * k, beta + power * (n - k))]
        )
    )
    printed = beta_renyi_by_quadrature((alpha + power, beta + n), (alpha, beta + n + power), order)
    mirrored = beta_renyi_by_quadrature((alpha, beta + n + power), (alpha + power, beta + n), order)
    claim = conjugate.beta_bernoulli(alpha=alpha, beta=beta, n=n, power=power).renyi(order)
    assert claim == pytest.approx(truth, rel=1e-8)
    assert max(printed, mirrored) < 0.9 * truth


@settings(max_examples=15)
@given(alpha=st.floats(0.1, 20), beta=st.floats(0.1, 20), power=st.floats(0.05, 1.5), scale=st.floats(0.1, 4))
def test_any_n_bounds_every_n(alpha, beta, power, scale):
    bound = conjugate.beta_any_n(alpha=alpha, beta=beta, power=power)
    epsilon = scale * power * math.sqrt(1 / alpha + 1 / beta)
    values = [conjugate.beta_bernoulli(alpha=alpha, beta=beta, n=n, power=power).delta(epsilon) for n in (1, 2, 7, 60)]
    assert all(value <= bound.delta(epsilon) * (1 + 1e-9) for value in values)
    assert values[0] == pytest.approx(bound.delta(epsilon), rel=1e-9)
    assert values == sorted(values, reverse=True)


def test_strength_multiplies_the_prior():
    strong = conjugate.beta_bernoulli(alpha=2.0, beta=3.0, n=10, strength=2.5)
    plain = conjugate.beta_bernoulli(alpha=5.0, beta=7.5, n=10)
    assert strong.curve == plain.curve


def test_gamma_poisson_brute_force_over_sums():
    """Gamma(a + rB) against Gamma(a) dominates every pair of neighbouring sums."""
    from scipy.stats import gamma

    shape, bound, power, epsilon = 2.0, 3, 0.4, 0.8
    claim = conjugate.gamma_poisson(shape=shape, bound=bound, power=power).delta(epsilon)
    x = np.exp(np.linspace(-14, 5, 40001))
    worst = 0.0
    for rest, first, second in itertools.product(range(0, 13, 3), range(4), range(4)):
        if first == second:
            continue
        p, q = (gamma.pdf(x, shape + power * (rest + v)) * x for v in (first, second))
        step = math.log(x[1] / x[0])
        worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step))
    assert claim >= worst - 1e-7
    assert claim == pytest.approx(worst, abs=1e-6)


def test_gamma_rate_brute_force_over_statistics():
    from scipy.stats import gamma

    shape, rate, n, bound, power, epsilon = 2.0, 1.5, 4, 1.0, 0.6, 0.3
    guarantee = conjugate.gamma_rate(shape=shape, rate=rate, n=n, bound=bound, shape_per_record=1.0, power=power)
    x = np.linspace(1e-9, 25, 200001)
    k = shape + power * n
    worst = 0.0
    for rest, first, second in itertools.product((0.0, 0.7, 3.0), (0.0, 0.4, 1.0), (0.0, 0.5, 1.0)):
        p, q = (gamma.pdf(x, k, scale=1 / (rate + power * (rest + v))) for v in (first, second))
        worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0])))
    assert guarantee.delta(epsilon) >= worst - 1e-6
    assert guarantee.delta(epsilon) == pytest.approx(worst, abs=1e-5)


def test_network_bounds_every_pair_of_a_two_node_network():
    """Renyi of one draw of all tables over all neighbouring data sets of a network a -> b with two records."""
    power, cell, order = 0.5, 1.2, 1.8
    claim = conjugate.network(smallest_cells=[cell, cell], power=power).renyi(order)
    records = list(itertools.product((0, 1), repeat=2))

    def tables(data):
        root = [cell + power * sum(a == v for a, _ in data) for v in (0, 1)]
        child = [[cell + power * sum(a == u and b == v for a, b in data) for v in (0, 1)] for u in (0, 1)]
        return [root, *child]

    worst = 0.0
    for other, first, second in itertools.product(records, repeat=3):
        if first == second:
            continue
        p, q = tables([other, first]), tables([other, second])
        worst = max(worst, sum(dirichlet_renyi(x, y, order) for x, y in zip(p, q, strict=True) if x != y))
    assert worst <= claim
    assert worst > 0.5 * claim
    single = conjugate.network(smallest_cells=[cell], power=power).renyi(order)
    assert worst > single, "one node's charge must not cover a change of both tables"


def test_network_draws_multiply():
    one = conjugate.network(smallest_cells=[1.0, 2.0], power=0.1)
    three = conjugate.network(smallest_cells=[1.0, 2.0], power=0.1, draws=3)
    assert three.renyi(1.5) == pytest.approx(3 * one.renyi(1.5), rel=1e-12)
    assert three.draws == 3


GOOD = {
    "beta_bernoulli": {"alpha": 1.0, "beta": 1.0, "n": 5},
    "beta_any_n": {"alpha": 1.0, "beta": 1.0},
    "dirichlet": {"cells": [1.0, 1.0, 1.0]},
    "gamma_poisson": {"shape": 1.0, "bound": 3.0},
    "gamma_rate": {"shape": 1.0, "rate": 1.0, "n": 5, "bound": 1.0, "shape_per_record": 0.5},
    "network": {"smallest_cells": [1.0]},
}
DROPPED = [
    ("beta_bernoulli", {"alpha": 0.0}, "prior cell"),
    ("beta_bernoulli", {"beta": -1.0}, "prior cell"),
    ("beta_bernoulli", {"n": 0}, "number of records"),
    ("beta_bernoulli", {"power": 0.0}, "power"),
    ("beta_bernoulli", {"strength": math.inf}, "strength"),
    ("beta_bernoulli", {"draws": 0}, "draws"),
    ("beta_any_n", {"alpha": math.nan}, "prior cell"),
    ("beta_any_n", {"beta": 0}, "prior cell"),
    ("dirichlet", {"cells": [1.0, 1.0]}, "categories"),
    ("dirichlet", {"cells": [1.0, 0.0, 1.0]}, "prior cell"),
    ("gamma_poisson", {"shape": 0.0}, "prior shape"),
    ("gamma_poisson", {"bound": math.inf}, "bound on a count"),
    ("gamma_rate", {"shape": 0.0}, "prior shape"),
    ("gamma_rate", {"rate": 0.0}, "prior rate"),
    ("gamma_rate", {"n": 0}, "number of records"),
    ("gamma_rate", {"bound": None}, "bound on a record"),
    ("gamma_rate", {"shape_per_record": 0}, "shape per record"),
    ("network", {"smallest_cells": []}, "number of nodes"),
    ("network", {"smallest_cells": [0.0]}, "smallest prior cell"),
    ("network", {"power": -1}, "power"),
]


@pytest.mark.parametrize(("name", "change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(name, change, named):
    with pytest.raises(AssumptionError, match=named):
        getattr(conjugate, name)(**{**GOOD[name], **change})


@pytest.mark.parametrize("cell", [1e-3, 1e-6, 1e-9, 1e-12])
def test_tiny_prior_cells_keep_their_whole_tail(cell):
    """As cells and power shrink together the law scales: two-sided exponential tails, delta(0.1) tends to 0.3016."""
    guarantee = conjugate.beta_any_n(alpha=cell, beta=cell, power=cell)
    assert guarantee.delta(0.1) == pytest.approx(0.30161247, rel=2e-3 if cell > 1e-5 else 1e-5)
