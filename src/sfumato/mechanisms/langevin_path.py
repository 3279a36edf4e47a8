"""A noisy-gradient path with every step paid for: momentum, averages and all iterates are then free.

In terms of the mean loss a step is theta <- theta - eta (mean gradient + sigma xi): a Langevin step with h = (eta sigma)^2/2
and power = eta/(n h). T steps cost sqrt(T) G sqrt(h/2) = sqrt(T) (G/power)/(n sigma).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Expected, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import path

NAME = "langevin-path"
_FEWEST, _MOST = 16, 20_000


def refuses(model: Any, goal: str) -> str | None:
    """Serve every Gibbs model with bounded per-record gradients, convex or not; what leaves is an estimate."""
    if goal != "estimate":
        return "its tail average is an estimate; use goal='estimate' (for draws use 'langevin')"
    reason = _gibbs.not_gibbs(model)
    if reason is None and isinstance(model, Gibbs) and not math.isfinite(model.constants.difference):
        return "the per-record gradients are unbounded; use a clipped loss"
    return reason


def price(model: Gibbs, n: int, sigma: float, eta: float, steps: int, chains: int) -> Guarantee:
    """Price of `steps` noisy mean gradients with noise `sigma`, for all chains together."""
    h = 0.5 * (eta * sigma) ** 2
    return path.whole_path(difference=model.difference(eta / (n * h)), step=h, steps=steps, chains=chains)


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Choose the step from the smoothness, the number of steps from eta T = n mu, and the least noise that is admitted."""
    limit = _gibbs.needs_target(target, NAME)
    smooth = model.constants.smoothness if model.constants.smooth else model.constants.lipschitz**2
    eta = 0.5 / smooth
    steps = options.get("steps") or _steps(model, n, limit, draws, eta)

    def one_step(sigma: float) -> Guarantee:
        return steps * price(model, n, sigma, eta, 1, draws)

    scale = model.constants.difference * math.sqrt(steps * draws) / n
    sigma = smallest(one_step, limit, scale * 1e-4, scale * 1e6, "noise")
    h = 0.5 * (eta * sigma) ** 2
    expected = Expected("noise added to the mean gradient at every step", sigma, "standard deviation", "exact")
    return Plan(
        NAME,
        model,
        n,
        draws,
        "estimate",
        tuple(options.get("keep", ())),
        (("power", eta / (n * h)), ("step", h), ("steps", steps), ("learning_rate", eta), ("noise", sigma)),
        price(model, n, sigma, eta, steps, draws),
        expected,
        Cost(steps, draws),
        limit,
    )


def _steps(model: Gibbs, n: int, limit: Target, draws: int, eta: float) -> int:
    """Eta T = n mu: steps in proportion to what the price lets through."""
    mu = 1.0 / smallest(
        lambda s: price(model, n, s * model.constants.difference / n, eta, 1, draws), limit, 1e-4, 1e9, "noise", 1e-3
    )
    return int(min(_MOST, max(_FEWEST, math.ceil(n * mu / eta))))


def draw(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Refuse: the chain that carries this plan out is not built yet."""
    raise MechanismRefused(f"mechanism {NAME!r} cannot draw yet; it can be planned and compared.")


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded numbers."""
    steps = int(parameters["steps"])
    return price(model, n, parameters["noise"], parameters["learning_rate"], steps, draws)
