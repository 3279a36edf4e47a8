"""Losses of several draws from one pair of laws, for the profiles of posterior draws."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.loss_distribution import ComposedLoss, from_profile, loss_limit_of

Array = NDArray[np.float64]
Direction = Callable[[Array], Array]

# Dots on each side of 0 for a composed pair: the claim itself, and the blocks that only have to stay below it.
FINE, COARSE = 700, 200


def one(value: float) -> Array:
    return np.array([value], dtype=np.float64)


def composed_pair(forward: Direction, backward: Direction, draws: int, dots: int) -> tuple[ComposedLoss, ComposedLoss]:
    """Losses of `draws` independent draws from the same pair, in both directions; of a symmetric pair both are one function."""
    if backward is forward:
        interval = loss_limit_of(forward) / dots
        deltas = forward(interval * np.arange(dots + 1, dtype=np.float64))
        loss = ComposedLoss([(from_profile(deltas, deltas, interval), draws)])
        return loss, loss
    interval = loss_limit_of(lambda epsilons: np.maximum(forward(epsilons), backward(epsilons))) / dots
    grid = interval * np.arange(dots + 1, dtype=np.float64)
    first, second = forward(grid), backward(grid)
    return (
        ComposedLoss([(from_profile(first, second, interval), draws)]),
        ComposedLoss([(from_profile(second, first, interval), draws)]),
    )


def safe_order(order: float, power: float, room: float) -> float:
    """An order a few roundings above `order`, infinite from 1 + room/power on: near there one rounding moves D by much."""
    higher = order + 8 * 2.0**-53 * (order + room / power)
    return math.inf if order == math.inf or (higher - 1.0) * power >= room * (1 - 2.0**-50) else higher
