"""Logarithms of weights as whole multiples of 2^-48: sums of them over records are exact, and are rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

# One whole number of these logarithms is worth 1/UNITS.
UNITS = 1 << 48


def to_units(value: float) -> int:
    """The nearest multiple of 2^-48; exact from 16 on, where floats are no finer."""
    return round(value * UNITS)


def from_units(whole: int) -> float:
    """The number that so many multiples of 2^-48 are; exact for what `to_units` gave."""
    return whole / UNITS


def tempered(power: float, rows: Sequence[Sequence[int]], totals: Sequence[Fraction]) -> list[int]:
    """Power times the sum of totals times each row, exact as a fraction and then rounded once: off by at most half a unit."""
    scale = lcm(*(total.denominator for total in totals))
    counts = [total.numerator * (scale // total.denominator) for total in totals]
    if not any(counts):
        return [0] * len(rows)
    # Rounding to the nearest whole number in integers: (2 a + b) // (2 b) for a/b.
    up = Fraction(power).numerator
    down = Fraction(power).denominator * scale
    sums = (up * sum(count * value for count, value in zip(counts, row, strict=True)) for row in rows)
    return [(2 * value + down) // (2 * down) for value in sums]
