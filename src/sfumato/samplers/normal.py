"""The normal distribution rounded to a public grid, sampled exactly, so that no low-order bit depends on its centre.

X is standard normal, drawn by Karney's algorithm N (ACM TOMS 2016), which only compares uniform numbers and so needs no
arithmetic that rounds. `rounded_normal` returns the multiple of `spacing` nearest to mean + deviation X: digits of X are
drawn until the rounding is decided, in exact rational arithmetic. The result has the law of the continuous normal,
rounded afterwards: rounding is post-processing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.samplers.bits import Bits, BufferedBits, LazyUniform


class LazyNormal:
    """A standard normal as a sign, a whole part and a lazily drawn fraction."""

    def __init__(self, source: Bits) -> None:
        """Run algorithm N once: accept k with probability proportional to exp(-k^2/2), then a fraction given k."""
        while True:
            whole = _whole_part(source)
            if whole is None:
                continue
            fraction = LazyUniform(source)
            if all(_accepts(source, whole, fraction) for _ in range(whole + 1)):
                break
        self.negative = source.bits(1) == 1
        self.whole = whole
        self.fraction = fraction

    def interval(self, precision: int) -> tuple[Fraction, Fraction]:
        """Closed bounds of this number, 2^-precision apart."""
        low = Fraction((self.whole << precision) + self.fraction.to(precision), 1 << precision)
        high = low + Fraction(1, 1 << precision)
        return (-high, -low) if self.negative else (low, high)


def _half_exponential(source: Bits) -> bool:
    """True with probability exp(-1/2): the falling run 1/2 > u1 > u2 > ... has an even length."""
    previous = LazyUniform(source)
    if previous.to(1) == 1:
        return True
    even = False
    while True:
        current = LazyUniform(source)
        if not current.below(previous):
            return even
        previous, even = current, not even


def _whole_part(source: Bits) -> int | None:
    """K with probability proportional to exp(-k/2), accepted with probability exp(-k(k-1)/2); None if it is rejected."""
    k = 0
    while _half_exponential(source):
        k += 1
    return k if all(_half_exponential(source) for _ in range(k * (k - 1))) else None


def _accepts(source: Bits, k: int, x: LazyUniform) -> bool:
    """True with probability exp(-x (2k + x)/(2k + 2)), again by the parity of a falling run."""
    previous, even = x, True
    while True:
        current = LazyUniform(source)
        if not current.below(previous) or not _below_ratio(source, k, x):
            return even
        previous, even = current, not even


def _below_ratio(source: Bits, k: int, x: LazyUniform) -> bool:
    """Whether a new uniform r is below (2k + x)/(2k + 2): decided digit by digit."""
    r = LazyUniform(source)
    precision = 32
    while True:
        # r (2k+2) - 2k against x, both known to within 2^-precision (times 2k+2 for r).
        left = r.to(precision) * (2 * k + 2) - ((2 * k) << precision)
        right = x.to(precision)
        if left + 2 * k + 2 <= right:
            return True
        if left >= right + 1:
            return False
        precision += 32


def rounded_normals(source: Any, centres: Sequence[Fraction], deviation: Fraction, grid: Fraction) -> list[Fraction]:
    """Independent exact samples of N(centre, deviation^2), one for each centre, each rounded to a multiple of `grid`."""
    bits = BufferedBits(source)
    return [rounded_normal(bits, centre, deviation, grid) * grid for centre in centres]


def rounded_normal(source: Bits, mean: float | Fraction, deviation: float | Fraction, spacing: float | Fraction) -> int:
    """The whole number j for which j * spacing is nearest to mean + deviation X, X standard normal; exact.

    The three numbers are taken as the exact rationals that they are. A tie has probability 0 and is never decided.
    """
    centre, scale, grid = (
        _exact(name, v) for name, v in (("mean", mean), ("deviation", deviation), ("spacing", spacing))
    )
    if grid <= 0 or scale < 0:
        raise ArgumentError(f"spacing must be positive and deviation 0 or greater; got {spacing!r} and {deviation!r}.")
    if scale == 0:
        return _nearest(centre / grid)
    normal = LazyNormal(source)
    precision = 32
    while True:
        low, high = normal.interval(precision)
        first, last = (_nearest((centre + scale * end) / grid) for end in (low, high))
        if first == last:
            return first
        precision += 32


def _nearest(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def _exact(name: str, value: float | Fraction) -> Fraction:
    try:
        return Fraction(value)
    except (ValueError, OverflowError, TypeError):
        raise ArgumentError(f"{name} must be a finite number.") from None
