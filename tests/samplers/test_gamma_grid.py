"""Gamma laws on the public grid: masses are integrals, their error is below what is charged, and wrong ones are caught."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
from mpmath import mpf
from scipy import stats

import oracles
from goodness import LEVEL, uniform_p
from sfumato.errors import ArgumentError
from sfumato.models.families import ExponentialRate, GammaPoisson, LaplaceScale
from sfumato.models.laws import Gamma
from sfumato.randomness import seeded
from sfumato.samplers import gamma_grid, grid, laws


def exact_log_masses(law: Gamma, cells: list[int]) -> list[mpf]:
    """Log masses relative to the density at the (clipped) mode in y, in 30 digits: the edges are the floats of the grid."""
    edges = law.geometry.log_edges
    shape, rate = mpf(law.shape), mpf(law.rate) * mpf(law.geometry.reference)
    centre = mp.log(shape / rate)
    if law.closed:
        centre = min(max(centre, mpf(float(edges[0]))), mpf(float(edges[-1])))
    height = shape * centre - rate * mp.exp(centre)
    found = []
    for cell in cells:
        first = cell - (0 if law.closed else 1)
        low = mpf(float(edges[first])) if first >= 0 else None
        high = mpf(float(edges[first + 1])) if first + 1 < len(edges) else None
        if low is None or high is None:
            with mp.workdps(60):
                share, _ = oracles.gamma_tail(shape, rate * mp.exp(high if low is None else low), low is not None)
                found.append(mp.log(share) + mp.loggamma(shape) - shape * mp.log(rate) - height)
            continue
        log_f = lambda y: shape * y - rate * mp.exp(y) - height
        width = high - low
        cuts = {low + width * k / 4 for k in range(5)}
        cuts |= {low + width / 2**k for k in range(3, 10)} | {high - width / 2**k for k in range(3, 10)}
        found.append(mp.log(mp.quad(lambda y: mp.exp(log_f(y)), sorted(cuts), maxdegree=4)))
    return found


def spread_of_errors(law: Gamma, logs: np.ndarray) -> float:
    """Largest difference of log errors over cells from the peak to the ends of what is told, the first and last among them."""
    mp.mp.dps = 34
    alive = np.flatnonzero(logs > logs.max() - 688)
    shares = {int(alive[int(q * (len(alive) - 1))]) for q in (0, 0.02, 0.3, 0.5, 0.6, 0.9, 1)}
    cells = sorted(shares | set(map(int, alive[:3])))
    errors = [float(e - mpf(float(logs[c]))) for e, c in zip(exact_log_masses(law, cells), cells, strict=True)]
    return max(errors) - min(errors)


def everywhere(law: Gamma) -> np.ndarray:
    return gamma_grid.gamma_masses(law, gamma_grid.nodes_for(law)).everywhere()


CORNERS = {
    "no event, small prior": GammaPoisson(0.05, 1.0, 20).law([0], 1000),
    "no event, tiny prior": GammaPoisson(1e-6, 1.0, 20).law([0], 10),
    "one event": GammaPoisson(0.05, 1.0, 20).law([1], 100_000),
    "few events among many records": GammaPoisson(0.05, 1.0, 20).law([90], 5_000_000),
    "many events": GammaPoisson(2.0, 0.1, 20).law([100_000_000], 5_000_000),
    "barely tempered data": ExponentialRate(0.05, 1.0, 20.0).law([3], 10, power=1e-6),
    "long durations": ExponentialRate(0.05, 1.0, 20.0).law([20_000], 1000),
    "a hundred million": ExponentialRate(0.05, 1.0, 20.0).law([5_000_000], 100_000_000),
    "strong prior": ExponentialRate(2.0, 1.0, 5.0).law([1000], 1000, strength=1e5),
    "trimmed, mode inside": ExponentialRate(2.0, 1.0, 10.0, 0.1, 5.0).law([1000], 1000),
    "trimmed, mode far below": ExponentialRate(2.0, 1.0, 10.0, 0.1, 5.0).law([1_000_000], 100_000),
    "trimmed, mode far above": ExponentialRate(2.0, 1.0, 10.0, 0.1, 5.0).law([0], 1_000_000),
    "trimmed, small shape": ExponentialRate(0.05, 1.0, 1e4, 1e-3, 100.0).law([1e4], 1, power=1e-3),
    "trimmed to a narrow range": LaplaceScale(1.0, 0.5, 0.6, 10.0).law([200], 100),
    "trimmed, mode at the edge": LaplaceScale(1.0, 0.5, 4.0, 10.0).law([201], 100),
}


@pytest.mark.parametrize("name", list(CORNERS))
def test_relative_error_of_masses_is_below_what_is_charged(name):
    law = CORNERS[name]
    assert spread_of_errors(law, everywhere(law)) < gamma_grid.mass_error(law) <= 1e-8


@pytest.mark.parametrize("name", ["few events among many records", "a hundred million", "trimmed, mode far below"])
def test_too_few_nodes_are_caught(name):
    law = CORNERS[name]
    assert spread_of_errors(law, gamma_grid.gamma_masses(law, 3).everywhere()) > gamma_grid.mass_error(law)


@pytest.mark.planted
def test_float_differences_of_distribution_functions_are_caught():
    law = ExponentialRate(2.0, 1.0, 10.0).law([1000], 1000)
    edges = law.geometry.log_edges
    theta = law.geometry.reference * np.exp(edges)
    naive = np.diff(stats.gamma.cdf(theta, law.shape, scale=1 / law.rate))
    masses = everywhere(law)[1:-1]
    tail = np.flatnonzero((masses < masses.max() - 60) & (masses > masses.max() - 200) & (theta[1:] > 1))
    exact = np.exp(masses[tail] - masses.max()) * naive.max()
    assert np.median(np.abs(naive[tail] / exact - 1)) > 0.5


@pytest.mark.planted
def test_a_density_written_about_a_mode_far_outside_is_caught():
    """The planted fault: about the mode itself the exponents are of the size of the data, and so is their rounding."""
    law = CORNERS["trimmed, mode far above"]
    edges = law.geometry.log_edges
    reference = law.geometry.reference
    mode = math.log(law.shape / law.rate / reference)
    naive = grid.log_masses(lambda d: law.shape * (d - np.expm1(d)), mode, edges, 128, closed=True).everywhere()
    assert spread_of_errors(law, naive - naive.max()) > gamma_grid.mass_error(law)


@pytest.mark.parametrize("nodes", [4, 8, 12])
@pytest.mark.parametrize("shape", [0.3, 50.0, 4000.0])
def test_the_derived_quadrature_error_is_a_bound(nodes, shape, monkeypatch):
    """On a grid so coarse, with nodes so few, that the error can be seen: it stays below the bound that picks the nodes."""
    monkeypatch.setattr(grid, "_STEEP", math.inf)  # steep cells would be mended by finer panels
    law = Gamma(shape, shape / 0.7, 1e-2, 30.0, "log", grid=512)
    half, slope, curvature, _ = gamma_grid._blocks(law.geometry, shape)
    bound = float(gamma_grid._quadrature_error(nodes, half, slope, curvature).max())
    rough = gamma_grid.gamma_masses(law, nodes).everywhere()
    fine = gamma_grid.gamma_masses(law, 128).everywhere()
    alive = np.flatnonzero(fine[1:-1] > fine.max() - 690) + 1
    seen = float(np.abs(np.expm1(rough[alive] - fine[alive])).max())
    assert seen <= 1.01 * bound + 1e-9
    if (nodes, shape) == (8, 4000.0):
        assert seen > 1e-4


@pytest.mark.planted
@pytest.mark.parametrize("name", ["one event", "long durations", "trimmed, mode inside", "trimmed to a narrow range"])
def test_draws_follow_the_law_and_stay_on_the_grid(name):
    law = CORNERS[name]
    values = laws.draw(law, 4000, seeded(5))[:, 0]
    assert set(values) <= set(law.geometry.middles)
    # Spread over their cells, so that the law is continuous again.
    place = np.searchsorted(law.geometry.middles, values) + np.random.default_rng(1).random(len(values))
    if law.spacing == "root":
        theta = law.upper * (place / law.grid) ** 2
    else:
        theta = law.lower * (law.upper / law.lower) ** (place / law.grid)

    def level(scale: float) -> np.ndarray:
        cdf = lambda x: stats.gamma.cdf(x, law.shape, scale=scale / law.rate)
        low, high = (cdf(law.lower), cdf(law.upper)) if law.closed else (0.0, 1.0)
        return (cdf(theta) - low) / (high - low)

    assert uniform_p(level(1.0)) > LEVEL
    assert uniform_p(level(0.7)) < LEVEL
    assert uniform_p(level(1.3)) < LEVEL


def test_every_cell_is_possible_under_every_data_set():
    for name in ("no event, tiny prior", "a hundred million", "trimmed, mode far above"):
        law = CORNERS[name]
        weights = grid.integer_weights(gamma_grid.gamma_masses(law, gamma_grid.nodes_for(law)))
        assert weights.cells == law.grid
        assert weights.cumulative[0] > 0
        assert all(b > a for a, b in zip(weights.cumulative, weights.cumulative[1:], strict=False))


def test_grid_nodes_and_error_do_not_depend_on_the_data():
    for model, totals in (
        (GammaPoisson(1.0, 1.0, 9), (0, 4500, 9000)),
        (ExponentialRate(1.0, 1.0, 9.0), (0, 70, 9000)),
    ):
        found = [model.law([t], 1000, 0.3, 2.0) for t in totals]
        assert len({(law.shape, law.rate) for law in found}) == 3
        assert len({gamma_grid.nodes_for(law) for law in found}) == 1
        assert len({gamma_grid.mass_error(law) for law in found}) == 1
        assert all(law.geometry.middles is found[0].geometry.middles for law in found)


@pytest.mark.parametrize("model", [GammaPoisson(0.5, 1.0, 4), ExponentialRate(0.5, 1.0, 4.0)])
@pytest.mark.parametrize("n", [1, 50, 20_000])
def test_the_grid_covers_every_data_set(model, n):
    for total in (0, 2 * n, 4 * n):
        law = model.law([total], n)
        posterior = stats.gamma(law.shape, scale=1 / law.rate)
        # Mass of the two open cells beyond the range: of the law, and of what lies below the first cell of square roots.
        assert posterior.sf(law.upper) < 1e-15
        assert posterior.cdf(law.lower) < 1e-15 or law.lower == 0


def test_what_cannot_be_told_is_refused():
    law = ExponentialRate(2.0, 1e-3, 3.0).law([0], 100_000_000)
    with pytest.raises(ArgumentError, match="at most 4 standard deviations"):
        gamma_grid.mass_error(law)
    with pytest.raises(ArgumentError, match="spacing"):
        gamma_grid.mass_error(replace(law, spacing="square"))
    with pytest.raises(ArgumentError, match="spacing"):
        gamma_grid.mass_error(Gamma(1.0, 1.0, 0.0, 3.0, "log"))
    with pytest.raises(ArgumentError, match="tighter bounds"):
        gamma_grid.nodes_for(Gamma(1e-3, 1.0, 1e-300, 1e300, "log", grid=64))
