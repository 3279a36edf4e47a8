"""Simulated draws follow the law of the release: against the masses of the exact sampler, and apart from every release."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from goodness import LEVEL, chi_square_p
from sfumato.errors import ArgumentError
from sfumato.samplers.beta_grid import beta_masses, nodes_for
from sfumato.samplers.gamma_grid import gamma_masses
from sfumato.samplers.gamma_grid import nodes_for as gamma_nodes

BETA = sf.families.BetaBernoulli(6, 12)
COUNTS = sf.families.GammaPoisson(2.0, 1.0, bound=5)
TIMES = sf.families.ExponentialRate(2.0, 1.0, bound=4.0)
PLANS = {
    "beta, tempered": (sf.plan(BETA, 100, target=sf.Renyi([15], [0.5]), mechanism="diffused"), 38.0),
    "beta, strengthened": (sf.plan(BETA, 100, target=sf.Renyi([15], [0.5]), mechanism="concentrated"), 38.0),
    "beta, truncated": (sf.plan(sf.families.BetaBernoulli(2, 2, floor=0.2), 30, 1.0, 0, mechanism="exponential"), 11.0),
    "counts, tempered": (sf.plan(COUNTS, 50, target=sf.Renyi([3], [0.5]), mechanism="diffused"), 71.0),
    "durations, tempered": (sf.plan(TIMES, 50, target=sf.Renyi([3], [0.5]), mechanism="diffused"), 33.0),
}
DRAWS = 20_000


def grid_law(plan: sf.Plan, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and masses of the exact sampler's public grid for one data set."""
    law = plan.model.law([total], plan.n, plan["power"], plan["strength"])
    if isinstance(plan.model, sf.families.BetaBernoulli):
        grid = law.geometry.rates
        masses = beta_masses(*law.cells, nodes_for(law.weight, grid.size), grid)
    else:
        grid, masses = law.geometry, gamma_masses(law, gamma_nodes(law))
    weights = np.exp(masses.everywhere() - masses.logs.max())
    return grid.middles, weights / weights.sum()


def p_value(draws: np.ndarray, points: np.ndarray, masses: np.ndarray) -> float:
    """Chi-square of draws in 60 runs of cells of about equal mass; a draw that is no grid point fails outright."""
    places = np.searchsorted(points, draws)
    if not (points[np.minimum(places, len(points) - 1)] == draws).all():
        return 0.0
    group = np.minimum((60 * (np.cumsum(masses) - masses)).astype(int), 59)
    expected = np.bincount(group, masses, 60) * len(draws)
    return chi_square_p(np.bincount(group[places], minlength=60), expected)


@pytest.mark.parametrize("name", PLANS)
def test_simulated_draws_follow_the_masses_of_the_exact_sampler(name):
    plan, total = PLANS[name]
    draws = sf.simulate(plan, np.full(DRAWS, total), seed=5).draws
    assert p_value(draws, *grid_law(plan, total)) > LEVEL


@pytest.mark.parametrize("name", ["beta, tempered", "beta, truncated", "counts, tempered", "durations, tempered"])
def test_a_draw_is_rounded_to_the_middle_of_its_own_cell(name):
    plan, total = PLANS[name]
    geometry = plan.model.law([total], plan.n, plan["power"], plan["strength"]).geometry
    grid = getattr(geometry, "rates", geometry)
    values = np.random.default_rng(1).uniform(grid.middles[5], grid.middles[-5], 2000)
    low, high = grid.ends(grid.rounded(values))
    assert ((low <= values * (1 + 1e-12)) & (values <= high * (1 + 1e-12))).all()


@pytest.mark.planted
@pytest.mark.parametrize("name", PLANS)
def test_another_law_is_rejected(name):
    """The posterior of another total, and draws that are not rounded to the grid."""
    plan, total = PLANS[name]
    points, masses = grid_law(plan, total)
    other = sf.simulate(plan, np.full(DRAWS, total + 4), seed=5).draws
    assert p_value(other, points, masses) < LEVEL
    assert p_value(other * (1 + 1e-9), points, masses) == 0


