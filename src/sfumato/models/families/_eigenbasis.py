"""Eigenvectors of a public matrix, the same on every machine.

A price is computed again wherever a release is verified, so it must not depend on a linear algebra library: cyclic Jacobi
rotations use sums and products of floats alone, element by element. The vectors come out as floats and are not exactly
orthogonal; they are used as the public matrix that they are, and `stretch` bounds its norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.families.family import Array

# Most sweeps over all pairs of coordinates. Cyclic Jacobi converges quadratically, so that ten are usually enough.
_SWEEPS = 60
# Off-diagonal entries below this share of the largest entry count as 0: far below a float's rounding of 2^-53.
_NEGLIGIBLE = 2.0**-60

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Eigenbasis:
    """Eigenvalues, the rows of V (a vector is V z), and a bound on the spectral norm of V."""

    values: tuple[float, ...]
    rows: Matrix
    stretch: float


@lru_cache(maxsize=32)
def eigenbasis(matrix: Matrix) -> Eigenbasis:
    """Of a symmetric, positive definite matrix; anything else is refused."""
    given = np.array(matrix, dtype=np.float64)
    if not np.array_equal(given, given.T):
        gap = float(np.abs(given - given.T).max())
        raise ArgumentError(f"known_precision must be symmetric; got entries that differ by {gap:.3g}.")
    values, turned = _jacobi(given)
    # Bound on the rounding error of all rotations, in units of 2^-53 of the Frobenius norm.
    error = 64 * (len(given) + 1) * 2.0**-53 * math.sqrt(math.fsum(x * x for row in matrix for x in row))
    if min(values) <= error:
        raise ArgumentError(
            f"known_precision must be positive definite beyond rounding error ({error:.3g}); "
            f"got a smallest eigenvalue of {min(values):.6g}. Add a multiple of the identity."
        )
    return Eigenbasis(values, tuple(tuple(row) for row in turned.T.tolist()), norm_bound(turned))


def _jacobi(matrix: Array) -> tuple[tuple[float, ...], Array]:
    """Eigenvalues and, as rows, eigenvectors: pairs of coordinates are rotated until all off-diagonal entries are negligible."""
    work, turned = matrix.copy(), np.eye(len(matrix))
    least = _NEGLIGIBLE * float(np.abs(matrix).max())
    for _ in range(_SWEEPS):
        rotated = False
        for p in range(len(work) - 1):
            for q in range(p + 1, len(work)):
                if abs(work[p, q]) > least:
                    _rotate(work, turned, p, q)
                    rotated = True
        if not rotated:
            break
    return tuple(np.diag(work).tolist()), turned


def _rotate(work: Array, turned: Array, p: int, q: int) -> None:
    slope = (float(work[q, q]) - float(work[p, p])) / (2.0 * float(work[p, q]))
    # The smaller root of t^2 + 2 slope t = 1: the rotation by at most 45 degrees, which is the stable one.
    tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(slope * slope + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for first, second in ((work[p], work[q]), (work[:, p], work[:, q]), (turned[p], turned[q])):
        held = cosine * first - sine * second
        second[:] = sine * first + cosine * second
        first[:] = held


def norm_bound(turned: Array) -> float:
    """Bound on the spectral norm: |V|^2 = |V^T V| is at most the largest row sum of absolute values of V^T V.

    An entry is a sum of d products: (d + 1) units of rounding error relative to the sum of absolute values.
    """
    size = len(turned)
    gram, absolute = np.zeros((size, size)), np.zeros((size, size))
    for column in turned.T:
        product = np.multiply.outer(column, column)
        gram += product
        absolute += np.abs(product)
    bounds = np.abs(gram) + (size + 2) * 2.0**-53 * absolute
    # The last factor covers the rounding of the sum and of the root.
    return math.sqrt(max(math.fsum(row) for row in bounds.tolist())) * (1 + 2.0**-50)
