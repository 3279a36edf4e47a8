"""The baseline: the sufficient statistic with Gaussian noise, and what follows from it. One charge for any draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.calibrate import Target, smallest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _family, _gibbs
from sfumato.mechanisms.plan import Cost, Expected, Plan
from sfumato.models.families.family import Family
from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.samplers.langevin import Report, silent
from sfumato.theorems._hypotheses import Hypotheses

NAME = "noisy-statistics"
# The grid of the released totals: this many steps per standard deviation of the noise, rounded to a power of two.
_STEPS = 1 << 20


def refuses(model: Any, goal: str) -> str | None:
    """Serve families with a bounded sufficient statistic."""
    if not isinstance(model, Family):
        return "it needs a family with a bounded sufficient statistic"
    if model.utility:
        return "it has no posterior that noisy statistics could stand for; use 'exponential'"
    if not model.drawn:
        return None if goal == "estimate" else "its noisy mean is an estimate; use goal='estimate'"
    return None if goal == "draws" else "it releases draws; use goal='draws'"


def price(noise: float, sensitivity: float = 1.0, draws: int = 1) -> Guarantee:
    """Mu = sensitivity/noise: Renyi(a) = a sensitivity^2/(2 noise^2) (Geumlek's baseline prints twice that).

    The noisy total is an exact sample of the normal rounded to a public grid, a post-processing of the continuous one.
    """
    h = Hypotheses("Gaussian mechanism, rounded to a public grid", "Dong, Roth and Su 2022; Karney 2016")
    sigma = h.number(noise, "noise", "sigma", "finite and greater than 0", "Add positive noise.")
    width = h.number(sensitivity, "sensitivity", "Delta", "finite and greater than 0", "Declare the bounds.", "schema")
    return h.guarantee(Gaussian(width / sigma * (1 + 1e-15)), draws=draws)


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the least noise that the target admits, in units of what one record can move the totals by."""
    limit = _gibbs.needs_target(target, NAME)
    if limit.pure:
        raise MechanismRefused("Gaussian noise is never pure: give a delta greater than 0, such as 1e-6.")
    if model.drawn:
        _family.drawing_error(getattr(model, "model", model), n, 1.0, 1.0)  # what cannot be drawn must not be charged
    noise = smallest(price, limit, 1e-6, 1e12, "noise")
    goal, keep, numbers = "draws" if model.drawn else "estimate", tuple(options.get("keep", ())), (("noise", noise),)
    price_of_all, outlook = price(noise, draws=draws), expected(model, n, noise)
    return Plan(NAME, model, n, draws, goal, keep, numbers, price_of_all, outlook, Cost(1), limit)


def expected(model: Any, n: int, noise: float) -> Expected:
    """Width of the draws made from noisy totals; without a posterior, the noise of the estimate itself."""
    deviation = noise * model.sensitivity
    if model.drawn:
        return _family.expected(model, n, 1.0, 1.0, deviation)
    quantity = f"standard deviation of the noise in the {model.quantity}"
    return Expected(quantity, model.estimate_error(n, deviation), "", "from the noise", without_privacy=0.0)


def spacing(deviation: float) -> Fraction:
    """The public grid of a noisy total: a power of two, about a millionth of the noise."""
    return Fraction(2) ** (math.frexp(deviation / _STEPS)[1] - 1)


def draw(plan: Plan, engine: Any, randomness: Any, report: Report = silent) -> Draws:
    """Add exact rounded normal noise to the exact totals; what follows is post-processing."""
    from sfumato.samplers.bits import BufferedBits
    from sfumato.samplers.normal import rounded_normal

    model = plan.model
    deviation = Fraction(float(plan["noise"])) * Fraction(model.sensitivity)
    grid, bits = spacing(float(deviation)), BufferedBits(randomness)
    totals = [count * unit for count, unit in zip(engine.totals(model.tally), model.units, strict=True)]
    noisy = [rounded_normal(bits, total, deviation, grid) * grid for total in totals]
    if not model.drawn:
        found = np.array(model.estimate(noisy, plan.n)).reshape(model.draw_shape)
        return Draws(np.broadcast_to(found, (1, plan.draws, *model.draw_shape)), model.labels)
    told = np.array([float(value) for value in noisy])
    possible = model.feasible(told, plan.n)
    draws = _family.drawn(model, [Fraction(float(v)) for v in possible], plan.n, 1.0, 1.0, plan.draws, randomness)
    return replace(draws, totals=told) if model.tells_totals else draws


def tells(model: Any, parameters: Mapping[str, Any], draws: Draws) -> bool:
    """Whether a release holds noisy totals exactly where its model tells them, as many as there are and on their grid."""
    if draws.totals is None or not model.tells_totals:
        return draws.totals is None and not model.tells_totals
    grid = float(spacing(float(parameters["noise"]) * model.sensitivity))
    totals = draws.totals
    if totals.shape != (len(model.units),) or not np.isfinite(totals).all():
        return False
    return bool((np.rint(totals / grid) * grid == totals).all())


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded noise."""
    return price(parameters["noise"], draws=draws)
