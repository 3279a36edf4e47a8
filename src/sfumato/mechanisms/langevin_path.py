"""A noisy-gradient path with every step paid for: momentum, averages and all iterates are then free.

In terms of the mean loss a step is theta <- theta - eta (mean gradient + sigma xi): a Langevin step with h = (eta sigma)^2/2
and power = eta/(n h). T steps cost sqrt(T) G sqrt(h/2) = sqrt(T) (G/power)/(n sigma).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.calibrate import Target, smallest
from sfumato.draws import Draws
from sfumato.errors import FormatError
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Expected, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.models.priors import Ball
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Recursion, Report, gradient_grid, noisy_path, silent
from sfumato.theorems import path
from sfumato.tune import path_schedule

NAME = "langevin-path"
# A step below this has lost its digits.
_SMALLEST = 1e-200


def refuses(model: Any, goal: str) -> str | None:
    """Serve every Gibbs model with bounded per-record gradients, convex or not; what leaves is an estimate."""
    if goal != "estimate":
        return "its tail average is an estimate; use goal='estimate' (for draws use 'langevin')"
    reason = _gibbs.not_gibbs(model)
    if reason is None and isinstance(model, Gibbs):
        if not math.isfinite(model.constants.difference):
            return "the per-record gradients are unbounded; use a clipped loss"
        if not math.isfinite(model.constants.lipschitz):
            return "the roundings of a sum cannot be bounded on all of R^d; truncate the prior: sf.priors.Ball(prior, radius=...)"
    return reason


def price(model: Gibbs, n: int, sigma: float, steps: int, chains: int, momentum: float = 0.0) -> Guarantee:
    """Price of `steps` noisy mean gradients with noise `sigma`, for all chains together, roundings of the sum included.

    It is the same for every learning rate, so it is computed at 1: a tiny one would make the squares of the formula vanish.
    """
    h = 0.5 * sigma**2
    return path.whole_path(
        difference=model.difference(1 / (n * h)) if h > 0 else math.inf,
        step=h,
        steps=steps,
        # What `draw` below does: a public start, every record at each step, and numbers that the plan has fixed.
        public_start=True,
        public_schedule=True,
        full_batch=True,
        chains=chains,
        momentum=momentum,
        float_error=_gibbs.noisy_mean_error(model, n, sigma),
    )


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Choose the schedule from public numbers, then the least noise that is admitted."""
    limit = _gibbs.needs_target(target, NAME)
    smooth = model.constants.smoothness if model.constants.smooth else model.constants.lipschitz**2
    smooth += model.prior.smoothness / n  # a steep prior shortens the steps, or the path would leave every bound
    mu = _admitted_mu(model, n, limit, draws)
    # The rule is written for gradients that differ by twice their largest norm; where they differ by less, more is to spend.
    scale = 2 * model.constants.lipschitz / model.constants.difference
    chosen = path_schedule(n, mu * scale, smooth, model.dimension, options.get("steps"))
    eta, steps, momentum = chosen.rate, chosen.steps, chosen.momentum

    def one_step(sigma: float) -> Guarantee:
        return steps * price(model, n, sigma, 1, draws)

    least = model.constants.difference * math.sqrt(steps * draws) / n
    sigma = smallest(one_step, limit, least * 1e-4, least * 1e6, "noise")
    h = 0.5 * (eta * sigma) ** 2
    numbers = (
        ("power", eta / (n * h)),
        ("step", h),
        ("steps", steps),
        ("learning_rate", eta),
        ("noise", sigma),
        ("momentum", momentum),
        ("tail", chosen.tail),
    )
    return Plan(
        NAME,
        model,
        n,
        draws,
        "estimate",
        tuple(options.get("keep", ())),
        numbers,
        price(model, n, sigma, steps, draws, momentum),
        expected(sigma),
        Cost(steps, draws),
        limit,
    )


def expected(sigma: float) -> Expected:
    """The noise that every gradient carries."""
    return Expected("noise added to the mean gradient at every step", sigma, "standard deviation", "exact")


def _admitted_mu(model: Gibbs, n: int, limit: Target, draws: int) -> float:
    """Mu of one step at the least noise that the target admits: what there is to spend."""
    return 1.0 / smallest(
        lambda s: price(model, n, s * model.constants.difference / n, 1, draws), limit, 1e-4, 1e9, "noise", 1e-3
    )


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Run the chains from the public start on noisy gradients, and average the tail of each."""
    found = noisy_path(
        lambda theta: engine.gradient(theta) / plan.n,
        Recursion.of(plan.model.prior, plan.n, plan.draws, engine.dimension, dict(plan.parameters)),
        float(plan["noise"]),
        randomness,
        "transcript" in plan.keep,
        report,
    )
    return Draws(found.average[:, None, :], engine.labels, found.transcript)


def retells(model: Gibbs, n: int, parameters: Mapping[str, Any], draws: Draws) -> bool:
    """Whether the published gradients lie on their grid and lead to the published averages.

    The arithmetic is that of the run, entry by entry and the same on every machine; only norms (a ball) and products (a
    precision matrix) are summed in an order that may differ, and leave room for it.
    """
    told = draws.transcript
    if told is None or told.shape[1] != int(parameters["steps"]):
        return False
    grid = float(gradient_grid(float(parameters["noise"])))
    again = Recursion.of(model.prior, n, told.shape[0], told.shape[2], parameters).retrace(told)
    summed = isinstance(model.prior, Ball) or np.ndim(getattr(model.prior, "precision", 0.0)) == 2
    room = 1e-9 if summed else 0.0
    return bool((np.rint(told / grid) * grid == told).all()) and np.allclose(again, draws.values[:, 0], room, room)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers, which must agree with each other."""
    sigma, eta = float(parameters["noise"]), float(parameters["learning_rate"])
    h, steps, tail = 0.5 * (eta * sigma) ** 2, parameters["steps"], parameters["tail"]
    well = h > _SMALLEST and math.isclose(parameters["step"], h, rel_tol=1e-9)
    well = well and math.isclose(parameters["power"], eta / (n * h), rel_tol=1e-9)
    if not (
        well and int(steps) == steps and int(tail) == tail and 1 <= tail <= steps and 0 <= parameters["momentum"] < 1
    ):
        raise FormatError("the numbers of a noisy-gradient path contradict each other: the record was edited.")
    return price(model, n, sigma, int(steps), draws, parameters["momentum"])
