"""How one column enters a regression: its coded values, a bound on their squares, and what they are in the column's own units.

A number x between its bounds is coded as z = (x - lower)/(upper - lower) - 1/2, and its power k as T_k(2z)/2 with T_k the
Chebyshev polynomial: every power runs from -1/2 to 1/2, and powers are far less alike than x and x^2 are. The k levels of a
category are coded as the corners of a regular simplex with edges of length 1 around 0, in k - 1 numbers; two levels, or no and
yes, are -1/2 and 1/2. So the two ends of a number, no and yes, and any two levels are all 1 apart, no level is special, and
one prior deviation means the same for every column: that of the effect of going from one end to the other.

Which level is the reference is a choice of the reader: each coded value is a linear function of the column's own terms (1, x,
x^2, ... or indicators of the levels other than the reference), and `own_terms` returns its coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema.boolean import Boolean
from sfumato.schema.category import SUM_TO_ZERO
from sfumato.schema.columns import Column
from sfumato.schema.number import Number

Array = NDArray[np.float64]
# A linear function of a column's own terms: name of a term -> coefficient; "" is the constant 1.
Linear = Mapping[str, float]
# Highest power of a number: beyond it the coefficients of x^k in the column's own units lose their digits.
HIGHEST_POWER = 5


@lru_cache(maxsize=256)
def corners(levels: int) -> Array:
    """The corners (levels, levels - 1) of a regular simplex around 0 with edges of length 1.

    Coordinate j compares level j + 1 with the levels before it (Helmert), scaled so that all edges have length 1.
    """
    matrix = np.zeros((levels, levels - 1))
    for j in range(1, levels):
        unit = 1.0 / math.sqrt(2.0 * j * (j + 1))
        matrix[:j, j - 1] = -unit
        matrix[j, j - 1] = j * unit
    matrix.setflags(write=False)
    return matrix


def names(name: str, column: Column, power: int) -> list[str]:
    """Names of the coded values; those of a category are numbered contrasts."""
    if column.levels is None:
        return [name if power == 1 else f"{name}^{power}"]
    if isinstance(column, Boolean) or len(column.levels) == 2:
        return [name]
    return [f"{name}[{j}]" for j in range(1, len(column.levels))]


def own_names(name: str, column: Column, power: int) -> list[str]:
    """What a reader may call the column's own terms: its power, or each of its levels, whichever is the reference."""
    if column.levels is None or isinstance(column, Boolean):
        return [name if power == 1 else f"{name}^{power}"]
    return [f"{name}={level}" for level in column.levels]


def largest_square(column: Column) -> Fraction:
    """Bound on the sum of squares of a cell's coded values, as they are in floats.

    A corner of the simplex has the square (1 - 1/k)/2. Each coordinate is rounded three times (a root, a quotient, a product), so
    that its square is off by a factor of at most 1 + 2^-50; those of two levels are exact.
    """
    if column.levels is None or len(column.levels) == 2:
        return Fraction(1, 4)
    return Fraction(len(column.levels) - 1, 2 * len(column.levels)) * (1 + Fraction(1, 2**50))


def coded(column: Column, values: Any, power: int) -> Array:
    """The coded values (rows, width) of encoded cells."""
    if column.levels is not None:
        return corners(len(column.levels))[np.asarray(values).astype(np.intp)]
    out: Array = np.empty((len(values), 1))
    column.write_features(values, out)
    if power == 1:
        return out
    polynomial = 0.5 * np.polynomial.chebyshev.chebval(2.0 * out, [0.0] * power + [1.0])
    return np.asarray(polynomial, dtype=np.float64).clip(-0.5, 0.5)  # rounding may pass the end


def own_terms(name: str, column: Column, power: int, reference: Any = None) -> list[Linear]:
    """Every coded value of the column as a linear function of its own terms.

    The terms of a number are x, x^2, ...; that of a yes or no is 1 for yes; those of a category are indicators of the levels
    other than `reference`, or of all levels for "sum-to-zero".
    """
    if isinstance(column, Number):
        return [_powers(name, column, power)]
    levels = column.levels or ()
    points = corners(len(levels))
    if isinstance(column, Boolean):
        return [{"": float(points[0, 0]), name: float(points[1, 0] - points[0, 0])}]
    base = chosen_reference(name, column, reference)
    start = np.zeros(points.shape[1]) if base is None else points[base]
    kept = [place for place in range(len(levels)) if place != base]
    return [
        {"": float(start[j]), **{f"{name}={levels[k]}": float(points[k, j] - start[j]) for k in kept}}
        for j in range(points.shape[1])
    ]


def chosen_reference(name: str, column: Any, reference: Any = None) -> int | None:
    """The place of the reference level of a category: the reader's choice, else the declared one; None for sum-to-zero."""
    level = column.reference if reference is None else reference
    if level == SUM_TO_ZERO:
        return None
    if level not in column.levels:
        raise ArgumentError(
            f"the reference of {name!r} must be one of its levels {', '.join(map(str, column.levels))}, or {SUM_TO_ZERO!r}; "
            f"got {level!r}."
        )
    return int(column.levels.index(level))


def _powers(name: str, column: Number, power: int) -> Linear:
    """T_k(2z)/2 as a polynomial of x; the ratio 2z = slope x + shift."""
    slope = 2.0 / (column.upper - column.lower)
    shift = -(column.lower / (column.upper - column.lower) + column.upper / (column.upper - column.lower))
    total = np.polynomial.Polynomial([0.0])
    for k, value in enumerate(np.polynomial.chebyshev.cheb2poly([0.0] * power + [1.0]).tolist()):
        total = total + np.polynomial.Polynomial([shift, slope]) ** k * value
    texts = ["", name, *(f"{name}^{k}" for k in range(2, power + 1))]
    return {text: 0.5 * float(value) for text, value in zip(texts, total.coef, strict=True)}
