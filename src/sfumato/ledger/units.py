"""Budget arithmetic in whole units: exact fractions in, integers out, every charge rounded up.

A cap is 10^18 units in every currency. Floats are read as exact fractions, so sums of charges have no rounding error: ten
charges of a tenth are the cap, and the eleventh does not fit.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from sfumato.errors import ChargeRefused

# One unit is 1/200 of a float64 rounding of the cap, so rounding charges up to whole units costs nothing noticeable.
UNITS = 10**18
# Subnormal floats lose digits; no price is that small.
SMALLEST = sys.float_info.min


def ceiling_of(amount: Fraction, cap: Fraction) -> int:
    """Units that `amount` takes from `cap`, rounded up."""
    return math.ceil(amount * UNITS / cap)


def check_amount(what: str, amount: float) -> float:
    """Return an amount that can be charged, or refuse: zero, negative, NaN, infinite and subnormal numbers cannot."""
    if not SMALLEST <= amount < math.inf:
        raise ChargeRefused(
            f"{what} of a charge must be a finite number of at least {SMALLEST:.3g}; got {amount!r}. "
            "A release that costs nothing needs no ledger, and one without a finite price cannot be charged."
        )
    return amount


def float_below(value: Fraction) -> float:
    """Largest float that is at most `value`."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def float_above(value: Fraction) -> float:
    """Smallest float that is at least `value`."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def root_below(value: Fraction) -> float:
    """Largest float whose square is at most `value`."""
    root = math.sqrt(float(value))
    while Fraction(root) ** 2 > value:
        root = math.nextafter(root, 0.0)
    while Fraction(above := math.nextafter(root, math.inf)) ** 2 <= value:
        root = above
    return root


def root_above(value: Fraction) -> float:
    """Smallest float whose square is at least `value`."""
    below = root_below(value)
    return below if Fraction(below) ** 2 == value else math.nextafter(below, math.inf)
