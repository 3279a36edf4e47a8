"""Interval methods are found by the class of a family: one file and one line of a table serve a new family."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.models import families, networks
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.family import Family
from sfumato.queries.interval_widths import expected_width
from sfumato.queries.statistics import table
from sfumato.queries.statistics.protocol import MOST_DRAWS, Method, Numbers, Released

F = sf.families
WITHOUT = {"Finite", "Quantile"}


def test_every_family_has_a_method_or_a_reason():
    known = {**families.TABLE, **networks.TABLE}
    for name, family in known.items():
        method = next((table.METHODS[kind] for kind in family.__mro__ if kind in table.METHODS), None)
        assert method is not None, name
        assert isinstance(method, str) == (name in WITHOUT), name


def constant_reader(model, prior, released):
    return lambda level, sampling: np.array([[level], [float(sampling) + released.n]])


def test_one_line_serves_a_new_family_and_its_subclasses(monkeypatch):
    class Toy(Family):
        name = "Toy"

    class Small(Toy):
        name = "Small"

    with pytest.raises(ArgumentError, match="worked out for Small; quantile"):
        table.reader_of(Small())
    monkeypatch.setitem(table.METHODS, Toy, Method(constant_reader))
    read = table.reader_of(Small())
    assert read(Small(), Small(), Released(7, Numbers(1.0, 1.0, 0.0), np.zeros((1, 1))))(0.9, True).tolist() == [
        [0.9],
        [8.0],
    ]
    monkeypatch.setitem(table.METHODS, Small, "small toys have none.")
    with pytest.raises(ArgumentError, match="small toys have none"):
        table.reader_of(Small())


def test_a_release_is_read_by_the_line_of_its_family(monkeypatch):
    data = sf.Dataset.from_table({"x": np.arange(20) < 5}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    plan = sf.plan(F.BetaBernoulli(1, 1), 20, 1.0, 1e-6, mechanism="diffused")
    release = sf.publish(plan, data, randomness=sf.seeded(1))
    low, high = release.interval(0.9)
    assert 0 <= low < high <= 1
    monkeypatch.setitem(table.METHODS, BetaBernoulli, Method(constant_reader))
    assert release.interval(0.8).tolist() == [0.8, 21.0]
    assert release.interval(0.8, include="privacy").tolist() == [0.8, 20.0]
    assert expected_width(plan, 0.5) == 20.5


def test_a_regression_is_read_by_the_line_of_its_models(monkeypatch):
    rows = {"x": np.linspace(-1, 1, 40), "y": np.arange(40) % 3 > 0}
    schema = sf.Schema({"x": sf.Number(-1, 1), "y": sf.Boolean(missing=False)}, target="y", data_norm=1.0)
    model = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(precision=2.0), 1)
    plan = sf.plan(model, 40, 1.0, 1e-6, goal="estimate", steps=3, keep=("transcript",))
    release = sf.publish(plan, sf.Dataset.from_table(rows, schema=schema), randomness=sf.seeded(1))
    low, high = release.interval(0.9, scaled=True)
    assert low < high
    monkeypatch.setitem(table.METHODS, sf.Gibbs, Method(constant_reader))
    assert release.interval(0.8, include="privacy", scaled=True).tolist() == [[0.8], [40.0]]
    monkeypatch.setitem(table.METHODS, sf.Gibbs, "regressions have none.")
    with pytest.raises(ArgumentError, match="regressions have none"):
        release.interval()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (F.Quantile(0.5, [1.0, 2.0]), "rank error"),
        (sf.networks.BayesianNetwork({"a": (), "b": ("a",)}, {"a": 2, "b": 2}, floor=0.1), "Leave floor out"),
        (sf.networks.BayesianNetwork({"a": (), "b": ("a",)}, {"a": 100, "b": 100}), "marginal"),
        (sf.grouped(F.Finite.bernoulli(0.125), "g", (0, 1)), "one by one"),
        (sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(precision=2.0)), "convex, smooth losses"),
    ],
)
def test_a_model_without_an_interval_is_refused_with_a_sentence(model, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        table.reader_of(model)


def test_a_reader_takes_the_first_draws_of_many():
    draws = np.arange(2.0 * MOST_DRAWS)[:, None]
    assert Released(3, Numbers(1.0, 1.0, 0.0), draws).first.shape == (MOST_DRAWS, 1)
    assert np.array_equal(Released(3, Numbers(1.0, 1.0, 0.0), draws[:5]).first, draws[:5])


@dataclass(frozen=True)
class Narrow:
    """A plan as far as an expected width needs it."""

    model: Family
    n: int = 50
    draws: int = 1
    parameters: tuple = (("power", 1.0), ("strength", 1.0))


def test_expected_widths_refuse_before_anything_is_simulated():
    with pytest.raises(ArgumentError, match="one by one"):
        expected_width(Narrow(sf.grouped(F.Finite.bernoulli(0.125), "g", (0, 1))), 0.9)
    with pytest.raises(ArgumentError, match="known after the release"):
        expected_width(Narrow(sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(precision=2.0), 2)), 0.9)
    assert 0 < expected_width(Narrow(F.BetaBernoulli(1, 1)), 0.9) < 1
