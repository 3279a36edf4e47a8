"""Power and prior strength chosen together for draws of a Gibbs posterior, from public numbers alone.

The sharp price is power G/sqrt(n m_l power + s m_pi): a prior made s times stronger admits a larger power. What is
minimised is the mean squared error of one coordinate of a draw when the model and the given prior are right: with
information I of one record and prior precision l, the posterior has precision A = power n I + s l, and

    error = 1/A + (power n I)^2/(A^2 n I) + (s l)^2/(A^2 l):    variance of the draw, of the data, squared bias by the prior.

I is unknown. The largest value that the loss allows for rows spread over all directions replaces it: max(m_l, M_l/d), or
L^2/d for a loss with kinks.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from sfumato.calibrate import Target, largest
from sfumato.mechanisms.protocol import Request
from sfumato.mechanisms.tempering import HIGHEST_POWER, LOWEST_POWER, smallest_strength
from sfumato.models.gibbs import Gibbs
from sfumato.procedures.protocol import PoweredProcedure

# Strengths tried between the two single searches, and how often the intervals beside the best one are halved; the tests
# compare the result with a fine scan.
_LOOKS, _HALVINGS = 12, 10


def information(model: Gibbs) -> float:
    """A public upper bound on the information of one record about one coordinate, which replaces the unknown value."""
    constants, d = model.constants, model.dimension or 1
    if not math.isfinite(constants.smoothness):
        return constants.lipschitz**2 / d
    return max(constants.strong_convexity, constants.smoothness / d)


def expected_error(model: Gibbs, n: int, power: float, strength: float) -> float:
    """Mean squared error of one coordinate of one draw, over prior, data and draw, by the formula above."""
    data, prior = n * information(model), model.prior.strong_convexity
    whole = power * data + strength * prior
    return 1 / whole + (power / whole) ** 2 * data + (strength / whole) ** 2 * prior


def chosen(request: Request[Gibbs], procedure: PoweredProcedure[Any, Any], target: Target) -> tuple[float, float]:
    """The (power, strength) of least expected error whose price the target admits; strengths are 1 or more.

    Both single searches are among the candidates: the prior as it is with the largest power, and power 1 with the smallest
    strength. Between them strengths are tried on a log scale, and the intervals beside the best one are halved repeatedly.
    """
    model, n = request.model, request.n

    def power_at(strength: float) -> float:
        price = request.price_of_power(procedure, model.strengthened(strength), strength)
        return largest(price, target, LOWEST_POWER, HIGHEST_POWER, "power")

    def error_at(strength: float) -> tuple[float, float, float]:
        power = power_at(strength)
        return expected_error(model, n, power, strength), power, strength

    first = error_at(1.0)
    if first[1] == HIGHEST_POWER:
        return first[1], 1.0
    top = smallest_strength(request, procedure, target)
    last = (expected_error(model, n, 1.0, top), 1.0, top)
    seen = [first, *(error_at(top ** (k / _LOOKS)) for k in range(1, _LOOKS)), last]
    for _ in range(_HALVINGS):
        seen.sort(key=lambda candidate: candidate[2])
        best = min(range(len(seen)), key=lambda k: seen[k][0])
        around = [seen[k][2] for k in (best - 1, best, best + 1) if 0 <= k < len(seen)]
        seen += [error_at(math.sqrt(a * b)) for a, b in pairwise(around)]
    _, power, strength = min(seen)
    return power, strength
