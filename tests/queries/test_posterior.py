"""The posterior over a hidden statistic: against brute sums over every count, quadrature and simulation."""

from __future__ import annotations

import math
import time

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import integrate, special, stats

import sfumato as sf
from sfumato.grids.rates import RateGrid
from sfumato.models.families import _cells as grids
from sfumato.queries.statistics import cell_masses, events, normal_means, rates, shares, vectors
from sfumato.queries.statistics.posterior import parameter_posterior, statistic_posterior
from sfumato.queries.statistics.protocol import Numbers

F = sf.families


def brute_rate(n, power, a, b, values, x, noise=0.0):
    """P(theta <= x | draws) by the sum over every count, and over a fine grid of noisy ones."""
    k = np.arange(n + 1.0)

    def log_draws(held):
        first, second = a + power * held, b + power * (n - held)
        return sum(stats.beta.logpdf(v, first, second) for v in values)

    if noise == 0:
        logs = log_draws(k)
    else:
        seen = np.linspace(0, n, 4001)
        inner = 0.5 * (seen[1:] + seen[:-1])
        edges = special.ndtr((seen[None] - k[:, None]) / noise)
        parts = np.column_stack([edges[:, 0], np.diff(edges, axis=1), 1 - edges[:, -1]])
        held = np.concatenate([[0.0], inner, [float(n)]])
        like = log_draws(held)
        with np.errstate(divide="ignore"):  # a count that noise cannot bring to the draws has weight 0
            logs = np.log(parts @ np.exp(like - like.max()))
    logs = logs + special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    logs += special.betaln(a + k, b + n - k)
    weights = np.exp(logs - logs.max())
    return float((weights * special.betainc(a + k, b + n - k, x)).sum() / weights.sum())


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 400),
    st.floats(0.01, 1.0),
    st.floats(0.3, 4.0),
    st.floats(0.3, 4.0),
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4),
    st.sampled_from([0.0, 3.0, 40.0]),
)
def test_a_rate_equals_the_sum_over_every_count(n, power, a, b, values, noise):
    model = F.BetaBernoulli(a, b)
    power = 1.0 if noise else power
    statistic = rates.rate_statistic(model, model, n, Numbers(power, 1.0, noise), np.array(values))
    belief = parameter_posterior(statistic)
    for level in (0.05, 0.5, 0.95):
        assert brute_rate(n, power, a, b, values, belief.quantile(level), noise) == pytest.approx(level, abs=4e-3)


@pytest.mark.planted
def test_a_forgotten_power_or_prior_is_seen_by_the_same_sum():
    model = F.BetaBernoulli(1, 1)
    for power, a in ((1.0, 1.0), (0.2, 4.0)):
        other = F.BetaBernoulli(a, 1)
        wrong = rates.rate_statistic(other, other, 100, Numbers(power, 1.0, 0.0), np.array([0.3]))
        found = parameter_posterior(wrong).quantile(0.95)
        assert abs(brute_rate(100, 0.2, 1, 1, [0.3], found) - 0.95) > 0.01
    assert model.alpha == 1


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.5), (1.0, 1.0), (0.3, 800.0), (5000.0, 3000.0)])
@pytest.mark.parametrize("cells", [1 << 12, 1 << 16])
def test_the_masses_of_all_cells_of_a_rate_sum_to_one(a, b, cells):
    middles = np.sin((np.arange(cells) + 0.5) * 0.5 * math.pi / cells) ** 2
    low, high = RateGrid(0.0, cells).ends(middles)
    assert (low[0], high[-1]) == (0, 1)
    np.testing.assert_allclose(low[1:], high[:-1], rtol=1e-9)
    logs = cell_masses.log_beta_mass(np.array([a]), np.array([b]), low, high)
    assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-6)
    # A density times a width misses what piles up in the first cell.
    if a < 0.1:
        assert np.exp(logs[0, 0]) == pytest.approx(stats.beta.cdf(high[0], a, b), rel=1e-9)
        assert stats.beta.pdf(middles[0], a, b) * (high[0] - low[0]) < 0.5 * np.exp(logs[0, 0])


