"""Whatever makes a plan makes it for persons, where the schema declares them: widths, comparisons, bounds, rehearsals, audits."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from effort import LONG
from sfumato.errors import ArgumentError, ChargeRefused

N = 400
LEVELS = ["a", "b", "c"]
PERSONS = sf.Persons("patient", most=6, count=N, rows="visits")
SCHEMA = sf.Schema(
    {"stay": sf.Number(0, 60), "icu": sf.Boolean(missing=False), "ward": sf.Category(LEVELS, missing=LEVELS[0])},
    name="hospital",
    unit="patient",
    persons=PERSONS,
)


def data() -> sf.Dataset:
    rng = np.random.default_rng(2)
    who = rng.integers(0, N, 900)
    rows = {"stay": rng.uniform(0, 60, 900), "icu": rng.random(900) < 0.3, "ward": rng.choice(LEVELS, 900)}
    return sf.Dataset.from_table({"patient": who, **rows}, schema=SCHEMA)


@pytest.mark.planted
def test_a_plan_for_a_width_is_for_persons():
    rate = sf.plan_for_width(sf.families.BetaBernoulli(), N, 0.2, persons=PERSONS)
    assert rate.plan.persons == PERSONS.terms
    assert rate.plan.guarantee.adjacency == "replace-person"
    plain = sf.plan_for_width(sf.families.BetaBernoulli(), N, 0.2)
    assert plain.plan.persons is None
    assert rate.plan["noise"] == pytest.approx(plain.plan["noise"], rel=0.05)
    if LONG:
        draws = sf.plan_for_width(sf.families.BetaBernoulli(), N, 0.2, epsilon=2.0, draws=None, persons=PERSONS)
        assert draws.plan.persons == PERSONS.terms


@pytest.mark.planted
def test_a_regressions_plan_for_a_width_takes_the_persons_of_its_schema():
    schema = SCHEMA.with_target("icu")
    model = sf.regression("logistic", schema, ["stay"])
    found = sf.plan_for_width(model, N, 3.0, epsilons=(1.0, 4.0), schema=schema)
    assert found.plan.persons == PERSONS.terms


@pytest.mark.planted
def test_theorems_are_compared_for_averages_of_rows():
    """Of a table no profile is proved for averages: its power is that of the Renyi price, and smaller than for one row each."""
    table = sf.families.DirichletCategorical(LEVELS)
    averaged = sf.compare(table, N, 1.0, 1e-6, persons=PERSONS)
    plain = sf.compare(table, N, 1.0, 1e-6)
    assert averaged["exact profile"].power == pytest.approx(averaged["Renyi curve"].power, rel=1e-3)
    assert averaged["exact profile"].power < 0.95 * plain["exact profile"].power
    assert "no profile is proved for averages" in averaged["exact profile"].note
    rate = sf.compare(sf.families.BetaBernoulli(), N, 1.0, 1e-6, persons=PERSONS)
    assert [row.name for row in rate.rows] == ["Renyi curve", "exact profile"]
    # The numbers are those of plans.
    planned = sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6, mechanism="diffused", persons=PERSONS)
    assert rate["exact profile"].power == pytest.approx(planned["power"], rel=1e-4)
    one = sf.Persons("patient", most=1, count=N)
    assert sf.compare(table, N, 1.0, 1e-6, persons=one)["exact profile"].power == plain["exact profile"].power


def test_too_many_rows_for_draws_of_a_rate_are_a_note_and_another_number_of_persons_is_refused():
    many = sf.Persons("patient", most=30, count=N)
    rows = sf.compare(sf.families.BetaBernoulli(), N, 1.0, 1e-6, persons=many).rows
    assert all(row.power is None and "at most 24 rows of a person" in row.note for row in rows)
    with pytest.raises(ArgumentError, match="n is the number of persons") as refused:
        sf.compare(sf.families.BetaBernoulli(), 921, 1.0, 1e-6, persons=PERSONS)
    assert "921" not in str(refused.value)


@pytest.mark.planted
def test_private_quantiles_and_bounds_are_for_persons():
    found = sf.private_quantile(data(), "stay", 0.5, 1.0, randomness=sf.seeded(1))
    assert found.release.guarantee.adjacency == "replace-person"
    planned = sf.plan_bounds(SCHEMA.only(["stay"]), N, epsilon=1.0)
    assert all(each.plan.persons == PERSONS.terms for each in planned.requests)
    assert "records    400 (public): a record is one patient with all of their visits" in str(planned)
    proposed = sf.private_bounds(data(), "stay", 1.0, randomness=sf.seeded(1))
    assert proposed.schema.persons == PERSONS
    plain = sf.plan_bounds(sf.Schema({"stay": sf.Number(0, 60)}), N, epsilon=1.0)
    assert "records    400 (public)\nstay:" in str(plain)


@pytest.mark.planted
def test_a_rehearsal_invents_one_row_for_each_person():
    schema = SCHEMA.with_target("icu")
    plan = sf.plan(sf.regression("logistic", schema, ["stay"]), N, 3.0, 1e-6, goal="estimate", persons=PERSONS)
    widths = sf.expected_widths(plan, schema, runs=1)
    assert widths.assumptions[-1] == "one row for each patient"
    public = {"stay": [1.0, 30.0, 59.0], "ward": LEVELS, "icu": [True, False, True]}
    assert sf.expected_widths(plan, schema, public, runs=1).assumptions[-1] == "one row for each patient"
    plain = sf.Schema(SCHEMA.columns, target="icu")
    alone = sf.plan(sf.regression("logistic", plain, ["stay"]), N, 3.0, 1e-6, goal="estimate")
    assert "one row for each" not in str(sf.expected_widths(alone, plain, runs=1))


def test_an_audit_takes_the_schema_of_persons():
    plan = sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6, persons=PERSONS)
    assert not sf.audit(plan, SCHEMA.only(["icu"]), runs=20).broken


@pytest.mark.planted
def test_a_ledger_says_what_to_register(tmp_path):
    ledger = sf.Ledger.open(tmp_path / "budget.db")
    ledger.register("rows", 3.0, 1e-5, unit="patient")
    ledger.register("patients", 3.0, 1e-5, unit="patient", id_column="patient")
    about_persons = sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6, persons=PERSONS)
    with pytest.raises(ChargeRefused, match="'rows' was registered for single rows") as refused:
        sf.publish(about_persons, data(), ledger, name="rows")
    assert "with --unit 'patient' --persons 'patient' (unit= and id_column= in Python)" in str(refused.value)
    rows = sf.Dataset.from_table(
        {"icu": np.arange(N) % 2 == 0}, schema=sf.Schema({"icu": sf.Boolean(missing=False)}, unit="patient")
    )
    with pytest.raises(ChargeRefused, match="for every patient with all of their rows") as refused:
        sf.publish(sf.plan(sf.families.BetaBernoulli(), N, 1.0, 1e-6), rows, ledger, name="patients")
    assert "id = 'patient' (persons=schema.persons in a plan)" in str(refused.value)
