"""Base class of the normal families: the mean of records of known precision, a normal posterior of public deviation.

In public coordinates (those of the records, or an eigenbasis V) the data have precision a_i a record and the prior l_i;
with S_i the sum over the records of (x - mean) there, the posterior at power r and prior strength s is

    z_i ~ N(mean_i + r a_i S_i / P_i, 1/P_i),    P_i = s l_i + r n a_i,

and P_i is public. Means are linear in whole-number totals and are kept as exact fractions, so that a replaced record shifts
them by at most the priced amount, without rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.grids.line import spacing
from sfumato.models._rounding import product_up
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Normal

Basis = tuple[tuple[float, ...], ...]

# Squares and products of numbers between 1/_LARGEST and _LARGEST neither overflow nor vanish.
_LARGEST = 1e100


def moderate(name: str, value: object) -> float:
    """A positive number whose squares and reciprocals are far from overflow."""
    number = _validate.positive(name, value)
    if not 1 / _LARGEST <= number <= _LARGEST:
        raise ArgumentError(f"{name} must lie between 1e-100 and 1e100; got {number!r}. Choose another unit.")
    return number


def moderate_or_zero(name: str, value: object) -> float:
    """The same for a number that may be 0 or negative."""
    number = _validate.finite(name, value)
    if abs(number) > _LARGEST:
        raise ArgumentError(f"{name} must lie between -1e100 and 1e100; got {number!r}. Choose another unit.")
    return number


def deviation_of(precision: Fraction) -> float:
    """1/sqrt(precision), rounded up: the roundings here are at most four units of 2^-53, and eight are added."""
    return 1.0 / math.sqrt(float(precision)) * (1 + 2.0**-50)


def halves(steps: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """High and low digits of whole numbers below 2^42: their separate sums stay within 64 bits for 2^41 rows."""
    return steps >> 20, steps & ((1 << 20) - 1)


def joined(high: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[Any]:
    """Sums of high and of low digits as Python integers."""
    pairs = zip(high.tolist(), low.tolist(), strict=True)
    sums: NDArray[Any] = np.array([(top << 20) + rest for top, rest in pairs], dtype=object)
    return sums


def exact_sums(steps: NDArray[np.int64]) -> NDArray[Any]:
    """Column sums of whole numbers below 2^42, as Python integers."""
    # Summed apart, both halves stay within 64 bits for 2^41 rows.
    high, low = halves(steps)
    return joined(high.sum(axis=0), low.sum(axis=0))


class Location(Family):
    """Base of the normal families; subclasses define what is read and the coordinates in which the precisions are diagonal."""

    groupable = True

    quantity = "mean"

    @property
    def curvatures(self) -> tuple[float, ...]:
        """Precision a_i of one record in each coordinate."""
        raise NotImplementedError

    @property
    def precisions(self) -> tuple[float, ...]:
        """Precision l_i of the prior in each coordinate."""
        raise NotImplementedError

    @property
    def basis(self) -> Basis | None:
        """Rows of V, where a vector is V z; None where the coordinates are the records' own."""
        return None

    @property
    def stretch(self) -> float:
        """How much V^T can lengthen a vector: 1, and a rounding error more for a matrix of floats."""
        return 1.0

    @property
    def start(self) -> tuple[float, ...]:
        """The prior mean, as a vector of the records' space."""
        raise NotImplementedError

    def sums(self, totals: Sequence[Fraction], n: int) -> list[Fraction]:
        """Sum over the records of (x - mean), as a vector of the records' space: exact."""
        raise NotImplementedError

    def _turned(self, vector: Sequence[Fraction]) -> list[Fraction]:
        """V^T times a vector, exact."""
        rows = self.basis
        if rows is None:
            return list(vector)
        turned = [Fraction(0)] * len(vector)
        for value, row in zip(vector, rows, strict=True):
            if value:
                turned = [total + value * Fraction(entry) for total, entry in zip(turned, row, strict=True)]
        return turned

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """A shift of normals of one public covariance: Gaussian, exactly."""
        facts = {"curvatures": self.curvatures, "precisions": self.precisions, "n": n}
        return Claim("gaussian-location", {**facts, "sensitivity": product_up(self.sensitivity, self.stretch)})

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Normal:
        """The posterior with its exact means; deviations are rounded up, which only adds noise."""
        r, s = Fraction(power), Fraction(strength)
        starts = self._turned([Fraction(value) for value in self.start])
        shifts = self._turned(self.sums(totals, n))
        means, deviations = [], []
        for a, prior, begin, shift in zip(self.curvatures, self.precisions, starts, shifts, strict=True):
            # Floats are exact rationals, so nothing is rounded before the deviation.
            each = r * Fraction(a)
            precision = s * Fraction(prior) + n * each
            means.append(begin + each * shift / precision)
            deviations.append(deviation_of(precision))
        return Normal(tuple(means), tuple(deviations), tuple(map(spacing, deviations)), self.basis)

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Precision times (posterior mean - prior mean), then the precisions; per coordinate of the basis."""
        given = np.asarray(totals, dtype=np.float64)
        turned = self._float_sums(given, n)
        if self.basis is not None:
            turned = turned @ np.array(self.basis)
        a, prior = np.array(self.curvatures), np.array(self.precisions)
        precision = np.broadcast_to(strength * prior + power * n * a, turned.shape)
        return np.concatenate([power * a * turned, precision], axis=-1)

    def _float_sums(self, totals: Array, n: int) -> Array:
        """`sums` in floats, for expectations; totals shaped (..., k)."""
        raise NotImplementedError

    def strongest(self, n: int) -> float:
        """A strength at which mu is about 3e-5, whatever the units of the records."""
        needed = max(
            (self.sensitivity * a) ** 2 / prior for a, prior in zip(self.curvatures, self.precisions, strict=True)
        )
        return 1e9 * min(max(1.0, needed), 1e90)

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def _outward(self, places: Array) -> Array:
        """V z + prior mean."""
        turned = places if self.basis is None else places @ np.array(self.basis).T
        return np.asarray(turned + np.array(self.start), dtype=np.float64)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        moved, precision = np.split(natural, 2, axis=-1)
        return self._outward(moved / precision + rng.standard_normal(moved.shape) / np.sqrt(precision))

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two normals with precisions diagonal in the same coordinates."""
        (moved, own), (other_moved, other) = np.split(first, 2, axis=-1), np.split(second, 2, axis=-1)
        ratio = other / own
        gap = ratio - 1 - np.log(ratio) + other * (moved / own - other_moved / other) ** 2
        return np.asarray(0.5 * np.maximum(gap, 0.0).sum(axis=-1), dtype=np.float64)