def test_noise_comes_before_the_posterior():
    """The mixture over noisy counts, projected to 0..n, by sums over a fine grid of noise."""
    plan = sf.plan(BETA, 20, target=sf.Renyi([2], [0.05]), mechanism="noisy-statistics")
    draws = sf.simulate(plan, np.full(DRAWS, 7.0), seed=2).draws
    noise, places = np.linspace(-8, 8, 801), np.linspace(0, 1, 401)
    shares = stats.norm.pdf(noise) / stats.norm.pdf(noise).sum()
    counts = np.clip(7 + plan["noise"] * noise, 0, 20)

    mixed = shares @ stats.beta.cdf(places, 6 + counts[:, None], 32 - counts[:, None])
    assert stats.kstest(draws, lambda x: np.interp(x, places, mixed)).pvalue > LEVEL
    assert stats.kstest(draws, stats.beta(13, 25).cdf).pvalue < LEVEL


def test_each_data_set_has_its_own_draw_and_likelihood():
    plan, _ = PLANS["beta, tempered"]
    totals = np.array([0.0, 50.0, 100.0])
    simulation = sf.simulate(plan, totals, seed=3)
    assert simulation.draws.shape == (3,)
    assert (np.diff(simulation.draws) > 0).all()
    held_out = np.random.default_rng(0).integers(0, 2, (3, 40))
    expected = stats.bernoulli.logpmf(held_out, simulation.draws[:, None]).sum(axis=1)
    assert simulation.log_likelihood(held_out) == pytest.approx(expected)
    assert simulation.log_likelihood(held_out[0])[1] == pytest.approx(
        stats.bernoulli.logpmf(held_out[0], simulation.draws[1]).sum()
    )
    assert (sf.simulate(plan, totals, seed=3).draws == simulation.draws).all()


def test_a_simulation_says_that_it_is_not_private_and_is_no_release(tmp_path):
    plan, total = PLANS["beta, tempered"]
    simulation = sf.simulate(plan, [total], seed=1)
    assert "simulation: not private" in str(simulation)
    assert "simulation: not private" in repr(simulation)
    assert not isinstance(simulation, sf.Release)
    for name in ("save", "verify", "to_bytes", "guarantee", "promise", "interval"):
        assert not hasattr(simulation, name)
    with pytest.raises(ArgumentError, match="got Simulation"):
        sf.plots.privacy_curve(simulation)


@pytest.mark.parametrize(
    ("name", "records", "says"),
    [
        ("beta, tempered", [2], "whole numbers from 0 to 1; got 2 to 2"),
        ("beta, tempered", [0.5], "whole numbers from 0 to 1"),
        ("beta, tempered", [np.nan], "finite numbers"),
        ("beta, tempered", [], "at least one"),
        ("beta, tempered", ["yes"], "must be numbers"),
        ("counts, tempered", [-1, 3], "whole numbers of at least 0; got -1 to 3"),
        ("durations, tempered", [-0.5], "numbers of at least 0"),
    ],
)
def test_records_that_the_model_cannot_have_are_refused(name, records, says):
    plan, total = PLANS[name]
    with pytest.raises(ArgumentError, match=says):
        sf.simulate(plan, [total], seed=1).log_likelihood(records)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sf.simulate(sf.families.BetaBernoulli(1, 1), [1], seed=0), "what sf.plan returned"),
        (lambda: sf.simulate(PLANS["beta, tempered"][0], [101.0], seed=0), "100 records can have"),
        (lambda: sf.simulate(PLANS["beta, tempered"][0], [[1.0, 2.0]], seed=0), r"shaped \(data sets, 1\)"),
        (lambda: sf.simulate(PLANS["beta, tempered"][0], ["a"], seed=0), "must be numbers"),
        (lambda: sf.simulate(PLANS["beta, tempered"][0], [3.0], seed=-1), "seed"),
        (
            lambda: sf.simulate(
                sf.plan(sf.families.DirichletCategorical(3), 9, mechanism="exact"), [[3, 3, 3]], seed=0
            ),
            "Beta or an untrimmed Gamma",
        ),
        (
            lambda: sf.simulate(
                sf.plan(sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(1.0), 2), 9, 1, 1e-6), [3], seed=0
            ),
            "conjugate families",
        ),
        (lambda: sf.simulate(PLANS["beta, tempered"][0], [3.0], seed=0).log_likelihood(np.ones((2, 5))), "shaped"),
    ],
)
def test_what_cannot_be_simulated_is_refused(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()
