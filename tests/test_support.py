"""docs/support.md is what the code does: every row is planned, published, verified and asked for an interval, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
import support
from effort import LONG
from sfumato.errors import ArgumentError, CalibrationError, MechanismRefused

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
            plan = sf.plan(model, N, 1e3, 1e-2, **row.options)
    assert plan.procedure == row.procedure
    assert plan.guarantee.adjacency == row.neighbours
    release = sf.publish(plan, records(schema)).verify()
    if row.interval in ("yes", "from the transcript"):
        low, high = release.interval()
        assert (low <= high).all()
    else:
        with pytest.raises(ArgumentError):
            release.interval()


@pytest.mark.parametrize(
    "row", REFUSED[:: 1 if LONG else 6], ids=lambda row: f"{row.model}-{row.mechanism}-{row.trust}"
)
def test_a_row_that_is_refused_says_the_sentence(row):
    model, _ = support.MODELS[row.model]
    with pytest.raises(MechanismRefused) as refusal:
        sf.plan(model, N, 1.0, 1e-6, mechanism=row.mechanism, goal=row.goal, trust=row.trust)
    assert row.refusal in str(refusal.value)
