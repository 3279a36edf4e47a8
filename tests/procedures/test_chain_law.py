"""The law of a draw: closed forms of quadratic losses, the recursion step by step, and releases on invented rows."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.procedures.chain_law import _MadeUp, _precision, law_of_draw
from sfumato.rehearsing.parameter_errors import on_sphere

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import expected_errors

RADIUS, PRECISION, MEAN = 40.0, 4.0, (0.3, -0.4, 0.0)


@pytest.mark.parametrize("steps", [1, 2, 5, 37])
def test_the_law_of_a_quadratic_loss_is_its_closed_form(steps):
    """Theory: mean = C^T s + (1 - C^T) mode, covariance 2h (1 - C^2T)/(1 - C^2), K = (1 - C^T) power n/A, with a prior's mean."""
    d, n, power, step = 3, 200, 0.3, 0.005
    model = sf.Gibbs(sf.losses.GaussianMean(RADIUS), sf.priors.Gaussian(PRECISION, MEAN), d)
    law = law_of_draw(model, n, power, step, steps)
    curvature = power * n + PRECISION
    left = (1 - step * curvature) ** steps
    kept = (1 - left) * power * n / curvature
    # The start is the prior's mean, from which truths have squared distance d/precision on average.
    assert law.kept == pytest.approx(kept, rel=1e-9)
    assert law.pulled == pytest.approx((1 - kept) ** 2 * d / PRECISION, rel=1e-9)
    assert law.noise == pytest.approx(d * 2 * step * (1 - left**2) / (1 - (1 - step * curvature) ** 2), rel=1e-9)
    assert law.fit == pytest.approx(d * 1.0 / n, rel=1e-9)  # rows about their mean have length sqrt(d)
    assert law.sampling == pytest.approx(kept**2 * law.fit, rel=1e-9)
    whole = n + PRECISION
    assert law.posterior_noise == pytest.approx(d / whole, rel=1e-3)
    assert law.posterior_error == pytest.approx(
        d / whole + (n / whole) ** 2 * d / n + d * PRECISION / whole**2, rel=1e-3
    )


def brute_force(truth, rows, n, power, step, steps, precision):
    """The recursion of one truth with whole matrices on many random rows, a step at a time; logistic."""
    d = len(truth)
    chance = 1 / (1 + np.exp(-rows @ truth))
    mean, spread, shift = np.zeros(d), np.zeros((d, d)), np.zeros((d, d))
    for _ in range(steps):
        at = 1 / (1 + np.exp(-rows @ mean))
        left = np.eye(d) - step * (
            power * n * (rows * (at * (1 - at))[:, None]).T @ rows / len(rows) + precision * np.eye(d)
        )
        mean = mean - step * (power * n * rows.T @ (at - chance) / len(rows) + precision * mean)
        spread = left @ spread @ left.T + 2 * step * np.eye(d)
        shift = left @ shift + step * power * np.eye(d)
    score = (rows * (chance * (1 - chance))[:, None]).T @ rows / len(rows)
    return np.sum((mean - truth) ** 2), np.trace(spread), n * np.trace(shift @ score @ shift.T)


@pytest.mark.parametrize(("d", "intercept"), [(1, 0.0), (3, 0.0), (3, 0.6), (12, 0.6)])
@pytest.mark.parametrize("steps", [1, 4, 60])
def test_few_coordinates_and_blocks_of_steps_agree_with_whole_matrices_and_single_steps(d, intercept, steps):
    n, power, radius, precision, rng = 500, 0.4, 2.0, 1.5, np.random.default_rng(5)
    model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(precision), d, intercept)
    step = 1 / model.smoothness(n, power)
    inside = d - (intercept > 0)
    rows = on_sphere(10_000, inside, math.sqrt(radius**2 - intercept**2), rng)
    rows = np.hstack([rows, np.full((len(rows), d - inside), intercept)])
    truths = _MadeUp(model, _precision(model, 1.0)[None]).truths[:, 0]
    each = np.mean([brute_force(truth, rows, n, power, step, steps, precision) for truth in truths], axis=0)
    law = law_of_draw(model, n, power, step, steps)
    # Either set of rows gives the curvature to about 3 %, hence a squared pull to 6 %; blocks of steps give all parts to 2 %.
    np.testing.assert_allclose([law.pulled, law.noise, law.sampling], each, rtol=0.08, atol=0.01 * each.sum())
    assert np.mean(np.sum(truths**2, axis=1)) == pytest.approx(d / precision, rel=1e-9)


