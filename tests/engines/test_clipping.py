"""What one record can add is bounded by the engine itself, whatever a user's function returns."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.engines.reference import ReferenceEngine
from sfumato.engines.values import ValuesEngine

SIGNS = sf.Category([-1, 1], missing=-1)


def steep_far_away() -> sf.losses.ScalarLink:
    """A loss whose slope is 5 beyond where any search looks, declared to be at most 1."""
    return sf.losses.ScalarLink(
        lambda u, y: np.logaddexp(0, -y * u),
        lambda u, y: np.where(np.abs(u) < 2e4, -y / (1 + np.exp(np.clip(y * u, -700, 700))), 5.0 * np.sign(u)),
        labels=(-1.0, 1.0),
        radius=1.0,
        derivative_bound=1.0,
        convex=True,
    )


def one_row(width: int = 1, label: int = 1) -> sf.Dataset:
    schema = sf.Schema.vector(width, data_norm=1.0, target=SIGNS)
    return sf.Dataset.from_arrays(np.eye(1, width), np.array([label]), schema=schema)


@pytest.mark.parametrize("intercept", [0.0, 0.75])
def test_a_slope_beyond_its_bound_is_clipped(intercept):
    radius = sf.losses.radius_with_intercept(1.0, intercept)
    loss = steep_far_away()
    loss = sf.losses.ScalarLink(
        loss.value_function, loss.derivative_function, (-1.0, 1.0), radius, 1.0, convex=True
    )  # fmt: skip
    model = sf.Gibbs(loss, sf.priors.Gaussian(1.0), 2 if intercept else 1, intercept)
    engine = ReferenceEngine(one_row(), model)
    for far in (1e5, -1e5):
        theta = np.array([[far, 0.0]]) if intercept else np.array([[far]])
        gradient = engine.gradient(theta)
        assert np.linalg.norm(gradient) <= model.constants.lipschitz * (1 + 1e-15)
        assert gradient[0, 0] == pytest.approx(math.copysign(1.0, far))
        if intercept:
            assert gradient[0, 1] == pytest.approx(math.copysign(intercept, far))


def test_a_softmax_residual_is_no_longer_than_the_root_of_two():
    class Long(sf.losses.Softmax):
        times = 1.0

        def residual(self, scores, labels):
            return self.times * super().residual(scores, labels)

    loss = Long(radius=1.0, classes=3)
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1, 2], missing=0))
    data = sf.Dataset.from_arrays(np.array([[1.0, 0.0]]), np.array([2]), schema=schema)
    engine = ReferenceEngine(data, sf.Gibbs(loss, sf.priors.Gaussian(1.0), 6))
    Long.times = 9.0  # after the model has attacked it
    assert np.linalg.norm(engine.gradient(np.zeros((1, 6)))) == pytest.approx(math.sqrt(2))


# --- sums of values --------------------------------------------------------------------------------------------------


def by_hand(values: np.ndarray, unit: float, bound: float) -> list[int]:
    """Values (rows, points) as whole numbers of units, clipped record by record."""
    whole = np.rint(np.clip(values, -bound, bound) / unit).astype(int)
    return whole.sum(axis=0).tolist()


@pytest.mark.parametrize("bound", [0.3, 1.0, 50.0])
def test_a_value_beyond_the_bound_is_clipped(bound):
    rng = np.random.default_rng(3)
    rows, labels = rng.uniform(-0.5, 0.5, (40, 2)), rng.choice([-1, 1], 40)
    schema = sf.Schema.vector(2, data_norm=1.0, target=SIGNS)
    engine = ValuesEngine(
        sf.Dataset.from_arrays(rows, labels, schema=schema),
        sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2),
    )
    points = rng.normal(0, 6, (7, 2))
    values = np.logaddexp(0, -labels[:, None] * (rows @ points.T)) - math.log(2)
    assert (np.abs(values) > 1.0).any()
    assert engine.values(points, 2.0**-20, bound) == by_hand(values, 2.0**-20, bound)


def test_values_with_an_intercept_of_labels_and_of_rows_are_clipped_too():
    rng = np.random.default_rng(4)
    rows, labels = rng.uniform(-0.5, 0.5, (30, 2)), rng.choice([-1, 1], 30)
    points, unit, bound = rng.normal(0, 5, (6, 3)), 2.0**-16, 0.7
    loss = sf.losses.Logistic(sf.losses.radius_with_intercept(1.0, 0.5))
    schema = sf.Schema.vector(2, data_norm=1.0, target=SIGNS)
    data = sf.Dataset.from_arrays(rows, labels, schema=schema)
    engine = ValuesEngine(data, sf.Gibbs(loss, sf.priors.Gaussian(1.0), 3, 0.5))
    scores = np.column_stack([rows, np.full(30, 0.5)]) @ points.T
    assert engine.values(points, unit, bound) == by_hand(
        np.logaddexp(0, -labels[:, None] * scores) - math.log(2), unit, bound
    )
    mean = ValuesEngine(
        sf.Dataset.from_arrays(rows, schema=sf.Schema.vector(2, data_norm=1.0)),
        sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Gaussian(1.0), 2),
    )
    assert mean.values(points[:, :2], unit, bound) == by_hand(-rows @ points[:, :2].T, unit, bound)
    rate = ValuesEngine(
        sf.Dataset.from_table({"y": labels > 0}, schema=sf.Schema({"y": sf.Boolean(missing=False)}, target="y")),
        sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(1.0), 1),
    )
    t, y = points[:, :1].T, (labels > 0).astype(float)[:, None]
    assert rate.values(points[:, :1], unit, bound) == by_hand(np.logaddexp(0, t) - y * t - math.log(2), unit, bound)
