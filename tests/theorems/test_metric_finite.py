"""Finite families: constants against their definitions, Figure 1, and the conditions that only refute."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from finite_oracle import Family, random_family, smallest_concentration

from sfumato.errors import AssumptionError
from sfumato.theorems import metric_finite as finite

ONE_BIT = np.array([[0.0, 1.0], [1.0, 0.0]])


def bits(theta: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihood of every sequence of n bits, and the Hamming distances between them."""
    sets = np.array(list(itertools.product([0, 1], repeat=n)))
    ones = sets.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        zero_one = np.where(ones == 0, 0.0, ones * np.log(theta)[:, None])
        zero_zero = np.where(ones == n, 0.0, (n - ones) * np.log1p(-theta)[:, None])
    return zero_one + zero_zero, np.abs(sets[:, None, :] - sets[None, :, :]).sum(axis=2).astype(float)


# --- Example 1, Example 2, Figure 1 ---------------------------------------------------------------------------------


def test_grid_of_example_1():
    assert finite.bernoulli_grid(step=0.2) == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert len(finite.bernoulli_grid(step=0.05)) == 19
    assert finite.bernoulli_grid(step=0.3) == pytest.approx([0.3, 0.6, 0.9])
    assert finite.bernoulli_grid(step=0.5) == pytest.approx([0.5])


@pytest.mark.parametrize("step", [0.2, 0.05])
def test_lipschitz_constant_of_example_1_is_below_the_printed_one(step):
    table, rho = bits(finite.bernoulli_grid(step=step), 1)
    largest = finite.lipschitz_constants(log_likelihood=table, distances=rho).max()
    assert largest == pytest.approx(math.log((1 - step) / step), rel=1e-12)
    assert largest < math.log(1 / step) - 0.04  # the printed value is an upper bound and not the constant


@pytest.mark.planted
def test_printed_constant_of_example_1_fails_off_the_grid_and_at_the_ends():
    table, rho = bits(finite.bernoulli_grid(step=0.3), 1)
    assert finite.lipschitz_constants(log_likelihood=table, distances=rho).max() > math.log(1 / 0.3) + 0.9
    table, rho = bits(np.array([0.0, 0.2, 0.8, 1.0]), 1)
    constants = finite.lipschitz_constants(log_likelihood=table, distances=rho)
    assert np.isinf(constants[[0, 3]]).all()
    assert np.isfinite(constants[[1, 2]]).all()


def test_figure_1():
    coarse, fine = finite.bernoulli_grid(step=0.2), finite.bernoulli_grid(step=0.05)
    l_coarse = finite.lipschitz_constants(log_likelihood=bits(coarse, 1)[0], distances=ONE_BIT)
    l_fine = finite.lipschitz_constants(log_likelihood=bits(fine, 1)[0], distances=ONE_BIT)
    assert len(np.unique(np.round(l_coarse, 9))) == 2  # "only two steps"
    assert l_coarse.max() / l_fine.max() == pytest.approx(0.47, abs=0.005)  # "about half"
    assert finite.smooth_mass(constants=l_coarse, lipschitz=1.0) == pytest.approx(0.5)
    assert finite.smooth_mass(constants=l_coarse, lipschitz=1.4) == 1.0
    assert finite.smooth_mass(constants=l_coarse, lipschitz=0.4) == 0.0
    first = math.log(1.5)
    uniform = finite.best_concentration(constants=l_coarse, offset=l_coarse.min()).concentration
    assert uniform == pytest.approx(math.log(2) / (math.log(4) - first), rel=1e-9)
    prior = finite.smooth_prior(constants=l_coarse)
    assert prior == pytest.approx(np.array([0.25, 2 / 3, 2 / 3, 0.25]) / (11 / 6))
    weighted = finite.best_concentration(constants=l_coarse, prior=prior, offset=l_coarse.min()).concentration
    assert weighted == pytest.approx(math.log(11 / 3) / (math.log(4) - first), rel=1e-9)
    fine_prior = finite.smooth_prior(constants=l_fine)
    before = finite.best_concentration(constants=l_fine, offset=l_fine.min()).concentration
    after = finite.best_concentration(constants=l_fine, prior=fine_prior, offset=l_fine.min()).concentration
    assert after > 1.5 * before  # "both lower bounds shifted upwards"
    level = np.linspace(l_fine.min(), 4, 400)
    for prior, c in ((None, before), (fine_prior, after)):
        thick = np.array([finite.smooth_mass(constants=l_fine, lipschitz=t, prior=prior) for t in level])
        assert (thick >= 1 - np.exp(-c * (level - l_fine.min())) - 1e-12).all()
        assert not (thick >= 1 - np.exp(-1.02 * c * (level - l_fine.min()))).all()


