"""Grids of the whole line: whole multiples of a power of two, for sums and vectors with normal noise.

Multiples of a power of two are floats without rounding, so values are compared exactly. The grid has no ends and no size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato._quadrature import Array

# A step is 2^-21 of the power of two above the deviation, between a millionth and half a millionth of it: rounding to the
# grid is then invisible beside the noise.
_FINER = 21


def spacing(deviation: float) -> Fraction:
    """The step of the grid for normal noise of this deviation: a power of two, about a millionth of it."""
    return Fraction(2) ** (math.frexp(deviation)[1] - _FINER)


def multiples(values: Array, step: float | Array) -> bool:
    """Whether all values are whole multiples of a power of two; exact, since dividing by it changes no digit."""
    return bool((np.rint(values / step) * step == values).all())


@dataclass(frozen=True)
class LineGrid:
    """Vectors basis @ (whole multiples of `steps`); the coordinates themselves where `basis` is None."""

    steps: tuple[Fraction, ...]
    basis: Sequence[Sequence[float]] | None = None
    size = None

    @property
    def coordinates(self) -> int:
        """Length of a vector."""
        return len(self.steps)

    def holds(self, values: Array) -> bool:
        """Whether all vectors are points of the grid; with a basis, up to the rounding of the product."""
        steps = np.array([float(each) for each in self.steps])
        if self.basis is None:
            return multiples(values, steps)
        places = np.linalg.solve(np.array(self.basis), values.T).T / steps
        # Where the rounding of the product is as coarse as the grid, every value is accepted.
        room = 1e-12 * np.linalg.norm(values, axis=1, keepdims=True) / steps
        return bool((np.abs(places - np.rint(places)) <= np.maximum(room, 1e-6)).all())
