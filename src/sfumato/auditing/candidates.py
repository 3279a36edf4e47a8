"""The pairs of neighbouring data sets that an audit looks at, strongest first."""

from __future__ import annotations

import math

import numpy as np

from sfumato.auditing.neighbours import candidates_of, random_pairs, ranking_plan, worst_cases
from sfumato.auditing.odd_records import odd_pairs
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.person_pairs import with_persons
from sfumato.auditing.records import Candidate
from sfumato.auditing.schemas import public_schema
from sfumato.auditing.searching import Climb
from sfumato.auditing.separating import separation_of
from sfumato.mechanisms.plan import Plan
from sfumato.samplers.langevin import Report, silent
from sfumato.schema import Schema

# Random pairs beside the worst cases, and moves of the search from the strongest of them.
_RANDOM, _MOVES = 8, 40
# Digits of a separation that count: of pairs that differ by a rounding the earlier one has the clearer name.
_DIGITS = 6


def candidates(plan: Plan, schema: Schema | None = None, seed: int = 0, report: Report = silent) -> list[Neighbours]:
    """Worst cases of the model, random pairs, odd records and the result of a search, by how far apart they are.

    How far is computed from the sums that the plan's procedure would see, without drawing. Pairs of a Gibbs model are ranked by
    data sets of fewer records (`ranking_plan`): a look at one reads every record.
    """
    known = with_persons(plan, public_schema(plan.model, plan.n) if schema is None else schema)
    plan.model.columns(known)  # refuses a schema that the model does not fit
    few = ranking_plan(plan)
    separation = separation_of(few)
    climb = Climb(few, known, separation)
    for candidate in candidates_of(plan, known):
        climb.look_at(candidate)
    climb.search(np.random.default_rng(seed), _MOVES)
    pairs = _listed(plan, known, climb.best, seed)
    small = pairs if few is plan else _listed(few, known, climb.best, seed)
    far = []
    for pair in small:
        apart = separation(pair)
        # What is no number is looked at first: a fault made it.
        far.append(math.inf if math.isnan(apart) else float(f"{apart:.{_DIGITS}g}"))
        report(len(far), len(small))
    return [pairs[place] for place in sorted(range(len(pairs)), key=lambda place: -far[place])]


def _listed(plan: Plan, schema: Schema, best: Candidate, seed: int) -> list[Neighbours]:
    """All pairs of the plan's n records; two plans that differ in n alone have the same ones in the same order."""
    return [
        *worst_cases(plan, schema),
        *random_pairs(plan, schema, _RANDOM, seed),
        *odd_pairs(plan, schema),
        best.built(schema, plan.n),
    ]
