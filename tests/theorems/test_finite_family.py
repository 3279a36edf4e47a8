"""Finite families: the price against every data set, every neighbour and every parameter."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from finite_oracle import hockey_stick, independent
from mpmath import mp, mpf

import sfumato as sf
from sfumato.errors import AssumptionError
from sfumato.theorems import finite_family, truncated


def random_family(seed: int, levels: int) -> tuple[list[list[float]], list[float]]:
    """Two to six parameters; rare levels and skewed priors are common."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    table = rng.dirichlet(np.full(levels, rng.choice([0.3, 1.0, 4.0])), size=size) + 1e-6
    prior = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0]))) + 1e-6
    return np.log(table / table.sum(axis=1, keepdims=True)).tolist(), np.log(prior / prior.sum()).tolist()


def count_vectors(n: int, levels: int):
    return [c for c in itertools.product(range(n + 1), repeat=levels) if sum(c) == n]


def log_posterior(table, prior, counts, power) -> list[mpf]:
    logs = [
        mpf(base) + mpf(power) * mp.fsum(count * mpf(log) for count, log in zip(counts, row, strict=True))
        for base, row in zip(prior, table, strict=True)
    ]
    total = mp.log(mp.fsum(mp.exp(log) for log in logs))
    return [log - total for log in logs]


def worst(table, prior, n, power) -> tuple[mpf, mpf]:
    """Largest log ratio, and largest range of one, over all data sets of n records and all their neighbours."""
    mp.dps = 30
    levels = len(table[0])
    laws = {counts: log_posterior(table, prior, counts, power) for counts in count_vectors(n, levels)}
    highest = widest = mpf(0)
    for counts, law in laws.items():
        for x, y in itertools.permutations(range(levels), 2):
            if counts[x] == 0:
                continue
            other = list(counts)
            other[x] -= 1
            other[y] += 1
            gaps = [a - b for a, b in zip(law, laws[tuple(other)], strict=True)]
            highest, widest = max(highest, *gaps), max(widest, max(gaps) - min(gaps))
    return highest, widest


def price(table, prior, n, power, **options):
    return finite_family.posterior_draws(log_likelihood=table, log_prior=prior, n=n, power=power, **options)


@pytest.mark.parametrize("seed", range(24))
def test_the_pure_price_of_two_levels_is_the_supremum_over_all_data_sets(seed):
    rng = np.random.default_rng(100 + seed)
    n, power = int(rng.integers(1, 31)), float(rng.choice([0.05, 0.4, 1.0, 1.7]))
    table, prior = random_family(seed, 2)
    found = price(table, prior, n, power, form="pure").curve
    exact, _ = worst(table, prior, n, power)
    assert isinstance(found, sf.Pure)
    assert mpf(found.epsilon_value) >= exact
    assert found.epsilon_value == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("levels", "most"), [(3, 8), (4, 4)])
@pytest.mark.parametrize("seed", range(7))
def test_the_pure_price_of_more_levels_is_the_supremum_over_all_data_sets(seed, levels, most):
    rng = np.random.default_rng(200 + seed)
    n, power = int(rng.integers(1, most + 1)), float(rng.choice([0.3, 1.0, 1.7]))
    table, prior = random_family(seed, levels)
    exact, _ = worst(table, prior, n, power)
    found = price(table, prior, n, power, form="pure").curve.epsilon_value
    assert mpf(found) >= exact
    assert found == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


@pytest.mark.planted
@pytest.mark.parametrize("seed", range(6))
def test_the_bounded_range_is_that_of_the_widest_pair_and_half_of_it_is_caught(seed):
    table, prior = random_family(seed, 3)
    found = price(table, prior, 5, 0.7, form="bounded range").curve.epsilon_value
    _, widest = worst(table, prior, 5, 0.7)
    covers = lambda claim: mpf(claim) >= widest * (1 - mpf(10) ** -25)
    assert covers(found)
    assert found == pytest.approx(float(widest), rel=1e-12)
    assert not covers(0.5 * found), "the planted fault"
    assert not covers(0.999 * found)


