"""Predictions of a released regression: rows encoded as the private ones were, averages over draws, and clear refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse, stats

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries import predict

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
PLANE = np.array([1.5, -1.0, 0.5])


def release(loss, target, y, draws: int = 4, intercept: float = 0.0, mechanism: str = "langevin") -> sf.Release:
    schema = sf.Schema.vector(3, data_norm=1.0, target=target)
    data = sf.Dataset.from_arrays(X, y, schema=schema)
    model = sf.Gibbs(loss, sf.priors.Gaussian(precision=0.5), intercept=intercept)
    plan = sf.plan(model, len(X), 50.0, 1e-3, mechanism=mechanism, draws=draws, allow_weak=True)
    return sf.publish(plan, data, randomness=sf.seeded(2))


def clipped(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]


YES = X @ PLANE + RNG.logistic(size=400) > 0


@pytest.mark.planted
def test_probabilities_are_averages_over_draws_of_clipped_rows_with_the_intercept():
    made = release(
        sf.losses.Logistic(radius=1.5),
        sf.Category(["no", "yes"], missing="no"),
        np.where(YES, "yes", "no"),
        intercept=0.5,
    )
    rows = RNG.normal(size=(50, 3)) * 3
    features = np.column_stack([clipped(rows), np.full(50, 0.5)])
    by_draw = 1 / (1 + np.exp(-features @ made.draws.pooled().T))
    found = made.predict_proba(public_rows=rows)
    assert np.allclose(found[:, 1], by_draw.mean(axis=1), rtol=1e-9)
    assert np.allclose(found.sum(axis=1), 1)
    plug_in = 1 / (1 + np.exp(-features @ made.mean()))
    assert not np.allclose(found[:, 1], plug_in, rtol=1e-6)  # the same check sees a plug-in of the mean
    assert list(made.predict(public_rows=rows)) == ["yes" if p > 0.5 else "no" for p in found[:, 1]]
    assert (made.predict(public_rows=X) == np.where(YES, "yes", "no")).mean() > 0.7
    assert np.allclose(made.predict_proba(public_rows=sparse.csr_array(rows)), found)


def test_a_boolean_target_gives_booleans_and_numbers_stay_numbers():
    made = release(sf.losses.Logistic(radius=1.0), sf.Boolean(missing=False), YES)
    assert made.predict(public_rows=X).dtype == bool
    assert (made.predict(public_rows=X) == (made.predict_proba(public_rows=X)[:, 1] > 0.5)).all()
    counted = release(sf.losses.Logistic(radius=1.0), sf.Category([3, 7], missing=3), np.where(YES, 7, 3))
    assert set(counted.predict(public_rows=X).tolist()) == {3, 7}


def test_softmax_probabilities_are_averages_of_softmaxes():
    labels = np.array(["a", "b", "c"])[np.argmax(X + RNG.gumbel(size=X.shape), axis=1)]
    made = release(sf.losses.Softmax(radius=1.0, classes=3), sf.Category(["a", "b", "c"], missing="a"), labels)
    scores = np.einsum("nkf,rf->rnk", made.draws.pooled().reshape(-1, 3, 3), clipped(X))
    shares = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    assert np.allclose(made.predict_proba(public_rows=X), shares.mean(axis=1), rtol=1e-9)
    assert (made.predict(public_rows=X) == labels).mean() > 0.4


@pytest.mark.parametrize(
    ("loss", "inverse"),
    [
        (sf.losses.ClippedProbit(radius=1.0, clip=3.0), stats.norm.cdf),
        (sf.losses.ClippedCloglog(radius=1.0, clip=2.0), lambda u: 1 - np.exp(-np.exp(u))),
    ],
)
def test_other_links_have_their_own_probabilities(loss, inverse):
    made = release(loss, sf.Boolean(missing=False), YES)
    wanted = inverse(clipped(X) @ made.draws.pooled().T).mean(axis=1)
    assert np.allclose(made.predict_proba(public_rows=X)[:, 1], wanted, rtol=1e-9)


def test_a_hinge_votes_and_has_no_probabilities():
    made = release(sf.losses.SmoothedHinge(radius=1.0, width=1.0), sf.Boolean(missing=False), YES, draws=3)
    votes = (clipped(X) @ made.draws.pooled().T > 0).mean(axis=1)
    assert (made.predict(public_rows=X) == (votes > 0.5)).all()
    with pytest.raises(ArgumentError, match="no probabilities"):
        made.predict_proba(public_rows=X)


def test_numbers_are_predicted_in_the_units_of_the_target():
    y = np.clip(clipped(X) @ PLANE + 0.1 * RNG.normal(size=400), -1, 1)
    made = release(sf.losses.Huber(radius=1.0, clip=1.0), sf.Number(-1, 1), y)
    assert np.allclose(made.predict(public_rows=X), clipped(X) @ made.mean())
    assert np.corrcoef(made.predict(public_rows=X), y)[0, 1] > 0.7
    with pytest.raises(ArgumentError, match="is a number"):
        made.predict_proba(public_rows=X)


def test_counts_are_averages_of_exponentials_below_the_declared_bound():
    y = np.minimum(RNG.poisson(np.exp(clipped(X) @ PLANE)), 9)
    made = release(sf.losses.ClippedPoisson(radius=1.0, clip=2.0, label_bound=9.0), sf.Number(0, 9), y)
    wanted = np.exp(np.minimum(clipped(X) @ made.draws.pooled().T, math.log(9))).mean(axis=1)
    assert np.allclose(made.predict(public_rows=X), wanted)
    assert made.predict(public_rows=X * 1e9).max() <= 9


def test_a_table_is_encoded_by_the_schema_of_the_release():
    columns = {"age": sf.Number(0, 100), "sex": sf.Category(["f", "m"], missing="f"), "ill": sf.Boolean(missing=False)}
    schema = sf.Schema(columns, target="ill", name="people", unit="person")
    table = {"age": RNG.uniform(0, 100, 300), "sex": RNG.choice(["f", "m"], 300)}
    table["ill"] = RNG.random(300) < table["age"] / 100
    radius = math.nextafter(math.sqrt(1.25), math.inf)
    model = sf.Gibbs(sf.losses.Logistic(radius=radius), sf.priors.Gaussian(precision=0.5))
    plan = sf.plan(model, 300, 20.0, 1e-3, mechanism="langevin-path", goal="estimate", allow_weak=True)
    made = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(1))
    new = {"age": [50.0, 100.0, 1000.0, ""], "sex": ["f", "m", "m", "f"]}
    rows = np.array([[0, 1, 0], [0.5, 0, 1], [0.5, 0, 1], [0, 1, 0]])
    wanted = 1 / (1 + np.exp(-rows @ made.mean(scaled=True)))
    assert np.allclose(made.predict_proba(public_rows=new)[:, 1], wanted)
    assert (made.ask.prediction(public_rows=new).value == made.predict(public_rows=new)).all()
    with pytest.raises(ArgumentError, match="sex"):
        made.predict(public_rows={"age": [1.0]})


def test_rows_in_blocks_are_the_rows_at_once(monkeypatch):
    made = release(sf.losses.Logistic(radius=1.0), sf.Boolean(missing=False), YES)
    whole = made.predict_proba(public_rows=X)
    monkeypatch.setattr(predict, "_BLOCK", 30)
    assert np.allclose(made.predict_proba(public_rows=X), whole, rtol=1e-12)


def test_models_without_features_refuse_in_a_sentence():
    data = sf.Dataset.from_table({"x": YES}, schema=sf.Schema({"x": sf.Boolean(missing=False)}, target="x"))
    rate = sf.publish(sf.plan(sf.families.BetaBernoulli(), 400, mechanism="exact"), data, randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match=r"of BetaBernoulli, which reads no features.*release.mean"):
        rate.predict(public_rows=X)
    with pytest.raises(ArgumentError, match="reads no features"):
        rate.predict_proba(public_rows=X)
    model = sf.Gibbs(sf.losses.LogitBernoulli(), sf.priors.Gaussian(precision=1.0))
    odds = sf.publish(sf.plan(model, 400, 1.0, 1e-6, mechanism="langevin"), data, randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match="logit-bernoulli"):
        odds.predict(public_rows=X)
    made = release(sf.losses.Logistic(radius=1.0), sf.Boolean(missing=False), YES)
    with pytest.raises(ArgumentError):
        made.predict(public_rows=np.zeros((2, 9)))
