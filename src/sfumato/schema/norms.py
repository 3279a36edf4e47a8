"""Scaling of rows so that their exact Euclidean norm, not only the rounded one, is at most a declared number.

Write u = 2^-53, R for the bound and d for the length of a row. A float64 sum of d squares in any order is off by at most
the factor 1 ± d u/(1 - d u), so a row is left alone only where the computed sum of squares is at most R^2 (1 - 2s),
s = (d + 16) u, and the true norm is then at most R. Every other row is multiplied by R (1 - 2s)/norm, whose own rounding
(the sum, a square root, a division and two products) is below s: the true norm is again at most R, and a second pass
leaves the row alone. A row of norm exactly R is thus shortened by a relative 2s, 3e-14 at d = 100.

Rows are first scaled by a power of two, which is exact, so that 1e308 does not overflow and 1e-300 does not vanish.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bound_rows(matrix: Floats, data_norm: float, rows: str = "clip") -> NDArray[np.bool_]:
    """Bring every row of a finite matrix, in place, to a norm of at most `data_norm`; return which were too long.

    rows: "clip" shortens the rows that are too long; "normalise" brings every row but 0 to `data_norm` (less 2s).
    """
    length = matrix.shape[1]
    with np.errstate(all="ignore"):
        largest = np.maximum(matrix.max(axis=1, initial=0.0), -matrix.min(axis=1, initial=0.0))
        shift = _shift(largest, data_norm, rows)
        scaled = _scaled(matrix, shift[:, None])
        squares = np.einsum("ij,ij->i", scaled, scaled)
        change, factor, long = _factors(squares, shift, data_norm, rows, length)
        matrix[change] = scaled[change] * factor[change, None]
    return long


def bound_sparse_rows(matrix: Any, data_norm: float, rows: str = "clip") -> NDArray[np.bool_]:
    """Do the same to a finite CSR matrix, in place."""
    counts = np.diff(matrix.indptr)
    filled = counts > 0
    starts = matrix.indptr[:-1][filled]
    largest, squares = np.zeros(len(counts)), np.zeros(len(counts))
    with np.errstate(all="ignore"):
        if filled.any():
            largest[filled] = np.maximum.reduceat(np.abs(matrix.data), starts)
        shift = _shift(largest, data_norm, rows)
        scaled = np.ldexp(matrix.data, -np.repeat(shift, counts))
        if filled.any():
            squares[filled] = np.add.reduceat(scaled * scaled, starts)
        change, factor, long = _factors(squares, shift, data_norm, rows, matrix.shape[1])
        entries = np.repeat(change, counts)
        matrix.data[entries] = scaled[entries] * np.repeat(factor, counts)[entries]
    return long


def _scaled(matrix: Floats, shift: NDArray[np.int32]) -> Floats:
    """Matrix 2^-shift, exactly: as a product, which is faster, wherever the power of two is a float."""
    if np.abs(shift).max(initial=0) < 1000:
        return matrix * np.ldexp(1.0, -shift)
    return np.asarray(np.ldexp(matrix, -shift))


def _shift(largest: Floats, data_norm: float, rows: str) -> NDArray[np.int32]:
    """Exponent of two by which each row is scaled down: its own size, for clipping at least that of the bound."""
    own = np.frexp(largest)[1].astype(np.int32)
    return own if rows == "normalise" else np.maximum(own, np.int32(math.frexp(data_norm)[1]))


def _factors(
    squares: Floats, shift: NDArray[np.int32], data_norm: float, rows: str, length: int
) -> tuple[NDArray[np.bool_], Floats, NDArray[np.bool_]]:
    """Return which rows change, what their scaled form is multiplied by, and which were too long."""
    fraction, exponent = math.frexp(data_norm)
    # s of the module's description; the exponent is clipped because 2^1200 has no float, and is not needed.
    slack = (length + 16) * 2.0**-53
    limit = np.ldexp(fraction * fraction, 2 * np.clip(exponent - shift, -600, 600))
    long = squares > limit * (1 - 2 * slack)
    factor = data_norm * (1 - 2 * slack) / np.sqrt(squares)
    return (squares > 0) if rows == "normalise" else long, factor, long
