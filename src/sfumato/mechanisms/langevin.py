"""The last iterate of a Langevin chain, priced as it runs (finite-step theorem): nothing has to converge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, last_iterate, silent
from sfumato.theorems import finite_step

NAME = "langevin"
# The share of the start that is left in the last iterate: the chain has then forgotten 99 % of where it began.
_REMAINDER = 0.01


def refuses(model: Any, goal: str) -> str | None:
    """Serve Gibbs models with a smooth convex loss and a prior of positive precision."""
    if goal != "draws":
        return "its last iterate is a draw; for a point estimate use 'langevin-path'"
    reason = _gibbs.not_gibbs(model)
    if reason is None and isinstance(model, Gibbs):
        if not model.constants.convex:
            return "the finite-step theorem is false without convexity; use 'langevin-path'"
        if not model.constants.smooth or not math.isfinite(model.constants.smoothness):
            return "the finite-step theorem needs a smooth loss; use the smoothed variant (for Poisson, declare label_bound)"
        if model.strong_convexity(1, 1.0) <= 0:
            return "the chain needs strong convexity to forget its start: give the prior a positive precision"
    return reason


def schedule(model: Gibbs, n: int, power: float, steps: int | None) -> tuple[float, int]:
    """Step 1/M and as many steps as leave one hundredth of the start; both follow from public numbers."""
    m, big_m = model.strong_convexity(n, power), model.smoothness(n, power)
    step = 1.0 / big_m
    needed = math.ceil(math.log(_REMAINDER) / math.log1p(-m / big_m)) if m < big_m < math.inf else 1
    return step, steps if steps is not None else max(1, needed)


def price(model: Gibbs, n: int, power: float, draws: int, steps: int | None, given: float | None = None) -> Guarantee:
    """Price of the last iterates of `draws` independent chains at this power, by the schedule or with a given step."""
    planned, count = schedule(model, n, power, steps)
    step = planned if given is None else given
    return finite_step.last_iterate(
        difference=model.difference(power),
        strong_convexity=model.strong_convexity(n, power),
        smoothness=model.smoothness(n, power),
        step=step,
        steps=count,
        convex=model.constants.convex,
        # What `draw` below does: it starts at the prior's mean, reads every record at each step and has no momentum.
        public_start=True,
        full_batch=True,
        momentum=0.0,
        chains=draws,
        float_error=_gibbs.step_error(model, n, power, step),
    )


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the largest power in (0, 1] whose chain the target admits; one chain per draw."""
    limit = _gibbs.needs_target(target, NAME)
    steps = options.get("steps")
    power = largest(
        lambda p: price(model, n, p, draws, steps), limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power"
    )
    step, count = schedule(model, n, power, steps)
    return Plan(
        NAME,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), ("step", step), ("steps", count)),
        price(model, n, power, draws, steps),
        _gibbs.expected_of_power(power),
        Cost(count, draws),
        limit,
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Run the chains from the public start and keep their last iterates, on a public grid."""
    model, power, steps = plan.model, float(plan["power"]), int(plan["steps"])
    theta = last_iterate(
        _gibbs.field(model, engine, power),
        _gibbs.projection(model, _gibbs.projection_radius(model, plan.n, power)),
        _gibbs.public_start(model, plan.draws, engine.dimension),
        float(plan["step"]),
        steps,
        randomness,
        report,
    )
    return Draws(theta[:, None, :], engine.labels)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    return price(model, n, parameters["power"], draws, int(parameters["steps"]), float(parameters["step"]))
