"""Charges for roundings, windows and schedules of the mechanisms against what they must cover, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import FormatError
from sfumato.procedures import chains, envelope, kinked_grid, last_iterate, modes, noisy_totals, path, reference_chain

UNIT = 2.0**-53


def logistic(d: int = 3, precision: float = 2.0, radius: float = 1.0) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(precision), d)


# --- one step of a chain ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 5, 60])
def test_a_step_error_covers_the_gradient_of_the_prior(d):
    """P (theta - mean) is a product rounded once in every coordinate, of a size of up to P times the reach."""
    model, n, power = logistic(d, precision=1e6), 1, 1e-9
    far = chains.projection_radius(model, n, power)
    assert chains.step_error(model, n, power, 1.0) >= UNIT * 1e6 * far * (d + 1)


@pytest.mark.parametrize("d", [2, 40])
def test_a_step_error_covers_the_roundings_of_the_scores(d):
    """A score is a sum of d products: off by d units of |x| |theta|, which the curvature of each record passes on."""
    model, n, power = logistic(d, precision=1e-3), 10**6, 1.0
    far = chains.projection_radius(model, n, power)
    scores = n * model.constants.smoothness * d * UNIT * far
    assert chains.step_error(model, n, power, 1.0) >= power * scores


@pytest.mark.parametrize("noise", [10.0, 1e4])
def test_the_error_of_a_noisy_mean_covers_the_noise_that_is_added(noise):
    """The sum of a mean and a normal of deviation `noise` in d coordinates is rounded once more."""
    model, n = logistic(50), 100
    assert chains.noisy_mean_error(model, n, noise) >= UNIT * noise * math.sqrt(50)


@pytest.mark.parametrize(("d", "precision"), [(1, 1.0), (30, 0.01)])
def test_the_reach_holds_the_mode_and_twelve_deviations(d, precision):
    model, n, power = logistic(d, precision), 200, 0.5
    mode, spread = power * n * 1.0 / precision, math.sqrt(d / precision)
    assert chains.projection_radius(model, n, power) >= mode + 12 * spread


@pytest.mark.parametrize("power", [1.0, 0.01])
def test_a_chain_runs_until_a_hundredth_of_its_start_is_left(power):
    model, n = logistic(), 500
    step, count = last_iterate.schedule(model, n, power, None)
    left = 1 - step * model.strong_convexity(n, power)
    assert left**count <= 0.01 < left ** (count - 1)


def test_the_grid_of_an_assumed_draw_is_far_finer_than_the_posterior():
    model, n, power = logistic(), 500, 0.3
    grid = reference_chain.ending_grid(model, n, power)
    narrowest = 1 / math.sqrt(model.smoothness(n, power))
    assert 2.0**-22 * narrowest <= grid <= 2.0**-19 * narrowest


# --- posteriors with kinks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "precision"), [(100, 1e4), (10_000, 1e4), (50, 1.0)])
def test_the_window_of_a_posterior_with_kinks_holds_all_of_it(n, precision):
    """All n records alike: U = n max(0, 1 - theta) + P theta^2/2, far above its least value at both ends of the window."""
    model = sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(precision), 1)
    window = kinked_grid.bounded(model, n, 1.0).prior
    theta = np.linspace(-3, 3, 60_001)
    least = (n * np.maximum(0.0, 1 - theta) + 0.5 * precision * theta**2).min()
    mode = min(1.0, n / precision)
    assert window.lower[0] < -mode < mode < window.upper[0]
    for end in (window.lower[0], window.upper[0]):
        assert n * max(0.0, 1 - end) + 0.5 * precision * end**2 >= least + 50


# --- noisy gradients -------------------------------------------------------------------------------------------------

PATH = {"momentum": 0.5, "tail": 4, "steps": 8, "noise": 0.3, "learning_rate": 0.2}


def path_numbers(n: int, **changes: float) -> dict:
    numbers = {**PATH, **{key: value for key, value in changes.items() if key in PATH}}
    step = 0.5 * (numbers["learning_rate"] * numbers["noise"]) ** 2
    return {"step": step, "power": numbers["learning_rate"] / (n * step), **numbers, **changes}


@pytest.mark.parametrize("changes", [{"step": 0.1}, {"power": 1.0}, {"tail": 9}, {"tail": 0}, {"momentum": 1.0}])
def test_numbers_of_a_path_that_contradict_each_other_are_refused(changes):
    model, n = logistic(), 100
    assert path.price(model, n, 1, path.Parameters(**path_numbers(n))).curve.mu > 0
    with pytest.raises(FormatError, match="contradict"):
        path.price(model, n, 1, path.Parameters(**path_numbers(n, **changes)))


def test_a_steep_prior_shortens_the_steps_of_a_path():
    """A step on a potential of curvature M + P/n must stay below 4/(M + P/n), or the path leaves every bound."""
    for precision in (1.0, 1e5):
        model, n = logistic(3, precision), 400
        plan = sf.plan(model, n, 2.0, 1e-6, goal="estimate", mechanism="langevin-path")
        assert plan["learning_rate"] <= 4 / (0.25 + precision / n)


# --- noisy totals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deviation", [0.3, 1.0, 700.0])
def test_the_grid_of_noisy_totals_is_a_millionth_of_the_noise(deviation):
    grid = float(noisy_totals.spacing(deviation))
    assert deviation / 2**21 <= grid <= deviation / 2**20
    assert math.frexp(grid)[0] == 0.5  # a power of two


def test_the_work_of_trials_counts_every_draw():
    prior = sf.priors.Box(sf.priors.Gaussian(20.0), [-1.0] * 3, [1.0] * 3)
    model = sf.Gibbs(sf.losses.Logistic(1.0), prior, 3)
    numbers = envelope.Parameters(0.01, 40)
    one = envelope.cost(model, 20, 1, numbers).passes
    assert envelope.cost(model, 20, 5, numbers).passes - one == 4 * 40


# --- the descent to the mode -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 10**6])
def test_the_descent_leaves_room_for_its_distance_and_for_the_rounding_of_gradients(n):
    """4 M a + 3 M e is at most what is allowed, with e the rounding error of a step of size 1/M; nearly all of it is used."""
    model, power = logistic(), 1.0
    m, big_m = model.strong_convexity(n, power), model.smoothness(n, power)
    error = chains.step_error(model, n, power, 1.0 / big_m)
    allowed = 30 * big_m * error * big_m / m
    steps, near = modes.descent_steps(model, n, power, m, big_m, 10.0, allowed)
    assert allowed * (1 - 1e-12) <= 4 * big_m * near + 3 * big_m * error <= allowed * (1 + 1e-12)
    # Gradient descent contracts by 1 - m/M a step, and rounding adds at most e M/m in all.
    assert 10.0 * (1 - m / big_m) ** steps + error * big_m / m <= near * (1 + 1e-9)


@pytest.mark.parametrize("mean", [-5.0, 0.0, 4.0, 30.0])
def test_the_slope_on_a_window_covers_records_and_a_prior_whose_mean_is_anywhere(mean):
    """|U'| is at most power n L and the prior's precision times the distance of the farther end of the box from its mean."""
    model = sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Box(sf.priors.Gaussian(2.0, [mean]), [0.0], [10.0]), 1)
    farthest = max(abs(0.0 - mean), abs(10.0 - mean))
    assert kinked_grid._slope(model, 50, 0.5) >= 0.5 * 50 * model.constants.lipschitz + 2.0 * farthest


def test_a_grid_at_a_power_keeps_the_prior_where_no_strength_is_given():
    model = sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(2.0), 1)
    assert kinked_grid.at(model, 50, 1, 0.5, None).strength == 1.0
    assert kinked_grid.at(model, 50, 1, 0.5, 3.0).strength == 3.0
