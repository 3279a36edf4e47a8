"""Langevin chains: the law of the running code against closed forms, its public grids, and planted faults."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from mu_audit import agrees, measured_mu, standard_error
from sfumato.engines.opening import open_engine
from sfumato.procedures import chains as gibbs_chains
from sfumato.procedures import last_iterate as finite_chain
from sfumato.samplers import langevin as chains
from sfumato.samplers.langevin import Recursion, ending_grid, gradient_grid, last_iterate, noisy_path

RUNS = 10_000
N, RADIUS, POWER, PRECISION = 5, 4.0, 0.8, 1.0
MEAN = sf.Gibbs(sf.losses.GaussianMean(RADIUS), sf.priors.Gaussian(PRECISION), 1)
CURVATURE = N * POWER + PRECISION
STEP = 0.1 / CURVATURE


def quadratic_chains(first_row: float, steps: int, seed: int, runs: int = RUNS) -> np.ndarray:
    """Last iterates on n rows at 0 but for the first: what the mechanism runs, from the rows to the grid."""
    rows = np.zeros((N, 1))
    rows[0] = first_row
    data = sf.Dataset.from_arrays(rows, schema=sf.Schema.vector(1, data_norm=RADIUS))
    return last_iterate(
        gibbs_chains.field(MEAN, open_engine(data, MEAN, ("gradients",)), POWER),
        gibbs_chains.projection(MEAN, gibbs_chains.projection_radius(MEAN, N, POWER)),
        gibbs_chains.public_start(MEAN, runs, 1),
        STEP,
        steps,
        sf.seeded(seed),
    )[:, 0]


def claim(steps: int, model: sf.Gibbs = MEAN) -> float:
    return finite_chain.price(model, N, 1, finite_chain.Parameters(POWER, STEP, steps)).curve.mu


@pytest.mark.planted
@pytest.mark.parametrize("steps", sized([1, 5, 200], [1, 2, 5, 20, 200]))
def test_measured_mu_of_quadratic_losses_is_the_formula(steps):
    """Rows at +r and -r are the worst neighbours; half the sensitivity and one step too few are both seen to be wrong."""
    up, down = quadratic_chains(RADIUS, steps, 2 * steps), quadratic_chains(-RADIUS, steps, 2 * steps + 1)
    assert agrees(claim(steps), up, down)
    half = sf.Gibbs(sf.losses.GaussianMean(RADIUS / 2), sf.priors.Gaussian(PRECISION), 1)
    assert not agrees(claim(steps, half), up, down)
    assert not agrees(0.8 * claim(steps), up, down)
    if 1 < steps < 20:
        assert not agrees(claim(steps - 1), up, down)
    # The whole law, not only two moments.
    c = 1 - STEP * CURVATURE
    mean = POWER * RADIUS / CURVATURE * (1 - c**steps)
    deviation = math.sqrt(2 * STEP * (1 - c ** (2 * steps)) / (1 - c * c))
    assert uniform_p(stats.norm.cdf((up - mean) / deviation)) > LEVEL
    assert uniform_p(stats.norm.cdf((up - mean) / (0.7 * deviation))) < LEVEL
    assert uniform_p(stats.norm.cdf((up - mean) / (1.3 * deviation))) < LEVEL


@pytest.mark.planted
def test_too_little_noise_is_seen(monkeypatch):
    """The same code with its deviation times 0.8: mu is 1.25 times the claim."""
    planted = SimpleNamespace(sqrt=lambda x: 0.8 * math.sqrt(x), frexp=math.frexp)
    monkeypatch.setattr(chains, "math", planted)
    up, down = quadratic_chains(RADIUS, 5, 1), quadratic_chains(-RADIUS, 5, 2)
    assert not agrees(claim(5), up, down)
    assert agrees(1.25 * claim(5), up, down)


def test_a_start_at_the_optimum_is_seen():
    """Where the start depends on the data the shift is there from the first step on: far more than the formula."""

    def run(row: float, seed: int) -> np.ndarray:
        optimum = POWER * row / CURVATURE
        field = lambda theta: CURVATURE * (theta - optimum)
        return last_iterate(field, lambda t: t, np.full((2000, 1), optimum), STEP, 2, sf.seeded(seed))[:, 0]

    up, down = run(RADIUS, 1), run(-RADIUS, 2)
    assert measured_mu(up, down) > claim(2) + 10 * standard_error(claim(2), 2000)


# --- grids -----------------------------------------------------------------------------------------------------------


def low_bits(values: np.ndarray) -> float:
    """Share of values whose lowest set bit lies below 2^-53."""
    return float(np.mean([Fraction(v).denominator > 2**53 for v in values.tolist()]))


def one_step(centre: float, seed: int) -> np.ndarray:
    """20,000 last iterates of one step whose mean is `centre`, with a deviation near 1."""
    field = lambda theta: np.full_like(theta, -centre / 0.5)
    return last_iterate(field, lambda t: t, np.zeros((sized(4_000, 20_000), 1)), 0.5, 1, sf.seeded(seed))[:, 0]


@pytest.mark.planted
def test_low_bits_of_a_last_iterate_do_not_tell_its_centre(monkeypatch):
    """Every iterate is a multiple of the public grid; the same code ending in floats gives the centre away."""
    for centre in (0.0, 1.0):
        values = one_step(centre, 1)
        grid = ending_grid(0.5)
        assert all(Fraction(v) % grid == 0 for v in values.tolist())
        assert low_bits(values) == 0

    def in_floats(source, mean, deviation, spacing):
        return Fraction(mean + deviation * float(source.source.normal(1)[0])) / spacing

    monkeypatch.setattr(chains, "rounded_normal", in_floats)
    assert low_bits(one_step(0.0, 2)) > 0.15
    assert low_bits(one_step(1.0, 3)) == 0


@pytest.mark.parametrize("step", [1e-9, 0.003, 0.5, 7.0, 1e6])
def test_the_grids_are_powers_of_two_and_about_a_millionth_of_the_noise(step):
    for grid, deviation in ((ending_grid(step), math.sqrt(2 * step)), (gradient_grid(step), step)):
        assert 2.0**-21 < float(grid) / deviation * 1.0000001 <= 2.0**-19
        assert math.log2(float(grid)).is_integer()


@pytest.mark.planted
def test_every_noisy_gradient_lies_on_its_grid():
    recursion = Recursion(lambda t: 0.01 * t, lambda t: t, np.zeros((2, 3)), 0.5, 0.8, 40, 10)
    found = noisy_path(lambda t: 0.1 * np.sin(7 * t), recursion, 0.03, sf.seeded(1), keep=True)
    grid = gradient_grid(0.03)
    assert found.transcript.shape == (2, 40, 3)
    assert all(Fraction(v) % grid == 0 for v in found.transcript.ravel().tolist())
    off = found.transcript + float(grid) / 3
    assert not all(Fraction(v) % grid == 0 for v in off.ravel().tolist())


# --- the steps -------------------------------------------------------------------------------------------------------


class Scripted:
    """Normals from a list; bits from a seeded stream."""

    def __init__(self, normals: np.ndarray) -> None:
        self.normals, self.stream = list(normals), sf.seeded(1)

    def normal(self, shape):
        return self.normals.pop(0).reshape(shape)

    def bits(self, count):
        return self.stream.bits(count)


def test_each_step_is_the_projected_langevin_step():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(6, 2, 3))
    gradient, wall = (lambda t: 2 * t + np.sin(t)), (lambda t: np.clip(t, -0.4, 0.4))
    seen = []

    def recorded(theta):
        seen.append(theta)
        return gradient(theta)

    source = Scripted(noise)
    last = last_iterate(recorded, wall, np.zeros((2, 3)), 0.05, 7, source)
    theta = np.zeros((2, 3))
    for k in range(6):
        theta = wall(theta - 0.05 * gradient(theta) + math.sqrt(0.1) * noise[k])
        np.testing.assert_allclose(seen[k + 1], theta, rtol=1e-14)
    assert len(seen) == 7
    assert source.normals == []
    assert (np.abs(last) <= 0.4).all()


def test_a_path_is_momentum_on_noisy_gradients_and_its_tail_is_averaged():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(9, 2, 3))
    gradient = lambda t: np.tanh(t - 1)
    pull, project = (lambda t: 0.1 * (t + 2)), (lambda t: np.minimum(t, 0.7))
    recursion = Recursion(pull, project, np.zeros((2, 3)), 0.3, 0.6, 9, 4)
    found = noisy_path(gradient, recursion, 0.2, Scripted(noise), keep=True)
    theta = velocity = np.zeros((2, 3))
    iterates = []
    for k in range(9):
        exact = gradient(theta) + 0.2 * noise[k]
        assert (np.abs(found.transcript[:, k] - exact) <= 0.5 * float(gradient_grid(0.2)) + 1e-12).all()
        velocity = 0.6 * velocity + found.transcript[:, k] + pull(theta)
        theta = project(theta - 0.3 * velocity)
        iterates.append(theta)
    np.testing.assert_allclose(found.average, np.mean(iterates[-4:], axis=0), rtol=1e-13)
    assert recursion.retrace(found.transcript).tobytes() == found.average.tobytes()
    assert recursion.retrace(found.transcript * (1 + 1e-15)).tobytes() != found.average.tobytes()
    assert noisy_path(gradient, recursion, 0.2, Scripted(noise)).transcript is None


def test_progress_is_told_by_public_numbers_alone():
    said = []
    report = lambda done, steps: said.append((done, steps))
    last_iterate(lambda t: t, lambda t: t, np.zeros((1, 1)), 0.1, 4, sf.seeded(1), report)
    recursion = Recursion(lambda t: t, lambda t: t, np.zeros((1, 1)), 0.1, 0.0, 3, 1)
    noisy_path(lambda t: t, recursion, 1.0, sf.seeded(1), report=report)
    assert said == [(k, 4) for k in (1, 2, 3, 4)] + [(k, 3) for k in (1, 2, 3)]


def test_chains_are_independent():
    """Correlation between chains over coordinates that share one law: none; a shared stream of noise would be 1."""
    values = last_iterate(lambda t: t, lambda t: t, np.zeros((2, 4000)), 0.2, 5, sf.seeded(9))
    assert abs(np.corrcoef(values)[0, 1]) < 4.9 / math.sqrt(4000)


@pytest.mark.planted
def test_the_measure_itself_is_right():
    rng = np.random.default_rng(5)
    first, second = rng.normal(1.3, 2.0, RUNS), rng.normal(0.0, 2.0, RUNS)
    assert agrees(0.65, first, second)
    assert not agrees(0.72, first, second)
    tries = [measured_mu(a, b) for a, b in zip(rng.normal(2, 1, (400, 200)), rng.normal(0, 1, (400, 200)), strict=True)]
    assert np.std(tries) == pytest.approx(standard_error(2.0, 200), rel=0.15)
