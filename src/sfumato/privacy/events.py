"""Curves as dp_accounting events, for those who keep their books there."""

from __future__ import annotations

import math
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.privacy.compose import Composed
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.gaussian_tail import UNIT


def to_dp_event(curve: Curve, slack: float = 0.0) -> Any:
    """Return the event whose accountants give this curve or a bound on it.

    Gaussian: noise multiplier 1/mu. Pure: binary randomised response. BoundedRange: eps^2/8-zCDP (looser than the curve).
    Ask accountants with the relation REPLACE_ONE: the Renyi accountant then gives these curves, the one of loss
    distributions doubles the shift of a Gaussian (safe; ADD_OR_REMOVE_ONE gives it as it is). REPLACE_SPECIAL would
    understate randomised response. Parameters are rounded so that no event understates.
    """
    import dp_accounting

    if slack:
        raise ArgumentError(
            "dp_accounting has no event for total-variation slack; keep such a release in a Sfumato ledger."
        )
    if isinstance(curve, Gaussian):
        if curve.mu == 0:
            return dp_accounting.NoOpDpEvent()
        return dp_accounting.GaussianDpEvent(min(1.0 / curve.mu, 1e308) * (1 - 4 * UNIT))
    if isinstance(curve, Pure):
        return dp_accounting.RandomizedResponseDpEvent(_lie(curve.epsilon_value), 2)
    if isinstance(curve, BoundedRange):
        return dp_accounting.ZCDpEvent(curve.epsilon_value**2 / 8.0 * (1 + 4 * UNIT))
    if isinstance(curve, Composed):
        return dp_accounting.ComposedDpEvent([_repeated(part, count) for part, count in curve.parts])
    raise ArgumentError(
        f"dp_accounting has no event for a {curve.kind} curve; use its epsilon(delta), or compose it with + in Sfumato."
    )


def _lie(epsilon: float) -> float:
    """The chance of a random answer in binary randomised response with odds exp(eps), rounded down."""
    return 2.0 * math.exp(-epsilon) / (1.0 + math.exp(-epsilon)) * (1 - 8 * UNIT)


def _repeated(part: Curve, count: int) -> Any:
    """`count` times the event of `part`; randomised response one by one, because PLDAccountant ignores its count."""
    import dp_accounting

    event = to_dp_event(part)
    if isinstance(part, Pure):
        return dp_accounting.ComposedDpEvent([event] * count)
    return dp_accounting.SelfComposedDpEvent(event, count)
