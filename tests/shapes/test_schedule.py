"""The step size of a mapped path is the formula of its module: by hand where each of its bounds decides."""

from __future__ import annotations

import pytest

from sfumato.shapes import schedule

# size m, scale c, curvature k; momentum 0.8 leaves a fifth of the travel for the steps.
MAP = {"size": 2.0, "scale": 0.5, "curvature": 0.25, "momentum": 0.8, "dimension": 10}


@pytest.mark.parametrize(
    ("spend", "steps", "expected"),
    [
        (100.0, 100, 0.7 * 0.5 * 100 * 0.2 / 100),  # N = 0.71, gamma = .17: at least .7
        (300.0, 1000, 0.12 / (355 * 2 * 10 / 300**2) * 0.5 * 300 * 0.2 / 1000),  # N = .0789, gamma = 1.52
        (1000.0, 1000, 3.0 * 0.5 * 1000 * 0.2 / 1000),  # N = .0071, gamma = 16.9: at most 3
        (1000.0, 10, 0.25 * 2 / (1.5 * 0.25)),  # so few steps would be too long: c^2 m/(1.5 k)
    ],
)
def test_the_step_size_is_the_travel_shared_by_the_steps_and_never_unstable(spend, steps, expected):
    assert schedule.learning_rate(spend=spend, steps=steps, **MAP) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("spend", "dimension", "expected"),
    [(1000.0, 4, 0.12), (1000.0, 100, 0.12 / 8), (4000.0, 100, 0.12 / 2), (10.0, 100, 0.03)],
)
def test_the_share_of_the_curvature_falls_with_the_dimension_to_a_floor(spend, dimension, expected):
    share = max(0.03, expected)
    assert schedule.curvature_share(spend, dimension) == pytest.approx(share, rel=1e-12)
