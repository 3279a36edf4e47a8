"""Laws that the paper's bounds are compared with, computed without Sfumato: mpmath, quadrature, sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from scipy import optimize, special

# Digits of the reference values; doubles lose some to cancellation where delta is small.
DIGITS = 50


def normal_delta(epsilon: float, mu: float) -> float:
    """Delta at epsilon between N(0, 1) and N(mu, 1), in 50 digits."""
    with mpmath.workdps(DIGITS):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))


def normal_deltas(epsilon: Any, mu: Any) -> Any:
    """The same for arrays, in doubles: good enough to draw."""
    return special.ndtr(-epsilon / mu + mu / 2) - np.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2))


def normal_mu(epsilon: float, delta: float) -> float:
    """The shift mu at which N(0, 1) and N(mu, 1) have this delta at epsilon."""
    return float(optimize.brentq(lambda mu: normal_delta(epsilon, mu) - delta, 1e-4, 60.0, xtol=1e-13, rtol=1e-13))


def laws(*potentials: Any) -> list[Any]:
    """Probabilities of the cells of an even grid under densities proportional to exp(-potential)."""
    return [special.softmax(-np.asarray(potential)) for potential in potentials]


def hockey_stick(p: Any, q: Any, epsilon: float) -> float:
    """Largest P(A) - e^epsilon Q(A) over events A, for laws on the same cells."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def crossing(difference: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes sign."""
    return float(optimize.brentq(difference, low, high, xtol=1e-12))


def printed_power(epsilon: Any, delta: Any, lipschitz: float = 1.0, precision: float = 1.0) -> Any:
    """(7), Corollary 8(ii) as printed, at every epsilon: the library refuses it where Theorem 7 does not give it."""
    return epsilon / (2 * lipschitz) * np.sqrt(precision / (1 + 2 * np.log(1 / np.asarray(delta))))


def rounds_to(value: float, printed: str) -> bool:
    """Whether a number rounds to the printed digits."""
    mantissa, _, exponent = printed.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(printed)) <= 0.5 * unit * (1 + 1e-9)