@pytest.mark.parametrize("model", [F.GammaPoisson(0.5, 1.0, 4), F.ExponentialRate(1.0, 1.0, 2.0)])
def test_the_masses_of_all_cells_of_a_gamma_law_sum_to_one(model):
    law = model.law([7], 10, 0.5, 1.0)
    low, high = law.geometry.ends(law.geometry.middles)
    logs = cell_masses.log_gamma_mass(np.array([law.shape]), np.array([law.rate]), low, high)
    assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-7)


def test_restricted_laws_are_normalised_inside_their_limits():
    for a, b in ((3.0, 5.0), (0.5, 4000.0), (9000.0, 2.0)):
        found = float(cell_masses.log_beta_inside(np.array([a]), np.array([b]), 0.1)[0])
        nodes = [0.1, 0.101, 0.105, 0.12, 0.2, 0.5, 0.8, 0.88, 0.895, 0.899, 0.9]
        raw = mpmath.quad(lambda x: x ** (mpmath.mpf(a) - 1) * (1 - x) ** (mpmath.mpf(b) - 1), nodes)
        exact = mpmath.log(raw) - mpmath.log(mpmath.beta(a, b))
        assert found == pytest.approx(float(exact), abs=2e-3)
    for shape, rate in ((3.0, 2.0), (60.0, 1.0)):
        found = float(cell_masses.log_gamma_inside(np.array([shape]), np.array([rate]), 0.5, 4.0)[0])
        mass = integrate.quad(lambda x: stats.gamma.pdf(x, shape, scale=1 / rate), 0.5, 4.0)[0]
        assert found == pytest.approx(math.log(mass), rel=1e-6)


@pytest.mark.parametrize(("power", "noise"), [(0.05, 0.0), (1.0, 8.0)])
def test_a_poisson_rate_equals_a_negative_binomial_sum(power, noise):
    model, n, value = F.GammaPoisson(2.0, 1.0, 50), 60, 2.3
    statistic = events.event_statistic(model, model, n, Numbers(power, 1.0, noise / 50), np.array([value]))
    belief = parameter_posterior(statistic)
    s = np.arange(0.0, 1500)
    logs = stats.nbinom.logpmf(s, 2.0, 1 / (1 + n))
    law = lambda held: stats.gamma.logpdf(value, 2.0 + power * held, scale=1 / (1 + power * n))
    if noise == 0:
        logs = logs + law(s)
    else:
        held = np.linspace(0, 1500, 3001)
        edges = special.ndtr((held[None] - s[:, None]) / noise)
        like = np.exp(law(0.5 * (held[1:] + held[:-1])))
        logs = logs + np.log(np.diff(edges, axis=1) @ like + edges[:, 0] * math.exp(law(0.0)) + 1e-300)
    weights = np.exp(logs - logs.max())
    for level in (0.05, 0.5, 0.95):
        found = (weights * special.gammainc(2.0 + s, (1 + n) * belief.quantile(level))).sum() / weights.sum()
        assert found == pytest.approx(level, abs=4e-3)


def test_a_normal_mean_far_from_its_bounds_is_the_closed_form():
    model, n, power, value = F.NormalMean(1.0, -100.0, 100.0, 0.0, 1.0), 200, 0.03, 0.4
    found = parameter_posterior(
        normal_means.mean_statistic(model, model, n, Numbers(power, 1.0, 0.0), np.array([value]))
    )
    precision = 1.0 + power * n
    seen, spread = value * precision / (power * n), precision / (power * n) ** 2 + 1 / n
    exact = stats.norm(seen / spread / (1 + 1 / spread), 1 / math.sqrt(1 + 1 / spread))
    for level in (0.05, 0.5, 0.95):
        assert exact.cdf(found.quantile(level)) == pytest.approx(level, abs=3e-3)


def test_vectors_agree_with_the_scalar_law_coordinate_by_coordinate():
    model = F.GaussianMean(2, 1000.0, 1.0, (0.5, -1.0))
    draws = np.array([[0.6, -0.7], [0.2, -0.9]])
    mean, deviation = vectors.vector_law(model, model, 50, Numbers(0.1, 1.0, 0.0), draws, True)
    for place in range(2):
        scalar = F.NormalMean(1.0, -1000.0, 1000.0, model.mean[place], 1.0)
        belief = parameter_posterior(
            normal_means.mean_statistic(scalar, scalar, 50, Numbers(0.1, 1.0, 0.0), draws[:, place])
        )
        law = stats.norm(mean[place], deviation[place])
        assert law.cdf(belief.quantile(0.9)) == pytest.approx(0.9, abs=3e-3)


