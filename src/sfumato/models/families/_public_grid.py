"""Public grids of a Number column: from its declared bounds alone, negative values included.

Without a grid from the user, candidates (or the edges of cells) follow from `lower`, `upper` and `integer` of the schema:

- evenly spaced where the magnitudes between the bounds span at most three decades, as for an age or a share;
- otherwise numbers that grow by the same factor on both sides of 0, as for an income within +-1e12.

The rank error of a private quantile grows with the logarithm of the number of candidates only, so a grid may be fine: about
1,000 evenly spaced candidates, or 100 to a factor of ten. Bounds need less: a bound that is 12 % too wide adds 12 % to the noise of
a mean, and the rank error of 3,000 candidates is a quarter larger than that of 300.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count
from typing import NamedTuple

from sfumato.schema import Date, Number

# Largest ratio of magnitudes that is divided evenly: then a step is at most as long as the smallest magnitude.
_EVEN_RATIO = 1000.0
# Smallest magnitude of a wide range that includes 0, whole numbers aside: a thousandth of the unit of the column.
_SMALLEST = Fraction(1, 1000)


class Fineness(NamedTuple):
    """Most steps of an even grid, and candidates to a factor of ten of a geometric one."""

    steps: int
    per_decade: int


# Steps of a thousandth of the range, or of 2.3 %: below the noise of most private quantiles.
FINE = Fineness(1000, 100)
# Steps of a two-hundredth of the range, or of 12 %: enough for bounds.
COARSE = Fineness(200, 20)


def public_grid(lower: float, upper: float, integer: bool = False, fineness: Fineness = FINE) -> tuple[float, ...]:
    """Rising candidates from `lower` to `upper`, both included; whole numbers if `integer`."""
    if is_even(lower, upper):
        inner = _even(lower, upper, integer, fineness.steps)
    else:
        inner = _geometric(lower, upper, integer, fineness.per_decade)
    return tuple(sorted({lower + 0.0, *(value for value in inner if lower < value < upper), upper + 0.0}))


def column_grid(column: Number, fineness: Fineness = FINE) -> tuple[float, ...]:
    """The candidates of a column from its declared bounds; those of dates are days at equal steps, on both sides of 1970."""
    if not isinstance(column, Date):
        return public_grid(column.lower, column.upper, column.integer, fineness)
    width = column.upper - column.lower
    inner = (column.lower + day for day in _even(0.0, width, True, fineness.steps))
    return (column.lower, *inner, column.upper)


def column_edges(column: Number, cells: int) -> tuple[float, ...] | None:
    """Edges of cells of equal numbers of days for dates; None for other columns, whose bounds alone decide."""
    if not isinstance(column, Date):
        return None
    width = column.upper - column.lower
    return tuple(column.lower + edge for edge in _even_edges(-0.5, width + 0.5, min(cells, round(width) + 1)))


def _even_edges(low: float, high: float, cells: int) -> list[float]:
    """So many cells of whole numbers, each edge between two of them."""
    step = Fraction(high - low) / cells
    return [low + round(step * k) for k in range(cells + 1)]


def is_even(lower: float, upper: float) -> bool:
    """Whether the grid is evenly spaced, by the ratio of the largest magnitude to the smallest: that of the nearer bound.

    Where 0 lies between the bounds, the smallest magnitude that matters is taken to be 1.
    """
    largest, nearest = max(abs(lower), abs(upper)), min(abs(lower), abs(upper))
    return (largest if lower <= 0 <= upper else largest / nearest) <= _EVEN_RATIO


def _even(lower: float, upper: float, integer: bool, steps: int) -> list[float]:
    """Multiples of a round step, 1, 2 or 5 times a power of ten; of whole numbers at least 1."""
    low, high = Fraction(lower), Fraction(upper)
    step = _round_step((high - low) / steps)
    if integer:
        step = max(step, Fraction(1))
    first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
    return [float(k * step) for k in range(first, last + 1)]


def _round_step(least: Fraction) -> Fraction:
    """The smallest of 1, 2, 5, 10, 20, ... times a power of ten that is at least this."""
    power = Fraction(10) ** math.floor(math.log10(least))
    return next(power * digit for digit in (Fraction(1, 2), 1, 2, 5, 10, 20) if power * digit >= least)


def _geometric(lower: float, upper: float, integer: bool, per_decade: int) -> list[float]:
    """0 and the magnitudes of three digits that grow by the same factor, with the signs that the bounds allow."""
    largest = max(abs(lower), abs(upper))
    smallest = _smallest(lower, upper, integer)
    # Three digits, so that all machines have the same candidates and bounds are round numbers.
    digits = [round(100 * 10 ** (k / per_decade)) for k in range(per_decade)]
    magnitudes: list[float] = []
    for exponent in count(math.floor(math.log10(smallest)) - 2):
        exact = [Fraction(digit) * Fraction(10) ** exponent for digit in digits]
        if exact[0] > largest:
            break
        sizes = [float(round(value) if integer else value) for value in exact if value <= largest]
        magnitudes += [size for size in sizes if size >= smallest]
    return [0.0, *magnitudes, *(-size for size in magnitudes)]


def cell_edges(lower: float, upper: float, integer: bool, cells: int) -> tuple[float, ...]:
    """Rising edges of about so many cells from `lower` to `upper`.

    Whole numbers lie in the middle of cells of width 1 where there are no more than `cells` of them. Otherwise the edges are equal
    steps of x, or of asinh(x/s) if the range is wide: equal near 0 and growing by the same factor far from it, s being the
    smallest magnitude.
    """
    if integer and upper - lower < cells:
        return tuple(lower - 0.5 + k for k in range(round(upper - lower) + 2))
    low, high = (lower - 0.5, upper + 0.5) if integer else (lower, upper)
    if is_even(lower, upper):
        width = Fraction(high) - Fraction(low)
        inner = [float(Fraction(low) + width * k / cells) for k in range(1, cells)]
    else:
        scale = _smallest(lower, upper, integer)
        start, end = math.asinh(low / scale), math.asinh(high / scale)
        # Nine digits, so that all machines have the same edges.
        inner = [float(f"{scale * math.sinh(start + (end - start) * k / cells):.9g}") for k in range(1, cells)]
    # The edges of whole numbers lie between two of them.
    rounded = {math.floor(value) + 0.5 if integer else value for value in inner}
    return tuple(sorted({low, *(value for value in rounded if low < value < high), high}))


def scaled_range(lower: float, upper: float, integer: bool) -> float:
    """The range of asinh(x/s), in which a wide range is divided evenly."""
    scale = _smallest(lower, upper, integer)
    return math.asinh(upper / scale) - math.asinh(lower / scale)


def _smallest(lower: float, upper: float, integer: bool) -> float:
    """The smallest magnitude of a wide range: that of the nearer bound, or the unit (a thousandth of it) where 0 is inside."""
    inside = lower <= 0 <= upper
    return float(1 if integer else _SMALLEST) if inside else min(abs(lower), abs(upper))
