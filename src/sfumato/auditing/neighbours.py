"""Neighbouring data sets to attack a plan with: worst cases of its model, random ones, odd records, and pairs found by search.

All are made up from the plan and a public schema; no private row is read. Data sets have the plan's n records and differ in the
first one. The records of a plan that protects single cells differ in one cell. Where the plan is about persons a record is a person
with all rows, and those of one person are replaced by others under the same id (`person_pairs`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.auditing.odd_records import odd_pairs
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.person_pairs import random_person_pairs, spread_candidates, with_persons
from sfumato.auditing.records import PLACE, STYLES, Candidate, neighbour_of, one_cell, random_record, random_table
from sfumato.auditing.schemas import public_schema
from sfumato.auditing.searching import Climb, searched
from sfumato.auditing.separating import Separation, separation_of
from sfumato.auditing.worst_records import worst_records
from sfumato.auditing.worst_rows import other_lengths, other_others, worst_rows
from sfumato.mechanisms.plan import Plan
from sfumato.models.gibbs import Gibbs
from sfumato.schema import Schema

__all__ = [
    "Neighbours",
    "Separation",
    "candidates_of",
    "odd_pairs",
    "public_schema",
    "random_pairs",
    "ranking_plan",
    "searched",
    "separation_of",
    "worst_cases",
]

# Worst cases that are kept, the best first: more cost an audit confidence, and of a good order the first is the worst.
KEPT = 4
# Kinds of candidates of a Gibbs model whose others are varied.
_KINDS = 4
# Tries of the short search that ends the choice.
_TRIES = 80
# Most records by which candidates of a Gibbs model are ranked: each look reads all of them.
_RANKED = 128


def worst_cases(plan: Plan, schema: Schema, most: int = KEPT) -> list[Neighbours]:
    """Pairs at which the plan's price is attained or nearly so, those of the largest separation first; at most `most`."""
    few = ranking_plan(plan)  # only the best are built with all records
    schema = with_persons(plan, schema)
    climb = Climb(few, schema, separation_of(few))
    for candidate in candidates_of(plan, schema):
        climb.look_at(candidate)
    if isinstance(plan.model, Gibbs):
        _improve(climb)
    best = climb.ranked[: _validate.whole("most", most)]
    return [pair if few.n == plan.n else candidate.built(schema, plan.n) for _, candidate, pair in best]


def ranking_plan(plan: Plan) -> Plan:
    """The plan with few records, by which pairs of a Gibbs model are ranked; other plans as they are.

    Gradients and moments are means over records, so that few records rank the candidates of many.
    """
    return replace(plan, n=_RANKED) if isinstance(plan.model, Gibbs) and plan.n > _RANKED else plan


def _improve(climb: Climb) -> None:
    """Change the others of the best candidate of every kind, then lengths, then anything by a short search.

    One thing at a time: the best others depend on the rows, and the best rows on the others.
    """
    kinds: dict[str, Candidate] = {}
    for _, candidate, _ in climb.ranked:
        kinds.setdefault(candidate.name, candidate)
    for candidate in list(kinds.values())[:_KINDS]:
        for other in other_others(candidate, climb.schema):
            climb.look_at(other)
    for other in other_lengths(climb.best, climb.schema):
        climb.look_at(other)
    climb.search(np.random.default_rng(0), _TRIES)


def candidates_of(plan: Plan, schema: Schema) -> list[Candidate]:
    """The pairs among which `worst_cases` chooses: records at the extremes of what the plan's model sums."""
    columns = plan.model.columns(schema)  # refuses a schema that the model does not fit
    if isinstance(plan.model, Gibbs):
        return worst_rows(plan.model, schema, shaped=plan.procedure.startswith("shaped"))
    model: Any = plan.model
    power = float(dict(plan.parameters).get("power", 1.0))
    worst = worst_records(model, schema, plan.n, power, one_cell(plan))
    return [*worst, *spread_candidates(columns, worst, with_persons(plan, schema))]


def random_pairs(plan: Plan, schema: Schema, count: int, seed: int = 0) -> list[Neighbours]:
    """Random tables, each of one style or of all mixed, with the first record replaced by a random one.

    Where the plan is about persons, those with random numbers of rows, of which one person's are replaced.
    """
    schema = with_persons(plan, schema)
    plan.model.columns(schema)
    if schema.persons is not None:
        return random_person_pairs(schema, count, seed)
    rng = np.random.default_rng(seed)
    pairs = []
    for place in range(count):
        style = STYLES[place % len(STYLES)]
        table = random_table(schema, style, plan.n, rng).with_record(PLACE, random_record(schema, rng))
        second = neighbour_of(plan, table.record(PLACE), random_record(schema, rng), rng)
        name = f"one record of a random table is replaced (table {place + 1}, {style} values)"
        pairs.append(Neighbours(name, table.dataset(), table.with_record(PLACE, second).dataset()))
    return pairs
