"""Ends of intervals against posteriors summed by hand: the level that is asked for is the level that is held."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

import sfumato as sf
from sfumato.draws import Draws
from sfumato.queries import transcript_posterior
from sfumato.queries.intervals import interval
from sfumato.queries.statistics import bounded_means, protocol, vectors
from sfumato.queries.statistics.protocol import Numbers

LEVELS = (0.5, 0.8, 0.9, 0.99)


def plan_of(model, n: int, power: float) -> dict:
    """A plan's document, as far as an interval reads it."""
    return {"model": model.to_json(), "n": n, "parameters": {"power": power, "strength": 1.0}}


def one_draw(value: float) -> Draws:
    return Draws(np.array([[value]]), ("rate",))


def counts(n: int, power: float, a: float, b: float, draw: float) -> np.ndarray:
    """P(k ones | one tempered draw), summed over every k: the prior's law of k times the density of the draw."""
    k = np.arange(n + 1.0)
    logs = (
        special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1) + special.betaln(a + k, b + n - k)
    )
    logs = logs + stats.beta.logpdf(draw, a + power * k, b + power * (n - k))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


CASES = [(20, 0.3, 2.0, 3.0, 0.4), (60, 1.0, 1.0, 1.0, 0.1), (400, 0.05, 2.0, 5.0, 0.7)]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "power", "a", "b", "draw"), CASES)
def test_an_interval_leaves_equal_tails(n, power, a, b, draw, level):
    """The true rate is below the lower end, and above the upper one, with half of what the level leaves out."""
    model = sf.families.BetaBernoulli(a, b)
    low, high = interval(one_draw(draw), plan_of(model, n, power), level, prior=model)
    weights, k = counts(n, power, a, b, draw), np.arange(n + 1.0)
    below = lambda x: float((weights * special.betainc(a + k, b + n - k, x)).sum())
    assert below(float(low)) == pytest.approx(0.5 * (1 - level), abs=1.5e-3)
    assert 1 - below(float(high)) == pytest.approx(0.5 * (1 - level), abs=1.5e-3)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "power", "a", "b", "draw"), CASES[:2])
def test_the_rows_own_interval_has_exact_ends_on_a_small_count(n, power, a, b, draw, level):
    """Every count is a cell of its own: the ends are the first count beyond one tail and the first to reach the other."""
    model = sf.families.BetaBernoulli(a, b)
    low, high = interval(one_draw(draw), plan_of(model, n, power), level, include="privacy", prior=model)
    cumulative, tail = np.cumsum(counts(n, power, a, b, draw)), 0.5 * (1 - level)
    first, last = int(np.argmax(cumulative > tail)), int(np.argmax(cumulative >= 1 - tail))
    assert [float(low), float(high)] == pytest.approx([(a + first) / (a + b + n), (a + last) / (a + b + n)], rel=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("n", "power", "draw"), [(3_000, 0.01, 0.4), (20_000, 0.002, 0.9), (9_000, 0.05, 0.02)])
def test_the_rows_own_interval_holds_its_level_where_a_cell_holds_many_counts(n, power, draw, level):
    """Ends lie on the far sides of the cells of the quantiles: never less than the level, and less than two cells more."""
    a, b = 2.0, 3.0
    model = sf.families.BetaBernoulli(a, b)
    ends = interval(one_draw(draw), plan_of(model, n, power), level, include="privacy", prior=model).astype(float)
    first, last = np.rint(ends * (a + b + n) - a).astype(int)
    cumulative, tail = np.concatenate([[0.0], np.cumsum(counts(n, power, a, b, draw))]), 0.5 * (1 - level)
    held = cumulative[last + 1] - cumulative[first]
    assert held >= level - 5e-4
    assert held <= level + 0.04
    # Each end by itself.
    assert cumulative[first] <= tail + 5e-4
    assert cumulative[last + 1] >= 1 - tail - 5e-4


# --- normal laws -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_normal_ends_leave_equal_tails(level):
    mean, deviation = np.array([1.0, -3.0]), np.array([0.5, 2.0])
    low, high = vectors.normal_ends(mean, deviation, level)
    assert stats.norm.cdf((low - mean) / deviation) == pytest.approx(0.5 * (1 - level), rel=1e-9)
    assert stats.norm.sf((high - mean) / deviation) == pytest.approx(0.5 * (1 - level), rel=1e-9)


