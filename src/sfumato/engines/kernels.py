"""The compiled passes over the rows: link, clipped derivative and gradient sum in one read of the matrix.

Kernels hold no interpreter lock and no state; which rows they see, and in which order their sums are added, is fixed by
the engine that calls them, so that threads change nothing.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from sfumato.engines.links import FAST, slope

Array = NDArray[np.float64]


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def dense_gradient(
    rows: Array, labels: Array, theta: Array, intercept: float, code: int, first: float, second: float, out: Array
) -> None:
    """Add to `out` the sum over rows of phi'(<x, theta>, y) x; with an intercept the last feature is that constant."""
    n, d = rows.shape
    bias = float(theta[d]) * intercept if intercept != 0.0 else 0.0
    total = 0.0
    i = 0
    # Four rows at a time: the sums are read and written once for four rows.
    while i + 4 <= n:
        a = b = c = e = bias
        for j in range(d):
            t = theta[j]
            a += rows[i, j] * t
            b += rows[i + 1, j] * t
            c += rows[i + 2, j] * t
            e += rows[i + 3, j] * t
        a = slope(code, a, labels[i], first, second)
        b = slope(code, b, labels[i + 1], first, second)
        c = slope(code, c, labels[i + 2], first, second)
        e = slope(code, e, labels[i + 3], first, second)
        for j in range(d):
            out[j] += a * rows[i, j] + b * rows[i + 1, j] + c * rows[i + 2, j] + e * rows[i + 3, j]
        total += a + b + c + e
        i += 4
    while i < n:
        a = bias
        for j in range(d):
            a += rows[i, j] * theta[j]
        a = slope(code, a, labels[i], first, second)
        for j in range(d):
            out[j] += a * rows[i, j]
        total += a
        i += 1
    if intercept != 0.0:
        out[d] += total * intercept


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def slopes(scores: Array, labels: Array, code: int, first: float, second: float) -> None:
    """Replace scores (rows, chains) by phi'(u, y), in place: the middle of a pass for many chains."""
    n, chains = scores.shape
    for i in range(n):
        y = labels[i]
        for k in range(chains):
            scores[i, k] = slope(code, scores[i, k], y, first, second)


@numba.njit(nogil=True, fastmath=FAST, cache=True)
def sparse_gradient(
    data: Array,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    start: int,
    stop: int,
    labels: Array,
    theta: Array,
    intercept: float,
    code: int,
    first: float,
    second: float,
    out: Array,
) -> None:
    """The same for rows `start` to `stop` of a CSR matrix; theta and out are (chains, d)."""
    chains, width = theta.shape
    d = width - 1 if intercept != 0.0 else width
    for i in range(start, stop):
        for k in range(chains):
            u = theta[k, d] * intercept if intercept != 0.0 else 0.0
            for p in range(indptr[i], indptr[i + 1]):
                u += data[p] * theta[k, indices[p]]
            g = slope(code, u, labels[i], first, second)
            for p in range(indptr[i], indptr[i + 1]):
                out[k, indices[p]] += g * data[p]
            if intercept != 0.0:
                out[k, d] += g * intercept
