"""Products and sums of declared constants, rounded up or down.

Floats are rational numbers, so sums and products are taken exactly with `Fraction` and rounded once: 2 * 1.0 stays 2.0,
and 2 * 0.1 * 0.3 is never below the true product of these floats.
"""

from __future__ import annotations

import math
from fractions import Fraction


def up(exact: Fraction) -> float:
    """Smallest float that is at least `exact`; `math.inf` above the largest float."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def down(exact: Fraction) -> float:
    """Largest float that is at most `exact`."""
    return -up(-exact)


def product_up(*factors: float) -> float:
    """Product of non-negative factors, rounded up; 0 times infinity is 0 (no record, no cost)."""
    if 0.0 in factors:
        return 0.0
    if math.inf in factors:
        return math.inf
    return up(math.prod(map(Fraction, factors), start=Fraction(1)))


def line_up(count: int, slope: float, power: float, offset: float) -> float:
    """`count * slope * power + offset`, rounded up."""
    if math.inf in (slope, offset):
        return math.inf
    return up(count * Fraction(slope) * Fraction(power) + Fraction(offset))


def line_down(count: int, slope: float, power: float, offset: float) -> float:
    """`count * slope * power + offset`, rounded down."""
    return down(count * Fraction(slope) * Fraction(power) + Fraction(offset))


def norm_up(*entries: float) -> float:
    """Euclidean norm of the entries, rounded up."""
    square = sum((Fraction(entry) ** 2 for entry in entries), start=Fraction(0))
    # hypot may round down: step up until the exact square is reached.
    norm = math.hypot(*entries)
    while Fraction(norm) ** 2 < square:
        norm = math.nextafter(norm, math.inf)
    return norm


def inverse_up(value: float) -> float:
    """1/value for a positive value, rounded up."""
    return up(1 / Fraction(value))