@pytest.mark.parametrize("sampling", [True, False])
@pytest.mark.parametrize("level", LEVELS)
def test_the_ends_of_a_bounded_mean_are_just_not_rejected(level, sampling):
    """|estimate - mu| = z sqrt(noise^2/n^2 + mu (1 - mu)/n) at both ends, in units of the range."""
    n, noise, seen = 200, 6.0, 0.3
    z = stats.norm.ppf(0.5 + 0.5 * level)
    # A release of an older version: its first total alone.
    for mu in bounded_means.NoisyTotals(n, n * (seen - 0.5), None, 0.0, noise).ends(level, sampling):
        spread = math.sqrt((noise / n) ** 2 + (mu * (1 - mu) / n if sampling else 0.0))
        assert abs(seen - mu) == pytest.approx(z * spread, rel=1e-9)
        assert 0 < mu < 1


@pytest.mark.parametrize("draws", [1, 4])
@pytest.mark.parametrize("power", [1.0, 0.2])
def test_the_law_of_a_normal_mean_given_its_draws(power, draws):
    """By a grid over the hidden sum: draws ~ N(m + r a S/P, 1/P), S/n ~ N(theta, 1/(n a)), theta ~ N(m, 1/l)."""
    model, n = sf.families.GaussianMean(1, 8.0, 0.5), 12
    values = np.array([[0.7], [1.1], [0.4], [0.9]])[:draws]
    mean, deviation = vectors.vector_law(model, model, n, Numbers(power, 1.0, 0.0), values, True)
    a, prior = 1.0, 0.5
    precision = prior + power * n * a
    theta, total = np.linspace(-6, 6, 601)[:, None], np.linspace(-60, 60, 2401)[None, :]
    logs = -0.5 * prior * theta**2 - 0.5 * n * a * (total / n - theta) ** 2
    for value in values[:, 0]:
        logs = logs - 0.5 * precision * (value - power * a * total / precision) ** 2
    weights = np.exp(logs - logs.max()).sum(axis=1)
    weights /= weights.sum()
    exact = float((weights * theta[:, 0]).sum())
    assert mean[0] == pytest.approx(exact, abs=1e-6)
    assert deviation[0] == pytest.approx(math.sqrt((weights * (theta[:, 0] - exact) ** 2).sum()), rel=1e-4)


# --- regressions -----------------------------------------------------------------------------------------------------

HESSIAN = np.array([[0.2, 0.05], [0.05, 0.1]])
SQUARES = np.array([[0.3, -0.1], [-0.1, 0.2]])
PRECISION = np.diag([2.0, 5.0])
SIZE = 40_000


def spread(draws: np.ndarray) -> np.ndarray:
    return np.cov(draws, rowvar=False)


def stacked(matrix: np.ndarray) -> np.ndarray:
    return np.tile(matrix, (SIZE, 1, 1))


def assert_covariance(found: np.ndarray, exact: np.ndarray) -> None:
    """Entries of a covariance of N draws are off by about sqrt(2/N) of the variances: five of these."""
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs(spread(found) - exact).max() <= 5 * math.sqrt(2 / SIZE) * scale.max()


@pytest.mark.parametrize("n", [1, 30, 1000])
def test_the_sampling_variance_is_that_of_the_sandwich(n):
    """(nH + P)^-1 (nV + P) (nH + P)^-1."""
    rng = np.random.default_rng(1)
    found = transcript_posterior._sampling(stacked(HESSIAN), stacked(SQUARES), PRECISION, n, rng)
    inverse = np.linalg.inv(n * HESSIAN + PRECISION)
    assert_covariance(found, inverse @ (n * SQUARES + PRECISION) @ inverse)
    assert np.abs(found.mean(axis=0)).max() < 5 * np.sqrt(np.diag(spread(found))).max() / math.sqrt(SIZE)


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 1.0])
def test_a_drawn_optimum_is_weighed_with_what_the_prior_says(noise):
    """Matheron's rule: mean m + K (drawn - m) and covariance (I - K) W (I - K)', K = W (W + S)^-1, for a fixed optimum."""
    n, rng, drawn = 50, np.random.default_rng(2), np.array([0.6, -0.4])
    prior = sf.priors.Gaussian(1.0, [0.2, 0.1])
    slope = noise * np.array([[1.0, 0.3], [0.3, 0.5]])
    optimum = np.tile(drawn, (SIZE, 1))
    found = transcript_posterior._combined(
        prior, optimum, stacked(HESSIAN), stacked(SQUARES), slope, PRECISION, n, rng
    )  # fmt: skip
    inverse = np.linalg.inv(n * HESSIAN + PRECISION)
    before = inverse @ (n * HESSIAN @ np.linalg.inv(PRECISION) @ HESSIAN * n + n * SQUARES) @ inverse
    gain = before @ np.linalg.inv(before + n**2 * inverse @ slope @ inverse)
    rest = np.eye(2) - gain
    exact = rest @ before @ rest.T
    centre = np.array([0.2, 0.1])
    assert_covariance(found, exact + 1e-15 * np.eye(2))
    allowed = 5 * math.sqrt(np.diag(exact).max() / SIZE) + 1e-6
    assert np.abs(found.mean(axis=0) - (centre + gain @ (drawn - centre))).max() <= allowed


