"""Direct draw from the posterior (Geumlek Algorithm 1): the price follows from the prior and n; it is not chosen.

For a family nothing is searched: a target that the posterior itself exceeds is refused. For a Gibbs model with a target,
power and prior strength are chosen together, so that the expected error is least among all pairs that the target admits;
without a target the draw is from the posterior itself.
"""

from __future__ import annotations

from typing import Any

from sfumato.errors import CalibrationError
from sfumato.mechanisms import diffused, joint, tempering
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import CONVERGED, Request
from sfumato.models.model import LOSSES
from sfumato.models.reading import FamilyOrGibbs
from sfumato.procedures.protocol import PoweredProcedure

NAME = "exact"
PROCEDURES = tempering.PROCEDURES
MAY_ASSUME = True
STRENGTH = True


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Serve families with a posterior, and Gibbs models as 'diffused' does; with "assumes converged" all strongly convex ones."""
    if model.summed == LOSSES:
        if goal == "draws" and trust == CONVERGED and model.constants.convex:
            return None if model.strong_convexity(1, 1.0) > 0 else "the sharp theorem needs strong convexity"
        return diffused.refuses(model, goal, trust)
    if model.utility or not model.drawn:
        return "an exact draw needs a conjugate family or a Gibbs model"
    return None if goal == "draws" else "a direct draw is a draw; use goal='draws'"


def plan(request: Request[Any], procedure: PoweredProcedure[Any, Any]) -> Plan:
    """With a target: refuse a family that exceeds it, or choose power and strength for a Gibbs model. Without: price as it is."""
    model, target = request.model, request.target
    power = strength = 1.0
    if target is not None and not model.conjugate:
        power, strength = joint.chosen(request, procedure, target)
    drawn = model.strengthened(strength)
    numbers = request.numbers_at(procedure, drawn, power, strength)
    if target is not None and model.conjugate:
        guarantee = procedure.price(model, request.n, request.draws, numbers)
        if not target.admits(guarantee):
            raise CalibrationError(
                f"{request.draws} exact draw(s) cost more than the target {target}: {guarantee.at(target.delta or 1e-6)} "
                "Use mechanism='auto', which tempers the data, strengthens the prior or adds noise as the target asks."
            )
    return request.planned(NAME, procedure, numbers, drawn)
