"""The prior strengthened at full power (Geumlek Algorithms 3 and 4): the smallest strength that the target admits.

A family is drawn exactly from its law, a Gibbs model as in 'diffused'.
"""

from __future__ import annotations

from typing import Any

from sfumato.mechanisms import diffused, tempering
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.models.model import TOTALS
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures.protocol import PoweredProcedure

NAME = "concentrated"
PROCEDURES = tempering.PROCEDURES
MAY_ASSUME = False
STRENGTH = True


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Serve what 'diffused' serves, where the prior can be multiplied."""
    if model.summed == TOTALS and model.drawn and not model.strengthens:
        return (
            f"the prior of this family cannot be strengthened; use {'exponential' if model.bounded else 'diffused'!r}"
        )
    return diffused.refuses(model, goal, trust)


def plan(request: Request[Any], procedure: PoweredProcedure[Any, Any]) -> Plan:
    """Search the strength at power 1."""
    strength = tempering.smallest_strength(request, procedure, request.needed_target(NAME))
    model = request.model.strengthened(strength)
    return request.planned(NAME, procedure, request.numbers_at(procedure, model, 1.0, strength), model)
