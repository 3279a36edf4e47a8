"""Rates of events: the sum of clipped counts behind draws of a Gamma law with a public rate.

Records that the bound clips are counted as clipped: the sum has the moments of clipped counts, so a rate near the bound is
not read as if its records had been seen whole.
"""

from __future__ import annotations

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.queries.statistics import cell_masses
from sfumato.queries.statistics.gamma import gamma_below, gamma_parameter
from sfumato.queries.statistics.posterior import Coordinate, Statistic
from sfumato.queries.statistics.protocol import Numbers


def event_statistic(model: GammaPoisson, prior: GammaPoisson, n: int, numbers: Numbers, values: Array) -> Statistic:
    """The sum of the counts behind draws of a Poisson rate."""
    from scipy.special import ndtr

    power, strength, noise, grid = numbers
    low, high = model.public_law(n, power, strength, grid).geometry.ends(values)
    most, rate = float(n * model.bound), strength * model.rate + power * n

    def log_law(total: Array) -> Array:
        shape = strength * model.shape + power * total
        return np.asarray(cell_masses.log_gamma_mass(shape, np.full_like(shape, rate), low, high).sum(axis=1))

    def below(theta: Array, s: Array) -> Array:
        """P(sum <= s) of the clipped records of a Poisson law."""
        mean, variance = model._moments(theta)
        k = np.floor(s)
        # P(Poisson(m) <= k) = 1 - P(k + 1, m); where counts are clipped, normal with their moments.
        plain = 1 - gamma_below(np.maximum(k, 0.0) + 1, n * mean)
        normal = ndtr((k + 0.5 - n * mean) / np.sqrt(np.maximum(n * variance, 1e-12)))
        share = np.where(variance >= 0.99 * mean, plain, normal)
        return np.asarray(np.where(k < 0, 0.0, np.where(k >= most, 1.0, share)), dtype=np.float64)

    deviation = noise * model.sensitivity
    root = Coordinate(lambda s: np.asarray(np.sqrt(s)), lambda x: np.asarray(x * x))
    parameter = gamma_parameter(prior.shape, prior.rate, values, False, None)

    def rows_mean(total: Array) -> Array:
        return np.asarray((prior.shape + total) / (prior.rate + n))

    return Statistic((0.0, most), True, root, parameter, log_law, below, rows_mean, deviation)
