"""Symmetric matrices as vectors: the diagonal, then sqrt(2) times the entries above it, row by row.

In these coordinates the Euclidean norm is the Frobenius norm of the matrix, so that independent normal noise of deviation a on
each is the Gaussian mechanism for it. On the matrix the noise has variance a^2 on the diagonal and a^2/2 off it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def length(dimension: int) -> int:
    """Number of coordinates of a symmetric matrix."""
    return dimension * (dimension + 1) // 2


def packed(matrix: Array) -> Array:
    """The coordinates of a symmetric matrix."""
    above = np.triu_indices(len(matrix), 1)
    return np.concatenate([np.diag(matrix), math.sqrt(2) * matrix[above]])


def unpacked(coordinates: Array, dimension: int) -> Array:
    """The symmetric matrix with these coordinates."""
    matrix = np.zeros((dimension, dimension))
    matrix[np.triu_indices(dimension, 1)] = coordinates[dimension:] / math.sqrt(2)
    matrix += matrix.T
    matrix[np.diag_indices(dimension)] = coordinates[:dimension]
    return matrix


def even(matrix: Array) -> Array:
    """The symmetric part: products of matrices are symmetric only up to rounding."""
    return np.asarray(0.5 * (matrix + matrix.T))
