"""A path that has not arrived: when it is one, what the estimate is then, and how much wider the posterior gets."""

from __future__ import annotations

import numpy as np
import pytest
from path_oracle import conjugate, published

from sfumato.shapes import arrival
from sfumato.shapes.arrival import known_share, missing, short_share, widened
from sfumato.shapes.posterior import posterior


def test_the_weight_rises_from_0_to_1_with_the_mean_squared_distance():
    mean, variances = np.array([1.0, -2.0]), np.array([4.0, 0.25])
    levels = np.array([0.0, 0.3, 0.7, 1.0, 1.35, 1.7, 2.0, 50.0])
    weights = [missing(mean, mean + np.sqrt(level * variances), variances, np.ones(2)) for level in levels]
    assert weights[:3] == pytest.approx([0.0] * 3, abs=1e-12)
    assert weights[4] == pytest.approx(0.5)
    assert weights[6:] == pytest.approx([1.0] * 2)
    assert (np.diff(weights[2:7]) > 0).all()
    # One direction alone: its share of the mean counts.
    alone = mean + np.array([np.sqrt(2 * 1.35 * 4.0), 0.0])
    assert missing(mean, alone, variances, np.ones(2)) == pytest.approx(0.5)
    # A direction of which little is known says nothing, and where all are unknown the path counts as arrived.
    assert missing(mean, alone, variances, np.array([0.0, 1.0])) == 0.0
    assert missing(mean, mean + 50, variances, np.zeros(2)) == 0.0


def test_a_direction_is_known_where_its_variance_is_far_below_the_priors():
    shares = known_share(np.array([0.0, 0.05, 0.1, 3.0]), np.ones(4))
    assert shares == pytest.approx([1.0, 0.5, 0.0, 0.0])
    assert short_share(np.array([0.1, 0.8, 0.9, 1.0, 1.1])) == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0])


def test_the_covariance_grows_along_the_distance_alone():
    mean, average = np.array([1.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0])
    wide = widened(mean, average, np.eye(3), np.full(3, 0.5))
    away = average - mean
    assert wide - np.eye(3) == pytest.approx(0.5 * arrival.STEP_ERROR * np.outer(away, away))


@pytest.mark.parametrize("sampling", ["none", "model"])
def test_a_path_that_stopped_early_gives_the_mean_and_a_wider_posterior(sampling):
    """One step of thirty: the gradient points far beyond the average. Compared with the conjugate posterior without the net."""
    wide = 1e-6 * np.eye(3)
    p = published(steps=3, tail=1, rate=0.2, noise=1e-4, gradient=np.array([-0.2, 0.3, -0.25]), precision=wide)
    got = posterior(p, sampling)
    model = p.curvature * p.score_scale / np.trace(p.curvature)
    mean, covariance = conjugate(p, model, sampling)
    assert got.mean == pytest.approx(mean, rel=1e-3)
    away = p.matrix @ p.average - got.mean
    assert got.predictor == pytest.approx(got.mean, rel=1e-3)
    assert got.covariance - covariance == pytest.approx(arrival.STEP_ERROR * np.outer(away, away), rel=0.05)


def test_noise_of_the_average_is_no_sign_of_an_early_stop():
    """The average lies far from the mean by its own noise: it is drawn to the prior, and the posterior is the conjugate one."""
    p = published(noise=30.0, average=np.array([9.0, -8.0, 7.0]))
    got = posterior(p, "model")
    _, covariance = conjugate(p, p.curvature * p.score_scale / np.trace(p.curvature), "model")
    assert got.covariance == pytest.approx(covariance, rel=1e-3, abs=1e-6)
    assert np.abs(got.predictor - p.centre).max() < 0.1 * np.abs(p.matrix @ p.average).max()
