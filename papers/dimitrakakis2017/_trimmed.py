"""One record under a prior Exp(lambda) trimmed to [c1, c2], by quadrature: the true constants of Assumption 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Points of the Gauss-Legendre rule: the integrands are smooth, so that 200 give all digits of a float.
_POINTS = 200


class Setting(NamedTuple):
    """lambda, c1, c2, the bound B on the data and the known centre mu."""

    rate: float
    lower: float
    upper: float
    bound: float
    mean: float = 0.0


class Truth(NamedTuple):
    """C, and the largest c at L0: what the lemmas may claim at most (c) and must claim at least (C)."""

    ratio: float
    concentration: float


def exponential(theta: Array, x: float, mean: float) -> Array:
    """Log density of exponential data."""
    return np.asarray(np.log(theta) - theta * x)


def laplace(theta: Array, x: float, mean: float) -> Array:
    """Log density of Laplace data, theta the inverse scale."""
    return np.asarray(np.log(theta / 2) - theta * abs(x - mean))


def normal(theta: Array, x: float, mean: float) -> Array:
    """Log density of normal data, theta the precision."""
    return np.asarray(0.5 * np.log(theta / (2 * math.pi)) - theta * (x - mean) ** 2 / 2)


def truth(log_density: Callable[[Array, float, float], Array], at: Setting, slope: float) -> Truth:
    """C over a grid of records and parameters that holds the extremes; c where l(theta) = slope times theta."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = (at.upper - at.lower) / 2
    theta = at.lower + half * (nodes + 1)
    prior = weights * np.exp(-at.rate * (theta - at.lower))
    prior /= prior.sum()
    ends = np.linspace(at.lower, at.upper, 401)
    left = 0.0 if log_density is exponential else -at.bound
    ratio = 0.0
    for x in np.unique(np.append(np.linspace(left, at.bound, 101), np.clip(at.mean, left, at.bound))):
        marginal = prior @ np.exp(log_density(theta, float(x), at.mean))
        ratio = max(ratio, float(np.exp(log_density(ends, float(x), at.mean)).max() / marginal))
    above = np.linspace(at.lower, at.upper, 4001)[1:-1]
    whole = math.expm1(-at.rate * (at.upper - at.lower))
    tail = 1 - np.expm1(-at.rate * (above - at.lower)) / whole
    return Truth(ratio, float(np.min(-np.log(tail) / (slope * (above - at.lower)))))


def lipschitz_slope(at: Setting) -> float:
    """Largest |(x-mu)^2 - (y-mu)^2| / (2 (|x^2-y^2| + 2|x-y|)) over the records: l(theta) of normal data over theta."""
    x = np.linspace(-at.bound, at.bound, 401)
    a, b = x[:, None], x[None]
    rho = np.abs(a * a - b * b) + 2 * np.abs(a - b)
    gap = np.abs((a - at.mean) ** 2 - (b - at.mean) ** 2) / 2
    return float(np.max(gap[rho > 0] / rho[rho > 0]))
