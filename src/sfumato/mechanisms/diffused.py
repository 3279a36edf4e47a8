"""The data tempered by a power below 1 (Geumlek Algorithms 2 and 5): the largest power that the target admits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _family, _gibbs
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families._family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee

NAME = "diffused"


def refuses(model: Any, goal: str) -> str | None:
    """Serve conjugate families, and Gibbs models with a convex loss and a strongly log-concave prior."""
    if goal != "draws":
        return "it releases draws of a tempered posterior; use goal='draws'"
    if isinstance(model, Family):
        return family_refuses(model)
    reason = _gibbs.not_gibbs(model)
    if reason is None and isinstance(model, Gibbs):
        if not model.constants.convex:
            return "the sharp theorem needs a convex loss; use 'langevin-path'"
        if model.strong_convexity(1, 1.0) <= 0:
            return "the sharp theorem needs strong convexity: give the prior a positive precision"
    return reason


def family_refuses(model: Family) -> str | None:
    """A family without a posterior has nothing to draw; a truncated one is priced as an exponential mechanism."""
    if not model.drawn:
        return "this family has no posterior to draw from; use 'noisy-statistics' with goal='estimate'"
    if not model.priced:
        return _family.unpriced(model)
    return "the posterior is truncated; use 'exponential'" if model.bounded else None


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the largest power in (0, 1] whose price, for all draws together, the target admits."""
    limit = _gibbs.needs_target(target, NAME)
    if isinstance(model, Family):
        power = _family.calibrated(model, n, draws, limit, 1e-9, "power")
        guarantee = _family.price(model, n, draws, power)
        expected = _family.expected(model, n, power, 1.0)
    else:
        power = largest(
            lambda p: _gibbs.sharp_price(model, n, p, draws), limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power"
        )
        guarantee = _gibbs.sharp_price(model, n, power, draws)
        expected = _gibbs.expected_of_power(power)
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), ("strength", 1.0)),
        guarantee,
        expected,
        Cost(1),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Draw from the planned posterior; Gibbs models are drawn by their chain, which is not built yet."""
    if not isinstance(plan.model, Family):
        raise MechanismRefused(
            f"mechanism {plan.mechanism!r} cannot draw from {plan.model} yet; it can be planned and compared."
        )
    return _family.draw_planned(plan, engine, randomness)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    if isinstance(model, Family):
        return _family.price(model, n, draws, parameters["power"], parameters["strength"])
    return _gibbs.sharp_price(model, n, parameters["power"], draws)
