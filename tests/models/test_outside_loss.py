"""A loss from outside the package: one class and one line in the table take it through every step, or a sentence refuses it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError, FormatError, LossRejected
from sfumato.models.constants import Constants
from sfumato.models.losses import LOSSES
from sfumato.models.losses.labels import REALS
from sfumato.models.reading import model_from_json
from sfumato.schema import Schema
from sfumato.shells.spec_models import read_model

N = 3_000


@dataclass(frozen=True)
class LogCosh(sf.losses.ScalarLinkLoss):
    """phi = log cosh(u - y), labels in [-1, 1]: |phi'| <= 1, phi'' <= 1."""

    radius: float
    name = "log-cosh"
    label_domain = sf.losses.LabelInterval(-1.0, 1.0)
    spec_name = "log-cosh"

    def value(self, u, y):
        return np.logaddexp(u - y, y - u) - math.log(2)

    def derivative(self, u, y):
        return np.tanh(np.subtract(u, y))

    def constants(self, dimension=None, domain_radius=math.inf) -> Constants:
        r = self.radius
        return Constants(r, 2 * r, r * r, 0.0, 2 * r * domain_radius, convex=True, smooth=True)


@dataclass(frozen=True)
class TwoScores(sf.losses.Loss):
    """Squared distance of two scores to the label's corner, saturated: a loss of classes 0 and 1 with two outputs."""

    radius: float
    name = "two-scores"
    outputs = 2
    label_domain = sf.losses.LabelSet((0.0, 1.0))

    def _away(self, scores, y):
        return np.tanh(scores - (np.asarray(y)[..., None] == np.arange(2)))

    def value_at(self, scores, y):
        away = scores - (np.asarray(y)[..., None] == np.arange(2))
        return (np.logaddexp(away, -away) - math.log(2)).sum(axis=-1)

    def slope_at(self, scores, y):
        return self._away(scores, y)

    def constants(self, dimension=None, domain_radius=math.inf) -> Constants:
        r = self.radius
        return Constants(1.5 * r, 3 * r, r * r, 0.0, 3 * r * domain_radius, convex=True, smooth=True)


@pytest.fixture
def registered(monkeypatch):
    """The one line, undone after the test."""
    monkeypatch.setitem(LOSSES, LogCosh.name, LogCosh)
    monkeypatch.setitem(LOSSES, TwoScores.name, TwoScores)


def numbers() -> sf.Dataset:
    rng = np.random.default_rng(1)
    rows = rng.uniform(-0.7, 0.7, (N, 2))
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Number(-1, 1))
    return sf.Dataset.from_arrays(rows, np.tanh(rows @ [0.8, -0.3]), schema=schema)


MODEL = sf.Gibbs(LogCosh(1.0), sf.priors.Gaussian(1.0), 2)


def test_a_registered_loss_is_planned_published_verified_predicted_and_rehearsed(registered, tmp_path):
    plan = sf.plan(MODEL, N, 5.0, 1e-6, goal="estimate", keep=("transcript",))
    release = sf.publish(plan, numbers())
    release.save(tmp_path / "release.sfumato")
    loaded = sf.load(tmp_path / "release.sfumato")
    loaded.verify()
    assert model_from_json(plan.to_json()["model"]) == MODEL
    X = np.array([[0.5, 0.0], [-0.5, 0.2]])
    # Predictions use the estimate, which is the average of the path but for directions that it did not reach.
    np.testing.assert_allclose(loaded.predict(public_rows=X), X @ loaded.mean(), rtol=0.05)
    assert loaded.mean() == pytest.approx([0.7, -0.3], abs=0.2)
    low, high = loaded.interval(0.9)
    assert (low < high).all()
    rehearsal = sf.rehearse(plan, runs=2)
    assert 0 < rehearsal.error < rehearsal.start_error


def test_a_registered_loss_draws_a_posterior_on_a_ball(registered):
    model = sf.Gibbs(LogCosh(1.0), sf.priors.Ball(sf.priors.Gaussian(1.0), radius=1.0), 2)
    sf.publish(sf.plan(model, N, 1.0, 0.0, mechanism="exponential"), numbers()).verify()


