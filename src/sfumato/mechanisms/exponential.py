"""The exponential mechanism (McSherry and Talwar; Minami Theorems 3 and 4; OPS): pure, for losses bounded on the domain.

For a family it is the tempered draw of a truncated or finite posterior, priced at the exact supremum of the log ratio. A
Gibbs model on a ball or a box is drawn exactly on a public lattice, in one or two dimensions, kinks or not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.mechanisms import _family, _gibbs, _lattice
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families._family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems import exponential

NAME = "exponential"


def refuses(model: Any, goal: str) -> str | None:
    """Serve models whose log likelihood varies by a bounded amount between records, at every parameter of the domain."""
    if goal != "draws":
        return "it releases draws; use goal='draws'"
    if isinstance(model, Family):
        if model.drawn and not model.priced:
            return _family.unpriced(model)
        return None if model.drawn and model.bounded else "the log ratio of this posterior is unbounded; truncate it"
    return _gibbs.not_gibbs(model) or unbounded(model) or _lattice.refuses(model)


def unbounded(model: Gibbs) -> str | None:
    """Return why the theorem says nothing about a Gibbs model, or None."""
    if math.isfinite(model.constants.bound):
        return None
    return "the loss is unbounded on this domain; truncate the prior: sf.priors.Ball(prior, radius=...)"


def price(model: Any, n: int, power: float, draws: int, strength: float = 1.0) -> Guarantee:
    """2 power Delta bounded range, times the draws; of a family the exact supremum."""
    if isinstance(model, Family):
        return _family.price(model, n, draws, power, strength)
    return exponential.exponential_mechanism(power=power, sensitivity=_lattice.sensitivity(model, power), draws=draws)


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the largest power in (0, 1] whose price the target admits; a utility has no 1 to stop at."""
    limit = _gibbs.needs_target(target, NAME)
    family = isinstance(model, Family)
    highest = model.highest_power if family else _gibbs.HIGHEST_POWER
    power = largest(lambda p: price(model, n, p, draws), limit, _gibbs.LOWEST_POWER, highest, "power")
    second = ("strength", 1.0) if family else ("points", _lattice.axis_points(model.dimension, n))
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), second),
        price(model, n, power, draws),
        _family.expected(model, n, power, 1.0) if family else _gibbs.expected_of_power(power),
        Cost(1),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Draw a family's tempered posterior, or a point of a Gibbs model's lattice."""
    if isinstance(plan.model, Family):
        return _family.draw_planned(plan, engine, randomness)
    power, per_axis = float(plan["power"]), int(plan["points"])
    found = _lattice.draw(plan.model, plan.n, power, per_axis, plan.draws, engine, randomness)
    return Draws(found[None], engine.labels)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    return price(model, n, parameters["power"], draws, parameters.get("strength", 1.0))
