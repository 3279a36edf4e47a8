"""What losses answer beside their constants: bounds on the mode, labels far out, predictions and names in spec files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

import sfumato as sf
from sfumato.models.losses import LOSSES
from sfumato.theorems.exponential import logistic_map_radius


def mode(loss, power: float, n: int, precision: float, x: float) -> float:
    """The mode of n equal records of feature x and label 1 in one dimension."""
    scores = lambda theta: power * n * float(loss.value(theta * x, 1.0)) + precision * theta**2 / 2
    far = 2 * power * n * x / precision
    return optimize.minimize_scalar(scores, bounds=(0, far), method="bounded", options={"xatol": 1e-10 * far}).x


@pytest.mark.parametrize("loss", [sf.losses.Logistic(2.0), sf.losses.Hinge(2.0)])
def test_the_bound_on_a_mode_holds_and_some_data_set_attains_it(loss):
    worst = 0.0
    for power, n, precision in ((1.0, 10, 1.0), (0.1, 1000, 3.0), (0.01, 5, 40.0), (1.0, 400, 0.01)):
        bound = loss.mode_bound(power, n, precision)
        features = np.concatenate([np.geomspace(1e-3, 2.0, 60), [min(2.0, math.sqrt(precision / (power * n)))]])
        found = max(mode(loss, power, n, precision, x) for x in features)
        assert found <= bound * (1 + 1e-6)
        worst = max(worst, found / bound)
    assert worst > 0.99


def test_the_bound_of_the_logistic_loss_is_that_of_its_theorem():
    for power, n, precision in ((1.0, 10, 1.0), (0.01, 50, 40.0), (1.0, 400, 0.01)):
        known = logistic_map_radius(power=power, radius=2.0, precision_per_record=precision / n)
        assert sf.losses.Logistic(2.0).mode_bound(power, n, precision) == known
    assert sf.losses.Huber(1.0, clip=1.0).mode_bound(1.0, 10, 1.0) is None


@pytest.mark.parametrize(
    "loss", [sf.losses.Huber(1.0, 0.7), sf.losses.Quantile(1.0, 0.8), sf.losses.SmoothedQuantile(1.0, 0.8, 0.3)]
)
def test_labels_beyond_the_limit_act_like_labels_at_it(loss):
    u = np.linspace(-3.0, 3.0, 41)
    limit = loss.label_limit(3.0)
    for sign in (-1.0, 1.0):
        gaps = [loss.value(u, sign * far) - loss.value(0.0, sign * far) for far in (limit, limit + 5.0)]
        np.testing.assert_allclose(*gaps, atol=1e-12)
    nearer = [loss.value(u, y) - loss.value(0.0, y) for y in (0.7 * limit, limit + 5.0)]
    assert np.abs(nearer[0] - nearer[1]).max() > 0.01, "a limit three tenths smaller is seen"


def test_predictions_are_the_links_of_the_likelihoods():
    u = np.array([[-800.0], [-1.0], [0.0], [2.0], [800.0]])
    shares = {
        "logistic": special.expit(u),
        "clipped-probit": special.ndtr(u),
        "clipped-cloglog": 1 - np.exp(-np.exp(np.minimum(u, 700))),
    }
    losses = [sf.losses.Logistic(1.0), sf.losses.ClippedProbit(1.0, 0.5), sf.losses.ClippedCloglog(1.0, 0.5)]
    for loss in losses:
        wanted = np.concatenate([1 - shares[loss.name], shares[loss.name]], axis=1)
        np.testing.assert_allclose(loss.predict(u), wanted, atol=1e-15)
        assert loss.probabilistic
    scores = np.array([[1.0, 2.0, 900.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(sf.losses.Softmax(1.0, 3).predict(scores), special.softmax(scores, axis=1), atol=1e-15)
    for loss in (sf.losses.Hinge(1.0), sf.losses.SmoothedHinge(1.0, 0.5)):
        assert loss.predict(u).tolist() == [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
        assert not loss.probabilistic


def test_a_predicted_count_is_at_most_the_label_bound_where_there_is_one():
    u = np.array([[-1.0], [0.0], [5.0]])
    np.testing.assert_allclose(sf.losses.ClippedPoisson(1.0, 1.0, 9.0).predict(u)[:, 0], [np.exp(-1.0), 1.0, 9.0])
    np.testing.assert_allclose(sf.losses.ClippedPoisson(1.0, 1.0).predict(u), np.exp(u))


def test_names_of_spec_files_are_distinct():
    names = [loss.spec_name for loss in LOSSES.values() if loss.spec_name]
    assert names == ["logistic", "multinomial", "svm", "linear", "quantile", "probit", "cloglog", "poisson"]
    assert {key for loss in LOSSES.values() for key in loss.spec_keys} == {"clip", "quantile"}
