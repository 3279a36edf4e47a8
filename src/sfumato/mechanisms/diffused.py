"""The data tempered by a power below 1 (Geumlek Algorithms 2 and 5): the largest power that the target admits.

A family is drawn exactly. A Gibbs model is drawn by the Langevin chain, priced as it runs and as the exact draw that it
stands for: the power is one at which both prices are admitted, and the larger of them is the guarantee. One with kinks is
drawn exactly on a public grid, in one or two dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.mechanisms import _family, _gibbs, _kinked, langevin
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.families.family import Family
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems import finite_step

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
        if not model.constants.smooth:
            return _kinked.refuses(model)
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
        steps = options.get("steps")
        power = largest(
            lambda p: price(model, n, p, draws, steps), limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power"
        )
        return chain_plan(NAME, model, n, power, 1.0, draws, limit, options)
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


def price(model: Gibbs, n: int, power: float, draws: int, steps: int | None, step: float | None = None) -> Guarantee:
    """The larger of two prices: of exact draws (sharp theorem), and of the last iterates of the chains that are run."""
    if not model.constants.smooth:
        return _kinked.price(model, n, power, draws)
    exact = _gibbs.sharp_price(model, n, power, draws)
    chain = langevin.price(model, n, power, draws, steps, step)
    return finite_step.at_least_exact(chain, exact)


def chain_plan(
    name: str, model: Gibbs, n: int, power: float, strength: float, draws: int, limit: Target | None, options: Any
) -> Plan:
    """Plan of a Gibbs model at this power: the chain that 'langevin' would run, one for each draw; with kinks, the grid."""
    if not model.constants.smooth:
        return _kinked.plan(name, model, n, power, strength, draws, limit, options)
    steps = options.get("steps")
    step, count = langevin.schedule(model, n, power, steps)
    return Plan(
        name,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), ("strength", strength), ("step", step), ("steps", count)),
        price(model, n, power, draws, steps),
        _gibbs.expected_of_power(power),
        Cost(count, draws),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Draw from the planned posterior: a family's exactly, a Gibbs model's by its chain."""
    if isinstance(plan.model, Family):
        return _family.draw_planned(plan, engine, randomness)
    if not plan.model.constants.smooth:
        return _kinked.draw(plan, engine, randomness, report)
    return langevin.draw(plan, engine, randomness, report)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    if isinstance(model, Family):
        return _family.price(model, n, draws, parameters["power"], parameters["strength"])
    if not model.constants.smooth:
        return _kinked.reprice(model, n, draws, parameters)
    return price(model, n, parameters["power"], draws, int(parameters["steps"]), float(parameters["step"]))
