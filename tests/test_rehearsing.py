"""Rehearsals: the plan on invented public data says beforehand what it will get wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import sfumato as sf
from sfumato.errors import ArgumentError

N = 400
PRIOR = sf.priors.Gaussian(1.0)


def estimate(loss, dimension=3, intercept=0.5, epsilon=3.0, n=N, prior=PRIOR, goal="estimate", **options):
    model = sf.Gibbs(loss, prior, dimension, intercept)
    return sf.plan(model, n, epsilon, 1e-6, goal=goal, **options)


LOSSES = {
    "logistic": sf.losses.Logistic(1.0),
    "softmax": sf.losses.Softmax(1.0, classes=3),
    "hinge": sf.losses.Hinge(1.0),
    "smoothed hinge": sf.losses.SmoothedHinge(1.0, width=0.5),
    "huber": sf.losses.Huber(1.0, clip=1.0),
    "quantile": sf.losses.Quantile(1.0, quantile=0.8),
    "smoothed quantile": sf.losses.SmoothedQuantile(1.0, quantile=0.3, width=0.5),
    "probit": sf.losses.ClippedProbit(1.0, clip=3.0),
    "cloglog": sf.losses.ClippedCloglog(1.0, clip=3.0),
    "poisson": sf.losses.ClippedPoisson(1.0, clip=3.0, label_bound=20.0),
    "custom": sf.losses.ScalarLink(
        lambda u, y: 0.5 * np.logaddexp(u - y, y - u),
        lambda u, y: 0.5 * np.tanh(u - y),
        labels=sf.losses.LabelInterval(-2.0, 2.0),
        radius=1.0,
        derivative_bound=0.5,
        curvature_bound=0.5,
        convex=True,
    ),
}
CLASSIFIERS = {"logistic", "softmax", "hinge", "smoothed hinge", "probit", "cloglog"}


@pytest.mark.parametrize("name", list(LOSSES))
def test_every_loss_can_be_rehearsed_and_a_plan_with_more_to_spend_errs_less(name):
    """Two prices for the same data: the truth is as far from the start, and the dearer plan comes nearer to it."""
    dimension = 6 if name == "softmax" else 3
    poor, rich = (sf.rehearse(estimate(LOSSES[name], dimension, epsilon=epsilon), runs=6) for epsilon in (0.05, 50.0))
    assert poor.start_error == rich.start_error > 0
    # A hinge finds the direction of the truth and not its length: its distance says nothing, its errors do (below).
    assert rich.error < min(poor.error, rich.start_error) or name == "hinge"
    assert (rich.excess is not None) == (name in CLASSIFIERS)
    if rich.excess is not None:
        assert 0 <= rich.excess < max(poor.excess, 0.05)
        assert "best classifier" in str(rich)
    assert "6 runs" in str(rich)


def test_it_is_repeatable_and_spends_nothing():
    plan = estimate(LOSSES["logistic"])
    first, second = sf.rehearse(plan, runs=3), sf.rehearse(plan, runs=3)
    assert first == second
    assert sf.rehearse(plan, runs=3, seed=1) != first
    assert sf.rehearse(plan, runs=1).error_spread == np.inf


def test_the_expected_error_is_what_a_quadratic_loss_says():
    """One step of size 1/M about a mean forgets its start: a normal about the shrunk mean, of variance 2/m."""
    n, d, radius = 50, 2, 3.0
    model = sf.Gibbs(sf.losses.GaussianMean(radius), sf.priors.Gaussian(4.0), d)
    plan = sf.plan(model, n, 2.0, 1e-6, mechanism="langevin", draws=40)
    found = sf.rehearse(plan, runs=60)
    power = plan["power"]
    m = n * power + 4.0
    rng, distances = np.random.default_rng(1), []
    for _ in range(20_000):
        truth = rng.normal(size=d) / 2
        truth *= min(1.0, radius / 2 / np.linalg.norm(truth))
        noise = rng.normal(size=(n, d))
        mean = truth + (noise * (min(np.sqrt(d), radius / 2) / np.linalg.norm(noise, axis=1, keepdims=True))).mean(0)
        distances.append(np.linalg.norm(n * power * mean / m + rng.normal(size=d) * np.sqrt(2 / m) - truth))
    assert abs(found.error - np.mean(distances)) < 4 * found.error_spread
    assert abs(0.7 * found.error - np.mean(distances)) > 4 * found.error_spread


def test_invented_labels_follow_the_model():
    rng = np.random.default_rng(2)
    scores = np.full((60_000, 1), 0.7)
    share = LOSSES["logistic"].label_shares(scores[:1], np.array([-1.0, 1.0]))[0, 1]
    assert share == pytest.approx(special.expit(0.7), rel=1e-12)
    share = LOSSES["cloglog"].label_shares(scores[:1], np.array([0.0, 1.0]))[0, 1]
    assert share == pytest.approx(1 - np.exp(-np.exp(0.7)), rel=1e-12)
    below = np.mean(LOSSES["quantile"].simulate(scores, rng) < 0.7)
    assert below == pytest.approx(0.8, abs=0.008)
    counts = LOSSES["poisson"].simulate(scores, rng)
    assert counts.mean() == pytest.approx(np.exp(0.7), rel=0.01)
    assert counts.max() <= 20
    custom = LOSSES["custom"].simulate(scores, rng)
    assert np.abs(custom).max() <= 2
    assert (custom > 0).mean() > 0.55


def test_log_odds_and_every_prior_can_be_rehearsed():
    odds = sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(1.0))
    assert sf.rehearse(sf.plan(odds, N, 1.0, 1e-6), runs=4).error < 2.0
    for prior in (
        sf.priors.Ball(sf.priors.Flat(), radius=2.0, centre=(1.0, 0.0, 0.0)),
        sf.priors.Box(sf.priors.Flat(), [-1.0] * 3, [2.0] * 3),
        sf.priors.Gaussian(np.diag([1.0, 2.0, 3.0]) + 0.1, mean=[1.0, 2.0, 3.0]),
        sf.priors.Gaussian([1.0, 2.0, 3.0]),
    ):
        found = sf.rehearse(estimate(LOSSES["logistic"], prior=prior), runs=2)
        assert 0 < found.error < 10


def test_what_cannot_be_rehearsed_says_why():
    with pytest.raises(ArgumentError, match=r"sf\.plan"):
        sf.rehearse("plan")
    with pytest.raises(ArgumentError, match=r"plan\.expected"):
        sf.rehearse(sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6))
    loose = sf.plan(sf.Gibbs(sf.losses.Logistic(1.0), PRIOR), N, 1.0, 1e-6)
    with pytest.raises(ArgumentError, match="dimension="):
        sf.rehearse(loose)
    assert sf.rehearse(loose, runs=2, dimension=2).runs == 2
    with pytest.raises(ArgumentError, match="must be the model's"):
        sf.rehearse(estimate(LOSSES["logistic"]), dimension=4)
    with pytest.raises(ArgumentError, match="no room for a feature"):
        sf.rehearse(estimate(LOSSES["logistic"], dimension=1))
