"""Direct draw from the posterior (Geumlek Algorithm 1): the price is what the prior and n make it.

Of a Gibbs model with a target, power and prior strength are chosen together, so that the expected error is least among all
pairs that the target admits; the draw is that of 'diffused' at that pair. Without a target it is the posterior itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target
from sfumato.draws import Draws
from sfumato.errors import CalibrationError, MechanismRefused
from sfumato.mechanisms import _converged, _family, _gibbs, _joint, diffused
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent

NAME = "exact"


def refuses(model: Any, goal: str, trust: str = "proved") -> str | None:
    """Serve families whose posterior can be drawn exactly, and the Gibbs models that 'diffused' serves."""
    if isinstance(model, Gibbs):
        if goal == "draws" and trust == _converged.TRUST and model.constants.convex:
            return None if model.strong_convexity(1, 1.0) > 0 else "the sharp theorem needs strong convexity"
        return diffused.refuses(model, goal)
    if _family.is_posterior(model) and not model.priced:
        return _family.unpriced(model)
    if not _family.is_posterior(model):
        return "an exact draw needs a conjugate family or a Gibbs model"
    return None if goal == "draws" else "a direct draw is a draw; use goal='draws'"


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Price the true posterior; with a target, refuse to exceed it, or for a Gibbs model meet it."""
    if isinstance(model, Gibbs):
        return _plan_gibbs(model, n, target, draws, options)
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


def _plan_gibbs(model: Gibbs, n: int, target: Target | None, draws: int, options: Any) -> Plan:
    """Choose power and strength together, then plan the draw: a chain priced as it runs, a grid, or a reference chain."""
    assumed = options.get("trust") == _converged.TRUST
    if assumed and model.dimension is None:
        raise MechanismRefused(f"trust={_converged.TRUST!r} needs the dimension: sf.Gibbs(..., dimension=...).")
    steps = options.get("steps")

    def price(found: Gibbs, power: float) -> Guarantee:
        if assumed:
            return _converged.marked(_gibbs.sharp_price(found, n, power, draws))
        return diffused.price(found, n, power, draws, steps)

    power, strength = (1.0, 1.0) if target is None else _joint.chosen(model, n, target, price)
    found = _joint.strengthened(model, strength)
    if assumed:
        return _converged.planned(NAME, found, n, power, strength, draws, target, price(found, power), options)
    return diffused.chain_plan(NAME, found, n, power, strength, draws, target, options)


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Draw from the posterior itself, or from a Gibbs model's at the planned power and strength."""
    if isinstance(plan.model, Gibbs):
        if _converged.LENGTH in dict(plan.parameters):
            return _converged.draw(plan, engine, randomness)
        return diffused.draw(plan, engine, randomness, report)
    return _family.draw_planned(plan, engine, randomness)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    if isinstance(model, Gibbs):
        if _converged.LENGTH in parameters:
            return _converged.marked(_gibbs.sharp_price(model, n, parameters["power"], draws))
        return diffused.reprice(model, n, draws, parameters)
    return _family.price(model, n, draws, parameters["power"], parameters["strength"])
