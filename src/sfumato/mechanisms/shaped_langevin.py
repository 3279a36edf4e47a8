"""Draws by a chain in coordinates in which the rows are round: a tenth of mu^2 for their moments, the rest for the chain."""

from __future__ import annotations

import math
from typing import Any

from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.shaped_path import least_factor
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures import shape_first, shaped_chain
from sfumato.procedures.protocol import Procedure

NAME = "shaped-langevin"
PROCEDURES = ("shaped-chain",)
MAY_ASSUME = False
STRENGTH = False
_MOMENTS = 0.1
# Steps for each coefficient, and their range: mapped rows spread over d directions, so that the curvature of a direction is a
# small multiple of 1/d of the bound that sets the step; ten steps a coefficient leave about a hundredth of the start.
_PER_COEFFICIENT, _FEWEST, _MOST = 10, 50, 2000


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release draws."""
    return None if goal == "draws" else "its last iterate is a draw; for an estimate use 'shaped-path'"


def plan(request: Request[Gibbs], procedure: Procedure[Any, Any]) -> Plan:
    """Search the common factor of noise and price; the power follows from the published moments."""
    model, n = request.model, request.n
    usual = min(max(_PER_COEFFICIENT * int(model.dimension or 1), _FEWEST), _MOST)
    steps = usual if request.steps is None else request.steps

    def at(factor: float) -> shaped_chain.Parameters:
        noise = factor * math.sqrt(2 / _MOMENTS) * model.loss.radius**2 / n
        return shaped_chain.Parameters(noise, math.sqrt((1 - _MOMENTS) / request.draws) / factor, steps)

    def price(factor: float) -> Any:
        return procedure.price(model, n, request.draws, at(factor))

    numbers = at(least_factor(price, request.needed_target(NAME)))
    if not shape_first.resolvable(model, numbers.moments_noise):
        raise MechanismRefused(
            f"{n:,} records at this price tell no direction of {model.dimension} columns from another; use 'langevin'"
        )
    return request.planned(NAME, procedure, numbers)
