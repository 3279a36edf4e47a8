"""What a mechanism charges is what its formula says, errors of the draw included; and a plan beyond its target is refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from pricing import carried_out, chain_price, lattice_price, trials_price
from sfumato.calibrate import Target
from sfumato.engines.opening import open_engine
from sfumato.errors import CalibrationError
from sfumato.mechanisms import noisy_statistics, plan_with
from sfumato.mechanisms.protocol import Request
from sfumato.procedures import chains, envelope, kinked_grid, last_iterate, lattice, loss_values, noisy_totals, path
from sfumato.samplers.finite import LOG_ERROR
from sfumato.theorems.gaussian import gaussian_mechanism

SIGNS = sf.Category([-1, 1], missing=-1)


def logistic(d: int = 3, precision: float = 2.0) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(precision), d)


def boxed(d: int, half: float = 1.0, precision: float = 1.0, mean=None) -> sf.Gibbs:
    prior = sf.priors.Box(sf.priors.Gaussian(precision, mean), [-half] * d, [half] * d)
    return sf.Gibbs(sf.losses.Logistic(1.0), prior, d)


# --- chains ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("steps", [1, 7, None])
def test_the_rounding_of_a_langevin_step_is_charged(steps, draws):
    """mu = (h G + 2 e)/sqrt(2 h) sqrt(factor draws), factor = sum of c^(2k) over ... as (1-c^t)/(1+c^t) (1+c)/(1-c)."""
    model, n, power = logistic(), 500, 0.4
    step, count = last_iterate.schedule(model, n, power, steps)
    c = 1 - step * model.strong_convexity(n, power)
    factor = (1 - c**count) / (1 + c**count) * (1 + c) / (1 - c)
    error = chains.step_error(model, n, power, step)
    assert error > 0
    mu = (step * 2 * power + 2 * error) / math.sqrt(2 * step) * math.sqrt(factor * draws)
    found = chain_price(model, n, power, draws, steps).curve.mu
    assert found == pytest.approx(mu, rel=1e-13)
    assert found > (step * 2 * power) / math.sqrt(2 * step) * math.sqrt(factor * draws) * (1 + 1e-12)


@pytest.mark.parametrize(("steps", "runs"), [(1, 1), (160, 1), (160, 4)])
def test_the_rounding_of_a_noisy_mean_gradient_is_charged(steps, runs):
    """mu = sqrt(T k) (G/n + 2 e)/sigma for T noisy mean gradients of k chains, G = 2 for a logistic loss of radius 1."""
    model, n, sigma = logistic(), 10_000, 0.01
    error = chains.noisy_mean_error(model, n, sigma)
    assert error > 0
    exact = math.sqrt(steps * runs) * (2 / n) / sigma
    found = path.price_of_noise(model, n, sigma, steps, runs).curve.mu
    assert found == pytest.approx(exact + math.sqrt(steps * runs) * 2 * error / sigma, rel=1e-13)
    assert found > exact * (1 + 1e-12)


def test_the_error_of_a_sum_covers_the_classical_bound():
    """k additions in a row lose at most k 2^-53 of the summed absolute values, whatever the order; and slope and product."""
    for n in (1, 100, 8_192, 1_000_000):
        for radius in (0.1, 1.0, 30.0):
            model = sf.Gibbs(sf.losses.Logistic(radius), sf.priors.Gaussian(1.0), 5)
            additions = min(n, 8_192) + n / 8_192 + 3
            assert chains.summation_error(model, n) >= additions * 2.0**-53 * n * radius
            noisy = chains.noisy_mean_error(model, n, 0.5)
            assert noisy >= chains.summation_error(model, n) / n + 4 * 2.0**-53 * (radius + 0.5 * math.sqrt(5))


def test_a_gradient_in_floats_stays_within_the_stated_error():
    """Sums of 20,000 float gradients against sums without rounding."""
    rng = np.random.default_rng(2)
    n, d, power = 20_000, 3, 1.0
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-12)
    labels = rng.choice([-1, 1], n)
    data = sf.Dataset.from_arrays(rows, labels, schema=sf.Schema.vector(d, data_norm=1.0, target=SIGNS))
    model = logistic(d)
    theta = np.array([[0.3, -0.7, 0.2]])
    found = open_engine(data, model, ("gradients",)).gradient(theta)[0]
    slopes = -labels / (1 + np.exp(labels * (rows @ theta[0])))
    exact = [math.fsum(slopes * rows[:, k]) for k in range(d)]
    step = 1 / model.smoothness(n, power)
    assert np.linalg.norm(found - exact) <= chains.step_error(model, n, power, step) / step


@pytest.mark.parametrize("steps", [1, 2, 5, 50, None])
@pytest.mark.parametrize("power", [1e-3, 0.1, 1.0])
def test_a_chain_that_stands_for_an_exact_draw_costs_no_less_than_either(steps, power):
    """Few steps are dearer as an exact draw, many as a chain: the guarantee takes the larger."""
    model, n = logistic(), 300
    exact = chains.sharp_price(model, n, power, 2).curve.mu
    chain = chain_price(model, n, power, 2, steps).curve.mu
    assert exact == pytest.approx(2 * power / math.sqrt(2.0) * math.sqrt(2), rel=1e-12)
    assert chain_price(model, n, power, 2, steps, 1.0).curve.mu == max(exact, chain)
    if steps == 1:
        assert exact > chain


def test_a_long_chain_over_many_records_is_dearer_than_the_exact_draw():
    """The rounding of its sums is charged at every step, and an exact draw has none."""
    model, n, steps = logistic(precision=1.0), 10**6, 10**9
    exact, chain = chains.sharp_price(model, n, 1.0, 1).curve.mu, chain_price(model, n, 1.0, 1, steps).curve.mu
    assert chain > exact
    assert chain_price(model, n, 1.0, 1, steps, 1.0).curve.mu == chain


# --- the exponential mechanism ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "draws"), [(0.05, 1), (0.5, 1), (0.5, 3)])
def test_errors_of_the_exponent_are_priced_by_trials(power, draws):
    """Two exponents off by e each move a log ratio by 2 e, its range by 4 e: 2 power Delta + 4 e for every draw."""
    model, n = boxed(3), 200
    error = envelope.log_error(model, n, power)
    assert error > 1e-12
    delta = model.constants.bound
    single = trials_price(model, n, power, 1, 10).curve.epsilon_value
    assert single == pytest.approx(2 * power * delta + 4 * error, rel=1e-13)
    assert single > (2 * power * delta + 3.9 * error) * (1 + 1e-14)
    found = trials_price(model, n, power, draws, 10).curve
    assert found.renyi(math.inf) == pytest.approx(draws * single, rel=1e-12)


@pytest.mark.parametrize("power", [1e-3, 0.1, 1.0])
def test_errors_of_the_exponent_are_priced_on_a_lattice(power):
    """Delta, one unit of rounding between two records, and twice the error of a log weight over the power."""
    model = boxed(2)
    unit, reach = loss_values.unit_of(model), loss_values.value_bound(model)
    assert reach == pytest.approx(math.sqrt(2))
    assert 2.0**-36 < unit / reach <= 2.0**-35
    found = lattice.sensitivity(model, power)
    least = model.constants.bound + unit + 2 * LOG_ERROR / power
    assert least <= found <= least + 2 * loss_values.VALUE_ERROR * loss_values.magnitude(model) + 1e-13
    assert lattice_price(model, 100, power, 1).curve.epsilon_value >= 2 * power * least


def lattice_exponents(model: sf.Gibbs, rows, labels, power: float, monkeypatch) -> np.ndarray:
    """The exponent of the rejection step at EVERY point of the lattice."""
    seen: list[np.ndarray] = []

    def watch(propose, exponent, trials, draws, otherwise, source, report):
        steps = envelope.envelope(model, len(rows), power).steps
        places = np.array(list(itertools.product(*(range(count + 1) for count in steps))))
        seen.append(exponent(places))
        return otherwise[None]

    monkeypatch.setattr(envelope.rejection, "first_kept", watch)
    schema = sf.Schema.vector(rows.shape[1], data_norm=1.0, target=SIGNS)
    engine = open_engine(sf.Dataset.from_arrays(rows, labels, schema=schema), model, ("values",))
    carried_out(envelope, model, len(rows), 1, envelope.Parameters(power, 1), engine, sf.seeded(1))
    return seen[0]


@pytest.mark.parametrize("d", [3, 4])
def test_a_rejection_exponent_is_never_negative_where_the_mode_lies_between_lattice_points(d, monkeypatch):
    """The worst case: a quadratic whose minimum is in the middle of a cell; without the gap a chance would exceed 1."""
    precision, half = 100.0, 0.06 if d == 3 else 0.03
    n, power = 2, 1e-4
    shape = envelope.envelope(boxed(d, half, precision), n, power)
    middle = [
        low + (count // 2 + 0.5) * step
        for low, count, step in zip(shape.lower, shape.steps, shape.spacing, strict=True)
    ]
    model = boxed(d, half, precision, middle)
    rows = np.zeros((n, d))
    exponents = lattice_exponents(model, rows, np.array([1, -1]), power, monkeypatch)
    assert len(exponents) == math.prod(count + 1 for count in shape.steps)
    assert exponents.min() >= 0
    assert exponents.min() < shape.gap - 0.1 * envelope._GAP  # the gap is used


@pytest.mark.parametrize("pull", [0.0, 0.577])
def test_a_rejection_exponent_is_never_negative_on_a_box_or_ball(pull, monkeypatch):
    rng = np.random.default_rng(3)
    n, power = 30, 0.3
    rows = np.full((n, 3), pull) + (0 if pull else rng.uniform(-0.5, 0.5, (n, 3)))
    labels = np.where(rng.random(n) < 0.8, 1, -1)
    assert lattice_exponents(boxed(3, 0.2, 30.0), rows, labels, power, monkeypatch).min() >= 0


# --- the last check of a plan ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [Target(1.0, 1e-6), Target(curve=sf.Gaussian(0.2))], ids=["point", "curve"])
def test_a_mechanism_that_overshoots_is_refused(target, monkeypatch):
    """A plan with a tenth less noise than the target needs never leaves `plan_with`."""
    model = sf.families.BetaBernoulli(2, 3)
    request = Request(model, 100, target)
    sound = plan_with("noisy-statistics", request)
    assert target.admits(sound.guarantee)
    noise = 0.9 * float(sound["noise"])
    bold = replace(sound, parameters=noisy_totals.Parameters(noise), guarantee=gaussian_mechanism(noise=noise))
    monkeypatch.setattr(noisy_statistics, "plan", lambda *arguments, **options: bold)
    with pytest.raises(CalibrationError, match="exceeds the target"):
        plan_with("noisy-statistics", request)


@pytest.mark.parametrize("noise", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("sensitivity", [0.5, 1.0, 3.0])
def test_noisy_statistics_cost_sensitivity_over_noise(noise, sensitivity):
    found = gaussian_mechanism(noise=noise, sensitivity=sensitivity).curve.mu
    assert sensitivity / noise <= found <= sensitivity / noise * (1 + 1e-14)


def test_noise_is_added_in_units_of_the_sensitivity(monkeypatch):
    """Noisy totals of many releases spread by noise times sensitivity, which is 80 for this family by group."""
    from sfumato.engines.codes import CodesEngine

    model = sf.grouped(sf.families.NormalMean(1.0, 0, 80), "g", ["a", "b"])
    schema = sf.Schema({"g": sf.Category(["a", "b"], missing="a"), "x": sf.Number(0, 80)})
    data = sf.Dataset.from_table({"g": ["a", "b"] * 50, "x": [40.0] * 100}, schema=schema)
    plan = sf.plan(model, 100, 1.0, 1e-6, mechanism="noisy-statistics")
    engine = CodesEngine(data, model.columns(schema))
    totals = [float(count * unit) for count, unit in zip(engine.totals(model.tally), model.units, strict=True)]
    made = [noisy_totals.carry_out(plan.task, engine, sf.seeded(seed)).totals for seed in range(150)]
    seen = np.array(made) - totals
    # A standard deviation from N normals is off by 1/sqrt(2 N) of itself: five of these.
    assert np.std(seen) == pytest.approx(float(plan["noise"]) * 80.0, rel=5 / math.sqrt(2 * seen.size))


# --- errors of sums, exponents and cells, from their definitions -------------------------------------------------------


def test_a_step_error_covers_the_update_itself():
    """Where the records say nothing, what is left is the rounding of theta - h g + noise: a few units of its size."""
    model, n, power = logistic(d=4, precision=1e-6), 1, 1e-9
    step = 1e3
    reach = chains.projection_radius(model, n, power)
    update = 4 * 2.0**-53 * (reach + math.sqrt(2 * step * 4))
    assert chains.step_error(model, n, power, step) >= update


@pytest.mark.parametrize("power", [0.01, 1.0])
def test_an_exponent_is_the_difference_of_two_sums_of_rounded_values(power):
    """Each of n values is off by half a unit, in both sums: n power unit at least."""
    model, n = boxed(3), 5_000
    assert envelope.log_error(model, n, power) >= power * n * loss_values.unit_of(model)
    assert envelope.log_error(model, 2 * n, power) >= 1.9 * envelope.log_error(model, n, power)


@pytest.mark.parametrize("d", [3, 5])
def test_the_promised_success_is_that_of_the_formula(d):
    """T_i(M + k m)/T_i((1 - k) m) for every side, and twice the gap and the error of an exponent."""
    model, n, power = boxed(d, 0.5, 4.0), 60, 0.3
    m, big_m = model.strong_convexity(n, power), model.smoothness(n, power)
    share = min(0.1, 0.5 / d)
    found = envelope.envelope(model, n, power)
    log_chance = -2 * (0.02 + found.log_error)
    for spacing, count in zip(found.spacing, found.steps, strict=True):
        j = np.arange(1, count + 1) * spacing
        sums = [0.5 + np.exp(-0.5 * c * j * j).sum() for c in (big_m + share * m, (1 - share) * m)]
        log_chance += math.log(sums[0] / sums[1])
    assert found.acceptance == pytest.approx(math.exp(log_chance), rel=1e-6)
    assert found.acceptance <= math.exp(log_chance)
    assert found.curvature == pytest.approx((1 - share) * m, rel=1e-12)
    assert found.gap == pytest.approx(0.02 + found.log_error, rel=1e-12)


@pytest.mark.parametrize("draws", [1, 4])
def test_the_slack_of_all_draws_is_a_hundredth_of_delta(draws):
    """Every draw has its own trials: together they may fail with a hundredth of delta/(1 + e^eps), or 1e-9."""
    plan = sf.plan(boxed(3), 300, 1.0, 1e-6, mechanism="exponential", draws=draws)
    allowed = min(1e-9, 0.01 * 1e-6 / (1 + math.e))
    assert 0 < plan.guarantee.slack <= allowed * (1 + 1e-9)
    assert plan.guarantee.delta(1.0) <= 1e-6


def hinged(d: int) -> sf.Gibbs:
    prior = sf.priors.Box(sf.priors.Gaussian(2.0), [-0.5] * d, [0.5] * d)
    return sf.Gibbs(sf.losses.Hinge(1.0), prior, d)


@pytest.mark.parametrize("d", [1, 2])
def test_both_the_mass_of_a_cell_and_the_sum_are_charged_with_kinks(d):
    """Twice the error of a log mass: of rounded values, of the bend of the prior, and of a cell's width in two dimensions."""
    model, n, power = hinged(d), 40, 0.5
    curve = kinked_grid.price(model, n, 1, kinked_grid.at(model, n, 1, power, 1.0)).curve
    error = dict(curve.parameters)["error"]
    window = kinked_grid.bounded(model, n, power)
    unit = loss_values.unit_of(window)
    least = power * n * (0.5 * unit + loss_values.VALUE_ERROR * loss_values.magnitude(window))
    count = kinked_grid.points(model, n, power)
    lower, upper = (np.array(side) for side in (window.prior.lower, window.prior.upper))
    half = 0.5 * (upper - lower) / count
    if d == 1:
        least += (0.5 * 2.0 * float(half[0]) ** 2) ** 2 / 8
    else:
        slope = power * n * 1.0 + 2.0 * float(np.linalg.norm(np.maximum(np.abs(lower), np.abs(upper))))
        least += slope * float(np.linalg.norm(half)) * 2.0**-kinked_grid.FINE
    assert error >= 2 * least
    assert dict(curve.parameters)["mu"] == pytest.approx(2 * power / math.sqrt(2.0), rel=1e-9)


def test_the_success_of_a_trial_in_a_cell_allows_for_errors_of_its_exponent():
    model, n, power = hinged(2), 40, 0.5
    window = kinked_grid.bounded(model, n, power)
    found = kinked_grid._success(window, n, power, 30)
    lower, upper = (np.array(side) for side in (window.prior.lower, window.prior.upper))
    reach = 0.5 * float(np.linalg.norm(upper - lower)) / 30
    error = kinked_grid._value_error(window, n, power)
    assert found <= math.exp(-2 * kinked_grid._slope(window, n, power) * reach - 4 * error)
    assert kinked_grid._slope(window, n, power) >= power * n + 2.0 * float(np.linalg.norm(upper))
