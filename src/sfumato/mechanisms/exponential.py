"""The exponential mechanism (McSherry and Talwar; Minami Theorems 3 and 4; OPS): pure, for losses bounded on the domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import exponential

NAME = "exponential"


def refuses(model: Any, goal: str) -> str | None:
    """Serve Gibbs models whose loss varies by a bounded amount between records, at every parameter of the domain."""
    if goal != "draws":
        return "it releases draws; use goal='draws'"
    reason = _gibbs.not_gibbs(model)
    if reason is None and isinstance(model, Gibbs) and not math.isfinite(model.constants.bound):
        return "the loss is unbounded on this domain; truncate the prior: sf.priors.Ball(prior, radius=...)"
    return reason


def price(model: Gibbs, power: float, draws: int) -> Guarantee:
    """2 power Delta bounded range, times the draws."""
    return exponential.exponential_mechanism(power=power, sensitivity=model.constants.bound, draws=draws)


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the largest power in (0, 1] whose price the target admits."""
    limit = _gibbs.needs_target(target, NAME)
    power = largest(lambda p: price(model, p, draws), limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power")
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power),),
        price(model, power, draws),
        _gibbs.expected_of_power(power),
        Cost(1),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Refuse: the chain that carries this plan out is not built yet."""
    raise MechanismRefused(f"mechanism {NAME!r} cannot draw yet; it can be planned and compared.")


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    return price(model, parameters["power"], draws)
