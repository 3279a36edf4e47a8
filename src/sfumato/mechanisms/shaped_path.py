"""A regression that learns the shape of the rows first: fixed shares of the price, then the least noise is searched.

Of mu^2 the moments get a tenth, the curvature .12 or less (`shapes.schedule`), the scale of the scores .01 (their whole matrix,
where it is kept, .1), the shares of residuals of a linear regression .04, and the path the rest. Between .1 and .15 for the moments
the results are the same; half of it is too little with 60 coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato.calibrate import Target, smallest
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.protocol import Request
from sfumato.models.gibbs import Gibbs
from sfumato.models.reading import FamilyOrGibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import shape_first, shaped_path
from sfumato.procedures.protocol import Procedure
from sfumato.shapes.schedule import MOMENTUM, STEPS, TAIL, curvature_share, map_rule
from sfumato.theorems.gaussian import gaussian_mechanism

NAME = "shaped-path"
PROCEDURES = ("shaped-path",)
MAY_ASSUME = False
STRENGTH = False
# Shares of mu^2: moments, scale of the scores, matrix of the scores, shares of residuals.
_MOMENTS, _SCALE, _MATRIX, _SHARES = 0.1, 0.01, 0.1, 0.04


def refuses(model: FamilyOrGibbs, goal: str, trust: str) -> str | None:
    """Release an estimate."""
    return None if goal == "estimate" else "it releases an estimate; use goal='estimate' (for draws use 'langevin')"


def plan(request: Request[Gibbs], procedure: Procedure[Any, Any]) -> Plan:
    """Search the common factor of all noises; refuse where the moments could resolve no direction."""
    if request.clustered and "scores" not in request.keep:
        # The scale of the scores says nothing about how alike the rows of a person are along one coefficient and another.
        request = replace(request, keep=(*request.keep, "scores"))
    model, n = request.model, request.n
    target = request.needed_target(NAME)
    if request.draws != 1:
        raise MechanismRefused(f"{NAME} releases one estimate from one path; got draws={request.draws}.")

    spend = n / least_noise(target)

    def price(factor: float) -> Guarantee:
        return procedure.price(model, n, 1, at_factor(request, factor, spend))

    numbers = at_factor(request, least_factor(price, target), spend)
    if not shape_first.resolvable(model, numbers.moments_noise):
        raise MechanismRefused(
            f"{n:,} records at this price tell no direction of {model.dimension} columns from another: the noise of their "
            "moments exceeds the largest moment that they can have"
        )
    return request.planned(NAME, procedure, numbers)


def least_factor(price: Callable[[float], Guarantee], target: Target) -> float:
    """The smallest factor whose price, about 1/factor, the target admits."""
    near = least_noise(target)
    # Roundings add little unless the records are very many: then all factors are searched. Where two gradients differ by less
    # than twice the slope (one coefficient), less noise will do.
    top = 2 * near if target.admits(price(2 * near)) else 1e9
    return smallest(price, target, near / 2, top, "noise", 1e-7)


def least_noise(target: Target) -> float:
    """The least noise that the target admits for one number of sensitivity 1: 1/mu."""
    return smallest(lambda noise: gaussian_mechanism(noise=noise), target, 1e-3, 1e9, "noise")


def implied(model: Gibbs, n: int, target: Target) -> dict[str, float]:
    """The resolution x = n mu/sqrt(d), with the mu of the target: that of the plan depends on the map, and the map on x."""
    return {"resolution": n / least_noise(target) / math.sqrt(int(model.dimension or 1))}


def at_factor(request: Request[Gibbs], factor: float, spend: float) -> shaped_path.Parameters:
    """The numbers of the plan whose noises are `factor` times those of mu = 1; `spend` is n mu of the target."""
    model, n, d = request.model, request.n, int(request.model.dimension or 1)
    x, bent = spend / math.sqrt(d), curvature_share(spend, d)
    shares = 0.0 if model.loss.squared_labels is None else _SHARES
    steps = STEPS if request.steps is None else request.steps
    whole = "scores" in request.keep
    scores = _MATRIX if whole else _SCALE
    path = 1 - _MOMENTS - bent - scores - shares
    joint = shape_first.largest_moment(model.loss, shape_first.label_column(model))
    unit = factor / n
    spread = unit * (math.sqrt(2) if whole else 1.0) / math.sqrt(scores)
    return shaped_path.Parameters(
        moments_noise=unit * math.sqrt(2 / _MOMENTS) * joint,
        noise=unit * 2 * math.sqrt(steps / path),
        curvature_noise=unit * math.sqrt(2 / bent) * map_rule(x).bend * model.loss.largest_curvature(),
        steps=steps,
        tail=max(1, round(TAIL * steps)),
        momentum=MOMENTUM,
        score_noise=None if whole else spread,
        score_matrix_noise=spread if whole else None,
        resolution=x,
        shares_noise=unit * math.sqrt(2 / shares) if shares else None,
    )
