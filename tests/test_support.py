"""docs/support.md is what the code does: every row is planned, published, verified and asked for an interval, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
import support
from effort import LONG
from sfumato.errors import ArgumentError, CalibrationError, MechanismRefused, SfumatoError

N = 60
ROWS = support.rows()
SERVED = [row for row in ROWS if row.procedure]
REFUSED = [row for row in ROWS if row.refusal]


def chosen(rows: list[support.Row]) -> list[support.Row]:
    """All rows in the long form; else the first of every model and of every procedure, but for converged chains."""
    if LONG:
        return rows
    quick = [row for row in rows if row.procedure != "reference-chain"]
    firsts = [next(r for r in quick if getattr(r, key) == value) for key in ("model", "procedure") for value in
              dict.fromkeys(getattr(row, key) for row in quick)]  # fmt: skip
    return list(dict.fromkeys(firsts))


def records(schema: sf.Schema) -> sf.Dataset:
    """N records of a schema, invented."""
    rng = np.random.default_rng(4)
    made = {}
    for name, column in schema.columns.items():
        if isinstance(column, sf.Number):
            made[name] = np.round(rng.uniform(column.lower, column.upper, N))
        else:
            levels = column.levels if isinstance(column, sf.Category) else (False, True)
            made[name] = np.array(levels, dtype=object)[rng.integers(0, len(levels), N)]
    if schema.dimension is None:
        return sf.Dataset.from_table(made, schema=schema)
    labels = None if schema.target is None else made[schema.target]
    return sf.Dataset.from_arrays(rng.uniform(-0.5, 0.5, (N, schema.dimension)), labels, schema=schema)


def test_the_page_is_written_by_the_tool():
    assert support.PAGE.read_text() == support.page(), "run python tools/support.py"


def test_every_mechanism_procedure_and_model_has_a_row():
    from sfumato import mechanisms, models, procedures

    assert {row.mechanism for row in ROWS} == set(mechanisms.TABLE)
    assert {row.procedure for row in SERVED} == set(procedures.TABLE)
    served = {type(model) for model, _ in support.MODELS.values()}
    assert set(models.families.TABLE.values()) <= served
    assert {engine for row in SERVED for engine in row.engines} == {offer.name for offer in support.ENGINES}


@pytest.mark.parametrize("row", chosen(SERVED), ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}")
def test_a_row_that_is_served_is_published_verified_and_asked(row):
    model, schema = support.MODELS[row.model]
    if row.mechanism == "exact" and model.conjugate:
        plan = sf.plan(model, N, mechanism="exact")
    else:
        try:
            plan = sf.plan(model, N, 3.0, 1e-6, **row.options)
        except (CalibrationError, MechanismRefused):  # too dear for 60 records: a stronger promise than none
            plan = sf.plan(model, N, 1e3, 1e-2, allow_weak=True, **row.options)
    assert plan.procedure == row.procedure
    assert plan.guarantee.adjacency == row.neighbours
    release = sf.publish(plan, records(schema)).verify()
    if row.interval in ("yes", "from the transcript"):
        low, high = release.interval()
        assert (low <= high).all()
    else:
        with pytest.raises(ArgumentError):
            release.interval()


def firsts(rows: list[support.Row]) -> list[support.Row]:
    """All rows in the long form; else the first of every procedure, but for converged chains."""
    quick = [row for row in rows if row.procedure != "reference-chain"]
    names = dict.fromkeys(row.procedure for row in quick)
    return rows if LONG else [next(row for row in quick if row.procedure == name) for name in names]


def planned(row: support.Row, model, **options):
    """A plan of the row; at a price that 60 persons can pay, if the usual one is too dear."""
    chosen = {key: value for key, value in row.options.items() if key != "keep"}
    try:
        return sf.plan(model, N, 3.0, 1e-6, **chosen, **options)
    except (CalibrationError, MechanismRefused):
        return sf.plan(model, N, 1e3, 1e-2, allow_weak=True, **chosen, **options)


def several(schema: sf.Schema) -> sf.Dataset:
    """Persons with two rows each."""
    rng, made = np.random.default_rng(4), {}
    for name, column in schema.columns.items():
        levels = column.levels or np.linspace(column.lower, column.upper, 3)
        made[name] = np.array(levels, dtype=object)[rng.integers(0, len(levels), 2 * N)]
    who = [*range(N), *range(N)]
    if schema.dimension is None:
        declared = sf.Schema(schema.columns, target=schema.target, persons=support.PERSONS)
        return sf.Dataset.from_table({"who": who, **made}, schema=declared)
    target = schema.columns.get("target")
    declared = sf.Schema.vector(schema.dimension, schema.data_norm, target, persons=support.PERSONS)
    rows = rng.uniform(-0.5, 0.5, (2 * N, schema.dimension))
    return sf.Dataset.from_arrays(rows, None if target is None else made["target"], groups=who, schema=declared)


@pytest.mark.parametrize(
    "row",
    firsts([row for row in SERVED if row.averages == "yes"]),
    ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}",
)
def test_a_row_that_serves_persons_is_published_for_persons(row):
    model, schema = support.MODELS[row.model]
    plan = planned(row, model, persons=support.PERSONS)
    assert plan.guarantee.adjacency == "replace-person"
    sf.publish(plan, several(schema)).verify()


@pytest.mark.parametrize("row", [row for row in SERVED if row.averages not in ("yes", "Renyi")][:: 1 if LONG else 3],
                         ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}")  # fmt: skip
def test_a_row_that_does_not_serve_persons_is_refused(row):
    model, _ = support.MODELS[row.model]
    with pytest.raises(SfumatoError):
        planned(row, model, persons=support.PERSONS)


@pytest.mark.parametrize("row", [row for row in SERVED if row.weights != "yes"][:: 1 if LONG else 5],
                         ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}")  # fmt: skip
def test_a_row_that_does_not_serve_weights_is_refused(row):
    model, _ = support.MODELS[row.model]
    with pytest.raises(SfumatoError):
        planned(row, model, weight=support.WEIGHT)


@pytest.mark.parametrize(
    "row", REFUSED[:: 1 if LONG else 6], ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}"
)
def test_a_row_that_is_refused_says_the_sentence(row):
    model, _ = support.MODELS[row.model]
    with pytest.raises(MechanismRefused) as refusal:
        sf.plan(model, N, 1.0, 1e-6, mechanism=row.mechanism, goal=row.goal, trust=row.trust)
    assert row.refusal in str(refusal.value)
