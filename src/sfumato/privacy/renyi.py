"""A Renyi curve known at listed orders."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.privacy.convert import renyi_to_delta, renyi_to_epsilon
from sfumato.privacy.curves import Curve
from sfumato.privacy.gaussian_tail import UNIT


@dataclass(frozen=True)
class Renyi(Curve):
    """Renyi divergence at most `values[i]` at order `orders[i]`; nothing is claimed above the largest order.

    Order 1 is the KL divergence. It adds under composition like every order (the chain rule), and alone it implies no
    epsilon at a small delta: only delta(0) <= sqrt(KL/2), Pinsker's bound on the total variation.
    Between listed orders (alpha - 1) D_alpha is convex, so its chord is a bound; below the first, D is monotone.
    """

    orders: tuple[float, ...]
    values: tuple[float, ...]
    kind = "renyi"

    def __init__(self, orders: Iterable[float], values: Iterable[float]) -> None:
        for name, given in (("orders", orders), ("values", values)):
            if not isinstance(given, Iterable):
                raise ArgumentError(f"{name} must be a list of numbers, such as [2.0]; got {given!r}.")
        listed, bounds = (
            [_validate.real(name, x) for x in xs] for name, xs in (("orders", orders), ("values", values))
        )
        if len(listed) != len(bounds):
            raise ArgumentError(f"orders and values must have the same length; got {len(listed)} and {len(bounds)}.")
        pairs = sorted(zip(listed, bounds, strict=True))
        if not pairs:
            raise ArgumentError("orders must list at least one order; got none.")
        for order, value in pairs:
            if not order >= 1:
                raise ArgumentError(f"orders must all be 1 or greater; got {order!r}.")
            if math.isnan(value) or value < 0:
                raise ArgumentError(f"values must all be 0 or greater; got {value!r} at order {order:g}.")
        if len({order for order, _ in pairs}) < len(pairs):
            raise ArgumentError("orders must not repeat.")
        object.__setattr__(self, "orders", tuple(order for order, _ in pairs))
        object.__setattr__(self, "values", tuple(value for _, value in pairs))

    @property
    def composable_as_profile(self) -> bool:
        """A Renyi bound does not determine the profile."""
        return False

    def _delta(self, epsilon: float) -> float:
        return min(renyi_to_delta(a, v, epsilon) for a, v in zip(self.orders, self.values, strict=True))

    def _epsilon(self, delta: float) -> float:
        return min(renyi_to_epsilon(a, v, delta) for a, v in zip(self.orders, self.values, strict=True))

    def _renyi(self, order: float) -> float:
        order = _validate.real("order", order)
        if order <= self.orders[0]:
            return self.values[0]
        for low, high, value, bound in zip(self.orders, self.orders[1:], self.values, self.values[1:], strict=False):
            if order == high:
                return bound
            if order < high:
                if math.inf in (value, bound, high):
                    return bound
                share = (order - low) / (high - low)
                chord = (1 - share) * (low - 1) * value + share * (high - 1) * bound
                return min(bound, chord / (order - 1) * (1 + 16 * UNIT))
        return math.inf

    def to_json(self) -> dict[str, Any]:
        """{"curve": "renyi", "orders": [...], "values": [...]}; an infinite value is the string "inf"."""
        plain = ["inf" if v == math.inf else v for v in self.values]
        orders = ["inf" if a == math.inf else a for a in self.orders]
        return {"curve": self.kind, "orders": orders, "values": plain}

    def __repr__(self) -> str:
        return f"Renyi(orders={list(self.orders)!r}, values={list(self.values)!r})"
