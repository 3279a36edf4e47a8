"""How far a draw of a normal family can be from where it lies without records: the grid of a normal has no ends.

Totals are clipped to what n bounded records can have, so a posterior mean lies in a public range, and a draw lies a few
deviations from it: 64 deviations have a probability below e^-2048, in a file of any size.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families._normal import Location

# A normal exceeds 64 deviations with a probability below e^-2048: in no file of any size.
_DEVIATIONS = 64.0


def within_range(model: Location, n: int, power: float, strength: float, values: Array, sized: bool = True) -> bool:
    """Whether every coordinate lies where the model's records could bring it, and at most 64 deviations farther.

    The sum of n records moves by at most n S, S being the sensitivity, so the mean moves by r a_i n S / P_i, where
    P_i = s l_i + r n a_i is the posterior's precision. Where the number of records is not known (`sized` is False: groups
    whose sizes are not published) P_i is at least s l_i.
    """
    basis = None if model.basis is None else np.array(model.basis)
    turned = values if basis is None else np.linalg.solve(basis, values.T).T
    start = np.array(model.start) if basis is None else np.linalg.solve(basis, np.array(model.start))
    data = power * n * np.array(model.curvatures)
    precision = strength * np.array(model.precisions) + (data if sized else 0.0)
    # From the prior mean to the records' own sums at total 0, and from there as far as n records can move them.
    origin = np.abs(
        np.array([float(each) for each in model.sums([Fraction(0)] * len(model.units), n)], dtype=np.float64)
    )
    moved = np.linalg.norm(origin) / n + model.sensitivity
    # A hundredth more than the sum covers every rounding error.
    room = 1.01 * (data * moved * model.stretch / precision + _DEVIATIONS / np.sqrt(precision))
    return bool((np.abs(turned - start) <= room).all())
