"""Free choices of a noisy-gradient path, from public numbers alone: n, the price, the constants.

On the mean loss, with smoothness M_l, gradient noise sigma = G sqrt(T)/(n mu) and step eta, the tail average of T steps is
close to the best reachable where eta T/(1 - momentum) is about n mu/(4 M_l) (in units where the rows have norm 1 and
M_l = 1/4: n mu): fewer steps stop short, more let the noise through. Momentum buys the same path in fewer passes; too few
steps average badly, so short paths go without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_FEWEST, _MOST = 24, 20_000
_LONG = 160


@dataclass(frozen=True)
class Schedule:
    """Step on the mean loss, momentum, number of steps, and how many of the last are averaged."""

    rate: float
    momentum: float
    steps: int
    tail: int


def path_schedule(n: int, mu: float, smoothness: float, steps: int | None = None) -> Schedule:
    """Choose the path for n records at a price of mu, for a mean loss of this smoothness."""
    travel = n * mu / (4 * smoothness)  # eta T/(1 - momentum), in the loss's own units
    rate = 0.5 / smoothness
    plain = travel / rate
    momentum = min(0.9, max(0.0, 1 - _LONG / max(plain, 1.0)))
    count = steps if steps is not None else int(min(_MOST, max(_FEWEST, math.ceil(plain * (1 - momentum)))))
    if steps is None and plain < _FEWEST:
        rate = travel / _FEWEST
    return Schedule(rate, momentum, count, max(1, count // 2))
