"""Guarantees under a distance between data sets (Dimitrakakis et al. 2017, Definition 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.privacy.curves import Curve, Pure
from sfumato.privacy.gaussian_tail import UNIT


@dataclass(frozen=True)
class Metric(Curve):
    """P(B|x) <= exp(epsilon rho(x,y)) P(B|y) + delta rho(x,y) for EVERY pair of data sets and every event B.

    Stronger than group privacy, so it is never derived from (eps, delta) at distance 1. The questions `epsilon`,
    `delta` and `renyi` are answered for data sets at distance 1; `within(rho)` gives the ordinary curve for all pairs
    at distance at most rho. Two metric curves compose only under the same distance (Theorem 4: both numbers add).
    """

    epsilon_value: float
    delta_value: float
    distance: str
    kind = "metric"

    def __init__(self, epsilon: float, delta: float, distance: str) -> None:
        object.__setattr__(self, "epsilon_value", _validate.non_negative("epsilon", epsilon))
        object.__setattr__(self, "delta_value", _validate.non_negative("delta", delta))
        if not isinstance(distance, str) or not distance.strip():
            raise ArgumentError(f"distance must name the distance between data sets, e.g. '|x - y|'; got {distance!r}.")
        object.__setattr__(self, "distance", distance)

    def within(self, rho: float) -> Curve:
        """Return the ordinary curve that holds for every two data sets at distance at most `rho`."""
        from sfumato.privacy.profiles import Profile

        radius = _validate.non_negative("rho", rho)
        epsilon = self.epsilon_value * radius * (1 + 4 * UNIT)
        delta = self.delta_value * radius * (1 + 4 * UNIT)
        if delta == 0:
            return Pure(epsilon)
        return Profile("approximate", {"epsilon": epsilon, "delta": min(1.0, delta)})

    @property
    def floor(self) -> float:
        """The delta at distance 1."""
        return min(1.0, self.delta_value)

    @property
    def vacuous(self) -> bool:
        """True where nothing is claimed at distance 1 (delta of 1 or more)."""
        return self.delta_value >= 1

    @property
    def composable_as_profile(self) -> bool:
        """A metric curve composes by Theorem 4 and not through a profile at one distance."""
        return False

    def _delta(self, epsilon: float) -> float:
        return self.within(1.0).delta(epsilon)

    def _epsilon(self, delta: float) -> float:
        return self.within(1.0).epsilon(delta)

    def _renyi(self, order: float) -> float:
        return Pure(self.epsilon_value).renyi(order) if self.delta_value == 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """{"curve": "metric", "epsilon": ..., "delta": ..., "distance": ...}."""
        return {
            "curve": self.kind,
            "epsilon": self.epsilon_value,
            "delta": self.delta_value,
            "distance": self.distance,
        }

    def __repr__(self) -> str:
        return f"Metric(epsilon={self.epsilon_value!r}, delta={self.delta_value!r}, distance={self.distance!r})"
