"""What families with a Gamma prior share: the distribution function of a sum, and the parameter with its prior."""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.queries.statistics import cell_masses
from sfumato.queries.statistics.posterior import Parameter
from sfumato.queries.statistics.rates import FAR, MORE


def gamma_below(shape: Array, x: Array) -> Array:
    """Regularised incomplete Gamma function, set to 0 and 1 where it is within 1e-16 of them."""
    from scipy.special import gammainc

    shape, x = np.broadcast_arrays(shape, x)
    gap = x - shape
    far = FAR * np.sqrt(shape) + MORE
    share = np.where(gap > far, 1.0, 0.0)
    near = (np.abs(gap) <= far) & (x > 0)
    share[near] = gammainc(shape[near], x[near])
    return share


def gamma_parameter(
    shape: float, rate: float, draws: Array, log: bool, limits: tuple[float, float] | None
) -> Parameter:
    """Theta with a Gamma prior, in the root or the log, over a range that holds the prior's mass and the draws."""
    from scipy.special import gammaln
    from scipy.stats import gamma

    constant = shape * math.log(rate) - gammaln(shape)
    low = min(float(gamma.ppf(1e-13, shape)) / rate, float(draws.min()) / 8)
    high = max(float(gamma.isf(1e-13, shape)) / rate, 8 * float(draws.max()))
    low, high = limits or (max(low, 1e-290) if log else 0.0, high)
    one = np.ones(1)

    def below(x: float) -> float:
        top = math.exp(x) if log else x * x
        return float(cell_masses.log_gamma_mass(shape * one, rate * one, 0 * one, top * one)[0, 0])

    if log:
        return Parameter(
            math.log(low),
            math.log(high),
            lambda y: np.asarray(np.exp(y)),
            lambda y: np.asarray(constant + shape * y - rate * np.exp(y)),
            None if limits else below,
        )

    def log_prior(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(constant + math.log(2) + (2 * shape - 1) * np.log(x) - rate * x * x)

    return Parameter(0.0, math.sqrt(high), lambda x: np.asarray(x * x), log_prior, below)
