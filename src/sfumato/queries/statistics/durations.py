"""Durations, inverse scales and precisions: the sum of clipped statistics behind draws of a Gamma law with a public shape."""

from __future__ import annotations

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.queries.statistics import cell_masses
from sfumato.queries.statistics.gamma import gamma_below, gamma_parameter
from sfumato.queries.statistics.posterior import Coordinate, Statistic
from sfumato.queries.statistics.protocol import Numbers


def duration_statistic(model: GammaRate, prior: GammaRate, n: int, numbers: Numbers, values: Array) -> Statistic:
    """The sum of the records' statistics, a Gamma law with the moments of clipped records."""
    power, strength, noise, grid = numbers
    law = model.public_law(n, power, strength, grid)
    low, high = law.geometry.ends(values)
    most, start = n * model.sensitivity, strength * model.rate
    limits = None if model.lower is None or model.upper is None else (model.lower, model.upper)

    def log_law(total: Array) -> Array:
        rate = start + power * total
        shape = np.full_like(rate, law.shape)
        masses = cell_masses.log_gamma_mass(shape, rate, low, high).sum(axis=1)
        inside = cell_masses.log_gamma_inside(shape, rate, *limits) if limits else np.zeros_like(rate)
        return np.asarray(masses - len(low) * inside, dtype=np.float64)

    def below(theta: Array, s: Array) -> Array:
        mean, variance = model.moments(theta)
        spread = np.maximum(variance, 1e-12 * mean * mean)
        share = gamma_below(n * mean * mean / spread, np.maximum(s, 0.0) * mean / spread)
        return np.asarray(np.where(s >= most * (1 - 1e-12), 1.0, share), dtype=np.float64)

    def rows_mean(total: Array) -> Array:
        """Mean of the posterior, restricted to the limits if any, that this total would give without privacy."""
        shape, rate = np.full_like(total, prior._shape_after(n, 1.0, 1.0)), prior.rate + total
        plain = shape / rate
        if limits is None:
            return np.asarray(plain)
        inside = cell_masses.log_gamma_inside
        kept = inside(shape + 1, rate, *limits) - inside(shape, rate, *limits)
        return np.asarray(np.clip(plain * np.exp(kept), *limits))

    scale = max(start / power, 1e-9 * most)
    deviation = noise * model.sensitivity
    logarithm = Coordinate(lambda s: np.asarray(np.log1p(s / scale)), lambda x: np.asarray(scale * np.expm1(x)))
    parameter = gamma_parameter(prior.shape, prior.rate, values, True, limits)
    return Statistic((0.0, most), False, logarithm, parameter, log_law, below, rows_mean, deviation)
