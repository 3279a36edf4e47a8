"""What a rehearsal invents: parameters from the prior, labels from the model, and a judge that is fair."""

from __future__ import annotations

import re
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

import sfumato as sf
from sfumato.rehearsing import parameter_errors as rehearsing


@pytest.fixture
def invented(monkeypatch):
    """Make `_invent` return its tables instead of data sets, whose rows nobody may read."""
    made = SimpleNamespace(
        from_table=lambda table, schema: table["y"], from_arrays=lambda rows, labels=None, schema=None: (rows, labels)
    )
    monkeypatch.setattr(rehearsing, "Dataset", made)
    return rehearsing._invent


def model(loss, prior=None, dimension=3, intercept=0.0) -> sf.Gibbs:
    return sf.Gibbs(loss, prior or sf.priors.Gaussian(1.0), dimension, intercept)


def parameters(prior, count: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(5)
    chosen = model(sf.losses.Logistic(1.0), prior)
    return np.array([rehearsing._parameter(chosen, 3, rng) for _ in range(count)])


def test_a_parameter_follows_a_gaussian_prior():
    precision = np.array([[4.0, 1.5, 0.0], [1.5, 2.0, -0.5], [0.0, -0.5, 1.0]])
    drawn = parameters(sf.priors.Gaussian(precision, mean=[1.0, -2.0, 3.0]))
    assert drawn.mean(axis=0) == pytest.approx([1.0, -2.0, 3.0], abs=0.1)
    assert np.cov(drawn.T) == pytest.approx(np.linalg.inv(precision), abs=0.08)


def test_a_parameter_is_uniform_in_a_ball():
    drawn = parameters(sf.priors.Ball(sf.priors.Flat(), radius=2.0, centre=(1.0, 0.0, 0.0)))
    shares = (np.linalg.norm(drawn - [1.0, 0.0, 0.0], axis=1) / 2.0) ** 3  # uniform on [0, 1]
    assert np.quantile(shares, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.04)


def test_the_spread_is_the_standard_error_of_a_mean():
    values = [3.0, 5.5, 4.0, 9.0]
    assert rehearsing._spread(np.array(values)) == pytest.approx(statistics.stdev(values) / 2, rel=1e-12)


def test_the_noise_of_a_huber_label_is_its_clipping_level_over_1_345():
    labels = sf.losses.Huber(1.0, clip=2.0).simulate(np.full((40_000, 1), 0.5), np.random.default_rng(1))
    assert labels.mean() == pytest.approx(0.5, abs=0.03)
    assert labels.std() == pytest.approx(2.0 / 1.345, rel=0.02)


@pytest.mark.parametrize("odds", [-1.5, 1.5])
def test_log_odds_give_their_share_of_ones(invented, odds):
    chosen = model(sf.losses.LogitBernoulli(), dimension=1)
    yes, judge = invented(chosen, np.array([odds]), 20_000, np.random.default_rng(2))
    assert np.mean(yes) == pytest.approx(special.expit(odds), abs=0.015)
    assert judge is None


def test_invented_classes_follow_the_scores(invented):
    truth = np.array([3.0, -1.0, 0.5])
    (rows, codes), judge = invented(
        model(sf.losses.Logistic(1.0), intercept=0.5), truth, 20_000, np.random.default_rng(3)
    )
    assert np.linalg.norm(rows, axis=1).max() <= np.sqrt(1 - 0.25)
    expected = special.expit(rows @ truth[:2] + 0.5 * truth[2])
    assert codes.mean() == pytest.approx(expected.mean(), abs=0.015)
    assert codes[expected > 0.8].mean() == pytest.approx(expected[expected > 0.8].mean(), abs=0.02)
    # Whoever always says the opposite errs |2p - 1| more often than the best.
    assert judge(truth) == 0
    assert judge(-truth) == pytest.approx(np.abs(2 * expected - 1).mean(), rel=0.05)


def test_three_classes_are_invented_in_their_shares(invented):
    truth = np.array([2.0, 0.0, 0.0, 1.0, -1.0, 0.0])
    (rows, codes), _ = invented(
        model(sf.losses.Softmax(1.0, classes=3), dimension=6), truth, 20_000, np.random.default_rng(4)
    )
    shares = special.softmax(rows @ truth.reshape(3, 2).T, axis=1).mean(axis=0)
    assert np.bincount(codes, minlength=3) / 20_000 == pytest.approx(shares, abs=0.015)


def test_the_start_is_that_of_the_prior_and_the_sentence_says_each_number_once():
    prior = sf.priors.Gaussian(100.0, mean=[5.0, 5.0, 5.0])
    plan = sf.plan(model(sf.losses.Logistic(1.0), prior), 200, 1.0, 1e-6, goal="estimate")
    found = sf.rehearse(plan, runs=2)
    assert found.start_error < 1.0  # three deviations of a tenth each, not the length of the mean
    said = re.search(r"parameter (\S+) \+- (\S+) \(start: (\S+)\)", str(found)).groups()
    assert [float(x) for x in said] == pytest.approx([found.error, found.error_spread, found.start_error], rel=0.06)
    excess = re.search(r"classifier (\S+) \+- (\S+)", str(found)).groups()
    assert [float(x) for x in excess] == pytest.approx([found.excess, found.excess_spread], rel=0.06)
