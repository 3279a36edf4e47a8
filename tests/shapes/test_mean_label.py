"""The mean label corrects the intercept of a linear regression with skewed errors, and costs the slopes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from effort import sized
from sfumato.shapes.mean_label import observed
from sfumato.shapes.posterior import Posterior

RUNS = sized(8, 60)
SCHEMA = sf.Schema(
    {"x": sf.Number(0, 10), "group": sf.Boolean(missing=False), "y": sf.Number(0, 60)}, target="y", name="pay"
)


def law(covariance: np.ndarray, mean: np.ndarray) -> Posterior:
    return Posterior(mean, covariance, mean + 0.1, 0.0)


def test_the_update_is_that_of_a_normal_observation():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    covariance, mean, start, row = root @ root.T, rng.normal(size=3), rng.normal(size=3), np.array([0.3, -0.2, 0.5])
    made = observed(law(covariance, mean), start, row, 1.7, 0.04, 0.3, 0.5)
    wide = covariance.copy()
    wide[2, 2] += 0.3**2 / 0.25
    precision = np.linalg.inv(wide) + np.outer(row, row) / 0.04
    assert made.covariance == pytest.approx(np.linalg.inv(precision))
    information = np.linalg.solve(wide, start + mean) + row * 1.7 / 0.04
    assert start + made.mean == pytest.approx(np.linalg.solve(precision, information))


def test_an_exact_mean_label_is_met_and_a_useless_one_changes_the_intercept_alone():
    covariance, mean, start, row = 0.01 * np.eye(3), np.ones(3), np.zeros(3), np.array([0.3, -0.2, 0.5])
    exact = observed(law(covariance, mean), start, row, 5.0, 1e-12, 0.05, 0.5)
    assert row @ exact.mean == pytest.approx(5.0)
    assert row @ exact.predictor == pytest.approx(5.0)
    useless = observed(law(covariance, mean), start, row, 5.0, 1e12, 0.05, 0.5)
    assert useless.mean == pytest.approx(mean)
    assert useless.covariance[:2, :2] == pytest.approx(covariance[:2, :2])


@pytest.mark.planted
@pytest.mark.parametrize("declared", [{}, {"clip": 6.0}], ids=["own clip", "declared clip"])
def test_predicted_means_are_covered_where_errors_are_skewed(declared):
    """Three standard errors of the runs are allowed. Residuals that are clipped at a declared 1.5 of their deviations lose much."""
    model = sf.regression("linear", SCHEMA, **declared)
    plan, n, held, off = sf.plan(model, 10_000, 10.0, 1e-6, goal="estimate"), 10_000, [], []
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        rows = {"x": rng.uniform(0, 10, n), "group": rng.random(n) < 0.5}
        means = 15 + 1.2 * rows["x"] - 3 * rows["group"]
        y = means + 4 * (rng.gamma(1.0, size=n) - 1)
        release = sf.publish(plan, sf.Dataset.from_table({**rows, "y": y}, schema=SCHEMA), randomness=sf.seeded(seed))
        made = release.predict_interval(public_rows={name: cells[:10] for name, cells in rows.items()})
        held.append(((made.lower <= means[:10]) & (means[:10] <= made.upper)).mean())
        off.append((made.estimate - means[:10]).mean())
    assert np.mean(held) > 0.9 - 3 * (0.09 / RUNS) ** 0.5
    # Residuals clipped at 6 alone put every mean .09 deviations of 4 too low.
    assert abs(np.mean(off)) < 0.15
