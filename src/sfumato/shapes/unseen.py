"""Directions of two columns in which the rows hardly vary: there the posterior is given the prior's own law."""

from __future__ import annotations

import numpy as np

from sfumato.shapes.curvature import cleaned, pairs
from sfumato.shapes.published import Array, Published

# A direction of two columns is left as it is unless the rows vary in it by less than half of what its neighbours suggest.
SEEN = 0.25
_TINY = 1e-300


def unseen(published: Published, mean: Array, covariance: Array) -> tuple[Array, Array]:
    """The posterior with the prior's own law along directions of two columns in which the rows hardly vary.

    Such a direction is mixed with others in every noisy eigenvector, so that its measurement seems as good as theirs.
    """
    for vector, own, smooth in pairs(published):
        missing = max(0.0, 1 - own / smooth) ** 2 if smooth > 0 else 0.0
        precision = float(vector @ published.precision @ vector)
        if precision <= 0 or missing < SEEN or curved(published, vector) > 0.5 * smooth:
            continue
        away = float(vector @ (mean - published.centre))
        mean = mean - missing * away * vector
        lacking = max(0.0, 1 / precision - float(vector @ covariance @ vector))
        covariance = covariance + missing * lacking * np.outer(vector, vector)
    return mean, covariance


def curved(published: Published, vector: Array) -> float:
    """The moment of the rows along a direction that the released curvature shows, less its noise's deviation.

    The curvature has noise of its own: where it says that rows vary, a small moment was chance. On average it is a common multiple
    of the moments.
    """
    q, own = published.vectors, np.linalg.solve(published.matrix, vector)
    mapped = published.matrix.T @ (q * cleaned(published)) @ q.T @ published.matrix
    share = float(np.trace(published.curvature)) / max(float(np.trace(mapped)), _TINY)
    noise = published.curvature_noise * float(own @ own)
    return (float(own @ published.curvature @ own) - noise) / max(share, _TINY)
