"""Releases about persons with several rows: one promise for all rows of a person, from the plan to the file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ChargeRefused, FormatError, PublishError
from sfumato.mechanisms import repriced

N = 60
COLUMNS = {
    "stay": sf.Number(0, 60),
    "icu": sf.Boolean(missing=False),
    "ward": sf.Category(["a", "b", "c"], missing="a"),
}
LEVELS = ("a", "b", "c")


def made_up(rows_each: int | None = None, seed: int = 0) -> dict:
    """Visits of patients; each has `rows_each` of them, or 0 to 5."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, N) if rows_each is None else np.full(N, rows_each)
    who = np.repeat(np.arange(N), counts)
    size = len(who)
    cells = {"stay": rng.uniform(0, 60, size), "icu": rng.random(size) < 0.3, "ward": rng.choice(LEVELS, size)}
    return {"patient": who, **cells}


def schema_of(persons: sf.Persons | None, **options) -> sf.Schema:
    return sf.Schema(COLUMNS, name="hospital", unit="patient", persons=persons, **options)


AVERAGE = sf.Persons("patient", most=4, count=N, rows="visits")
MODELS = {
    "rate": (sf.families.BetaBernoulli(1, 1), {}),
    "tempered rate": (sf.families.BetaBernoulli(1, 1), {"mechanism": "diffused"}),
    "mean": (sf.families.BoundedMean(0, 60), {}),
    "rates by group": (sf.grouped(sf.families.BetaBernoulli(1, 1), "ward", LEVELS), {}),
    "means by group": (sf.grouped(sf.families.BoundedMean(0, 60), "ward", LEVELS), {}),
    "shares": (sf.families.DirichletCategorical(LEVELS, 1.0), {"mechanism": "noisy-statistics"}),
    "quantiles": (sf.families.Quantiles([0.5], 0, 60), {}),
    "quantile": (sf.families.Quantile(0.5, [10, 20, 30, 40]), {}),
    "network": (sf.networks.BayesianNetwork({"icu": ["ward"], "ward": []}, {"icu": (False, True), "ward": LEVELS}), {}),
}


def published(model, table, schema, **options):
    plan = sf.plan(model, n=N, epsilon=1.0, delta=1e-6, persons=schema.persons, **options)
    return sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(5))


@pytest.mark.parametrize("name", MODELS)
def test_one_row_each_gives_the_draws_of_a_table_without_persons(name):
    """With most=1 and one row a person, the same seeded stream gives the same release, bit for bit."""
    model, options = MODELS[name]
    table = made_up(rows_each=1)
    plain = published(model, table, schema_of(None), **options)
    for persons in (sf.Persons("patient", most=1, count=N), sf.Persons("patient", rule="first", count=N)):
        same = published(model, table, schema_of(persons), **options)
        np.testing.assert_array_equal(same.draws.values, plain.draws.values)
        assert same.guarantee.curve == plain.guarantee.curve


def test_one_row_each_gives_the_regression_of_a_table_without_persons():
    model = sf.regression("logistic", schema_of(None).with_target("icu"), ["stay", "ward"])
    table = made_up(rows_each=1)
    plain = published(model, table, schema_of(None).with_target("icu"), goal="estimate", mechanism="langevin-path")
    one = schema_of(sf.Persons("patient", most=1, count=N)).with_target("icu")
    same = published(model, table, one, goal="estimate", mechanism="langevin-path")
    np.testing.assert_array_equal(same.draws.values, plain.draws.values)


@pytest.mark.parametrize("name", MODELS)
def test_a_release_says_whose_rows_are_protected_and_verifies(name):
    model, options = MODELS[name]
    release = published(model, made_up(), schema_of(AVERAGE), **options)
    assert release.guarantee.adjacency == "replace-person"
    assert "one patient with all of their visits replaced, n public" in str(release.guarantee)
    release.verify()
    assert sf.Release.from_bytes(release.to_bytes()).verify().guarantee == release.guarantee