@pytest.mark.parametrize("cell", list(expected_errors.cells(quick=True)), ids=str)
def test_plans_expect_the_squared_error_of_releases(cell):
    """Within 25 % (60 % at 1 and 5 steps), and never below .85 of it; two standard errors are allowed for."""
    _, ratio, spread = expected_errors.measured(cell, 300)
    above = 1.6 if cell[5] in (1, 5) else 1.25
    assert 0.85 - 2 * spread < ratio < above + 2 * spread


def test_a_chain_of_one_step_is_not_a_draw_from_the_posterior():
    """After one step nearly all of the start is left: the error is far above the 1 + 1/power of a chain that arrived."""
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 3)
    plan = sf.plan(model, 2_000, 1.0, 1e-5, mechanism="langevin", steps=1)
    assert plan.expected.value == pytest.approx(1 + 1 / plan["power"])
    assert plan.outlook.value > 30 * plan.expected.value
    assert plan.law.kept < 0.5 < plan.law.pulled / plan.law.squared_error
    assert str(plan.law) in str(plan)
    assert f"{plan.outlook.value:.4g} times that of the maximum-likelihood estimate" in str(plan)
    exact = law_of_draw(model, 2_000, 1.0, None)
    assert exact.squared_error == pytest.approx(exact.posterior_error, rel=1e-9)


def test_truths_follow_the_prior_that_was_given_and_not_the_stronger_one():
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 3)
    strong = model.strengthened(50.0)
    told, untold = (law_of_draw(strong, 2_000, 1.0, None, strength=strength) for strength in (50.0, None))
    assert told.pulled > 10 * untold.pulled
    assert told.posterior_error == pytest.approx(law_of_draw(model, 2_000, 1.0, None).squared_error, rel=1e-9)


@pytest.mark.parametrize(
    "prior", [sf.priors.Ball(sf.priors.Flat(), 2.0), sf.priors.Box(sf.priors.Flat(), [-2.0] * 3, [2.0] * 3)]
)
def test_a_draw_of_little_power_is_spread_over_the_domain(prior):
    """At no power truth and draw are both uniform on it: twice the mean square of one of its points."""
    law = law_of_draw(sf.Gibbs(sf.losses.Logistic(1.0), prior, 3), 2_000, 1e-9, None)
    square = 3 * 4 / 5 if isinstance(prior, sf.priors.Ball) else 3 * 4 / 3
    assert law.squared_error == pytest.approx(2 * square, rel=1e-3)


def test_many_coefficients_and_unequal_precisions_have_a_law_too():
    """Groups of precisions stand for them: a direction that the prior holds fast keeps less."""
    steep = np.geomspace(0.1, 1e4, 300)
    wide, held = (
        law_of_draw(sf.Gibbs(sf.losses.Logistic(1.0), prior, 300, 0.5), 50_000, 0.1, 1e-4, 500)
        for prior in (sf.priors.Gaussian(0.1), sf.priors.Gaussian(steep))
    )
    assert 0 < held.kept < wide.kept < 1
    assert held.squared_error < wide.squared_error


def test_models_without_a_law_say_what_it_needs():
    loose = sf.plan(sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0)), 2_000, 1.0, 1e-6)
    assert loose.law is None
    assert "the law of this one needs a smooth loss and the model's dimension" in str(loose)


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        ("concentrated", "prior precision raised from 2 to "),
        ("exact", "prior precision raised from 2 to "),
        ("diffused", None),
    ],
)
def test_the_first_line_says_how_much_stronger_the_prior_became(mechanism, said):
    plan = sf.plan(sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(2.0), 3), 2_000, 1.0, 1e-6, mechanism=mechanism)
    first = plan.lines()[0][1]
    assert ("raised" in first) == (said is not None)
    if said is not None:
        assert f"{said}{2 * plan['strength']:.3g} to meet the target" in first


def test_the_first_line_of_a_family_says_it_too():
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 500, 0.5, 1e-6, mechanism="concentrated")
    assert f"prior made {plan['strength']:.3g} times as strong to meet the target" in plan.lines()[0][1]
