"""Exact draws from finitely many public points.

Law: point i has the probability exp(l_i)/sum_j exp(l_j); the l_i are whole multiples of 2^-48, so they are exact.
Method: l_i - max_j l_j is exact as a whole number and is rounded once to a float; its exponential becomes a whole-number
weight, and a uniform whole number below the sum of the weights picks a point (`samplers.grid`).
Error: the log probability of a point is off by at most `LOG_ERROR`, whatever the data; the price includes it.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.laws import Finite
from sfumato.samplers.grid import Integers, Masses, draw_cells, integer_weights

# The unit of a law's logarithms (`models.families._log_weights.UNITS`).
_UNIT = 2.0**-48
# Relative error of a weight: a logarithm down to -690 rounded to a float (690 2^-53), and its exponential (4 units).
RELATIVE = 1e-13
# Half a unit where the law rounded its logarithm, the error of the weight, and both again in the sum that divides it.
LOG_ERROR = (_UNIT + 2 * math.atanh(RELATIVE)) * (1 + 1e-15)
# Logarithms below -4096 have the floor weight in any case; a float could not hold much smaller whole numbers.
_LOWEST = -(1 << 60)


def log_weights(law: Finite) -> Masses:
    """Logarithms relative to the largest: exact differences of whole numbers, each rounded once."""
    top = max(law.logs)
    return Masses(0, np.array([max(log - top, _LOWEST) * _UNIT for log in law.logs]), len(law.logs))


def draw_finite(law: Finite, draws: int, source: Integers) -> Array:
    """Independent points, shaped (draws, coordinates)."""
    cells = draw_cells(integer_weights(log_weights(law)), source, draws)
    return np.array(law.points, dtype=np.float64).reshape(len(law.points), -1)[cells]
