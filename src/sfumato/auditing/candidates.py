"""The pairs of neighbouring data sets that an audit looks at, strongest first."""

from __future__ import annotations

from sfumato.auditing.neighbours import random_pairs, worst_cases
from sfumato.auditing.odd_records import odd_pairs
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.schemas import public_schema
from sfumato.auditing.searching import searched
from sfumato.auditing.separating import separation_of
from sfumato.mechanisms.plan import Plan
from sfumato.schema import Schema

# Random pairs beside the worst cases, and moves of the search from the strongest of them.
_RANDOM, _MOVES = 8, 40


def candidates(plan: Plan, schema: Schema | None = None, seed: int = 0) -> list[Neighbours]:
    """Worst cases of the model, random pairs, odd records and the result of a search, by how far apart they are.

    How far is computed from the sums that the plan's procedure would see, without drawing.
    """
    known = public_schema(plan.model, plan.n) if schema is None else schema
    plan.model.columns(known)  # refuses a schema that the model does not fit
    separation = separation_of(plan)
    pairs = [
        *worst_cases(plan, known),
        *random_pairs(plan, known, _RANDOM, seed),
        *odd_pairs(plan, known),
        searched(plan, known, separation, seed, _MOVES),
    ]
    return sorted(pairs, key=separation, reverse=True)