def test_squares_are_the_hessian_for_a_likelihood_and_the_slope_bound_otherwise():
    """V = H for the logistic loss; V = slope^2 E xx' for a Huber loss of slope 1.5, the rows weighed by hand."""
    from sfumato.queries.pseudo_records import spread_records

    hessian = np.tile(HESSIAN, (4, 1, 1))
    for loss, bound in ((sf.losses.Logistic(2.0), None), (sf.losses.Huber(2.0, clip=1.5), 1.5)):
        model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), 2)
        records = spread_records(loss, 2, 0.0, (-1.0, 1.0), bound or 1.0, 1.0)
        weights = np.random.default_rng(3).random((4, len(records.rows)))
        second = np.stack([(records.rows * own[:, None]).T @ records.rows for own in weights])
        found = transcript_posterior._squares(model, records, weights, hessian)
        assert found == pytest.approx(hessian if bound is None else 1.5**2 * second, rel=1e-9)


def test_a_regression_interval_is_made_of_quantiles(monkeypatch):
    """Of the draws of the truth, or of the optimum: 5 % and 95 % for a level of 0.9."""
    optimum, truth = np.random.default_rng(4).normal(size=(2, 1001, 3)) * np.array([[[1.0]], [[2.0]]])
    monkeypatch.setattr(transcript_posterior, "coefficient_draws", lambda *arguments: (optimum, truth))
    for include, draws in (("privacy and sampling", truth), ("privacy", optimum)):
        for level in LEVELS:
            low, high = transcript_posterior.regression_interval(None, {}, {}, level, include)
            assert np.mean(draws < low, axis=0) == pytest.approx(0.5 * (1 - level), abs=1e-3)
            assert np.mean(draws > high, axis=0) == pytest.approx(0.5 * (1 - level), abs=1e-3)


@pytest.mark.parametrize("sampling", [True, False])
def test_the_law_of_a_normal_mean_given_a_noisy_sum(sampling):
    """By a grid over the sum and the noisy sum: S~ ~ N(S, (noise D)^2), draw ~ N(a S~/P, 1/P)."""
    model, n, noise, value = sf.families.GaussianMean(1, 8.0, 0.5), 12, 0.4, 0.7
    mean, deviation = vectors.vector_law(model, model, n, Numbers(1.0, 1.0, noise), np.array([[value]]), sampling)
    prior, precision, added = 0.5, 0.5 + n, noise * 16.0
    total = np.linspace(-80, 80, 3201)
    # The draw given the sum, its noise integrated out: variance 1/P + (added/P)^2.
    logs = -0.5 * (value - total / precision) ** 2 / (1 / precision + (added / precision) ** 2)
    logs = logs - 0.5 * (total / n) ** 2 / (1 / prior + 1 / n)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # What the rows say: the posterior mean S/(l + n); with sampling, theta about it with precision l + n.
    said = total / precision
    centre = float((weights * said).sum())
    variance = float((weights * (said - centre) ** 2).sum()) + (1 / precision if sampling else 0.0)
    assert mean[0] == pytest.approx(centre, abs=1e-6)
    assert deviation[0] == pytest.approx(math.sqrt(variance), rel=1e-4)


@pytest.mark.parametrize("model", [sf.families.BetaBernoulli(), sf.families.DirichletCategorical(["a", "b", "c"])])
def test_of_many_draws_the_first_are_taken(model, monkeypatch):
    """Time and memory of an interval are bounded by public numbers, whatever the number of draws in a file."""
    rng, width = np.random.default_rng(3), len(model.labels)
    shares = rng.dirichlet([20.0] * max(width, 2), 40)[None, :, :width]
    values = shares[..., 0] if width == 1 else shares
    monkeypatch.setattr(protocol, "MOST_DRAWS", 8)
    plan = plan_of(model, 60, 0.5)
    ends = [interval(Draws(values[:, :count], model.labels), plan) for count in (40, 8, 7)]
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])
