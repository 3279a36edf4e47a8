"""The parts of a procedure that learns the shape of the rows first, replayed: each part beside its own price.

The prices of the parts add up in squares, so a pair that is the worst for one part would hide a wrong price of that part behind
the others. Here the shift of each part over its noise is compared with the price of that part alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from audits.attacks import REPLAYED, Attack, Outcome, Pairs
from sfumato.auditing.pairs import Neighbours
from sfumato.engines.opening import open_engine
from sfumato.mechanisms.plan import Plan
from sfumato.procedures import named, shape_first, shaped_path

# Room for the roundings of a computed difference, as in a replay.
_ROOM = 1e-9
# Histories that are tried until one has a record which bends as much as is declared.
_HISTORIES = 40


def replayed_parts(plan: Callable[[], Plan], pairs: Callable[[], Pairs]) -> Attack:
    """Every pair after the same outputs: whether a replay holds, and whether each part stays within its own price."""

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released = plan()
        best = (0.0, 0.0, 1.0)
        for both in pairs():
            broken, spent = _shifts(released, both, seed)
            nearest = max(((mu / price, mu, price) for mu, price in spent), default=(0.0, 0.0, 1.0))
            best = max(best, nearest)
            if broken or nearest[0] > 1 + _ROOM:
                return Outcome("", nearest[2], nearest[1], 0, True, REPLAYED)
        return Outcome("", best[2], best[1], 0, False, REPLAYED)

    return attack


def replayed_after(
    plan: Callable[[], Plan], first: Callable[[], Any], second: Callable[[Plan, Any], Any | None]
) -> Attack:
    """The same with a second data set that is chosen after the first one's release: `second(plan, draws)`, or None for none.

    A price holds for every pair after every history, so the record that a history makes the worst may be looked for.
    """

    def attack(runs: int, false_alarm: float, seed: int) -> Outcome:
        released, data = plan(), first()
        for place in range(seed, seed + _HISTORIES):
            one = _recorded(released, data, place, None)
            other = None if one.draws is None else second(released, one.draws)
            if other is None:
                continue
            broken, spent = _compared(released, one, _recorded(released, other, place, one))
            nearest = max((mu / price, mu, price) for mu, price in spent)
            return Outcome("", nearest[2], nearest[1], 0, broken or nearest[0] > 1 + _ROOM, REPLAYED)
        raise ValueError(f"none of {_HISTORIES} histories has a worst record within the bounds.")

    return attack


def _shifts(plan: Plan, both: Neighbours, seed: int) -> tuple[bool, list[tuple[float, float]]]:
    """Whether the replay of a pair fails, and (mu seen, price) of each part."""
    one = _recorded(plan, both.first, seed, None)
    return _compared(plan, one, _recorded(plan, both.second, seed, one))


def _recorded(plan: Plan, data: Any, seed: int, after: Any) -> Any:
    from sfumato.auditing.replay import recorded

    procedure = named(plan.procedure)
    return recorded(procedure, plan.task, open_engine(data, plan.model, procedure.NEEDS), seed, after)


def _compared(plan: Plan, one: Any, other: Any) -> tuple[bool, list[tuple[float, float]]]:
    """Whether a replay fails, and (mu seen, price) of each part."""
    from sfumato.auditing.replay import Promise

    if one.draws is None or other.draws is None:
        return True, []
    promise = Promise.of(named(plan.procedure), plan.task, one.draws)
    seen = promise.compare(one, other)
    if seen.differences:
        return True, []
    shifts = [float(np.linalg.norm(a.values - b.values)) / a.noise for a, b in zip(one.parts, other.parts, strict=True)]
    spent = _of_path(plan, shifts) if plan.procedure == shaped_path.NAME else _of_chain(plan, promise, shifts)
    return not seen.holds, spent


def _of_path(plan: Plan, shifts: list[float]) -> list[tuple[float, float]]:
    """Moments, shares of residuals where there are any, path, curvature and scores."""
    prices = [part.curve.mu for part in shaped_path.part_prices(plan.model, plan.n, plan.parameters)]  # type: ignore[arg-type]
    steps, first = int(plan.parameters.steps), len(shifts) - int(plan.parameters.steps) - 2  # type: ignore[attr-defined]
    seen = [*shifts[:first], math.hypot(*shifts[first : first + steps]), *shifts[first + steps :]]
    return [(mu, float(price or 0.0)) for mu, price in zip(seen, prices, strict=True)]


def _of_chain(plan: Plan, promise: Any, shifts: list[float]) -> list[tuple[float, float]]:
    """Moments, and what the finite-step theorem gives for the largest step that is seen."""
    numbers: Any = plan.parameters
    moments = shape_first.moments_price(plan.model, plan.n, numbers.moments_noise, None)  # type: ignore[arg-type]
    c = 1 - promise.forgotten
    left = c**promise.steps
    factor = (1 - left) * (1 + c) / ((1 + left) * (1 - c)) if c < 1 else promise.steps
    price = numbers.chain_mu * math.sqrt(plan.draws)
    return [(shifts[0], float(moments.curve.mu or 0.0)), (max(shifts[1:]) * math.sqrt(factor), price)]