# --- Constants ------------------------------------------------------------------------------------------------------


def test_constants_match_their_definitions():
    rng = np.random.default_rng(1)
    for _ in range(100):
        family = random_family(rng)
        table = np.log(family.p)
        constants = finite.lipschitz_constants(log_likelihood=table, distances=family.rho)
        assert constants == pytest.approx(family.lipschitz, rel=1e-12)
        assert finite.log_ratio(log_likelihood=table, prior=family.prior) == pytest.approx(math.log(family.ratio))
        assert finite.log_ratio(log_likelihood=table, prior=family.prior) >= math.log(family.ratio)
        offset = float(np.sort(constants)[0])
        found = finite.best_concentration(constants=constants, prior=family.prior, offset=offset).concentration
        assert found == pytest.approx(smallest_concentration(constants, family.prior, offset), rel=1e-9)
        assert found <= smallest_concentration(constants, family.prior, offset)


def test_best_pair_beats_every_offset_on_a_grid():
    rng = np.random.default_rng(2)
    for _ in range(60):
        constants, prior = rng.exponential(size=8), rng.dirichlet(np.ones(8))
        for weight in (1.0, 5.0):
            best = finite.best_concentration(constants=constants, prior=prior, weight=weight)
            value = best.offset + weight / best.concentration
            grid = np.linspace(constants.min(), constants.max(), 60)
            others = [
                o + weight / finite.best_concentration(constants=constants, prior=prior, offset=o).concentration
                for o in grid
            ]
            assert value <= min(others) * (1 + 1e-9)
            assert best.concentration <= smallest_concentration(constants, prior, best.offset)


def test_lemma_5_keeps_the_lipschitz_constant_but_not_c():
    theta = np.array([0.1, 0.35, 0.6])
    prior = np.array([0.2, 0.5, 0.3])
    single, rho = bits(theta, 1)
    l_single = finite.lipschitz_constants(log_likelihood=single, distances=rho)
    c_single = finite.log_ratio(log_likelihood=single, prior=prior)
    for n in (2, 3, 5):
        table, rho_n = bits(theta, n)
        assert finite.lipschitz_constants(log_likelihood=table, distances=rho_n) == pytest.approx(l_single)
        assert finite.log_ratio(log_likelihood=table, prior=prior) > c_single + 0.1  # C grows with n
    # Not even C^n is enough: a rare parameter is the only one that makes both outcomes likely.
    spread = np.log(np.array([[0.9, 1e-6, 0.1 - 1e-6], [1e-6, 0.9, 0.1 - 1e-6], [0.45, 0.45, 0.1]]))
    pairs = np.array([[row[x] + row[y] for x in range(3) for y in range(3)] for row in spread])
    rare = np.array([0.49995, 0.49995, 1e-4])
    assert finite.log_ratio(log_likelihood=spread, prior=rare) < math.log(2.01)
    assert finite.log_ratio(log_likelihood=pairs, prior=rare) > 10 * math.log(2.01)


# --- Theorem 6 and sufficiency --------------------------------------------------------------------------------------


def log_posterior(family: Family) -> np.ndarray:
    return np.log(family.posteriors())


@pytest.mark.planted
def test_every_pair_reported_by_theorem_6_refutes_2l_privacy_and_an_empty_list_proves_nothing():
    rng = np.random.default_rng(3)
    reported = empty_but_broken = 0
    for _ in range(300):
        family = random_family(rng)
        posterior = log_posterior(family)
        level = float(rng.uniform(0.05, 1.0) * family.lipschitz.max())
        pairs = finite.necessary_condition(
            log_likelihood=np.log(family.p), prior=family.prior, distances=family.rho, lipschitz=level
        )
        for x, y in pairs:
            reported += 1
            assert np.max(posterior[:, x] - posterior[:, y]) > 2 * level * family.rho[x, y]
        broken = any(
            np.max(posterior[:, x] - posterior[:, y]) > 2 * level * family.rho[x, y] + 1e-6 for x, y in family.pairs()
        )
        empty_but_broken += broken and not pairs
    assert reported > 50
    assert empty_but_broken > 20  # the condition is necessary and far from sufficient


