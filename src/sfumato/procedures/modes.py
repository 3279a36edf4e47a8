"""Where the mode of a Gibbs posterior lies, from public numbers: its distance from a ball's centre, and the steps to it."""

from __future__ import annotations

import math

from sfumato.errors import MechanismRefused
from sfumato.models.gibbs import Gibbs
from sfumato.procedures import chains
from sfumato.procedures.domains import untruncated

# Steps of the descent beyond which a draw would take hours.
_MOST_STEPS = 1_000_000


def descent_steps(
    model: Gibbs, n: int, power: float, m: float, big_m: float, diameter: float, allowed: float
) -> tuple[int, float]:
    """Steps of projected descent after which 4 M a + 3 M e is at most `allowed`, and a, the distance from the minimum."""
    error = chains.step_error(model, n, power, 1.0 / big_m)
    near = (allowed - 3 * big_m * error) / (4 * big_m)
    start = near - error * big_m / m
    if start <= 0:
        raise MechanismRefused("float64 cannot find the mode closely enough at this n and power; use 'langevin'.")
    rate = -math.log1p(-m / big_m) if m < big_m else math.inf
    count = max(1, math.ceil(math.log(max(diameter / start, 1.0)) / rate)) + 1
    if count > _MOST_STEPS:
        raise MechanismRefused(f"the mode would take {count:,} steps of descent; use a stronger prior or 'langevin'.")
    return count, near


def mode_distance(model: Gibbs, n: int, power: float) -> float:
    """Bound on how far the unconstrained mode of any data set is from the ball's centre."""
    nowhere = (0.0,) * (model.dimension or 1)
    mean = untruncated(model).start or nowhere
    centre = getattr(model.prior, "centre", None) or nowhere
    size = math.hypot(*mean)
    bound = power * n * chains.steepest(model, size) / model.strong_convexity(n, power)
    known = model.loss.mode_bound(power, n, model.prior.strong_convexity) if size == 0 else None
    bound = bound if known is None else min(bound, known)
    return (bound + math.dist(mean, centre)) * (1 + 1e-12)
