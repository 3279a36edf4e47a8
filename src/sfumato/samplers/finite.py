"""Laws on finitely many public points: exact logarithms, whole-number weights, exact inversion."""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.laws import Finite
from sfumato.samplers.grid import Integers, Masses, draw_cells, integer_weights

# One whole number of a law's logarithms.
_UNIT = 2.0**-48
# Relative error of a weight: a logarithm down to -690 rounded to a float (690 2^-53), and its exponential (4 units).
RELATIVE = 1e-13
# Half a unit where the law rounded its logarithm, the error of the weight, and both again in the sum that divides it.
LOG_ERROR = (_UNIT + 2 * math.atanh(RELATIVE)) * (1 + 1e-15)
# Beyond this every weight stands at the floor; a float could not hold much more.
_LOWEST = -(1 << 60)


def log_weights(law: Finite) -> Masses:
    """Logarithms relative to the largest: the difference is exact, and rounded once."""
    top = max(law.logs)
    return Masses(0, np.array([max(log - top, _LOWEST) * _UNIT for log in law.logs]), len(law.logs))


def draw_finite(law: Finite, draws: int, source: Integers) -> Array:
    """Independent points, shaped (draws, coordinates)."""
    cells = draw_cells(integer_weights(log_weights(law)), source, draws)
    return np.array(law.points, dtype=np.float64).reshape(len(law.points), -1)[np.array(cells, dtype=np.int64)]
