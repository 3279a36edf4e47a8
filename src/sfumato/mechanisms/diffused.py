"""The data tempered by a power below 1 (Geumlek Algorithms 2 and 5): the largest power that the target admits.

A family is drawn exactly from its law. A smooth Gibbs model is drawn by a Langevin chain, at a power at which two prices are
admitted: of the chain as it runs, and of the exact draw that it stands for. One with kinks is drawn exactly on a public
grid, in one or two dimensions.
"""

from __future__ import annotations

from typing import Any

from sfumato.mechanisms import tempering
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.models.model import TOTALS
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures.protocol import PoweredProcedure

NAME = "diffused"
PROCEDURES = tempering.PROCEDURES
MAY_ASSUME = False
STRENGTH = True


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release draws; a family with a bounded log ratio (truncated, finite) is priced as an exponential mechanism."""
    if goal != "draws":
        return "it releases draws of a tempered posterior; use goal='draws'"
    bounded = model.summed == TOTALS and model.drawn and model.priced and model.bounded
    return "its log ratio is bounded, which 'exponential' prices exactly; use 'exponential'" if bounded else None


def plan(request: Request[Any], procedure: PoweredProcedure[Any, Any]) -> Plan:
    """Search the power with the prior as it is."""
    power = tempering.largest_power(request, procedure, request.needed_target(NAME))
    return request.planned(NAME, procedure, request.numbers_at(procedure, request.model, power, 1.0))
