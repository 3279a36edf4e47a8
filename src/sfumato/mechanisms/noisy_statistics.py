"""The baseline: the sufficient statistic with Gaussian noise, and what follows from it. One charge for any draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.draws import Draws
from sfumato.errors import MechanismRefused
from sfumato.mechanisms import _beta, _gibbs
from sfumato.mechanisms.plan import Cost, Expected, Plan
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.bounded_mean import RESOLUTION, BoundedMean
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems._hypotheses import Hypotheses

NAME = "noisy-statistics"
# The grid of the released total: this many steps per standard deviation of the noise, rounded to a power of two.
_STEPS = 1 << 20


def refuses(model: Any, goal: str) -> str | None:
    """Serve families with a bounded sufficient statistic."""
    if isinstance(model, BoundedMean):
        return None if goal == "estimate" else "its noisy mean is an estimate; use goal='estimate'"
    if not isinstance(model, BetaBernoulli):
        return "it needs a family with a bounded sufficient statistic"
    return None if goal == "draws" else "it releases draws; use goal='draws'"


def price(noise: float, sensitivity: float = 1.0) -> Guarantee:
    """Mu = sensitivity/noise: Renyi(a) = a sensitivity^2/(2 noise^2) (Geumlek's baseline prints twice that).

    The noisy total is an exact sample of the normal rounded to a public grid, a post-processing of the continuous one.
    """
    h = Hypotheses("Gaussian mechanism, rounded to a public grid", "Dong, Roth and Su 2022; Karney 2016")
    sigma = h.number(noise, "noise", "sigma", "finite and greater than 0", "Add positive noise.")
    width = h.number(sensitivity, "sensitivity", "Delta", "finite and greater than 0", "Declare the bounds.", "schema")
    return h.guarantee(Gaussian(width / sigma * (1 + 1e-15)))


def plan(model: Any, n: int, target: Target | None, draws: int, **options: Any) -> Plan:
    """Find the least noise on the total that the target admits; the total is in units of one record's range."""
    limit = _gibbs.needs_target(target, NAME)
    if limit.delta == 0 or isinstance(limit.curve, (Pure, BoundedRange)):
        raise MechanismRefused("Gaussian noise is never pure: give a delta greater than 0, such as 1e-6.")
    noise = smallest(price, limit, 1e-6, 1e12, "noise")
    if isinstance(model, BoundedMean):
        goal, width = "estimate", (model.upper - model.lower) * noise / n
        expected = Expected("standard deviation of the noise in the mean", width, "", "exact", without_privacy=0.0)
    else:
        goal = "draws"
        expected = Expected(
            "standard deviation of the noise in the count", noise, "records", "exact", without_privacy=0.0
        )
    keep = tuple(options.get("keep", ()))
    return Plan(NAME, model, n, draws, goal, keep, (("noise", noise),), price(noise), expected, Cost(1), limit)


def spacing(noise: float) -> Fraction:
    """The public grid of the noisy total: a power of two, about a millionth of the noise."""
    return Fraction(2) ** (math.frexp(noise / _STEPS)[1] - 1)


def draw(plan: Plan, engine: Any, randomness: Any) -> Draws:
    """Add exact rounded normal noise to the exact total; what follows is post-processing."""
    import numpy as np

    from sfumato.samplers.bits import BufferedBits
    from sfumato.samplers.normal import rounded_normal

    model, noise = plan.model, float(plan["noise"])
    unit = RESOLUTION if isinstance(model, BoundedMean) else 1
    total = Fraction(engine.total(model.statistic), unit)
    grid = spacing(noise)
    noisy = rounded_normal(BufferedBits(randomness), total, noise, grid) * grid
    if isinstance(model, BoundedMean):
        return Draws(np.full((1, plan.draws), model.mean_of(noisy, plan.n)), ("mean",))
    count = min(max(noisy, Fraction(0)), Fraction(plan.n))
    return _beta.draw(model, float(count), plan.n, 1.0, 1.0, plan.draws, randomness)


def reprice(model: Any, n: int, draws: int, parameters: Mapping[str, Any]) -> Guarantee:
    """Price again from the recorded noise."""
    return price(parameters["noise"])
