"""The compiled loop that moves rows towards given counts of pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np


@cache
def sweep() -> Callable[..., None]:
    """The compiled `_sweep`; the compiler is imported when rows are first drawn."""
    import numba

    return numba.njit(cache=True)(_sweep)


def _sweep(levels: Any, gaps: Any, edges: Any, order: Any, turns: Any) -> None:
    """Change levels (rows, columns; counted over all columns) in place, and `gaps`, counts less wanted counts, with them.

    A row that changes level v of one column to u lowers sum gaps^2 by 2 (h_v - h_u) - 2 (columns - 1), h_u being the sum of the
    gaps of u with the row's other levels. The best u is taken where that is positive.
    """
    columns = levels.shape[1]
    sums = np.empty(edges[-1])
    for visit in range(len(order)):
        row = order[visit]
        for turn in range(columns):
            a = turns[visit % len(turns), turn]
            first, last, own = edges[a], edges[a + 1], levels[row, a]
            for u in range(first, last):
                sums[u] = 0.0
            for b in range(columns):
                if b != a:
                    other = levels[row, b]
                    for u in range(first, last):
                        sums[u] += gaps[other, u]
            best, least = own, sums[own] - (columns - 1)
            for u in range(first, last):
                if sums[u] < least:
                    best, least = u, sums[u]
            if best == own:
                continue
            for b in range(columns):
                if b != a:
                    other = levels[row, b]
                    gaps[best, other] += 1.0
                    gaps[other, best] += 1.0
                    gaps[own, other] -= 1.0
                    gaps[other, own] -= 1.0
            levels[row, a] = best
