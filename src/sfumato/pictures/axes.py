"""Axes with round numbers, and numbers that are written evenly: all with the same decimals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import pairwise

from sfumato.pictures.description import Axis

# From here on three digits would be written with a power of ten.
_THREE_DIGITS = 999.5
# Decimals beyond which a number is written with a power of ten.
_MOST_DECIMALS = 6
# Letters that stand side by side under the axis of a dot plot with long labels, measured in a figure of 6 inches.
_MOST_LETTERS = 40
# Numbers on an axis whose numbers are longer than that together.
_FEW = 3


def linear(name: str, low: float, high: float, count: int = 5) -> Axis:
    """An axis from `low` to `high` with about `count` round numbers; equal ends are moved apart."""
    if not high > low:
        low, high = low - (abs(low) * 0.05 or 0.5), high + (abs(high) * 0.05 or 0.5)
    values = ticks(low, high, count)
    texts = even(values)
    if sum(map(len, texts)) > _MOST_LETTERS:
        values = ticks(low, high, _FEW)
        texts = even(values)
    return Axis(name, low, high, tuple(zip(values, texts, strict=True)))


def logarithmic(name: str, low: float, high: float, most: int = 8) -> Axis:
    """A logarithmic axis between two positive ends."""
    values = log_ticks(low, high, most)
    return Axis(name, low, high, tuple((value, number(value)) for value in values), log=True)


def around(values: Iterable[float], room: float = 0.04) -> tuple[float, float]:
    """Ends that hold all values, with a little room on both sides."""
    kept = [value for value in values if math.isfinite(value)]
    low, high = min(kept, default=0.0), max(kept, default=1.0)
    extra = room * (high - low) or max(abs(high), 1.0) * 0.05
    return low - extra, high + extra


def ticks(left: float, right: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two ends."""
    width = (right - left) / count
    step = 10.0 ** math.floor(math.log10(width))
    # A step a little below the wanted one gives one or two numbers more, the next larger one only half as many.
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= 0.8 * width)
    first = math.ceil(left / step - 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    # Adding 0 turns -0.0 into 0.
    return [round(k * step, digits) + 0.0 for k in range(first, math.floor(right / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Round numbers between two positive ends, evenly spaced in the logarithm as far as they can be, at most `most`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1, 2, 5), (1, 3), (1,)):
        candidates = [float(f"{digit}e{power}") for power in range(first, last + 1) for digit in digits]
        inside = [value for value in candidates if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) <= most:
            return inside
    # Too many powers of ten: keep every second, third, ... counted from the largest.
    every = math.ceil(len(inside) / most)
    return inside[::-1][::every][::-1]


def even(values: Sequence[float]) -> list[str]:
    """Numbers of one axis or column with the same decimals, as few as show all of them exactly to six significant digits.

    Numbers that six digits do not tell apart get as many as their distances need.
    """
    scaled = any(value != 0 and not 1e-4 <= abs(value) < 1e9 for value in values)
    needed = max((_decimals(value) for value in values), default=0)
    texts = [number(value) for value in values] if scaled else [f"{value:,.{needed}f}" for value in values]
    different = sorted(set(values))
    if len(set(texts)) == len(different):
        return texts
    # The digits of the smallest distance, counted from the largest number or from the decimal point.
    place = -math.floor(math.log10(min(right - left for left, right in pairwise(different))) + 1e-9)
    if scaled:
        largest = max(abs(value) for value in values)
        return [scientific(value, max(0, math.floor(math.log10(largest)) + place)) for value in values]
    return [f"{value:,.{max(0, place)}f}" for value in values]


def scientific(value: float, decimals: int) -> str:
    """A number as its mantissa with so many decimals and a power of ten: 2.50e-5; 0 is "0"."""
    mantissa, power = f"{value:.{decimals}e}".split("e")
    return f"{mantissa}e{int(power)}" if value else "0"


def _decimals(value: float) -> int:
    """Decimals that a value needs at six significant digits."""
    text = f"{float(f'{value:.6g}'):.{_MOST_DECIMALS}f}".rstrip("0")
    return len(text.partition(".")[2])


def given(value: float) -> str:
    """A number that somebody declared, with all the digits it was given: one of a promise is never rounded."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def above(value: float) -> str:
    """A number with three digits, rounded up: what is promised is never written smaller than it is."""
    return _rounded(value, ROUND_CEILING)


def below(value: float) -> str:
    """A number with three digits, rounded down: a bound from below is never written larger than it is."""
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, towards: str) -> str:
    if not math.isfinite(value):
        return number(value)
    # Twelve digits first, so that the last bit of a sum does not show 0.1 as 0.101.
    exact = Context(prec=12).create_decimal(Decimal(value))
    return number(float(Context(prec=3, rounding=towards).create_decimal(exact)))


def number(value: float) -> str:
    """A number in its usual notation: 0.05, 300, 1e-6."""
    if not math.isfinite(value):
        return {math.inf: "infinity", -math.inf: "-infinity"}.get(value, "not a number")
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        mantissa, power = f"{value:.2e}".split("e")
        return f"{float(mantissa):g}e{int(power)}"
    return f"{value:.3g}" if abs(value) < _THREE_DIGITS else f"{value:,.0f}"
