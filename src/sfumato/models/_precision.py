"""Precision of a Gaussian prior: a number, a diagonal or a matrix, with its extreme eigenvalues on the safe side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models._prior import FloatArray, numbers

Precision = float | tuple[float, ...] | tuple[tuple[float, ...], ...]


def read_precision(precision: Any) -> tuple[Precision, float, float]:
    """Return the precision as numbers and tuples, its smallest eigenvalue rounded down and its largest rounded up."""
    array = numbers("precision", precision)
    if array.ndim == 0:
        number = _validate.positive("precision", float(array))
        return number, number, number
    if array.size == 0 or array.ndim > 2:
        raise ArgumentError(f"precision must be a number, a vector or a matrix; got an array of shape {array.shape}.")
    if array.ndim == 1:
        diagonal = tuple(_validate.positive(f"precision[{i}]", float(entry)) for i, entry in enumerate(array))
        return diagonal, min(diagonal), max(diagonal)
    lowest, highest = _extreme_eigenvalues(array)
    return tuple(tuple(map(float, row)) for row in array), lowest, highest


def _extreme_eigenvalues(matrix: FloatArray) -> tuple[float, float]:
    """Bounds on the eigenvalues of a symmetric matrix, each off by more than the solver's rounding error.

    A backward stable solver returns the eigenvalues of a matrix within p(d) 2^-53 |P| of P, and by Weyl's inequality
    eigenvalues move by no more than that; p(d) = 16 (d + 1) with the Frobenius norm is far above the error in practice.
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise ArgumentError(f"precision must be a square matrix; got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise ArgumentError("precision must be a matrix of finite numbers; got one with NaN or infinity.")
    if not np.array_equal(matrix, matrix.T):
        gap = float(np.abs(matrix - matrix.T).max())
        raise ArgumentError(f"precision must be symmetric; got entries that differ by {gap:.3g}. Pass (P + P.T) / 2.")
    values = np.linalg.eigvalsh(matrix)
    error = 16 * (len(matrix) + 1) * 2.0**-53 * float(np.linalg.norm(matrix))
    lowest, highest = float(values[0]) - error, float(values[-1]) + error
    if lowest <= 0:
        raise ArgumentError(
            f"precision must be positive definite beyond rounding error ({error:.3g}); "
            f"got a smallest eigenvalue of {float(values[0]):.6g}. Add a multiple of the identity."
        )
    return lowest, highest
