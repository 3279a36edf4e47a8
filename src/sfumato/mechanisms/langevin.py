"""The last iterate of a Langevin chain, priced as it runs: the largest power whose chain the target admits."""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import largest
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.tempering import HIGHEST_POWER, LOWEST_POWER
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures.protocol import PoweredProcedure

NAME = "langevin"
PROCEDURES = ("last-iterate",)
MAY_ASSUME = False
STRENGTH = False


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release draws."""
    return None if goal == "draws" else "its last iterate is a draw; for a point estimate use 'langevin-path'"


def plan(request: Request[Any], procedure: PoweredProcedure[Any, Any]) -> Plan:
    """Search the power of the chain; one chain a draw."""
    price = request.price_of_power(procedure, request.model, None)
    power = largest(price, request.needed_target(NAME), LOWEST_POWER, HIGHEST_POWER, "power")
    return request.planned(NAME, procedure, request.numbers_at(procedure, request.model, power, None))
