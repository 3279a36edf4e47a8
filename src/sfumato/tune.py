"""Free choices of a noisy-gradient path, from public numbers alone: n, the price, the dimension, the constants.

On the mean loss, with gradient noise sigma = G sqrt(T)/(n mu) and step eta, the path travels tau = eta T/(1 - momentum). In
a direction of curvature a with a tau << 1 what is left to learn falls and the noise grows with tau, whatever T is; where
a tau >> 1 nothing is left to learn and the noise stands still. So a longer path costs little where the rows lie in few
directions, and the best tau, in units of n mu, grows with n mu and falls with the dimension. The rule

    tau = n mu max(min(1, sqrt(n mu)/25), sqrt(n mu) min(2/d, 1/5))    (rows of norm 1, smoothness 1/4; others are rescaled)

was fitted once to three public tables (11, 109 and 785 columns; prices from 0.1 to 8) and looks at no others. Momentum buys
the same path in fewer passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Passes of a usual path; what a very long one may grow to; and the momentum beyond which a path only swings.
_USUAL, _MOST = 128, 1000
_HIGH, _HIGHEST = 0.95, 0.99


@dataclass(frozen=True)
class Schedule:
    """Step on the mean loss, momentum, number of steps, and how many of the last are averaged."""

    rate: float
    momentum: float
    steps: int
    tail: int


def path_schedule(
    n: int, mu: float, smoothness: float, dimension: int | None = None, steps: int | None = None
) -> Schedule:
    """Choose the path for n records at a price of mu, for a mean loss of this smoothness in this many dimensions."""
    spend = n * mu
    root = math.sqrt(spend)
    few = min(2 / dimension, 1 / 5) if dimension else 0.0  # of a dimension that was not stated, nothing is assumed
    travel = spend * max(min(1.0, root / 25), root * few) / (4 * smoothness)
    # Twice 1/M: the longest step that a smooth loss bears without momentum, and well within what it bears with it.
    longest = 2 / smoothness
    plain = travel / longest  # steps without momentum
    count = steps if steps is not None else min(_MOST, max(_USUAL, math.ceil(plain * (1 - _HIGH))))
    if plain <= count:
        return Schedule(travel / count, 0.0, count, max(1, count // 2))
    return Schedule(longest, min(_HIGHEST, 1 - count / plain), count, max(1, count // 2))
