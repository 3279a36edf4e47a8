"""In which cell the residual of a record lies: the one function of a record that a rounding may move as a whole.

Everywhere else a rounding moves a term by little, and its price covers that. A residual that is rounded otherwise may lie in
another cell. So z.theta is added up from the first coordinate to the last, as products and sums of single floats, which are
rounded alike on every machine and wherever a row stands (`models.row_products`), and no other record decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.parts import Piece
from sfumato.models.row_products import row_products

Array = NDArray[np.float64]
# Shares are shortened by eight units in the last place, which covers the roundings of their products and sums over a person.
SHORTER = 1.0 - 8 * 2.0**-52


def cells(piece: Piece, intercept: float, theta: Array, edges: Array) -> Array:
    """Shares of the records of one piece in each cell of y - z.theta; one that is not a number lies in none."""
    width = piece.rows.shape[1]
    reached = row_products(piece.rows, theta[None, :width], steady=True)[:, 0]
    residuals = piece.labels - (reached + intercept * theta[width] if intercept else reached)
    known = ~np.isnan(residuals)
    places = np.searchsorted(edges, residuals[known], side="left")
    shares = None if piece.shares is None else (piece.shares * SHORTER)[known]
    return np.bincount(places, shares, len(edges) + 1).astype(np.float64)
