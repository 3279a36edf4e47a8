"""Runs of whole numbers over which counts are summed: short beside the noise, and beside how far they are from 0."""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array


def whole_runs(low: float, high: float, longest: float, near: int) -> tuple[Array, Array]:
    """Middles and lengths of runs from `low` to `high`, none longer than `longest` or than a `near`-th of its first number.

    Next to zero, where a prior may concentrate and a group may be as small as a run, counts are taken one by one.
    """
    most = max(1, math.floor(longest))
    first, last = math.floor(low), math.ceil(high)
    starts = [first]
    while (following := starts[-1] + min(most, max(1, starts[-1] // near))) <= last:
        starts.append(following)
    begin = np.array(starts, dtype=np.float64)
    end = np.append(begin[1:] - 1, float(last))
    return 0.5 * (begin + end), end - begin + 1
