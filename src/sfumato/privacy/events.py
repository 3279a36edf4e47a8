"""Curves as dp_accounting events, for those who keep their books there."""

from __future__ import annotations

import math
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.privacy.compose import Composed
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure


def to_dp_event(curve: Curve, slack: float = 0.0) -> Any:
    """Return the event whose accountants give this curve or a bound on it.

    Gaussian: noise multiplier 1/mu. Pure: binary randomised response. BoundedRange: eps^2/8-zCDP (looser than the curve).
    """
    import dp_accounting

    if slack:
        raise ArgumentError(
            "dp_accounting has no event for total-variation slack; keep such a release in a Sfumato ledger."
        )
    if isinstance(curve, Gaussian):
        return dp_accounting.NoOpDpEvent() if curve.mu == 0 else dp_accounting.GaussianDpEvent(1.0 / curve.mu)
    if isinstance(curve, Pure):
        return dp_accounting.RandomizedResponseDpEvent(2.0 / (1.0 + math.exp(curve.epsilon_value)), 2)
    if isinstance(curve, BoundedRange):
        return dp_accounting.ZCDpEvent(curve.epsilon_value**2 / 8.0)
    if isinstance(curve, Composed):
        events = [dp_accounting.SelfComposedDpEvent(to_dp_event(part), count) for part, count in curve.parts]
        return dp_accounting.ComposedDpEvent(events)
    raise ArgumentError(
        f"dp_accounting has no event for a {curve.kind} curve; use its epsilon(delta), or compose it with + in Sfumato."
    )
