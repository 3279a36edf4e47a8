"""Products of rows with parameters that do not depend, not even by a rounding, on where a row stands.

A matrix product of a library adds up the terms of a row in an order that may depend on the number of rows and on the row's place
among them. Where each record is one row at a fixed place that changes nothing. Where persons have several rows it does: a person
with one row more moves the rows of the others, and a score that is rounded otherwise may cross a kink of the loss, or the middle
between two whole numbers. So a replaced person would change what others contribute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Products that are held at a time: they stay in a core's cache.
_HELD = 1 << 15


def row_products(rows: Any, points: Array, steady: bool) -> Array:
    """<x_i, theta_k> for rows (n, d), dense or CSR, and points (k, d), shaped (n, k).

    `steady`: every product is the sum of its terms from the first coordinate to the last, wherever its row stands; coordinate by
    coordinate, since products and sums of single numbers are rounded alike everywhere. Products of CSR rows are such sums.
    """
    if not steady or not isinstance(rows, np.ndarray):
        return np.asarray(rows @ points.T)
    products = np.zeros((len(rows), len(points)))
    step = max(1, _HELD // max(1, len(points)))
    for first in range(0, len(rows), step):
        part, some = products[first : first + step], rows[first : first + step]
        term = np.empty_like(part)
        for j in range(points.shape[1]):
            np.multiply(some[:, j, None], points[:, j], out=term)
            part += term
    return products
