"""Public numbers of a law hold for every data set: its weight, its smallest cell, its range, its grid and its stretch."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.grids import rates
from sfumato.models.families import _logit
from sfumato.models.families._eigenbasis import eigenbasis, norm_bound
from sfumato.models.families._log_weights import UNITS, from_units, to_units
from sfumato.models.laws import Dirichlet, Gamma, Lattice, Product
from sfumato.procedures.expectations import expected

F = sf.families
LEVELS = ("a", "b", "c")
N = 40

# A model, and totals of some data sets of N records: none spread evenly, so that one group or row may hold all records.
CELLED = {
    "bits": (F.BetaBernoulli(0.5, 3.0), [[0], [17], [N]]),
    "counts": (F.BetaBinomial(5, 0.5, 3.0), [[0], [5 * N]]),
    "levels": (F.DirichletCategorical(LEVELS, [0.5, 1.0, 2.0]), [[N, 0, 0], [0, 1, N - 1]]),
    "bits by group": (sf.grouped(F.BetaBernoulli(0.5, 3.0), "g", LEVELS), [[N, 0, 0, 0, 0, 0], [1, N - 3, 1, 0, 0, 1]]),
    "levels by group": (sf.grouped(F.DirichletCategorical(LEVELS), "g", (0, 1)), [[N, 0, 0, 0, 0, 0]]),
    "network": (sf.networks.BayesianNetwork({"b": ["a"]}, {"a": 2, "b": 2}, 0.5), [[N, 0, N, 0, 0, 0]]),
    "floor": (sf.networks.BayesianNetwork({"b": ["a"]}, {"a": 2, "b": 2}, 0.5, floor=0.01), [[N, 0, N, 0, 0, 0]]),
    "trajectories": (sf.networks.MarkovChain(2, 0.5, "trajectory", 6), [[N, 0, 5 * N, 0, 0, 0]]),
}


def parts_of(law):
    return [inner for part in law.parts for inner in parts_of(part)] if isinstance(law, Product) else [law]


@pytest.mark.parametrize("name", CELLED)
@pytest.mark.parametrize(("power", "strength"), [(1.0, 1.0), (0.3, 2.0)])
def test_the_weight_of_a_law_bounds_its_cells_whatever_the_data_are(name, power, strength):
    model, tables = CELLED[name]
    strength = 1.0 if name == "floor" else strength
    tightest = math.inf
    for totals in tables:
        parts = parts_of(model.law([Fraction(total) for total in totals], N, power, strength))
        assert parts
        for part in parts:
            assert sum(part.cells) <= part.weight * (1 + 1e-12)
            tightest = min(tightest, part.weight / sum(part.cells))
            if isinstance(part, Dirichlet):
                assert part.smallest <= min(part.cells)
            else:
                assert isinstance(part, Lattice)
    assert tightest <= 1 + 1e-12  # no larger than it must be


def test_a_group_of_noisy_size_below_one_is_read_as_one_record():
    model = sf.grouped(F.GammaPoisson(1.0, 1.0, 8), "g", (0, 1))
    # Sizes in units of 109/256 of the largest count, then totals less half of that, and squares less a quarter, for every record.
    unit = 8 * 109 / 256
    noisy = np.array([-50.0 * unit, 17.0, 9.0, 60.0 * unit, 180.0, -70.0])
    first, total, square, second, rest, squares = model.feasible(noisy, 30)
    assert (first, total, square) == (unit, 8.0 - 4.0, 4.0 - 2.0)
    assert second == 30 * unit
    assert rest == 30 * 8.0 - 30 * 4.0  # 180 and 120 are more than 30 counts of at most 8
    assert squares == -30 * 2.0  # and no square is below 0


@pytest.mark.parametrize("weight", [10.0, 777.0, 1e4, 1e5])
def test_a_grid_has_its_stated_cells_to_a_deviation(weight):
    """In the arcsine of the root a Beta law of weight w has a deviation of at least 1/(2 sqrt(w + 1))."""
    a = 0.5 * weight
    spread = float(np.std(np.arcsin(np.sqrt(np.random.default_rng(3).beta(a, a, 4000)))))
    assert 0.5 * math.pi / rates.cells_for(weight) <= spread / 60
    assert 0.5 * math.pi / rates.cells_for_tables(weight) <= spread / 7


# --- Gamma laws ------------------------------------------------------------------------------------------------------

GAMMAS = {
    "counts": (F.GammaPoisson(1.5, 2.0, 9), [0, 9 * N]),
    "durations": (F.ExponentialRate(1.5, 2.0, 7.0), [0, 7 * N]),
    "precisions": (F.NormalPrecision(1.5, 2.0, 0.0, 3.0), [0, Fraction(9, 2) * N]),
}


@pytest.mark.parametrize("name", GAMMAS)
@pytest.mark.parametrize("power", [1.0, 0.2])
def test_no_mass_of_a_gamma_law_lies_beyond_its_range(name, power):
    model, ends = GAMMAS[name]
    laws = [model.law([Fraction(total)], N, power) for total in ends]
    assert len({(law.lower, law.upper, law.grid) for law in laws}) == 1  # the range is public
    for law in laws:
        assert stats.gamma.sf(law.upper * law.rate, law.shape) < 1e-14
        assert stats.gamma.cdf(law.lower * law.rate, law.shape) < 1e-14


@pytest.mark.parametrize("name", GAMMAS)
def test_a_claim_states_what_one_record_can_add(name):
    model, ends = GAMMAS[name]
    facts = model.claim(N).facts
    assert facts["bound"] == float(Fraction(ends[1]) / N)
    assert model.sensitivity == facts["bound"]


def test_coarseness_is_the_width_of_a_cell_in_deviations_of_the_law():
    for law in (Gamma(900.0, 3.0, 0.0, 500.0, "root", grid=4096), Gamma(900.0, 3.0, 50.0, 900.0, "log", grid=4096)):
        mean, deviation = law.shape / law.rate, math.sqrt(law.shape) / law.rate
        if law.spacing == "root":
            edges = law.upper * (np.arange(law.grid + 1) / law.grid) ** 2
        else:
            edges = np.geomspace(law.lower, law.upper, law.grid + 1)
        place = int(np.searchsorted(edges, mean))
        assert law.coarseness == pytest.approx((edges[place] - edges[place - 1]) / deviation, rel=1e-3)


# --- log odds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("precision", "centre"), [(1.0, 0.0), (4.0, -3.0), (0.01, 2.0)])
def test_no_mass_of_log_odds_lies_beyond_the_inner_cells(precision, centre):
    model = F.LogitNormal(precision, centre)
    for ones in (0, 11, N):
        law = model.law([Fraction(ones)], N)
        t = np.linspace(law.lower, law.upper, 4001)
        natural = model.natural(np.array([[float(ones)]]), N)
        logs = _logit.log_density(natural, t[None])[0]
        assert max(logs[0], logs[-1]) < logs.max() - 35


# --- vectors ---------------------------------------------------------------------------------------------------------


def random_precision(rng, size):
    root = rng.normal(size=(size, size))
    matrix = root @ root.T + 0.1 * np.eye(size)
    return tuple(map(tuple, (0.5 * (matrix + matrix.T)).tolist()))


def largest_singular_value(rows):
    with mp.workdps(50):
        return mp.sqrt(max(mp.eigsy(mp.matrix(rows).T * mp.matrix(rows), eigvals_only=True)))


def test_vectors_are_priced_with_the_stretch_of_their_computed_basis():
    rng, stretched = np.random.default_rng(4), 0
    for size in (2, 3, 3, 4, 4):
        model = F.MultivariateNormal(random_precision(rng, size), radius=0.7, precision=1.0)
        rows = model.law([Fraction(0)] * size, 5).basis
        with mp.workdps(50):
            reach = 2 * mpf(0.7) * largest_singular_value(rows)
            assert reach <= mpf(model.claim(5).facts["sensitivity"]) <= reach * (1 + mpf(1e-12))
            stretched += reach > 2 * mpf(0.7)
    assert stretched  # for some of them the basis does stretch, by a rounding


def test_the_bound_on_a_norm_takes_absolute_values_and_all_roundings():
    rng = np.random.default_rng(5)
    for size in (1, 2, 5, 16):
        turned = rng.normal(size=(size, size))
        exact = [[Fraction(x) for x in row] for row in turned.tolist()]
        sums = []
        for i in range(size):
            products = [[x * y for x, y in zip(exact[i], row, strict=True)] for row in exact]
            rounding = Fraction(size, 2**53) * sum(abs(p) for column in products for p in column)
            sums.append(sum(abs(sum(column)) for column in products) + rounding)
        assert Fraction(norm_bound(turned)) ** 2 >= max(sums)
        assert norm_bound(turned) >= float(largest_singular_value(turned.tolist())) * (1 - 1e-15)
    assert norm_bound(np.array([[1.0, -0.9], [0.0, 0.5]])) >= np.linalg.norm([[1.0, -0.9], [0.0, 0.5]], 2)


def test_a_precision_that_is_positive_only_by_a_rounding_is_refused():
    with pytest.raises(ArgumentError, match="beyond rounding error"):
        eigenbasis(((1.0, 1.0), (1.0, 1.0 + 2.0**-48)))
    assert min(eigenbasis(((1.0, 1.0), (1.0, 1.0 + 2.0**-30))).values) > 0


def test_a_logarithm_is_kept_to_half_a_unit():
    for value in (-(10 ** np.random.default_rng(6).uniform(-6, 1, 400))).tolist():
        assert abs(to_units(value) - Fraction(value) * UNITS) <= Fraction(1, 2)
        assert to_units(from_units(to_units(value))) == to_units(value)


# --- what a reader may expect ----------------------------------------------------------------------------------------


def test_the_expected_half_width_holds_nine_draws_in_ten():
    """Far from its bounds a drawn mean is off by N(0, 2/P), P the posterior's precision."""
    model = F.NormalMean(1.0, -1000.0, 1000.0, mean=0.0, precision=1.0)
    for power in (1.0, 0.25):
        precision = 1 + power * N
        spread = math.sqrt(1 / precision + (power**2 * N + 1) / precision**2)
        found = (
            sf.plan(model, N, mechanism="exact").expected.value if power == 1 else expected(model, N, power, 1.0).value
        )
        assert found == pytest.approx(stats.norm.ppf(0.95) * spread, rel=0.04)


def test_a_count_of_trials_is_priced_as_what_it_can_move():
    for model in (F.BetaBinomial(7), F.BetaBinomial(7, floor=0.1), F.BetaBernoulli()):
        assert model.claim(N).facts["trials"] == model.sensitivity == (1 if model.name == "BetaBernoulli" else 7)
