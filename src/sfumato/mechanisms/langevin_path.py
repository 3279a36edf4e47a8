"""A noisy-gradient path with every step paid for: the schedule follows from public numbers, then the least noise is searched."""

from __future__ import annotations

import math
from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import path
from sfumato.procedures.protocol import Procedure
from sfumato.tune import path_schedule

NAME = "langevin-path"
PROCEDURES = ("path",)
MAY_ASSUME = False
STRENGTH = False


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release an estimate."""
    if goal == "estimate":
        return None
    return "its tail average is an estimate; use goal='estimate' (for draws use 'langevin')"


def plan(request: Request[Gibbs], procedure: Procedure[Any, Any]) -> Plan:
    """Choose learning rate, momentum and steps for the budget that there is, then search the noise."""
    model, n, draws, target = request.model, request.n, request.draws, request.needed_target(NAME)
    smooth = model.constants.smoothness if model.constants.smooth else model.constants.lipschitz**2
    smooth += model.prior.smoothness / n  # a steep prior shortens the steps, or the path would leave every bound
    # The rule assumes that two gradients differ by up to twice their largest norm; where they differ by less, mu is scaled up.
    scale = 2 * model.constants.lipschitz / model.constants.difference
    chosen = path_schedule(n, _admitted_mu(request, target) * scale, smooth, model.dimension, request.steps)
    steps = chosen.steps

    def price(sigma: float) -> Guarantee:
        return steps * path.price_of_noise(model, n, sigma, 1, draws)

    least = model.constants.difference * math.sqrt(steps * draws) / n
    sigma = smallest(price, target, least * 1e-4, least * 1e6, "noise")
    numbers = path.Parameters.of(n, sigma, chosen.rate, chosen.momentum, steps, chosen.tail)
    return request.planned(NAME, procedure, numbers)


def _admitted_mu(request: Request[Gibbs], target: Target) -> float:
    """The budget: mu of a single step with the least noise that the target admits."""
    model, n = request.model, request.n
    unit = model.constants.difference / n
    return 1.0 / smallest(
        lambda s: path.price_of_noise(model, n, s * unit, 1, request.draws), target, 1e-4, 1e9, "noise", 1e-3
    )
