"""Intervals against sums over every hidden count: with trials, a strength, noise on the count, a floor, and open end cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import sfumato as sf
from sfumato.draws import Draws
from sfumato.models.laws import Gamma
from sfumato.queries.intervals import interval
from sfumato.queries.statistics.cell_masses import log_gamma_mass


def plan_of(model, n: int, **numbers: float) -> dict:
    return {"model": model.to_json(), "n": n, "parameters": {"power": 1.0, "strength": 1.0, **numbers}}


def draws_of(*values: float) -> Draws:
    return Draws(np.array([values]), ("rate",))


def log_prior_counts(total: int, a: float, b: float, floor: float = 0.0) -> np.ndarray:
    """log P(k successes among `total`), the rate from a Beta law that is cut to [floor, 1 - floor]."""
    k = np.arange(total + 1.0)
    orders = special.gammaln(total + 1) - special.gammaln(k + 1) - special.gammaln(total - k + 1)
    return orders + special.betaln(a + k, b + total - k) + np.log(inside(a + k, b + total - k, floor))


def inside(a, b, floor):
    return special.betainc(a, b, 1 - floor) - special.betainc(a, b, floor)


def normalised(logs: np.ndarray) -> np.ndarray:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def rate_below(weights, a, b, total, x):
    k = np.arange(total + 1.0)
    return float((weights * special.betainc(a + k, b + total - k, x)).sum())


@pytest.mark.parametrize(("power", "strength"), [(0.3, 1.0), (1.0, 4.0), (0.5, 0.25)])
@pytest.mark.parametrize("trials", [1, 3])
def test_power_strength_and_trials_enter_the_law_of_a_draw(power, strength, trials):
    a, b, n, draw, level = 2.0, 5.0, 20, 0.6, 0.9
    model, total = sf.families.BetaBinomial(trials, a, b), n * trials
    low, high = interval(draws_of(draw), plan_of(model, n, power=power, strength=strength), level)
    k = np.arange(total + 1.0)
    law = stats.beta.logpdf(draw, strength * a + power * k, strength * b + power * (total - k))
    weights = normalised(log_prior_counts(total, a, b) + law)
    assert rate_below(weights, a, b, total, float(low)) == pytest.approx(0.05, abs=2e-3)
    assert rate_below(weights, a, b, total, float(high)) == pytest.approx(0.95, abs=2e-3)


@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize("noise", [0.7, 3.0])
def test_noise_is_scaled_by_what_a_record_can_move(trials, noise):
    """The total moves by N(0, (noise trials)^2), is cut to what n records can have, and the draw follows from that."""
    a, b, n, draw = 1.5, 1.0, 30, 0.35
    model, total = sf.families.BetaBinomial(trials, a, b), n * trials
    low, high = interval(draws_of(draw), plan_of(model, n, noise=noise), 0.9)
    k, width = np.arange(total + 1.0), noise * trials
    noisy = np.linspace(0, total, 4001)
    law = stats.beta.pdf(draw, a + noisy, b + total - noisy)
    seen = np.trapezoid(stats.norm.pdf((noisy - k[:, None]) / width) / width * law, noisy, axis=1)
    seen += stats.norm.cdf(-k / width) * law[0] + stats.norm.sf((total - k) / width) * law[-1]
    weights = normalised(log_prior_counts(total, a, b) + np.log(seen))
    assert rate_below(weights, a, b, total, float(low)) == pytest.approx(0.05, abs=3e-3)
    assert rate_below(weights, a, b, total, float(high)) == pytest.approx(0.95, abs=3e-3)


@pytest.mark.parametrize("draw", [0.25, 0.5, 0.74])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_with_a_floor_the_rows_say_the_mean_of_a_cut_law(draw, level):
    a, b, n, floor, power = 1.0, 2.0, 24, 0.2, 0.8
    model = sf.families.BetaBernoulli(a, b, floor)
    low, high = interval(draws_of(draw), plan_of(model, n, power=power), level, include="privacy")
    k = np.arange(n + 1.0)
    first, second = a + power * k, b + power * (n - k)
    law = stats.beta.logpdf(draw, first, second) - np.log(inside(first, second, floor))
    cumulative, tail = np.cumsum(normalised(log_prior_counts(n, a, b, floor) + law)), 0.5 * (1 - level)
    ends = [int(np.searchsorted(cumulative, tail, side="right")), int(np.searchsorted(cumulative, 1 - tail))]
    said = []
    for count in ends:
        x = np.linspace(floor, 1 - floor, 20_001)
        density = stats.beta.pdf(x, a + count, b + n - count)
        said.append(np.trapezoid(x * density, x) / np.trapezoid(density, x))
    assert [float(low), float(high)] == pytest.approx(said, rel=1e-4)


@pytest.mark.parametrize("spacing", ["root", "log"])
def test_the_outer_cells_of_an_open_grid_reach_to_zero_and_to_infinity(spacing):
    """Their masses are the tails of the law, which lie outside the range of the grid."""
    law = Gamma(3.0, 2.0, 0.0 if spacing == "root" else 0.9, 2.0, spacing, grid=8)
    values = np.array([0.01 if spacing == "root" else 0.91, 1.99])
    low, high = law.geometry.ends(values)
    assert low[0] == 0
    assert high[1] == np.inf
    masses = np.exp(log_gamma_mass(np.array([3.0]), np.array([2.0]), low, high))[0]
    wanted = [stats.gamma.cdf(high[0] * 2, 3.0), stats.gamma.sf(low[1] * 2, 3.0)]
    assert masses.tolist() == pytest.approx(wanted, rel=1e-6)
