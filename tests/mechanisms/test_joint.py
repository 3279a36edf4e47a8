"""Power and strength chosen together: never worse than either search alone, the price met and never exceeded."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms import joint


def logistic(precision: float = 1.0, d: int = 5) -> sf.Gibbs:
    return sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(precision), d)


MODELS = {
    "logistic": logistic(),
    "logistic, weak prior": logistic(0.01),
    "huber": sf.Gibbs(sf.losses.Huber(1.0, clip=0.5), sf.priors.Gaussian([1.0, 2.0, 3.0]), 3),
    "a mean": sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), 3),
    "hinge": sf.Gibbs(sf.losses.Hinge(1.0), sf.priors.Gaussian(1.0), 1),
}


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("name", list(MODELS))
def test_the_pair_is_no_worse_than_either_single_search_and_meets_the_price(name, epsilon):
    model, n, delta = MODELS[name], 500, 1e-6
    plans = {how: sf.plan(model, n, epsilon, delta, mechanism=how) for how in ("exact", "diffused", "concentrated")}
    errors = {how: joint.expected_error(model, n, p["power"], p["strength"]) for how, p in plans.items()}
    assert errors["exact"] <= min(errors["diffused"], errors["concentrated"])
    best = plans["exact"]
    assert best.guarantee.delta(epsilon) <= delta
    if (best["power"], best["strength"]) != (1.0, 1.0):  # the posterior itself may cost less
        assert best.guarantee.delta(epsilon) >= delta * (1 - 1e-6)
    assert best["strength"] >= 1
    assert 0 < best["power"] <= 1


def test_a_strict_gain_lies_between_the_two():
    model = logistic()
    plans = {how: sf.plan(model, 2_000, 0.5, 1e-6, mechanism=how) for how in ("exact", "diffused", "concentrated")}
    errors = {how: joint.expected_error(model, 2_000, p["power"], p["strength"]) for how, p in plans.items()}
    assert errors["exact"] < 0.95 * min(errors["diffused"], errors["concentrated"])
    assert 1 < plans["exact"]["strength"] < plans["concentrated"]["strength"]


def test_no_strength_of_a_fine_scan_does_better():
    model, n = logistic(), 2_000
    found = sf.plan(model, n, 0.5, 1e-6, mechanism="exact")
    best = joint.expected_error(model, n, found["power"], found["strength"])
    for strength in np.geomspace(1, 1e4, 40):
        power = sf.plan(model.strengthened(float(strength)), n, 0.5, 1e-6, mechanism="diffused")["power"]
        assert joint.expected_error(model, n, power, float(strength)) >= best * (1 - 1e-5)


@pytest.mark.planted
def test_the_expected_error_is_that_of_a_normal_model():
    """Scalar normal data of information 1, prior and tempering as stated: the mean squared error by simulation."""
    model, n, power, strength = sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(2.0), 1), 30, 0.4, 3.0
    rng = np.random.default_rng(1)
    runs = 400_000
    truth = rng.normal(size=runs) / np.sqrt(2.0)
    mean = truth + rng.normal(size=runs) / np.sqrt(n)
    whole = power * n + strength * 2.0
    draw = power * n * mean / whole + rng.normal(size=runs) / np.sqrt(whole)
    square = (draw - truth) ** 2
    spread = square.std() / np.sqrt(runs)
    found = joint.expected_error(model, n, power, strength)
    assert abs(square.mean() - found) < 5 * spread
    for wrong in (0.7, 1.3):
        assert abs(square.mean() - wrong * found) > 5 * spread


def test_a_loose_target_leaves_the_posterior_alone_and_none_prices_it():
    model = logistic(precision=50.0)
    assert dict(sf.plan(model, 100, 50.0, 9e-4, mechanism="exact").parameters)["strength"] == 1.0
    bare = sf.plan(model, 100, mechanism="exact")
    assert (bare["power"], bare["strength"]) == (1.0, 1.0)
    assert bare.guarantee.curve.mu == pytest.approx(2 / np.sqrt(50.0), rel=1e-3)


def test_a_joint_plan_is_drawn_and_verifies():
    model, n = logistic(d=2), 100
    plan = sf.plan(model, n, 1.0, 1e-6, mechanism="exact")
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(n, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0))
    release = sf.publish(plan, sf.Dataset.from_arrays(rows, rng.integers(0, 2, n), schema=schema))
    assert release.verify().draws.shape == (1, 1, 2)
