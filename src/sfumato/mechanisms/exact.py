"""Direct draw from the posterior (Geumlek Algorithm 1): the price is what the prior and n make it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target
from sfumato.draws import Draws
from sfumato.errors import CalibrationError
from sfumato.mechanisms import _family
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent

NAME = "exact"


def refuses(model: Any, goal: str) -> str | None:
    """Serve families whose posterior can be drawn exactly."""
    if _family.is_posterior(model) and not model.priced:
        return _family.unpriced(model)
    if not _family.is_posterior(model):
        return "an exact draw needs a conjugate family; for a Gibbs model use 'langevin', whose running chain costs no more"
    return None if goal == "draws" else "a direct draw is a draw; use goal='draws'"


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Price the true posterior; with a target, refuse to exceed it."""
    guarantee = _family.price(model, n, draws)
    if target is not None and not target.admits(guarantee):
        raise CalibrationError(
            f"{draws} exact draw(s) cost more than the target {target}: {guarantee.at(target.delta or 1e-6)} "
            "Use mechanism='auto', which tempers the data, strengthens the prior or adds noise as the target asks."
        )
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", 1.0), ("strength", 1.0)),
        guarantee,
        _family.expected(model, n, 1.0, 1.0),
        Cost(1),
        target,
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Draw from the posterior itself."""
    return _family.draw_planned(plan, engine, randomness)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    return _family.price(model, n, draws, parameters["power"], parameters["strength"])
