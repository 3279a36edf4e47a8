"""Draws at the price of exact ones by a chain that is assumed to have converged: only where those words are asked for.

The chain's number of steps is public and printed; that its last state has the law of an exact draw is the reader's
assumption, and the guarantee says so in every printed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.calibrate import Target, largest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _gibbs
from sfumato.mechanisms.plan import Cost, Plan
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import ROW
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers import reference

TRUST = "assumes converged"
# The name of the number by which a plan of this kind is known.
LENGTH = "length"
_WARMUP, _LENGTH = 500, 500
# Evaluations of the potential that one step of NUTS asks for, as a rule; for the plan's cost only.
_PER_STEP = 8


def marked(guarantee: Guarantee) -> Guarantee:
    """The same price under the words that it rests on."""
    return replace(guarantee, trust=TRUST)


def plan(
    name: str,
    model: Gibbs,
    n: int,
    draws: int,
    limit: Target,
    price: Callable[[Gibbs, int, float, int], Guarantee],
    options: Any,
    strength: float | None = None,
) -> Plan:
    """Plan the largest power whose exact draws the target admits, one chain a draw; `steps` is the length after warm-up."""
    if model.dimension is None:
        raise MechanismRefused(f"trust={TRUST!r} needs the dimension: sf.Gibbs(..., dimension=...).")
    power = largest(lambda p: price(model, n, p, draws), limit, _gibbs.LOWEST_POWER, _gibbs.HIGHEST_POWER, "power")
    return planned(name, model, n, power, strength, draws, limit, marked(price(model, n, power, draws)), options)


def planned(
    name: str,
    model: Gibbs,
    n: int,
    power: float,
    strength: float | None,
    draws: int,
    limit: Target | None,
    guarantee: Guarantee,
    options: Any,
) -> Plan:
    """The plan of a chain at a power that is already found."""
    length = options.get("steps") or _LENGTH
    strengths = () if strength is None else (("strength", strength),)
    return Plan(
        name,
        model,
        n,
        draws,
        "draws",
        tuple(options.get("keep", ())),
        (("power", power), *strengths, ("warmup", _WARMUP), (LENGTH, length)),
        guarantee,
        _gibbs.expected_of_power(power),
        cost(_WARMUP, length, draws),
        limit,
    )


def cost(warmup: int, length: int, draws: int) -> Cost:
    """Passes over the records that chains of this length usually ask for."""
    return Cost((warmup + length) * _PER_STEP, draws)


def ending_grid(model: Gibbs, n: int, power: float) -> float:
    """The public grid of a chain's last state: a power of two, about a millionth of the posterior's scale."""
    return float(Fraction(2) ** (math.frexp(_scale(model, n, power))[1] - 21))


def _scale(model: Gibbs, n: int, power: float) -> float:
    """A length over which the posterior changes, from public numbers."""
    stiff = model.smoothness(n, power)
    soft = max(model.strong_convexity(n, power), 1 / model.prior.domain_radius**2)
    return 1 / math.sqrt(stiff if math.isfinite(stiff) else soft)


def draw(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Run one chain for each draw from the public start, and round its last state to a public grid."""
    model, power = plan.model, float(plan["power"])
    smooth, scale = math.isfinite(model.smoothness(plan.n, power)), _scale(model, plan.n, power)
    theta = reference.last_states(
        _value(model, plan.n, power, engine),
        _slope(model, engine, power) if smooth else None,
        _gibbs.public_start(model, plan.draws, engine.dimension),
        scale,
        int(plan["warmup"]),
        int(plan[LENGTH]),
        randomness,
    )
    grid = ending_grid(model, plan.n, power)
    return Draws(np.rint(theta / grid)[:, None, :] * grid, engine.labels)


def _value(model: Gibbs, n: int, power: float, engine: Any) -> Callable[[Any], float]:
    """U_D up to a constant, infinite outside the domain."""
    inner: Any = getattr(model.prior, "prior", model.prior)
    mean = 0.0 if inner.start is None else np.array(inner.start)
    fine, steep = 2.0**-40, model.constants.lipschitz

    def value(theta: Any) -> float:
        """U_D at one parameter."""
        point = theta[None]
        if not np.isfinite(point).all() or not np.allclose(model.prior.project(point), point, rtol=1e-12, atol=0):
            return math.inf
        size = float(np.linalg.norm(theta)) + 1e-300
        bound = size * (model.loss.radius if model.loss.record == ROW else steep)
        total = engine.values(point, bound * fine, bound)[0] * (bound * fine) * power
        if model.loss.record == ROW:
            total += 0.5 * power * n * size * size
        return float(total + 0.5 * ((theta - mean) * inner.gradient(theta)).sum())

    return value


def _slope(model: Gibbs, engine: Any, power: float) -> Callable[[Any], Any]:
    """The gradient of U_D at one parameter."""
    field = _gibbs.field(model, engine, power)
    return lambda theta: np.nan_to_num(field(theta[None])[0])
