"""Held-out log-likelihoods are sums of scipy's log densities at the released draws, and refuse models without a likelihood."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse, stats
from test_predict import RNG, YES, X, clipped, release

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.queries import held_out as held_out_module

NUMBER = sf.Schema({"x": sf.Number(-3, 3)}, name="numbers")
COUNT = sf.Schema({"x": sf.Number(0, 5, integer=True)}, name="counts")
BITS = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
LEVELS = sf.Schema({"x": sf.Category(["a", "b", "c"], missing="a")}, name="levels")
SOME_BITS, SOME_COUNTS, SOME_NUMBERS = [1, 0, 1, 1], [0, 2, 5, 1], [-1.0, 0.3, 2.5]


def published(model, schema, records, draws: int = 3) -> sf.Release:
    data = sf.Dataset.from_table({"x": records}, schema=schema)
    plan = sf.plan(model, data.n, 40.0, 1e-3, draws=draws, mechanism="noisy-statistics", allow_weak=True)
    return sf.publish(plan, data, randomness=sf.seeded(1))


@pytest.mark.parametrize(
    ("model", "schema", "records", "log_density"),
    [
        (sf.families.BetaBernoulli(1, 1), BITS, SOME_BITS, stats.bernoulli.logpmf),
        (sf.families.BetaBinomial(5), COUNT, SOME_COUNTS, lambda x, t: stats.binom.logpmf(x, 5, t)),
        (sf.families.GammaPoisson(2, 1, bound=5), COUNT, SOME_COUNTS, stats.poisson.logpmf),
        (
            sf.families.ExponentialRate(2, 1, bound=5.0),
            sf.Schema({"x": sf.Number(0, 5)}, name="times"),
            [0.1, 2.0, 1.3],
            lambda x, t: stats.expon.logpdf(x, scale=1 / t),
        ),
        (
            sf.families.LaplaceScale(1.0, 0.2, 4.0, bound=3.0),
            NUMBER,
            SOME_NUMBERS,
            lambda x, t: stats.laplace.logpdf(x, scale=1 / t),
        ),
        (
            sf.families.NormalPrecision(2.0, 1.0, 0.0, bound=3.0),
            NUMBER,
            SOME_NUMBERS,
            lambda x, t: stats.norm.logpdf(x, 0, t**-0.5),
        ),
        (
            sf.families.NormalMean(0.7, -3, 3),
            NUMBER,
            SOME_NUMBERS,
            lambda x, t: stats.norm.logpdf(x, t, math.sqrt(0.7)),
        ),
        (
            sf.families.LogitNormal(0.5),
            BITS,
            SOME_BITS,
            lambda x, t: stats.bernoulli.logpmf(x, 1 / (1 + np.exp(-t))),
        ),
        (sf.families.Finite.bernoulli(0.1), BITS, SOME_BITS, stats.bernoulli.logpmf),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_families_of_one_number_against_scipy(model, schema, records, log_density):
    made = published(model, schema, records * 10)
    held_out = made.log_likelihood(public_rows={"x": records})
    drawn = made.draws.pooled().reshape(-1)
    expected = [float(sum(log_density(np.array(records), theta))) for theta in drawn]
    assert held_out.values == pytest.approx(expected, rel=1e-9)
    assert (held_out.records, held_out.note) == (len(records), "")
    assert held_out.mean == pytest.approx(np.mean(expected))
    assert held_out.deviation == pytest.approx(np.std(expected, ddof=1))
    assert held_out.per_record == held_out.mean / len(records)
    assert f"{len(records)} held-out records" in str(held_out)


def test_categories_and_vectors_against_scipy():
    made = published(sf.families.DirichletCategorical(["a", "b", "c"]), LEVELS, ["a", "b", "c", "c"] * 5)
    shares = np.log(made.draws.pooled())
    assert made.log_likelihood(public_rows={"x": ["c", "a"]}).values == pytest.approx(shares[:, 2] + shares[:, 0])
    known = np.array([[2.0, 0.5], [0.5, 1.0]])
    for model, covariance in (
        (sf.families.GaussianMean(2, 1.0, 1.0), np.eye(2)),
        (sf.families.MultivariateNormal(known, 1.0, 1.0), np.linalg.inv(known)),
    ):
        data = sf.Dataset.from_arrays(X[:50, :2], schema=sf.Schema.vector(2, data_norm=1.0))
        vectors = sf.publish(sf.plan(model, 50, 9.0, 1e-3, draws=2), data, randomness=sf.seeded(1))
        rows = clipped(X[50:60, :2])
        expected = [stats.multivariate_normal.logpdf(rows, m, covariance).sum() for m in vectors.draws.pooled()]
        assert vectors.log_likelihood(public_rows=rows).values == pytest.approx(expected)


ROWS = RNG.normal(size=(30, 3))
ANSWERS = RNG.random(30) < 0.5


@pytest.mark.parametrize(
    "loss",
    [
        sf.losses.Logistic(radius=1.0),
        sf.losses.ClippedProbit(radius=1.0, clip=2.0),
        sf.losses.ClippedCloglog(radius=1.0, clip=2.0),
    ],
    ids=lambda loss: loss.name,
)
def test_two_classes_against_the_probabilities_of_one_draw(loss):
    made = release(loss, sf.Boolean(missing=False), YES, draws=1)
    proba = made.predict_proba(public_rows=ROWS)
    expected = np.log(np.where(ANSWERS, proba[:, 1], proba[:, 0])).sum()
    held_out = made.log_likelihood(public_rows=ROWS, target=ANSWERS)
    assert held_out.values == pytest.approx([expected], rel=1e-9)
    assert held_out.deviation == 0
    assert "longer than data_norm" in held_out.note


def test_several_classes_and_counts_against_their_laws():
    names = np.array(["a", "b", "c"])[RNG.integers(0, 3, 400)]
    made = release(sf.losses.Softmax(radius=1.0, classes=3), sf.Category(["a", "b", "c"], missing="a"), names, draws=1)
    proba = made.predict_proba(public_rows=ROWS)
    answers = np.array(["c", "a", "b"] * 10)
    expected = np.log(proba[np.arange(30), [2, 0, 1] * 10]).sum()
    assert made.log_likelihood(public_rows=ROWS, target=answers).values == pytest.approx([expected])
    counts = RNG.poisson(2.0, 400).clip(0, 9)
    loss = sf.losses.ClippedPoisson(radius=1.0, clip=9.0, label_bound=9.0)
    poisson = release(loss, sf.Number(0, 9), counts, draws=2)
    rates = np.exp(clipped(ROWS) @ poisson.draws.pooled().T)
    expected = stats.poisson.logpmf(counts[:30, None], rates).sum(axis=0)
    assert poisson.log_likelihood(public_rows=ROWS, target=counts[:30]).values == pytest.approx(expected)


def table_release() -> sf.Release:
    schema = sf.Schema({"age": sf.Number(0, 100), "ill": sf.Boolean(missing=False)}, target="ill")
    age = np.linspace(0, 100, 500)
    data = sf.Dataset.from_table({"age": age, "ill": np.arange(500) % 7 < age / 20}, schema=schema)
    model = sf.Gibbs(sf.losses.Logistic(radius=1.2), sf.priors.Gaussian(1.0))
    return sf.publish(
        sf.plan(model, 500, 5.0, 1e-3, mechanism="langevin", allow_weak=True), data, randomness=sf.seeded(1)
    )


def vector_release() -> sf.Release:
    data = sf.Dataset.from_arrays(X[:50, :2], schema=sf.Schema.vector(2, data_norm=1.0))
    plan = sf.plan(sf.families.GaussianMean(2, 1.0, 1.0), 50, 9.0, 1e-3, draws=2)
    return sf.publish(plan, data, randomness=sf.seeded(1))


def test_the_target_of_a_table_is_one_of_its_columns():
    made = table_release()
    proba = made.predict_proba(public_rows={"age": [20, 120]})
    held_out = made.log_likelihood(public_rows={"age": [20, 120], "ill": [False, True]})
    assert held_out.mean == pytest.approx(np.log(proba[0, 0]) + np.log(proba[1, 1]))
    assert "1 cell of age" in held_out.note
    with pytest.raises(ArgumentError, match="ill"):
        made.log_likelihood(public_rows={"age": [20, 30]})


def test_a_stream_is_read_once():
    table = pa.table({"age": [20.0, 120.0], "ill": [False, True]})
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    made = table_release()
    assert made.log_likelihood(public_rows=stream).mean == made.log_likelihood(public_rows=table).mean


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array, lambda rows: rows.tolist()])
def test_vectors_may_be_sparse_or_lists_and_shortened_ones_are_noted(wrap):
    made = vector_release()
    rows = np.array([[0.3, 0.4], [3.0, 4.0]])
    held_out = made.log_likelihood(public_rows=wrap(rows))
    expected = [stats.multivariate_normal.logpdf(clipped(rows), m).sum() for m in made.draws.pooled()]
    assert held_out.values == pytest.approx(expected)
    assert held_out.note == "1 row is longer than data_norm 1 and was shortened"


def test_numbers_of_vectors_that_are_not_finite_are_noted_and_texts_refused():
    made = vector_release()
    held_out = made.log_likelihood(public_rows=np.array([[np.nan, 0.5], [np.inf, 0.0]]))
    assert held_out.note == "2 numbers are not finite and count as 0"
    assert held_out.values == pytest.approx(made.log_likelihood(public_rows=[[0.0, 0.5], [0.0, 0.0]]).values)
    with pytest.raises(ArgumentError, match="'a' is no finite number"):
        made.log_likelihood(public_rows=[["a", 0.5], [0.0, 0.0]])


def test_answers_that_were_clipped_or_empty_are_noted():
    made = table_release()
    assert (
        made.log_likelihood(public_rows={"age": [20, 30], "ill": [None, True]}).note
        == "1 empty cell of ill counts as no"
    )
    counts = RNG.poisson(2.0, 400).clip(0, 9)
    loss = sf.losses.ClippedPoisson(radius=1.0, clip=9.0, label_bound=9.0)
    poisson = release(loss, sf.Number(0, 9), counts, draws=1)
    rows = 0.5 * clipped(ROWS[:2])
    rates = np.exp(rows @ poisson.draws.pooled()[0])
    held_out = poisson.log_likelihood(public_rows=rows, target=[3, 40])
    assert held_out.mean == pytest.approx(stats.poisson.logpmf([3, 9], rates).sum())
    assert held_out.note == "1 cell of target lies outside 0 to 9 and was clipped"
    for answers, says in ((["a", 1], "'a' is no finite number"), (np.ones((1, 2)), "one-dimensional")):
        with pytest.raises(ArgumentError, match=says):
            poisson.log_likelihood(public_rows=rows, target=answers)


def test_counts_of_an_estimator_are_in_its_own_units():
    rows, counts = RNG.uniform(0, 10, (300, 1)), RNG.poisson(3.0, 300).clip(0, 20)
    fitted = sf.PrivatePoissonRegressor(50.0, 1e-4, bounds=[(0, 10)], bounds_y=(0, 20), random_state=1).fit(
        rows, counts
    )
    held_out = fitted.release_.log_likelihood(public_rows=rows[:3], target=[0, 15, 90])
    assert held_out.mean == pytest.approx(stats.poisson.logpmf([0, 15, 20], fitted.predict(rows[:3])).sum())
    assert "outside 0 to 20" in held_out.note


def test_a_hazard_too_small_for_float64_keeps_its_logarithm():
    likelihood = held_out_module.LIKELIHOODS[sf.losses.ClippedCloglog]
    scores = np.array([-800.0, -39.0, -41.0, 2.0])[:, None, None]
    exact = [-800.0, -39.0, -41.0, math.log(-math.expm1(-math.exp(2.0)))]
    assert likelihood(scores, np.ones((4, 1)), None)[:, 0] == pytest.approx(exact, rel=1e-14)


def refusals():
    bits = published(sf.families.BetaBernoulli(1, 1), BITS, SOME_BITS)
    levels = published(sf.families.DirichletCategorical(["a", "b", "c"]), LEVELS, ["a", "b", "c"] * 4)
    return [
        (release(sf.losses.SmoothedHinge(radius=1.0, width=0.5), sf.Boolean(missing=False), YES), (X, YES), "hinge loss has none"),
        (
            sf.publish(
                sf.plan(sf.families.BoundedMean(-3, 3), 30, 1.0, 1e-3, goal="estimate"),
                sf.Dataset.from_table({"x": SOME_NUMBERS * 10}, schema=NUMBER),
                randomness=sf.seeded(1),
            ),
            ({"x": [1.0]},),
            "BoundedMean has none",
        ),
        (bits, ({"x": []},), "at least one row"),
        (bits, ({"x": [1]}, [1]), "target is for regressions"),
        (levels, ({"x": ["a", "d"]},), "'d'"),
        (release(sf.losses.Logistic(radius=1.0), sf.Boolean(missing=False), YES), (X,), "need their answers"),
        (release(sf.losses.Logistic(radius=1.0), sf.Boolean(missing=False), YES), (X, YES[:9]), "one answer for each"),
    ]  # fmt: skip


def test_what_has_no_likelihood_is_refused_in_a_sentence():
    for made, given, says in refusals():
        with pytest.raises(ArgumentError, match=says):
            made.log_likelihood(public_rows=given[0], target=given[1] if given[1:] else None)