def test_a_plan_about_rows_is_refused_for_persons_and_the_other_way_round():
    data = sf.Dataset.from_table(made_up(), schema=schema_of(AVERAGE))
    rate = sf.families.BetaBernoulli(1, 1)
    with pytest.raises(PublishError, match=r"persons=schema\.persons"):
        sf.publish(sf.plan(rate, N, 1.0, 1e-6), data)
    other = sf.plan(rate, N, 1.0, 1e-6, persons=sf.Persons("patient", most=5, count=N, rows="visits"))
    with pytest.raises(PublishError, match="other persons"):
        sf.publish(other, data)
    rows = sf.Dataset.from_table({"icu": [True] * N}, schema=sf.Schema({"icu": sf.Boolean(missing=False)}))
    with pytest.raises(PublishError, match="declares none"):
        sf.publish(sf.plan(rate, N, 1.0, 1e-6, persons=AVERAGE), rows)


def test_a_ledger_keeps_the_id_column_and_mixes_nothing(tmp_path):
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("hospital", 3.0, 1e-5, unit="patient", id_column="patient")
    ledger.register("rows", 3.0, 1e-5, unit="patient")
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), N, 1.0, 1e-6, persons=AVERAGE)
    data = sf.Dataset.from_table(made_up(), schema=schema_of(AVERAGE))
    release = sf.publish(plan, data, ledger, request_id="rate")
    assert release.receipt is not None
    release.verify(ledger=ledger)
    with pytest.raises(ChargeRefused, match="adjacency must be 'replace-one'"):
        sf.publish(plan, data, ledger, name="rows")
    by_other = sf.Persons("insurance", most=4, count=N, rows="visits")
    table = made_up()
    table["insurance"] = table.pop("patient")
    with pytest.raises(ChargeRefused, match="id column must be 'patient'"):
        sf.publish(
            sf.plan(sf.families.BetaBernoulli(1, 1), N, 1.0, 1e-6, persons=by_other),
            sf.Dataset.from_table(table, schema=schema_of(by_other)),
            ledger,
        )
    again = sf.Ledger.open(tmp_path / "budget.db")
    assert "persons by patient" in str(again.spent("hospital"))
    assert again.verify()


def edited(release: sf.Release, plan: dict) -> sf.Release:
    """The release with another plan, and its digest made anew."""
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return replace(release, plan=plan, plan_digest=hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.parametrize("most", [None, 1, 5])
def test_averages_are_not_priced_as_fewer_or_single_rows(most):
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), N, 1.0, 1e-6, mechanism="diffused", persons=AVERAGE)
    task = replace(plan.task, parameters=plan.parameters.averaging(most))
    with pytest.raises(FormatError, match="disagree on how many rows of a person are averaged"):
        repriced(plan.mechanism, plan.procedure, plan.goal, task)


def test_what_the_guarantee_and_the_schema_say_about_persons_is_compared_with_the_plan():
    release = published(MODELS["rate"][0], made_up(), schema_of(AVERAGE))
    with pytest.raises(FormatError, match="recorded neighbours"):
        replace(release, guarantee=replace(release.guarantee, rows="stays")).verify()
    other = schema_of(replace(AVERAGE, count=N + 1))
    written = {**release.schema, "document": json.dumps(other.to_json()), "digest": other.digest}
    with pytest.raises(FormatError, match="number of persons"):
        replace(release, schema=written).verify()


FORGED = {"id": "nobody", "most": 5, "rows": "stays"}


@pytest.mark.planted
@pytest.mark.parametrize("field", [*FORGED, "all"])
def test_a_forged_word_about_persons_is_noticed(field):
    release = published(MODELS["rate"][0], made_up(), schema_of(AVERAGE))
    plan = dict(release.plan)
    edited(release, plan).verify()
    if field == "all":
        plan.pop("persons")
    else:
        plan["persons"] = {**plan["persons"], field: FORGED[field]}
    with pytest.raises(FormatError):
        edited(release, plan).verify()
