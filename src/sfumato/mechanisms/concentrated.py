"""The prior strengthened at full power (Geumlek Algorithms 3 and 4): the smallest strength that the target admits."""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.mechanisms import _family, _gibbs
from sfumato.mechanisms.diffused import draw as draw
from sfumato.mechanisms.diffused import refuses as refuses_tempering
from sfumato.mechanisms.diffused import reprice as reprice
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families._family import Family

NAME = "concentrated"
_STRONGEST = 1e9


def refuses(model: Any, goal: str) -> str | None:
    """Serve what 'diffused' serves, where the prior is a conjugate one that can be multiplied."""
    if isinstance(model, Family) and model.drawn and not model.strengthens:
        return "the prior of this family cannot be strengthened; use 'diffused' or 'exponential'"
    return refuses_tempering(model, goal)


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the smallest multiple of the prior (at least 1) whose price, for all draws together, the target admits."""
    limit = _gibbs.needs_target(target, NAME)
    if isinstance(model, Family):
        strength = 1.0 / _family.calibrated(model, n, draws, limit, 1.0 / model.strongest(n), "strength")
        released = model
        guarantee = _family.price(model, n, draws, 1.0, strength)
        expected = _family.expected(model, n, 1.0, strength)
    else:

        def strengthened(s: float) -> Any:
            return model.with_prior(model.prior.scaled(s))

        strength = smallest(
            lambda s: _gibbs.sharp_price(strengthened(s), n, 1.0, draws), limit, 1.0, _STRONGEST, "strength"
        )
        released = strengthened(strength)
        guarantee = _gibbs.sharp_price(released, n, 1.0, draws)
        expected = _gibbs.expected_of_power(1.0)
    return Plan(
        NAME,
        released,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", 1.0), ("strength", strength)),
        guarantee,
        expected,
        Cost(1),
        limit,
    )