def test_theorem_6_speaks_of_each_pair_and_not_of_all_pairs_at_once():
    # "First condition for all pairs, or second for all pairs" is not necessary: this posterior is 2L-private with
    # neither. Ordered pairs have opposite phi ratios, so the second cannot hold for all unless phi is flat.
    rng = np.random.default_rng(4)
    witnesses = 0
    for _ in range(500):
        family = random_family(rng)
        posterior, table, phi = log_posterior(family), np.log(family.p), np.log(family.prior @ family.p)
        need = max(np.max(posterior[:, x] - posterior[:, y]) / family.rho[x, y] for x, y in family.pairs())
        level = need / 2
        first = all(np.max(table[:, x] - table[:, y]) <= level * family.rho[x, y] for x, y in family.pairs())
        second = all(phi[y] - phi[x] <= level * family.rho[x, y] for x, y in family.pairs())
        witnesses += not first and not second
        assert not finite.necessary_condition(
            log_likelihood=table, prior=family.prior, distances=family.rho, lipschitz=level
        )
    assert witnesses > 10


def test_parameters_without_prior_mass_do_not_count():
    table = np.log(np.array([[0.9, 0.1], [0.5, 0.5], [0.01, 0.99]]))
    prior = np.array([0.5, 0.5, 0.0])
    # With the third parameter sup ln p(y)/p(x) would be 4.6; phi(x)/phi(y) is 7/3.
    assert finite.necessary_condition(log_likelihood=table, prior=prior, distances=ONE_BIT, lipschitz=0.5) == []


def test_sufficiency_and_bayes_sufficiency_differ():
    # Three data sets; the distance cannot see the first two apart.
    rho = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    prior = np.array([0.5, 0.5])
    proportional = np.log(np.array([[0.2, 0.4, 0.4], [0.3, 0.6, 0.1]]))  # same posterior, other likelihood
    assert finite.insufficient_pairs(log_likelihood=proportional, distances=rho) == [(0, 1)]
    assert finite.insufficient_pairs(log_likelihood=proportional, distances=rho, prior=prior) == []
    ignoring = np.log(np.array([[0.2, 0.4, 0.4], [0.4, 0.2, 0.4]]))
    assert finite.insufficient_pairs(log_likelihood=ignoring, distances=rho, prior=prior) == [(0, 1)]
    equal = np.log(np.array([[0.3, 0.3, 0.4], [0.2, 0.2, 0.6]]))
    assert finite.insufficient_pairs(log_likelihood=equal, distances=rho) == []
    assert np.isinf(finite.lipschitz_constants(log_likelihood=ignoring, distances=rho)).all()


# --- Hypotheses -----------------------------------------------------------------------------------------------------

TABLE = np.log(np.array([[0.3, 0.7], [0.6, 0.4]]))
HALVES = [0.5, 0.5]


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (finite.bernoulli_grid, {"step": 1.0}, "step of the grid"),
        (finite.lipschitz_constants, {"log_likelihood": TABLE[0], "distances": ONE_BIT}, "table of log likelihoods"),
        (finite.lipschitz_constants, {"log_likelihood": TABLE, "distances": np.ones((2, 2))}, "pseudo-metric"),
        (finite.lipschitz_constants, {"log_likelihood": TABLE, "distances": ONE_BIT[:1]}, "pseudo-metric"),
        (finite.smooth_prior, {"constants": [1.0, 2.0], "prior": [0.5, 0.6]}, "prior"),
        (finite.smooth_prior, {"constants": [1.0, 2.0], "prior": [0.5, 0.5 + 2e-9]}, "prior"),
        (finite.smooth_prior, {"constants": [1.0, 2.0], "rate": -1.0}, "rate of the weight"),
        (finite.smooth_prior, {"constants": [math.inf, math.inf]}, "some smooth parameter"),
        (finite.smooth_mass, {"constants": [1.0, 2.0], "lipschitz": math.inf}, "Lipschitz level"),
        (finite.best_concentration, {"constants": [1.0, math.inf]}, "finite Lipschitz constants"),
        (finite.best_concentration, {"constants": [1.0, 2.0], "offset": 0.9}, "offset at least the smallest"),
        (finite.best_concentration, {"constants": [1.0, 2.0], "weight": 0.0}, "weight of 1/c"),
        (finite.log_ratio, {"log_likelihood": TABLE, "prior": [1.0]}, "prior"),
        (finite.log_ratio, {"log_likelihood": np.array([[0.0, -np.inf], [0.0, -np.inf]]), "prior": HALVES}, "possible"),
        (
            finite.necessary_condition,
            {"log_likelihood": TABLE, "prior": HALVES, "distances": ONE_BIT, "lipschitz": -1.0},
            "Lipschitz level",
        ),
        (
            finite.insufficient_pairs,
            {"log_likelihood": TABLE, "distances": -ONE_BIT},
            "pseudo-metric",
        ),
    ],
)
def test_each_hypothesis_is_checked_by_name(function, arguments, name):
    with pytest.raises(AssumptionError, match=name):
        function(**arguments)
