"""From one currency to another: Renyi to (eps, delta), (eps, delta) to mu.

Renyi(alpha) = tau with alpha > 1 gives, for every delta in (0, 1],

    eps = max(0, tau + log(1 - 1/alpha) - log(delta alpha)/(alpha - 1))

(Canonne, Kamath and Steinke 2020, Proposition 12), and the minimum over the orders at hand. Order 1, the KL divergence,
bounds the total variation alone: delta(eps) <= delta(0) <= sqrt(tau/2) (Pinsker).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from sfumato.privacy.gaussian_tail import TINY, UNIT, gaussian_mu

__all__ = ["gaussian_mu", "minimise_over_orders", "renyi_to_delta", "renyi_to_epsilon"]


def renyi_to_epsilon(order: float, value: float, delta: float) -> float:
    """Epsilon at `delta` implied by one Renyi bound, rounded up."""
    if order == math.inf:
        return value
    if order == 1:
        return 0.0 if delta >= renyi_to_delta(1, value, 0.0) else math.inf
    if value == math.inf or delta <= 0 or order < 1:
        return math.inf
    terms = (value, math.log1p(-1.0 / order), -(math.log(delta) + math.log(order)) / (order - 1.0))
    return max(0.0, sum(terms) + 8 * UNIT * sum(map(abs, terms)))


def renyi_to_delta(order: float, value: float, epsilon: float) -> float:
    """Delta at `epsilon` implied by one Renyi bound, rounded up."""
    if value == math.inf or order < 1:
        return 1.0
    if order == 1:
        return min(1.0, math.sqrt(0.5) * math.sqrt(value) * (1 + 8 * UNIT))
    if order == math.inf:
        return 0.0 if epsilon >= value else 1.0
    scale = order - 1.0
    terms = (scale * value, -scale * epsilon, scale * math.log1p(-1.0 / order), -math.log(order))
    exponent = sum(terms) + 8 * UNIT * sum(map(abs, terms))
    # Among subnormal numbers a relative margin is lost: two of the smallest steps stand for it.
    return 1.0 if exponent >= 0 else math.exp(exponent) * (1 + 4 * UNIT) + 2 * TINY


# Orders from just above 1 to a million, dense enough that a golden-section step finishes the search.
_ORDERS = tuple(1.0 + 10.0 ** (k / 8.0) for k in range(-24, 49))


def minimise_over_orders(bound: Callable[[float], float], listed: Iterable[float] = ()) -> float:
    """Smallest value of `bound(order)` over the listed orders, or over all orders where the curve is analytic.

    Every order gives a sound bound, so an inexact minimum costs tightness and never soundness.
    """
    orders = tuple(listed)
    if orders:
        return min(bound(order) for order in orders)
    values = [bound(order) for order in _ORDERS]
    best = min(range(len(values)), key=values.__getitem__)
    low = math.log(_ORDERS[max(best - 1, 0)] - 1.0)
    high = math.log(_ORDERS[min(best + 1, len(_ORDERS) - 1)] - 1.0)
    smallest = values[best]
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = bound(1 + math.exp(left)), bound(1 + math.exp(right))
    for _ in range(40):
        smallest = min(smallest, f_left, f_right)
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = bound(1 + math.exp(left))
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = bound(1 + math.exp(right))
    return smallest
