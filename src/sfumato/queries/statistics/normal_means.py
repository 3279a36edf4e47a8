"""Normal means: the sum of clipped records behind draws of a normal law with a public deviation."""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families.normal_mean import NormalMean, _clipped_moments
from sfumato.queries.statistics.posterior import Coordinate, Parameter, Statistic
from sfumato.queries.statistics.protocol import Numbers


def mean_statistic(model: NormalMean, prior: NormalMean, n: int, numbers: Numbers, values: Array) -> Statistic:
    """The sum of (x - lower) behind draws of a normal mean; records are clipped to the bounds."""
    from scipy.special import ndtr

    power, strength, noise, _ = numbers
    each = power * model.curvatures[0]
    precision = strength * model.precision + n * each
    width = model.upper - model.lower
    centre, count = float(values.mean()), len(values)

    def log_law(total: Array) -> Array:
        place = model.mean + each * (total + n * (model.lower - model.mean)) / precision
        return np.asarray(-0.5 * count * precision * (centre - place) ** 2)

    def below(theta: Array, s: Array) -> Array:
        mean, variance = _clipped_moments(theta - model.lower, math.sqrt(model.variance), width)
        share = ndtr((s - n * mean) / np.sqrt(np.maximum(n * variance, 1e-12 * width * width)))
        return np.asarray(np.where(s <= 0, 0.0, np.where(s >= n * width, 1.0, share)), dtype=np.float64)

    def rows_mean(total: Array) -> Array:
        held = prior.precision * prior.mean + n * model.curvatures[0] * (model.lower + total / n)
        return np.asarray(held / (prior.precision + n * model.curvatures[0]))

    far = 9 / math.sqrt(prior.precision)  # beyond nine deviations a normal prior has a mass of 2e-19

    def log_prior(x: Array) -> Array:
        return np.asarray(-0.5 * prior.precision * (x - prior.mean) ** 2)

    parameter = Parameter(prior.mean - far, prior.mean + far, np.asarray, log_prior)
    span, plain, deviation = (0.0, n * width), Coordinate(np.asarray, np.asarray), noise * model.sensitivity
    return Statistic(span, False, plain, parameter, log_law, below, rows_mean, deviation)