@pytest.mark.planted
def test_projected_noise_is_what_the_projection_does():
    """P(S~ <= x | S) against two hundred thousand simulated projections, and rejecting noise that is 0.7 or 1.3 times it."""
    n, held, deviation, runs = 200, 30.0, 25.0, 200_000
    rng = np.random.default_rng(3)
    rest = rng.dirichlet((1.0, 1.0, 1.0), runs)
    counts = np.column_stack([np.full(runs, held), rng.multinomial(int(n - held), rest)])
    seen = grids.nearest_counts(counts + deviation * rng.standard_normal(counts.shape), n)[:, 0]
    x = np.array([0.0, 10.0, 30.0, 50.0, 80.0])
    share = (seen[:, None] <= x).mean(axis=0)
    found = shares.projected_noise(n, (1.0, 1.0, 1.0), deviation)(np.array([held]), x)[0]
    np.testing.assert_allclose(found, share, atol=0.02)
    for factor in (0.7, 1.3):
        wrong = shares.projected_noise(n, (1.0, 1.0, 1.0), factor * deviation)(np.array([held]), x)[0]
        assert np.abs(wrong - share).max() > 0.03


def test_the_cells_of_broken_sticks_hold_the_shares():
    from sfumato.samplers.laws import draw

    model = F.DirichletCategorical(["a", "b", "c"], 0.05)
    law = model.law([3, 0, 7], 10, 0.3, 1.0)
    draws = draw(law, 40, sf.seeded(5))
    for share, (low, high) in zip(draws.T, law.geometry.ends(draws), strict=True):
        assert (low <= share + 1e-15).all()
        assert (share <= high + 1e-15).all()


def test_the_rows_own_number_has_the_posterior_of_the_count():
    model, n = F.BetaBernoulli(1, 1), 60
    statistic = rates.rate_statistic(model, F.BetaBernoulli(1, 1), n, Numbers(0.2, 1.0, 0.0), np.array([0.25]))
    low, high, masses = statistic_posterior(statistic)
    k = np.arange(n + 1.0)
    logs = stats.beta.logpdf(0.25, 1 + 0.2 * k, 1 + 0.2 * (n - k))
    weights = np.exp(logs - logs.max())
    assert (low == high).all()
    np.testing.assert_allclose(masses, (weights / weights.sum())[low.astype(int)], atol=2e-4)


def test_a_million_records_answer_within_a_second():
    for model, value, build in (
        (F.BetaBernoulli(1, 1), 0.3, rates.rate_statistic),
        (F.GammaPoisson(2.0, 1.0, 20), 2.0, events.event_statistic),
        (F.NormalMean(1, -4, 4), 1.0, normal_means.mean_statistic),
    ):
        for numbers in (Numbers(1e-3, 1.0, 0.0), Numbers(1.0, 1.0, 36.0)):
            began = time.process_time()
            statistic = build(model, model, 1_000_000, numbers, np.array([value]))
            belief = parameter_posterior(statistic)
            assert time.process_time() - began < 1.0
            assert belief.quantile(0.05) < value < belief.quantile(0.95)


@pytest.mark.parametrize("a", [1.0, 1e3, 1e5, 1e6])
def test_the_outermost_cell_has_its_mass_among_a_million_records(a):
    b, x = 1e6 + 1 - a, 5.7e-10
    found = float(cell_masses.log_beta_mass(np.array([a]), np.array([b]), np.zeros(1), np.array([x]))[0, 0])
    with mp.workdps(40):
        exact = a * mp.log(x) + b * mp.log(1 - mp.mpf(x)) - mp.log(a) + mp.log(mp.hyp2f1(a + b, 1, a + 1, x))
        exact -= mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
    assert found == pytest.approx(float(exact), rel=1e-12)
