"""Exact laws that the cases share: nothing here uses the library."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
from scipy import special


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of N(0, 1) against N(mu, 1), in 40 digits."""
    with mpmath.workdps(40):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))


def log_law(log_density: Callable[[np.ndarray], np.ndarray], grid: np.ndarray) -> np.ndarray:
    """Log masses of a density on an even grid."""
    values = log_density(grid)
    return values - special.logsumexp(values)


def hockey_stick(log_p: np.ndarray, log_q: np.ndarray, epsilon: float) -> float:
    """Largest P(A) - e^epsilon Q(A) over events of the grid."""
    return float(np.sum(np.maximum(np.exp(log_p) - math.exp(epsilon) * np.exp(log_q), 0)))


def renyi(log_p: np.ndarray, log_q: np.ndarray, order: float) -> float:
    """Renyi divergence of two laws on one grid."""
    return float(special.logsumexp(order * log_p + (1 - order) * log_q) / (order - 1))


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the L1 distance of two laws."""
    return float(np.abs(p - q).sum() / 2)
