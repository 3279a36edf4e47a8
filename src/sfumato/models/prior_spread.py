"""Deviations of linear functions of a parameter under its prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ArgumentError
from sfumato.models._prior import FloatArray
from sfumato.models.priors import Gaussian


def prior_spread(prior: Any, matrix: ArrayLike) -> FloatArray | None:
    """Standard deviations (m,) of matrix @ parameter, sqrt(diag(A P^-1 A')); None for a flat prior.

    That of a prior on a ball or box is the wrapped Gaussian's, without the truncation.
    """
    inner = getattr(prior, "prior", prior)
    if not isinstance(inner, Gaussian):
        return None
    rows, precision = np.atleast_2d(np.asarray(matrix, dtype=np.float64)), np.asarray(inner.precision)
    if precision.ndim and rows.shape[1] != len(precision):
        raise ArgumentError(f"matrix must have {len(precision)} columns, as the prior has; got shape {rows.shape}.")
    spread = np.linalg.solve(precision, rows.T).T if precision.ndim == 2 else rows / precision
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", spread, rows)))