def test_twice_the_lipschitz_constant_is_looser():
    """A family that leans one way: d_xy is never negative, so the range is L and not 2L."""
    rates = [0.6, 0.75, 0.9]
    table = [[math.log1p(-rate), math.log(rate)] for rate in rates]
    steepest = math.log(9)
    found = price(table, [0.0] * 3, 40, 1.0)
    assert finite_family.largest_range(log_likelihood=table) == pytest.approx(math.log(6), rel=1e-14)
    assert found.curve.epsilon_value <= math.log(6) < steepest < 2 * steepest
    symmetric = [[math.log1p(-rate), math.log(rate)] for rate in (0.1, 0.5, 0.9)]
    assert finite_family.largest_range(log_likelihood=symmetric) == pytest.approx(2 * steepest, rel=1e-14)
    assert price(symmetric, [0.0] * 3, 3, 1.0).curve.epsilon_value < 2 * steepest - 0.1


def test_a_fine_grid_of_rates_has_the_price_of_the_truncated_beta():
    """Another derivation of the same number: 4.299138975 for Beta(1, 1) on [0.1, 0.9], n = 100."""
    rates = np.linspace(0.1, 0.9, 4001)
    table = np.stack([np.log1p(-rates), np.log(rates)], axis=1)
    found = price(table, np.zeros(len(rates)), 100, 1.0).curve.epsilon_value
    exact = truncated.beta(alpha=1.0, beta=1.0, n=100, floor=0.1).curve.epsilon_value
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("n", [10_000, 1_000_000, 1_000_000_000])
@pytest.mark.parametrize("power", [1e-9, 1e-3, 1.0])
def test_no_number_of_records_makes_the_price_too_small(n, power):
    """Two levels in 60 digits: only the two ends of the counts have to be asked."""
    mp.dps = 60
    table = [[math.log1p(-rate), math.log(rate)] for rate in np.linspace(0.02, 0.95, 31)]
    prior = (-3.0 * np.arange(31) % 7).tolist()
    found = price(table, prior, n, power, form="pure").curve.epsilon_value
    best = mpf(0)
    for here, there in (((n, 0), (n - 1, 1)), ((0, n), (1, n - 1))):
        p, q = (log_posterior(table, prior, counts, power) for counts in (there, here))
        best = max(best, *(a - b for a, b in zip(p, q, strict=True)))
    assert mpf(found) >= best
    assert found == pytest.approx(float(best), rel=1e-9, abs=2e-11)


@pytest.mark.parametrize("seed", range(4))
def test_two_draws_are_covered_by_the_composed_range(seed):
    table, prior = random_family(seed, 2)
    n, power = 6, 0.8
    curve = price(table, prior, n, power, draws=2).curve
    for k in range(n):
        laws = [
            independent(np.array([float(mp.exp(v)) for v in log_posterior(table, prior, c, power)]), 2)
            for c in ((n - k, k), (n - k - 1, k + 1))
        ]
        for p, q in (laws, laws[::-1]):
            for epsilon in (0.0, 0.3, 1.0, 3.0):
                assert curve.delta(epsilon) >= hockey_stick(p, q, epsilon) - 1e-12


def test_the_form_is_chosen_from_public_numbers():
    table, prior = random_family(1, 3)
    assert isinstance(price(table, prior, 50, 1.0).curve, sf.Pure)
    assert isinstance(price(table, prior, 50, 1.0, draws=2).curve, type(2 * sf.BoundedRange(1.0)))
    many, flat = np.log(np.full((4, 12), 1 / 12)) + np.zeros((4, 12)), [0.0] * 4
    assert isinstance(price(many, flat, 1000, 1.0).curve, sf.BoundedRange)
    with pytest.raises(AssumptionError, match="enumerate"):
        price(many, flat, 1000, 1.0, form="pure")
    assert finite_family.enumerable(levels=2, parameters=1000, n=10**9)
    assert not finite_family.enumerable(levels=3, parameters=4, n=7000)


def test_the_error_of_drawn_masses_is_charged():
    table, prior = random_family(2, 2)
    for form, times in (("pure", 2), ("bounded range", 4)):
        bare, off = (price(table, prior, 9, 1.0, form=form, log_error=e).curve.epsilon_value for e in (0.0, 1e-3))
        assert off - bare == pytest.approx(times * 1e-3, rel=1e-9)


# --- under a distance between records --------------------------------------------------------------------------------

