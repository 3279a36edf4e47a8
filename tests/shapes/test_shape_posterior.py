"""The posterior: exact where everything is linear and normal, covering where it is not, and finite at the edges."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from path_oracle import conjugate, logistic_fit, published, quadratic_fit

from sfumato.errors import ArgumentError
from sfumato.shapes import arrival
from sfumato.shapes import posterior as shape_posterior
from sfumato.shapes.filter import responses
from sfumato.shapes.posterior import posterior

ROBUST = np.array([[0.02, 0.005, 0.0], [0.005, 0.03, -0.004], [0.0, -0.004, 0.01]])
Z = 1.6448536269514722  # the 95 % point of the normal law


def model(p):
    return p.curvature * p.score_scale / np.trace(p.curvature)


@pytest.mark.parametrize("sampling", ["none", "model"])
def test_a_quadratic_loss_gives_the_conjugate_posterior(sampling):
    p = published()
    got = posterior(p, sampling)
    mean, covariance = conjugate(p, model(p), sampling)
    assert got.mean == pytest.approx(mean, rel=1e-5)
    assert got.covariance == pytest.approx(covariance, rel=1e-5, abs=1e-7)


def test_a_robust_posterior_takes_the_score_matrix():
    p = published(score_matrix=ROBUST, score_noise=1e-12)
    got = posterior(p, "robust")
    mean, covariance = conjugate(p, ROBUST, "robust")
    assert got.mean == pytest.approx(mean, rel=1e-5)
    assert got.covariance == pytest.approx(covariance, rel=1e-5, abs=1e-7)


def test_a_noisy_score_matrix_falls_back_on_the_model():
    p = published(score_matrix=ROBUST, score_noise=1e6)
    assert posterior(p, "robust").covariance == pytest.approx(posterior(p, "model").covariance, rel=1e-6, abs=1e-9)


@cache
def fits(count, seed, **numbers):
    """Fits and their truths, made once: several tests read the same ones."""
    rng = np.random.default_rng(seed)
    return [logistic_fit(rng, **numbers) for _ in range(count)]


def coverage(cases, change=lambda p: p, sampling="model"):
    covered = []
    for p, truth in cases:
        got = posterior(change(p), sampling)
        covered.append(np.abs(got.mean - truth) <= Z * np.sqrt(np.diag(got.covariance)))
    return float(np.mean(covered))


# 60 fits of 4 coefficients. Were the four of a fit wholly dependent, a coverage of .9 would scatter by sqrt(.09/60) = .039;
# three of these is the margin.
MARGIN = 3 * np.sqrt(0.09 / 60)
SMALL = {"n": 1000, "d": 4, "noise": 0.12, "moments_noise": 0.01, "curvature_noise": 0.01}
VAGUE = {"curvature_noise": 0.01}
MANY = {"n": 300, "d": 4, "noise": 0.004, "moments_noise": 0.002, "curvature_noise": 0.001}


@pytest.mark.parametrize("numbers", [SMALL, MANY], ids=["noise", "sampling"])
@pytest.mark.parametrize("sampling", ["model", "robust"])
def test_intervals_cover(numbers, sampling):
    assert abs(coverage(fits(60, 11, **numbers), sampling=sampling) - 0.9) < MARGIN


@pytest.mark.planted
def test_leaving_out_the_noise_of_privacy_is_seen():
    assert coverage(fits(60, 11, **SMALL), lambda p: replace(p, noise=1e-3 * p.noise)) < 0.9 - MARGIN


@cache
def quadratics():
    rng = np.random.default_rng(15)
    return [quadratic_fit(rng, **VAGUE) for _ in range(60)]


def test_intervals_cover_where_the_curvature_is_vague():
    assert abs(coverage(quadratics()) - 0.9) < MARGIN


def test_where_the_curvature_is_vague_the_law_is_a_mixture_with_the_average(monkeypatch):
    """The more the curvature is off, the nearer the mean is to the average, and the wider the law than the one without it."""
    noises = (1e-12, 0.003, 0.01, 0.03)
    mixed = [posterior(published(curvature_noise=noise), "model") for noise in noises]
    monkeypatch.setattr(shape_posterior, "DOUBT", 0.0)
    alone = [posterior(published(curvature_noise=noise), "model") for noise in noises]
    average = published().matrix @ published().average
    pairs = list(zip(mixed, alone, strict=True))
    left = [np.linalg.norm(one.mean - average) / np.linalg.norm(other.mean - average) for one, other in pairs]
    assert left[0] == pytest.approx(1.0, abs=1e-6)
    assert (np.diff(left) < 0).all()
    assert left[-1] < 0.8
    added = [np.linalg.eigvalsh(one.covariance - other.covariance) for one, other in pairs]
    assert all((each > -1e-12).all() for each in added)
    assert all(each[-1] > 1e-5 for each in added[1:])


@pytest.mark.planted
def test_taking_the_curvature_as_exact_is_seen(monkeypatch):
    """Without the error of a long Newton step, which a wrong curvature causes too."""
    monkeypatch.setattr(arrival, "STEP_ERROR", 0.0)
    assert coverage(quadratics(), lambda p: replace(p, curvature_noise=1e-9)) < 0.9 - MARGIN


@pytest.mark.planted
def test_leaving_out_the_sampling_error_is_seen():
    assert coverage(fits(60, 11, **MANY), lambda p: replace(p, score_scale=0.0)) < 0.9 - MARGIN


def test_predictions_use_the_average_where_that_is_known_and_near_the_prior_where_it_is_noise():
    p = published()
    assert posterior(p, "model").predictor == pytest.approx(p.matrix @ p.average, rel=1e-12)
    noisy = published(noise=30.0, average=np.array([9.0, -8.0, 7.0]))
    kept = (posterior(noisy, "model").predictor - p.centre) / (noisy.matrix @ noisy.average - p.centre)
    # Everything is diagonal here: along each coordinate F/(F^2 + K p) with F = 1/2, K at the mean curvature at least.
    values = np.diag(p.curvature)
    least = np.maximum(values, values.mean()) + np.diag(p.matrix @ p.precision @ p.matrix) / p.n
    spread = responses(least, p.rate, p.momentum, p.steps, p.tail).spread
    expected = 0.5 / (0.25 + 30.0**2 * spread * np.diag(p.matrix @ p.precision @ p.matrix))
    assert kept == pytest.approx(expected, rel=0.01)
    assert (kept < 0.1).all()


def test_the_diagnostic_is_the_squared_error_of_the_scores():
    p = published()
    got = posterior(p, "model")
    off = p.matrix @ p.average - got.mean
    expected = np.trace(np.diag(p.own) @ (got.covariance + np.outer(off, off)))
    assert got.diagnostic == pytest.approx(expected, rel=1e-9)


def test_the_same_numbers_give_the_same_bits():
    p, _ = fits(1, 12, **SMALL)[0]
    one, two = posterior(p, "model"), posterior(p, "model")
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.covariance, two.covariance)


@pytest.mark.parametrize("sampling", ["none", "model", "robust"])
def test_a_flat_prior_gives_a_finite_posterior(sampling):
    p, _ = fits(1, 13, **SMALL)[0]
    flat = posterior(replace(p, precision=np.zeros((4, 4))), sampling)
    narrow = posterior(p, sampling)
    assert np.isfinite(flat.covariance).all()
    assert np.isfinite(flat.predictor).all()
    assert (np.diag(flat.covariance) > np.diag(narrow.covariance)).all()


def test_where_nothing_is_resolved_the_interval_is_that_of_the_prior():
    p, _ = fits(1, 14, n=1000, d=4, noise=50.0, moments_noise=5.0, curvature_noise=20.0)[0]
    got = posterior(p, "model")
    assert not p.resolved.all()
    assert np.diag(got.covariance) == pytest.approx(np.ones(4), rel=0.05)
    assert np.abs(got.mean) == pytest.approx(np.zeros(4), abs=0.25)


def test_an_average_of_zero_and_a_single_coefficient_are_read():
    still = posterior(published(average=np.zeros(3), gradient=np.zeros(3)), "model")
    assert np.isfinite(still.mean).all()
    one = np.ones(1)
    p = published(
        matrix=np.eye(1), values=0.2 * one, vectors=np.eye(1), own=0.2 * one, resolved=one > 0, average=0.5 * one,
        gradient=0.0 * one, curvature=0.04 * np.eye(1), precision=np.eye(1), centre=0.0 * one,
    )  # fmt: skip
    got = posterior(p, "model")
    mean, covariance = conjugate(p, model(p), "model")
    assert got.mean == pytest.approx(mean, rel=1e-5)
    assert got.covariance == pytest.approx(covariance, rel=1e-5)


def test_unknown_targets_are_refused():
    with pytest.raises(ArgumentError, match="one of none, model, robust; got 'both'"):
        posterior(published(), "both")
    with pytest.raises(ArgumentError, match="needs score_matrix"):
        posterior(published(), "robust")
