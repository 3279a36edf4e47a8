"""Survey weights: exact weighted totals, what one record can move, intervals, and what is refused."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from effort import sized
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError, AssumptionError, MechanismRefused, PublishError
from sfumato.models.grouped import Grouped
from sfumato.models.reading import model_from_json
from sfumato.models.weighted import Weighted, weighted_form
from sfumato.procedures.law import exact_totals
from sfumato.schema.weight import STEPS
from sfumato.theorems.persons import weighted_records

UPPER = 8.0
LEVELS = ("a", "b", "c")
COLUMNS = {
    "x": sf.Number(0, 10),
    "yes": sf.Boolean(missing=False),
    "level": sf.Category(list(LEVELS), missing=LEVELS[0]),
    "count": sf.Number(0, 6),
}
WEIGHT = sf.Weight("w", UPPER, fixed=True)
FAMILIES = {
    "rate": (sf.families.BetaBernoulli(1, 1), ("yes",)),
    "trials": (sf.families.BetaBinomial(6), ("count",)),
    "shares": (sf.families.DirichletCategorical(LEVELS, 1.0), ("level",)),
    "mean": (sf.families.BoundedMean(0, 10), ("x",)),
    "counts": (sf.families.GammaPoisson(1.0, 1.0, 6), ("count",)),
    "duration": (sf.families.ExponentialRate(1.0, 1.0, 10.0), ("x",)),
    "log odds": (sf.families.LogitNormal(1.0), ("yes",)),
    "normal mean": (sf.families.NormalMean(1.0, 0.0, 10.0), ("x",)),
}
MODELS = {
    **{name: (Weighted(family), columns) for name, (family, columns) in FAMILIES.items()},
    **{
        f"{name} by group": (Grouped(family, "group", ("p", "q"), weighted=True), (*columns, "group"))
        for name, (family, columns) in FAMILIES.items()
    },
}


def schema_of(columns, weight=WEIGHT) -> sf.Schema:
    every = {**COLUMNS, "group": sf.Category(["p", "q"], missing="p")}
    return sf.Schema({name: every[name] for name in columns}, weight=weight)


def totals(model, columns, table) -> list[Fraction]:
    data = sf.Dataset.from_table(table, schema=schema_of(columns))
    return exact_totals(model, open_engine(data, model, ("totals",)))


def records_of(columns) -> list[dict]:
    """Records at the ends of every column, and some between."""
    values = {"x": (0, 3.7, 10), "yes": (False, True), "level": LEVELS, "count": (0, 2, 6), "group": ("p", "q")}
    return [dict(zip(columns, cells, strict=True)) for cells in itertools.product(*(values[name] for name in columns))]


def table_of(records, weights) -> dict:
    return {**{name: [record[name] for record in records] for name in records[0]}, "w": list(weights)}


@pytest.mark.planted
@pytest.mark.parametrize("name", MODELS)
def test_a_record_moves_the_totals_by_no_more_than_is_declared_and_0_is_in_the_hull(name):
    """Every pair of records, each with weights 0, a third and all: the largest move is what the model declares, or near it."""
    model, columns = MODELS[name]
    contributions = [
        np.array([float(total) for total in totals(model, columns, table_of([record], [weight]))])
        for record in records_of(columns)
        for weight in (0.0, UPPER / 3, UPPER)
    ]
    moves = [float(np.linalg.norm(a - b)) for a, b in itertools.combinations(contributions, 2)]
    assert max(moves) <= model.sensitivity * (1 + 1e-12)
    # Of a mean by group the declared move covers totals that no record has (docs/proofs/groups.md).
    assert max(moves) >= 0.95 * model.sensitivity
    assert not contributions[0].any(), "a record of weight 0 adds nothing"


@pytest.mark.planted
def test_a_vector_whose_totals_are_not_centred_moves_no_further_from_0_than_is_declared():
    """Totals without declared spans reach as far from 0 as two records lie apart: 0 must be counted in."""
    model = Weighted(sf.families.GaussianMean(2, 1.0, 1.0))
    schema = sf.Schema.vector(2, data_norm=1.0, weight=WEIGHT)
    contributions = []
    for row, weight in itertools.product([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [0.0, UPPER]):
        data = sf.Dataset.from_arrays(np.array([row]), schema=schema, sample_weight=[weight])
        contributions.append([float(t) for t in exact_totals(model, open_engine(data, model, ("totals",)))])
    moves = [float(np.linalg.norm(np.subtract(a, b))) for a, b in itertools.combinations(contributions, 2)]
    assert model.model.sensitivity < max(moves) <= model.sensitivity


@pytest.mark.planted
@given(
    st.lists(st.tuples(st.booleans(), st.floats(-1, 12, allow_nan=False)), min_size=1, max_size=12),
)
def test_weighted_counts_are_exact_sums_of_rounded_weights(cells):
    """Weights below 0 and above the largest are clipped, and the steps are rounded down."""
    model, columns = MODELS["rate"]
    found = totals(model, columns, table_of([{"yes": yes} for yes, _ in cells], [w for _, w in cells]))
    steps = [min(max(math.floor(w / UPPER * STEPS), 0), STEPS) for _, w in cells]
    ones = sum(Fraction(step, STEPS) for step, (yes, _) in zip(steps, cells, strict=True) if yes)
    zeros = sum(Fraction(step, STEPS) for step, (yes, _) in zip(steps, cells, strict=True) if not yes)
    assert found == [ones, zeros]


@pytest.mark.planted
@pytest.mark.parametrize("cell", [None, "", "heavy", float("nan"), float("inf"), [1]])
def test_a_record_without_a_usable_weight_does_not_count(cell):
    model, columns = MODELS["rate"]
    assert totals(model, columns, table_of([{"yes": True}, {"yes": False}], [cell, UPPER])) == [0, 1]


@pytest.mark.parametrize("name", MODELS)
def test_a_weighted_release_verifies_and_is_read_back(name):
    model, columns = MODELS[name]
    assert model_from_json(model.to_json()) == model
    rng = np.random.default_rng(3)
    records = [records_of(columns)[k] for k in rng.integers(0, len(records_of(columns)), 200)]
    data = sf.Dataset.from_table(table_of(records, rng.uniform(0, UPPER, 200)), schema=schema_of(columns))
    plain = model.model if isinstance(model, Weighted) else Grouped(model.model, model.by, model.levels)
    plan = sf.plan(plain, 200, 2.0, 1e-6, weight=WEIGHT)
    assert plan.model == model == weighted_form(plain)
    assert "persons.weighted_records" in plan.guarantee.to_json()["theorem"]
    release = sf.Release.from_bytes(sf.publish(plan, data).to_bytes()).verify()
    lower, upper = release.interval()
    assert (lower < upper).all()
    assert release.draws.shape[2:] == plain.draw_shape


@pytest.mark.parametrize(("name", "options"), [("one_row", {"rule": "first"}), ("averages", {"most": 3})])
def test_weighted_rows_of_persons_are_priced_by_both_theorems(name, options):
    persons = sf.Persons("who", count=200, **options)
    plan = sf.plan(sf.families.BetaBernoulli(), 200, 2.0, 1e-6, weight=WEIGHT, persons=persons)
    theorems = plan.guarantee.to_json()["theorem"]
    assert "persons.weighted_records" in theorems
    assert f"persons.{name}" in theorems


@pytest.mark.planted
def test_a_plan_without_weights_is_refused_for_a_weighted_table_and_the_other_way_round():
    data = sf.Dataset.from_table({"yes": [True] * 5, "w": [1.0] * 5}, schema=schema_of(("yes",)))
    rate = FAMILIES["rate"][0]
    with pytest.raises(PublishError, match=r"weight=schema\.weight"):
        sf.publish(sf.plan(rate, 5, 1.0, 1e-6), data)
    with pytest.raises(PublishError, match="the plan was made for others"):
        sf.publish(sf.plan(rate, 5, 1.0, 1e-6, weight=sf.Weight("w", 9.0, fixed=True)), data)
    plain = sf.Dataset.from_table({"yes": [True] * 5}, schema=schema_of(("yes",), weight=None))
    with pytest.raises(PublishError, match="declares none"):
        sf.publish(sf.plan(rate, 5, 1.0, 1e-6, weight=WEIGHT), plain)


@pytest.mark.planted
def test_what_is_not_proved_for_weights_is_refused_with_what_serves():
    with pytest.raises(ArgumentError, match="raked, calibrated or post-stratified"):
        sf.Weight("w", 8.0)
    for model in (
        sf.families.Quantiles([0.5], 0, 10),
        sf.families.Quantile(0.5, [1, 2, 3]),
        sf.networks.BayesianNetwork({"yes": []}, {"yes": (False, True)}),
        sf.families.Histogram(0, 10, bins=4),
    ):
        with pytest.raises(ArgumentError, match="weights are served for rates"):
            sf.plan(model, 100, 1.0, 1e-6, weight=WEIGHT)
    for mechanism in ("diffused", "concentrated", "exact"):
        with pytest.raises(MechanismRefused):
            sf.plan(FAMILIES["rate"][0], 100, 1.0, 1e-6, weight=WEIGHT, mechanism=mechanism)
    gibbs = sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2)
    with pytest.raises(MechanismRefused, match="not proved for survey weights"):
        sf.plan(gibbs, 100, 1.0, 1e-6, weight=WEIGHT, mechanism="langevin")
    mean = sf.Gibbs(sf.losses.GaussianMean(1.0), sf.priors.Ball(sf.priors.Gaussian(1.0), 2.0), 2)
    with pytest.raises(MechanismRefused, match="takes no survey weights"):
        sf.plan(mean, 100, 1.0, 1e-6, weight=WEIGHT, mechanism="langevin-path", goal="estimate")


def test_each_hypothesis_of_weighted_records_is_asked_for():
    priced = sf.plan(FAMILIES["rate"][0], 100, 1.0, 1e-6, mechanism="noisy-statistics").guarantee
    claim = weighted_records(priced, fixed=True, zero=True)
    assert (claim.curve, claim.adjacency) == (priced.curve, "replace-one")
    assert {each.id.partition("/")[2] for each in claim.assumptions} >= {"fixed", "zero", "neighbours", "noise"}
    assert sf.Guarantee.from_json(claim.to_json()) == claim
    for wrong in ({"fixed": False, "zero": True}, {"fixed": True, "zero": False}):
        with pytest.raises(AssumptionError):
            weighted_records(priced, **wrong)
    with pytest.raises(AssumptionError, match="neighbours"):
        weighted_records(replace(priced, adjacency="replace-entry"), fixed=True, zero=True)


def surveyed(rng, n: int) -> dict:
    """A sample of a population in which larger weights go with larger values."""
    weights = rng.choice([1.0, 3.0, 8.0], n, p=[0.5, 0.3, 0.2])
    rate, mean = 0.1 + 0.08 * weights, 2 + 0.7 * weights
    return {"yes": rng.random(n) < rate, "x": np.clip(rng.normal(mean, 1.5), 0, 10), "w": weights}


@functools.cache
def truths() -> dict:
    """The weighted rate and mean of that population."""
    share = np.array([0.5, 0.3, 0.2]) * [1, 3, 8]
    share /= share.sum()
    grid = np.clip(np.random.default_rng(1).normal(np.array([2.7, 4.1, 7.6])[:, None], 1.5, (3, 200_000)), 0, 10)
    return {"rate": float(share @ [0.18, 0.34, 0.74]), "mean": float(share @ grid.mean(axis=1))}


@pytest.mark.planted
@pytest.mark.parametrize("name", ["rate", "mean"])
def test_weighted_intervals_hold_the_truth_of_the_population(name):
    """Nominal .90; the weighted size is below the effective one, so that intervals may be too wide and not too narrow."""
    model, columns = FAMILIES[name]
    runs, rng, held, unweighted = sized(60, 1_000), np.random.default_rng(7), 0, 0
    n = 1_500
    plan = sf.plan(model, n, 1.0, 1e-6, weight=WEIGHT)
    ignoring = sf.plan(model, n, 1.0, 1e-6)
    for run in range(runs):
        table = surveyed(rng, n)
        data = sf.Dataset.from_table(table, schema=schema_of(columns))
        low, high = sf.publish(plan, data, randomness=sf.seeded(run)).interval().ravel()
        held += low <= truths()[name] <= high
        plain = sf.Dataset.from_table(table, schema=schema_of(columns, weight=None))
        low, high = sf.publish(ignoring, plain, randomness=sf.seeded(run)).interval().ravel()
        unweighted += low <= truths()[name] <= high
    # Four standard errors below .90.
    assert held / runs >= 0.9 - 4 * math.sqrt(0.09 / runs)
    assert unweighted / runs < 0.1
