"""The schedule of a noisy-gradient path: what it may depend on, and that it does what its rule says."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from effort import sized
from sfumato.tune import path_schedule

SIZES = st.integers(1, 10**8)
PRICES = st.floats(1e-6, 20)


def travel(chosen, smoothness=0.25):
    """How far a path goes, in units where the rule is written: smoothness 1/4."""
    return chosen.rate * chosen.steps / (1 - chosen.momentum) * 4 * smoothness


@given(n=SIZES, mu=PRICES, smoothness=st.floats(1e-6, 1e6), d=st.one_of(st.none(), st.integers(1, 10**6)))
def test_every_schedule_can_be_run(n, mu, smoothness, d):
    chosen = path_schedule(n, mu, smoothness, d)
    assert 128 <= chosen.steps <= 1000
    assert 1 <= chosen.tail <= chosen.steps
    assert 0 <= chosen.momentum <= 0.99
    # Stable on every loss of this smoothness: rate M < 2 (1 + momentum), with the end allowed where there is none.
    assert 0 < chosen.rate * smoothness <= 2 * (1 + 1e-12)
    assert travel(chosen, smoothness) <= rule(n * mu, d) * (1 + 1e-9)


def rule(spend, d):
    """The rule as the documentation states it."""
    few = min(2 / d, 0.2) if d else 0.0
    return spend * max(min(1.0, math.sqrt(spend) / 25), math.sqrt(spend) * few)


@pytest.mark.parametrize(
    ("n", "mu", "d"), [(2785, 0.034, 11), (32_562, 0.268, 109), (7988, 0.7, 785), (100, 0.1, None)]
)
def test_the_path_travels_as_far_as_the_rule_says(n, mu, d):
    assert travel(path_schedule(n, mu, 0.25, d)) == pytest.approx(rule(n * mu, d), rel=1e-9)
    # The same problem with rows twice as long: four times the smoothness, a quarter of the step.
    assert travel(path_schedule(n, mu, 1.0, d), 1.0) == pytest.approx(rule(n * mu, d), rel=1e-9)


def test_the_schedule_is_given_public_numbers_only():
    assert list(inspect.signature(path_schedule).parameters) == ["n", "mu", "smoothness", "dimension", "steps"]


@pytest.mark.parametrize("steps", [1, 5, 64, 3000])
def test_a_given_number_of_steps_is_kept(steps):
    assert path_schedule(30_000, 0.3, 0.25, 100, steps).steps == steps


@settings(max_examples=sized(1, 5))
@given(seed=st.integers(0, 10**6))
def test_the_rule_beats_a_path_a_hundred_times_shorter_or_longer(seed):
    """On a made-up problem whose truth is known: mean excess logistic loss of eight noisy paths."""
    generator = np.random.default_rng(seed)
    n, d, mu = 4000, 10, 0.25
    rows = generator.normal(size=(n, d)) * np.array([1, 1, 0.5, 0.5, *[0.2] * 6])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = generator.normal(size=d)
    truth *= 6 / np.linalg.norm(truth)
    labels = np.where(generator.random(n) < 1 / (1 + np.exp(-rows @ truth)), 1.0, -1.0)

    def excess(factor):
        chosen = path_schedule(n, mu, 0.25, d)
        rate, momentum = chosen.rate * min(factor, 1.0), chosen.momentum
        steps = chosen.steps if factor <= 1 else int(chosen.steps * factor)
        theta, velocity, total = np.zeros((8, d)), np.zeros((8, d)), np.zeros((8, d))
        for step in range(steps):
            slope = -labels / (1 + np.exp(labels * (theta @ rows.T)))
            noise = 2 * math.sqrt(steps) / (n * mu) * generator.normal(size=theta.shape)
            velocity = momentum * velocity + slope @ rows / n + noise
            theta = theta - rate * velocity
            total += theta if step >= steps - max(1, steps // 2) else 0.0
        average = total / max(1, steps // 2)
        return float(np.mean(np.logaddexp(0, -labels * (average @ rows.T))))

    assert excess(1.0) < min(excess(0.01), excess(30.0))


def test_plans_say_their_schedule():
    model = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(0.01), 11)
    plan = sf.plan(model, 2785, 1.0, 1e-5, mechanism="langevin-path", goal="estimate")
    again = path_schedule(2785, 0.26805112321, 0.25, 11)
    assert plan["steps"] == again.steps
    assert plan["tail"] == again.tail
    assert plan["learning_rate"] == pytest.approx(again.rate, rel=1e-3)
    assert plan["momentum"] == pytest.approx(again.momentum, rel=0.01)


@pytest.mark.parametrize("steps", [1, 2, 5, 128])
@pytest.mark.parametrize("mu", [1e-4, 5.0])
def test_the_last_half_of_a_path_is_averaged(steps, mu):
    """The first half still carries the start; both without momentum (little to spend) and with it."""
    chosen = path_schedule(10_000, mu, 0.25, 3, steps)
    assert (chosen.momentum > 0) == (mu > 1)
    assert chosen.tail == max(1, steps // 2)
