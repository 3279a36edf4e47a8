"""The prior strengthened at full power (Geumlek Algorithms 3 and 4): the smallest strength that the target admits."""

from __future__ import annotations

from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.mechanisms import _beta, _gibbs
from sfumato.mechanisms.diffused import draw as draw
from sfumato.mechanisms.diffused import refuses as refuses
from sfumato.mechanisms.diffused import reprice as reprice
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families.beta_bernoulli import BetaBernoulli

NAME = "concentrated"
_STRONGEST = 1e9


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the smallest multiple of the prior (at least 1) whose price, for all draws together, the target admits."""
    limit = _gibbs.needs_target(target, NAME)
    if isinstance(model, BetaBernoulli):
        strength = 1.0 / _beta.calibrated(model, n, draws, limit, 1.0 / _beta.strongest(model, n), "strength")
        released = model
        guarantee = _beta.price(model, n, draws, 1.0, strength)
        expected = _beta.expected_error(model, n, 1.0, strength)
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
