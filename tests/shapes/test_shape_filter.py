"""The tail average of a path as a linear filter, against the path itself written as one matrix."""

from __future__ import annotations

import numpy as np
import pytest
from path_oracle import linear_path

from sfumato.shapes.filter import divided, responses

STEPS = {"rate": 1.3, "momentum": 0.7, "steps": 25, "tail": 10}
VALUES = np.array([0.01, 0.2, 0.45])
RIDGE = np.array([0.02, 0.0, 0.05])


def whole():
    return linear_path(np.diag(VALUES), np.diag(RIDGE), **STEPS)


def test_the_mean_of_the_average():
    average, _ = whole()
    got = responses(VALUES + RIDGE, **STEPS).force
    assert average[:, :3] == pytest.approx(np.diag(got), rel=1e-12)
    assert average[:, 3:6] == pytest.approx(np.diag(got), rel=1e-12)


def test_the_variance_and_the_shared_noise_of_the_average():
    average, gradient = whole()
    answer = responses(VALUES + RIDGE, **STEPS)
    noise = average[:, 6:]
    # u = C average - gradient carries minus the mean noise of the tail.
    u = np.diag(VALUES) @ noise - gradient[:, 6:]
    assert noise @ noise.T == pytest.approx(np.diag(answer.spread), abs=1e-12)
    assert noise @ u.T == pytest.approx(np.diag(-answer.shared), abs=1e-12)
    assert (answer.shared < 0).all()


def test_positions_wander_around_their_average():
    single = np.zeros(3)
    for last in range(STEPS["steps"] - STEPS["tail"], STEPS["steps"]):
        position, _ = linear_path(np.diag(VALUES), np.diag(RIDGE), STEPS["rate"], STEPS["momentum"], last + 1, 1)
        single += (position[:, 6:] ** 2).sum(axis=1) / STEPS["tail"]
    answer = responses(VALUES + RIDGE, **STEPS)
    assert answer.wander == pytest.approx(single - answer.spread, rel=1e-10)


def test_an_error_of_the_curvature_enters_by_divided_differences():
    rng = np.random.default_rng(3)
    error = rng.normal(size=(3, 3))
    error = 1e-6 * (error + error.T)
    x, c = rng.normal(size=3), rng.normal(size=3)
    answer = responses(VALUES + RIDGE, **STEPS)
    quotients = divided(VALUES + RIDGE, answer.force, answer.slope)

    def mean(curvature):
        average, _ = linear_path(curvature, np.diag(RIDGE), **STEPS)
        return average[:, :3] @ (curvature @ x) + average[:, 3:6] @ (RIDGE * c)

    moved = (mean(np.diag(VALUES) + error) - mean(np.diag(VALUES) - error)) / 2
    gain, shift = quotients * VALUES + answer.force[:, None], quotients * (RIDGE * c)
    assert (error * (gain * x + shift)).sum(axis=1) == pytest.approx(moved, rel=1e-6)


def test_equal_points_take_the_slope():
    points = np.array([0.3, 0.3, 0.5])
    quotients = divided(points, points**2, 2 * points)
    assert quotients == pytest.approx(points[:, None] + points[None, :], rel=1e-9)
