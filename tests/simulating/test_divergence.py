"""The divergence of the true posterior from a release's law: closed forms and mixtures against independent quadrature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

import sfumato as sf
from sfumato.errors import ArgumentError

BETA = sf.families.BetaBernoulli(6, 12)


def kl(p, log_q, low: float, high: float) -> float:
    return integrate.quad(lambda x: math.exp(p.logpdf(x)) * (p.logpdf(x) - log_q(x)), low, high, limit=300)[0]


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated"])
def test_a_tempered_beta_against_quadrature(mechanism):
    plan = sf.plan(BETA, 100, target=sf.Renyi([15], [0.1]), mechanism=mechanism)
    r, s = plan["power"], plan["strength"]
    drawn = stats.beta(6 * s + 38 * r, 12 * s + 62 * r)
    expected = kl(stats.beta(44, 74), drawn.logpdf, 1e-9, 1 - 1e-9)
    assert sf.posterior_divergence(plan, [38]) == pytest.approx([expected], rel=1e-7)


def test_tempered_gammas_and_a_dirichlet_against_quadrature():
    plan = sf.plan(sf.families.GammaPoisson(2, 1, bound=5), 50, target=sf.Renyi([3], [0.5]), mechanism="diffused")
    r = plan["power"]
    drawn = stats.gamma(2 + 71 * r, scale=1 / (1 + 50 * r))
    expected = kl(stats.gamma(73, scale=1 / 51), drawn.logpdf, 1e-9, 5)
    assert sf.posterior_divergence(plan, [71]) == pytest.approx([expected], rel=1e-7)
    shares = sf.plan(sf.families.DirichletCategorical(3), 9, target=sf.Renyi([3], [0.1]), mechanism="diffused")
    true, tempered = np.array([3.0, 4.0, 5.0]), 1 + shares["power"] * np.array([2.0, 3.0, 4.0])
    sample = np.random.default_rng(0).dirichlet(true, 40_000)
    ratio = stats.dirichlet.logpdf(sample.T, true) - stats.dirichlet.logpdf(sample.T, tempered)
    error = ratio.std() / math.sqrt(len(ratio))
    # Five standard errors: a false alarm once in two million.
    assert abs(sf.posterior_divergence(shares, [[2, 3, 4]])[0] - ratio.mean()) < 5 * error


def test_groups_are_added_up_to_one_number_for_each_data_set():
    groups = sf.grouped(sf.families.BetaBernoulli(2, 3), "site", ["a", "b"])
    plan = sf.plan(groups, 20, target=sf.Renyi([2], [0.1]), mechanism="diffused")
    r = plan["power"]
    expected = [
        sum(kl(stats.beta(2 + k, 3 + m), stats.beta(2 + k * r, 3 + m * r).logpdf, 1e-9, 1 - 1e-9) for k, m in cells)
        for cells in ([(3, 7), (4, 6)], [(1, 9), (8, 2)])
    ]
    assert sf.posterior_divergence(plan, [[3, 7, 4, 6], [1, 9, 8, 2]]) == pytest.approx(expected, rel=1e-7)


def test_totals_of_a_normal_mean_are_sums_above_the_lower_bound():
    model = sf.families.NormalMean(2.0, -1, 3, mean=0.5, precision=0.7)
    plan = sf.plan(model, 10, target=sf.Renyi([2], [0.1]), mechanism="diffused")
    records = np.linspace(-1, 2, 10)

    def posterior(power: float):
        precision = 0.7 + 10 * power / 2
        return stats.norm((0.35 + power * records.sum() / 2) / precision, precision**-0.5)

    expected = kl(posterior(1.0), posterior(plan["power"]).logpdf, -5, 6)
    assert sf.posterior_divergence(plan, [(records + 1).sum()]) == pytest.approx([expected], rel=1e-6)


def test_the_direct_draw_is_the_posterior():
    assert sf.posterior_divergence(sf.plan(BETA, 100, mechanism="exact"), [0, 38, 100]).tolist() == [0, 0, 0]


def mixture(true, posterior, total: float, top: float, deviation: float, low: float, high: float) -> float:
    """KL from the mixture over noisy totals by the trapezoidal rule; noise beyond the ends is moved to them."""
    below, above = stats.norm.cdf(-total / deviation), stats.norm.sf((top - total) / deviation)
    noisy = np.linspace(max(0.0, total - 9 * deviation), min(top, total + 9 * deviation), 20_001)
    heights = stats.norm.pdf(noisy, total, deviation)

    def log_mixed(x: float) -> float:
        inside = integrate.trapezoid(heights * posterior(noisy).pdf(x), noisy)
        return math.log(inside + below * posterior(0.0).pdf(x) + above * posterior(top).pdf(x))

    nodes, weights = np.polynomial.legendre.leggauss(60)
    points = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    values = [true.pdf(x) * (true.logpdf(x) - log_mixed(x)) for x in points]
    return 0.5 * (high - low) * float(np.dot(weights, values))


@pytest.mark.parametrize(
    ("total", "epsilon", "low", "high"), [(38, 0.001, 0.12, 0.68), (38, 2, 0.12, 0.68), (1, 0.01, 1e-3, 0.35)]
)
def test_noisy_counts_with_their_projection_against_sums(total, epsilon, low, high):
    plan = sf.plan(BETA, 100, target=sf.Renyi([2], [epsilon]), mechanism="noisy-statistics")
    true = stats.beta(6 + total, 112 - total)
    expected = mixture(true, lambda t: stats.beta(6 + t, 112 - t), total, 100.0, plan["noise"], low, high)
    assert sf.posterior_divergence(plan, [total]) == pytest.approx([expected], rel=1e-5)


def test_noisy_sums_of_counts_against_sums():
    model = sf.families.GammaPoisson(2, 1, bound=3)
    plan = sf.plan(model, 20, target=sf.Renyi([2], [0.3]), mechanism="noisy-statistics")
    true = stats.gamma(22, scale=1 / 21)
    expected = mixture(true, lambda t: stats.gamma(2 + t, scale=1 / 21), 20.0, 60.0, 3 * plan["noise"], 0.2, 3.0)
    assert sf.posterior_divergence(plan, [20]) == pytest.approx([expected], rel=1e-5)


def test_what_has_no_divergence_is_refused():
    noisy = sf.plan(sf.families.DirichletCategorical(3), 9, 1.0, 1e-6, mechanism="noisy-statistics")
    with pytest.raises(ArgumentError, match="untruncated Beta and Gamma"):
        sf.posterior_divergence(noisy, [[3, 3, 3]])
    truncated = sf.networks.BayesianNetwork({"a": []}, {"a": 2}, alpha=2.0, floor=0.3)
    with pytest.raises(ArgumentError, match="without a floor"):
        sf.posterior_divergence(sf.plan(truncated, 10, 0.5, 0), [[1, 9]])
    with pytest.raises(ArgumentError, match=r"what sf\.plan returned"):
        sf.posterior_divergence("plan", [1])
    with pytest.raises(ArgumentError, match="100 records can have"):
        sf.posterior_divergence(sf.plan(BETA, 100, mechanism="exact"), [-1])


@pytest.mark.parametrize(("first", "second"), [((3.0, 5.0), (40.0, 7.0)), ((200.0, 90.0), (1.0, 1.0))])
def test_the_divergence_of_rates_above_a_floor_is_that_of_truncated_beta_laws(first, second):
    """KL by quadrature on [floor, 1 - floor], where both densities are normalised."""
    floor = 0.1
    family = sf.families.BetaBernoulli(1, 1, floor=floor)
    laws = [stats.beta(*cells) for cells in (first, second)]
    logs = [lambda t, law=law: law.logpdf(t) - np.log(law.cdf(1 - floor) - law.cdf(floor)) for law in laws]
    expected = integrate.quad(lambda t: np.exp(logs[0](t)) * (logs[0](t) - logs[1](t)), floor, 1 - floor, limit=200)[0]
    assert family.divergence(np.array([first]), np.array([second])) == pytest.approx([expected], rel=1e-8)