def test_a_loss_of_two_scores_predicts_the_class_of_least_loss(registered):
    rng = np.random.default_rng(2)
    rows = rng.uniform(-0.7, 0.7, (N, 2))
    labels = (rows[:, 0] > 0).astype(int)
    model = sf.Gibbs(TwoScores(1.0), sf.priors.Gaussian(1.0), 4)
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Category([0, 1], missing=0))
    plan = sf.plan(model, N, 20.0, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_arrays(rows, labels, schema=schema))
    release.verify()
    assert release.predict(public_rows=np.array([[-0.6, 0.0], [0.6, 0.0]])).tolist() == [0, 1]
    with pytest.raises(ArgumentError, match="two-scores loss has no probabilities"):
        release.predict_proba(public_rows=rows[:2])
    excess = sf.rehearse(plan, runs=2).excess
    assert excess is not None
    assert 0 <= excess < 0.5


def test_a_spec_file_names_a_registered_loss(registered):
    schema = Schema({"x": sf.Number(-1, 1), "y": sf.Number(-1, 1)}, target="y")
    model, _ = read_model("spec.toml", {"regression": "log-cosh", "intercept": False}, schema)
    assert type(model.loss) is LogCosh


def test_a_loss_that_is_in_no_table_cannot_be_read_back():
    release = sf.publish(sf.plan(MODEL, N, 1.0, 1e-6, goal="estimate"), numbers())
    with pytest.raises(FormatError, match=r"loss must be one of .*log-cosh"):
        release.predict(public_rows=np.zeros((1, 2)))
    schema = Schema({"x": sf.Number(-1, 1), "y": sf.Number(-1, 1)}, target="y")
    with pytest.raises(FormatError, match="regression must be one of"):
        read_model("spec.toml", {"regression": "log-cosh"}, schema)


def test_what_extends_no_base_class_is_refused_by_its_name():
    class Nothing:
        name, record, dimension, radius = "nothing", "labelled row", None, 1.0

    with pytest.raises(ArgumentError, match=r"sf\.losses\.Loss"):
        sf.Gibbs(Nothing(), sf.priors.Gaussian(1.0), 2)


def test_labels_without_bounds_are_invented_by_the_loss_or_not_at_all():
    class Unbounded(LogCosh):
        label_domain = REALS

    plan = sf.plan(sf.Gibbs(Unbounded(1.0), sf.priors.Gaussian(1.0), 2), 100, 1.0, 1e-6, goal="estimate")
    with pytest.raises(ArgumentError, match=r"simulate\(scores, rng\)"):
        sf.rehearse(plan, runs=1)


def test_rows_without_labels_are_for_the_mean_alone():
    @dataclass(frozen=True)
    class OtherMean(sf.losses.Loss):
        radius: float
        name = "other-mean"
        record = "row"

        def constants(self, dimension=None, domain_radius=math.inf) -> Constants:
            return Constants(1.0, 1.0, 1.0, 0.0, math.inf, convex=True, smooth=True)

    with pytest.raises(LossRejected, match=r"'other-mean'.* must be GaussianMean itself"):
        sf.Gibbs(OtherMean(1.0), sf.priors.Gaussian(1.0), 2)


def test_a_subclass_runs_its_own_derivative_and_not_the_compiled_one_of_its_parent():
    @dataclass(frozen=True)
    class Halved(sf.losses.Huber):
        name = "halved"

        def value(self, u, y):
            return 0.5 * sf.losses.Huber.value(self, u, y)

        def derivative(self, u, y):
            return 0.5 * sf.losses.Huber.derivative(self, u, y)

    from sfumato.engines.opening import open_engine

    rows, labels = np.array([[0.5, 0.5]]), np.array([0.4])
    schema = sf.Schema.vector(2, data_norm=1.0, target=sf.Number(-1, 1))
    data = sf.Dataset.from_arrays(rows, labels, schema=schema)
    sums = [
        open_engine(data, sf.Gibbs(loss(1.0, clip=3.0), sf.priors.Gaussian(1.0), 2), ("gradients",)).gradient(
            np.zeros((1, 2))
        )
        for loss in (sf.losses.Huber, Halved)
    ]
    np.testing.assert_allclose(sums[1], 0.5 * sums[0], rtol=1e-12)
    assert abs(sums[0]).max() > 0.1