# Levels 1 and 2 have the same likelihood: whether a record is one or the other is told by nothing.
SUFFICIENT = np.log([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4], [0.9, 0.05, 0.05]]).tolist()
STATISTIC = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_the_metric_claim_holds_for_every_two_data_sets(scale):
    distances = scale * np.array(STATISTIC)
    found = finite_family.finite_metric(
        log_likelihood=SUFFICIENT, distances=distances, distance="|t(x) - t(y)|", power=0.8
    )
    assert found.adjacency == "metric"
    mp.dps = 30
    laws = {c: log_posterior(SUFFICIENT, [0.0] * 3, c, 0.8) for c in count_vectors(4, 3)}
    tightest = 0.0
    for first, second in itertools.product(itertools.product(range(3), repeat=4), repeat=2):
        rho = sum(distances[x][y] for x, y in zip(first, second, strict=True))
        p, q = (laws[tuple(records.count(z) for z in range(3))] for records in (first, second))
        ratio = float(max(a - b for a, b in zip(p, q, strict=True)))
        assert ratio <= found.curve.epsilon_value * rho + 1e-12
        tightest = max(tightest, ratio / rho if rho else 0.0)
    assert tightest > 0.5 * found.curve.epsilon_value


def test_a_statistic_that_is_not_sufficient_is_refused():
    told = [list(row) for row in SUFFICIENT]
    told[0][1:] = np.log([0.3, 0.2])
    with pytest.raises(AssumptionError, match="sufficiency"):
        finite_family.finite_metric(log_likelihood=told, distances=STATISTIC, distance="t")
    nearly = [list(row) for row in SUFFICIENT]
    nearly[0][1] += 1e-12
    with pytest.raises(AssumptionError, match="sufficiency"):
        finite_family.finite_metric(log_likelihood=nearly, distances=STATISTIC, distance="t")


def test_the_metric_claim_is_below_twice_the_lipschitz_constant_and_charges_the_error():
    claim = {"log_likelihood": SUFFICIENT, "distances": STATISTIC, "distance": "t"}
    bare = finite_family.finite_metric(**claim).curve.epsilon_value
    steepest = max(max(row) - min(row) for row in SUFFICIENT)
    assert bare < 2 * steepest
    assert finite_family.finite_metric(**claim, draws=3, log_error=1e-3).curve.epsilon_value == pytest.approx(
        3 * (bare + 2e-3)
    )


# --- hypotheses ------------------------------------------------------------------------------------------------------

TABLE, PRIOR = random_family(3, 2)
DROPPED = [
    ("posterior_draws", {"log_likelihood": [[0.0, -math.inf]] * len(PRIOR)}, "log likelihood"),
    ("posterior_draws", {"log_likelihood": [0.0, -1.0]}, "log likelihood"),
    ("posterior_draws", {"log_prior": [*PRIOR, 0.0]}, "log prior"),
    ("posterior_draws", {"log_prior": [-math.inf, *PRIOR[1:]]}, "log prior"),
    ("posterior_draws", {"n": 0}, "number of records"),
    ("posterior_draws", {"power": 0.0}, "power"),
    ("posterior_draws", {"draws": 0}, "draws"),
    ("posterior_draws", {"form": "approximate"}, "form"),
    ("posterior_draws", {"log_error": -1.0}, "error"),
    ("finite_metric", {"distances": [[0.0, 1.0], [2.0, 0.0]]}, "pseudo-metric"),
    ("finite_metric", {"distances": [[0.0, math.inf], [math.inf, 0.0]]}, "distances"),
    ("finite_metric", {"distance": " "}, "distance between records"),
    ("finite_metric", {"log_likelihood": [[math.nan, 0.0]]}, "log likelihood"),
    ("finite_metric", {"power": math.inf}, "power"),
    ("finite_metric", {"draws": 0}, "draws"),
    ("finite_metric", {"log_error": math.nan}, "error"),
]


@pytest.mark.parametrize(("name", "change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(name, change, named):
    good = {
        "posterior_draws": {"log_likelihood": TABLE, "log_prior": PRIOR, "n": 5},
        "finite_metric": {"log_likelihood": TABLE, "distances": [[0.0, 1.0], [1.0, 0.0]], "distance": "t"},
    }
    with pytest.raises(AssumptionError, match=named):
        getattr(finite_family, name)(**{**good[name], **change})
