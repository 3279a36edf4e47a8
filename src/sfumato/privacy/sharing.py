"""Splitting a budget: `sf.share(curve, parts)` gives curves whose composition is at most the whole."""

from __future__ import annotations

import math

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.profiles import Profile, number
from sfumato.privacy.renyi import Renyi


def share(curve: Curve, parts: int) -> tuple[Curve, ...]:
    """Return `parts` equal curves that together cost at most `curve`: squares of mu add, the other currencies add."""
    count = _validate.whole("parts", parts)
    down = 1 - 32 * UNIT
    if isinstance(curve, Gaussian):
        piece: Curve = Gaussian(curve.mu / math.sqrt(count) * down)
    elif isinstance(curve, Pure):
        piece = Pure(curve.epsilon_value / count * down)
    elif isinstance(curve, BoundedRange):
        piece = BoundedRange(curve.epsilon_value / count * down)
    elif isinstance(curve, Renyi):
        piece = Renyi(curve.orders, [value / count * down for value in curve.values])
    elif isinstance(curve, Profile) and curve.name == "revealing-gaussian":
        values = {key: number(value) for key, value in curve.parameters.items()}
        reveal = values["delta"] / count * down
        piece = Profile("revealing-gaussian", {"mu": values["mu"] / math.sqrt(count) * down, "delta": reveal})
    else:
        raise ArgumentError(
            "a budget that can be shared is a Gaussian, Pure, BoundedRange or Renyi curve, or what a ledger has left; "
            f"got {curve!r}."
        )
    return (piece,) * count
