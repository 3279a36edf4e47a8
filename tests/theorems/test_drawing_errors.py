"""Masses that are off by a factor within exp(+-e): a log ratio moves by 2 e, a range of log ratios by 4 e, for every draw."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.privacy.curves import BoundedRange, Gaussian
from sfumato.theorems import conjugate, finite_family, interpolated, location, networks, quantile, truncated

BETA = {"alpha": 2.0, "beta": 3.0, "n": 9, "floor": 0.1, "power": 0.6}
GAMMA = {"shape": 2.0, "rate": 1.5, "n": 8, "bound": 3.0, "lower": 0.4, "upper": 2.5, "power": 0.6}
TABLE = np.log(np.array([[0.2, 0.8], [0.5, 0.5], [0.7, 0.3]]))
FINITE = {"log_likelihood": TABLE, "log_prior": np.zeros(3), "n": 7, "power": 0.5}
NETWORK = {"parents": [[], [0]], "cardinalities": [2, 3], "floor": 0.05, "power": 0.6}
RANGES = {
    "Beta": lambda **more: truncated.beta(**BETA, form="bounded range", **more),
    "Dirichlet": lambda **more: truncated.dirichlet(categories=4, floor=0.05, power=0.6, **more),
    "Gamma": lambda **more: truncated.gamma(**GAMMA, form="bounded range", **more),
    "network": lambda **more: networks.truncated_draws(**NETWORK, **more),
    "finite": lambda **more: finite_family.posterior_draws(**FINITE, form="bounded range", **more),
    "quantile": lambda **more: quantile.quantile_draws(candidates=30, power=0.4, **more),
}
PURE = {
    "Beta": lambda **more: truncated.beta(**BETA, form="pure", **more),
    "Gamma": lambda **more: truncated.gamma(**GAMMA, form="pure", **more),
    "finite": lambda **more: finite_family.posterior_draws(**FINITE, form="pure", **more),
}
ERRORS = (1e-6, 0.01, 0.3)


@pytest.mark.parametrize("name", list(RANGES))
def test_a_range_of_log_ratios_grows_by_four_errors(name):
    base = RANGES[name]().curve
    assert isinstance(base, BoundedRange)
    for error in ERRORS:
        rough = RANGES[name](log_error=error).curve
        assert isinstance(rough, BoundedRange)
        assert rough.epsilon_value == pytest.approx(base.epsilon_value + 4 * error, rel=1e-12)
        assert rough.epsilon_value >= base.epsilon_value + 4 * error - 1e-14


@pytest.mark.parametrize("name", list(PURE))
def test_a_log_ratio_grows_by_two_errors(name):
    base = PURE[name]().curve.renyi(math.inf)
    for error in ERRORS:
        assert PURE[name](log_error=error).curve.renyi(math.inf) == pytest.approx(base + 2 * error, rel=1e-12)


@pytest.mark.parametrize("draws", [2, 5])
@pytest.mark.parametrize("name", list(RANGES))
def test_every_draw_is_charged_its_error(name, draws):
    one, many = RANGES[name](log_error=0.01), RANGES[name](log_error=0.01, draws=draws)
    assert many.draws == draws
    assert many.curve.renyi(math.inf) == pytest.approx(draws * one.curve.renyi(math.inf), rel=1e-12)
    for epsilon in (0.1, 1.0, 2.0):
        assert many.delta(epsilon) == pytest.approx((draws * one).delta(epsilon), rel=1e-9)


@pytest.mark.planted
def test_an_adversary_within_the_error_reaches_the_claimed_range():
    """Neighbouring Betas on a grid of [f, 1 - f], their masses pushed against each other at the two ends."""
    r, f, error = BETA["power"], BETA["floor"], 0.05
    x = np.linspace(-1, 1, 2001) * (math.log1p(-f) - math.log(f))
    for ones in range(BETA["n"]):
        logs = [
            (BETA["alpha"] + r * k) * -np.logaddexp(0, -x) + (BETA["beta"] + r * (BETA["n"] - k)) * -np.logaddexp(0, x)
            for k in (ones, ones + 1)
        ]
        p, q = (each - np.logaddexp.reduce(each) for each in logs)
        push = np.where(np.arange(len(x)) < len(x) // 2, error, -error)
        ratio = (p + push) - (q - push)
        claim = RANGES["Beta"](log_error=error).curve.epsilon_value
        assert np.ptp(ratio) <= claim * (1 + 1e-12)
        assert np.ptp(ratio) == pytest.approx(claim, rel=1e-9)  # attained: a smaller allowance would be false


@pytest.mark.parametrize("draws", [1, 3])
def test_a_perturbed_gaussian_is_inflated_for_every_draw(draws):
    """exp(k e) delta_mu(eps - 2 k e) with mu = sqrt(k) times that of one draw."""
    error, mu = 0.02, 0.5
    claims = [
        location.logit_draw(precision=4.0, power=1.0, draws=draws, log_error=error),
        interpolated.grid_draw(
            difference=1.0, strong_convexity=4.0, convex=True, convex_domain=True, log_error=error, draws=draws
        ),
        location.gaussian_location(
            curvatures=[1.0], precisions=[0.0], n=4, sensitivity=1.0, power=1.0, draws=draws, log_error=error
        ),
    ]
    for claim in claims:
        for epsilon in (0.3, 1.0, 2.0):
            moved = epsilon - 2 * draws * error
            expected = math.exp(draws * error) * Gaussian(mu * math.sqrt(draws)).delta(moved)
            assert claim.delta(epsilon) == pytest.approx(expected, rel=1e-9)
            assert claim.delta(epsilon) >= expected


@pytest.mark.parametrize("draws", [1, 2])
def test_a_conjugate_profile_carries_the_error_it_was_given(draws):
    error = 0.03
    facts = {"power": 0.5, "draws": draws}
    pairs = [
        (conjugate.beta_bernoulli, {"alpha": 2.0, "beta": 3.0, "n": 6}),
        (conjugate.dirichlet, {"cells": [1.0, 2.0, 3.0]}),
        (conjugate.gamma_poisson, {"shape": 4.0, "bound": 2.0}),
        (conjugate.gamma_rate, {"shape": 4.0, "rate": 3.0, "n": 5, "bound": 2.0, "shape_per_record": 1.0}),
        (conjugate.network, {"smallest_cells": [2.0]}),
    ]
    for theorem, numbers in pairs:
        exact, rough = (theorem(**numbers, **facts, log_error=e) for e in (0.0, error))
        for epsilon in (0.4, 1.2):
            expected = math.exp(draws * error) * exact.delta(epsilon - 2 * draws * error)
            assert rough.delta(epsilon) == pytest.approx(min(1.0, expected), rel=1e-9)


def test_the_error_of_a_network_is_charged_to_every_node():
    """Three nodes, each with the error of all tables: exp(3 e) delta(eps - 6 e)."""
    error = 0.03
    exact, rough = (conjugate.network(smallest_cells=[2.0] * 3, power=0.5, log_error=e) for e in (0.0, error))
    for epsilon in (0.6, 1.5):
        expected = math.exp(3 * error) * exact.delta(epsilon - 6 * error)
        assert rough.delta(epsilon) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("error", [0.0, 0.01])
def test_trajectories_are_charged_their_error_at_every_order(error):
    facts = {"first_cell": 3.0, "next_cell": 4.0, "moves": 2, "power": 0.3}
    for draws in (1, 3):
        base = networks.trajectory_draws(**facts).curve
        rough = networks.trajectory_draws(**facts, draws=draws, log_error=error).curve
        for order in (1.5, 2.0, 4.0):
            expected = draws * (base.renyi(order) + error * (2 * order - 1) / (order - 1))
            assert rough.renyi(order) == pytest.approx(expected, rel=1e-12)
