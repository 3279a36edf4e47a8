"""The prior strengthened at full power (Geumlek Algorithms 3 and 4): the smallest strength that the target admits.

A family is drawn exactly, a Gibbs model by its chain, as in 'diffused'.
"""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.mechanisms import _family, _gibbs, diffused
from sfumato.mechanisms.diffused import draw as draw
from sfumato.mechanisms.diffused import refuses as refuses_tempering
from sfumato.mechanisms.diffused import reprice as reprice
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families.family import Family

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
        guarantee = _family.price(model, n, draws, 1.0, strength)
        expected = _family.expected(model, n, 1.0, strength)
    else:

        def strengthened(s: float) -> Any:
            return model.with_prior(model.prior.scaled(s))

        steps = options.get("steps")
        strength = smallest(
            lambda s: diffused.price(strengthened(s), n, 1.0, draws, steps), limit, 1.0, _STRONGEST, "strength"
        )
        return diffused.chain_plan(NAME, strengthened(strength), n, 1.0, strength, draws, limit, options)
    return Plan(
        NAME,
        model,
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
