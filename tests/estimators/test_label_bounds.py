"""Declared bounds of the target that are wider than its labels: the clipping level follows the residuals, not the bounds."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf


def half_widths(X: np.ndarray, y: np.ndarray, width: float) -> np.ndarray:
    """Half-widths of the 90 % intervals, in the units of y."""
    fitted = sf.PrivateLinearRegression(1.0, 1e-6, bounds=(-0.5, 0.5), bounds_y=(-width, width), random_state=2).fit(
        X, y
    )
    assert fitted.plan_.mechanism == "shaped-path"
    lower, upper = fitted.release_.interval()
    return np.asarray(upper - lower) / 2


def test_bounds_twice_and_ten_times_as_wide_as_the_labels_cost_little():
    """Noise in proportion to the bounds would make them twice and ten times as wide: less than 1.5 times is allowed.

    The intercept, first, is read from the mean label too, whose noise is in proportion to the bounds: it may grow, but with what
    skewed errors could do at most (a clipped residual of .05 deviations of .25).
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (20_000, 5))
    y = np.clip(X @ np.linspace(1, -1, 5) + 0.25 * rng.normal(size=20_000), -1, 1)
    tight = half_widths(X, y, 1.0)
    wide, widest = half_widths(X, y, 2.0), half_widths(X, y, 10.0)
    assert (wide[1:] < 1.1 * tight[1:]).all()
    assert (widest[1:] < 1.5 * tight[1:]).all()
    assert wide[0] < 1.8 * tight[0]
    assert widest[0] < 1.645 * 0.05 * 0.25 + tight[0]


def test_robust_intervals_are_reached_from_an_estimator():
    rng = np.random.default_rng(3)
    features = rng.uniform(0, 1, (2_000, 2))
    labels = features @ [1.0, -1.0] + 0.3 * rng.normal(size=2_000)
    fits = [
        sf.PrivateLinearRegression(1.0, 1e-6, bounds=(0, 1), bounds_y=(-3, 3), robust=robust).fit(features, labels)
        for robust in (True, False)
    ]
    lower, upper = fits[0].release_.verify().interval(include="robust")
    assert (lower < upper).all()
    with pytest.raises(sf.errors.ArgumentError, match="matrix of the scores"):
        fits[1].release_.interval(include="robust")


def test_a_residual_counts_as_half_the_width_of_the_bounds_at_most():
    """Labels are scaled to [-1, 1], a width of 2: half of it is 1, and the slope of the loss is that at most."""
    model = sf.PrivateLinearRegression(1.0, 1e-6, bounds=(-1.0, 1.0), bounds_y=(10.0, 50.0), random_state=0)
    rng = np.random.default_rng(1)
    fitted = model.fit(rng.uniform(-1, 1, (60, 2)), rng.uniform(10, 50, 60))
    loss = fitted.plan_.model.loss
    assert (loss.upper - loss.lower) / 2 == loss.clip == 1.0


def test_a_residual_of_a_count_is_at_most_a_quarter_of_the_declared_bound():
    """Counts are measured in quarters of their bound, so that it is 4; a residual counts as 1 at most."""
    rng = np.random.default_rng(1)
    model = sf.PrivatePoissonRegressor(1.0, 1e-6, bounds=(-1.0, 1.0), bounds_y=(0.0, 40.0), random_state=0)
    loss = model.fit(rng.uniform(-1, 1, (60, 2)), rng.poisson(3.0, 60)).plan_.model.loss
    assert (loss.clip, loss.label_bound) == (1.0, 4.0)
