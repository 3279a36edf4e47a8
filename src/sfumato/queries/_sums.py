"""Sums behind draws of Poisson rates, durations, precisions and normal means: hidden statistics with clipped records.

Records that the bounds clip are counted as clipped: sums have the moments of clipped records, so that a parameter near a
bound is not read as if its records had been seen whole.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.models.families.normal_mean import NormalMean, _clipped_moments
from sfumato.models.laws import Gamma
from sfumato.queries import _cells
from sfumato.queries._coordinates import FAR, MORE, clipped_noise
from sfumato.queries.hidden import Coordinate, Parameter, Statistic


def _gamma_below(shape: Array, x: Array) -> Array:
    """Regularised incomplete Gamma function, 0 and 1 where it is to rounding."""
    from scipy.special import gammainc

    shape, x = np.broadcast_arrays(shape, x)
    gap = x - shape
    far = FAR * np.sqrt(shape) + MORE
    found = np.where(gap > far, 1.0, 0.0)
    near = (np.abs(gap) <= far) & (x > 0)
    found[near] = gammainc(shape[near], x[near])
    return found


def gamma_parameter(
    shape: float, rate: float, draws: Array, log: bool, limits: tuple[float, float] | None
) -> Parameter:
    """Theta with a Gamma prior, in the root or the log, as far as prior and draws together can reach."""
    from scipy.special import gammaln
    from scipy.stats import gamma

    constant = shape * math.log(rate) - gammaln(shape)
    low = min(float(gamma.ppf(1e-13, shape)) / rate, float(draws.min()) / 8)
    high = max(float(gamma.isf(1e-13, shape)) / rate, 8 * float(draws.max()))
    low, high = limits or (max(low, 1e-290) if log else 0.0, high)
    one = np.ones(1)

    def below(x: float) -> float:
        top = math.exp(x) if log else x * x
        return float(_cells.log_gamma_mass(shape * one, rate * one, 0 * one, top * one)[0, 0])

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


def poisson_statistic(
    model: GammaPoisson, prior: GammaPoisson, n: int, numbers: tuple[float, float, float], values: Array
) -> Statistic:
    """The sum of the counts behind draws of a Poisson rate; clipped counts have their own moments."""
    from scipy.special import ndtr

    power, strength, noise = numbers
    law = model.law([Fraction(0)], n, power, strength)
    low, high = law.geometry.ends(values)
    most, rate = float(n * model.bound), strength * model.rate + power * n

    def log_law(total: Array) -> Array:
        shape = strength * model.shape + power * total
        return np.asarray(_cells.log_gamma_mass(shape, np.full_like(shape, rate), low, high).sum(axis=1))

    def below(theta: Array, s: Array) -> Array:
        """P(sum <= s) of the records of a Poisson law, clipped as they are."""
        mean, variance = model._moments(theta)
        k = np.floor(s)
        # P(Poisson(m) <= k) = 1 - P(k + 1, m); where counts are clipped, normal with their moments.
        plain = 1 - _gamma_below(np.maximum(k, 0.0) + 1, n * mean)
        normal = ndtr((k + 0.5 - n * mean) / np.sqrt(np.maximum(n * variance, 1e-12)))
        found = np.where(variance >= 0.99 * mean, plain, normal)
        return np.asarray(np.where(k < 0, 0.0, np.where(k >= most, 1.0, found)), dtype=np.float64)

    deviation = noise * model.sensitivity
    coordinate = Coordinate(lambda s: np.asarray(np.sqrt(s)), lambda x: np.asarray(x * x))
    parameter = gamma_parameter(prior.shape, prior.rate, values, False, None)

    def said(total: Array) -> Array:
        """Mean of the posterior that this total would give without privacy."""
        return np.asarray((prior.shape + total) / (prior.rate + n))

    return Statistic(
        (0.0, most), True, coordinate, parameter, log_law, below, said, clipped_noise(deviation), deviation
    )


def duration_statistic(
    model: GammaRate, prior: GammaRate, n: int, numbers: tuple[float, float, float], values: Array
) -> Statistic:
    """The sum behind draws of an exponential rate, an inverse scale or a precision: its Gamma law, with clipped moments."""
    power, strength, noise = numbers
    law: Gamma = model.law([Fraction(0)], n, power, strength)
    low, high = law.geometry.ends(values)
    most, start = n * model.sensitivity, strength * model.rate
    limits = None if model.lower is None or model.upper is None else (model.lower, model.upper)

    def log_law(total: Array) -> Array:
        rate = start + power * total
        shape = np.full_like(rate, law.shape)
        found = _cells.log_gamma_mass(shape, rate, low, high).sum(axis=1)
        inside = _cells.log_gamma_inside(shape, rate, *limits) if limits else np.zeros_like(rate)
        return np.asarray(found - len(low) * inside, dtype=np.float64)

    def below(theta: Array, s: Array) -> Array:
        mean, variance = model.moments(theta)
        spread = np.maximum(variance, 1e-12 * mean * mean)
        found = _gamma_below(n * mean * mean / spread, np.maximum(s, 0.0) * mean / spread)
        return np.asarray(np.where(s >= most * (1 - 1e-12), 1.0, found), dtype=np.float64)

    def said(total: Array) -> Array:
        """Mean of the posterior, cut to the limits if any, that this total would give without privacy."""
        shape, rate = np.full_like(total, prior._shape_after(n, 1.0, 1.0)), prior.rate + total
        plain = shape / rate
        if limits is None:
            return np.asarray(plain)
        kept = _cells.log_gamma_inside(shape + 1, rate, *limits) - _cells.log_gamma_inside(shape, rate, *limits)
        return np.asarray(np.clip(plain * np.exp(kept), *limits))

    scale = max(start / power, 1e-9 * most)
    coordinate = Coordinate(lambda s: np.asarray(np.log1p(s / scale)), lambda x: np.asarray(scale * np.expm1(x)))
    parameter = gamma_parameter(prior.shape, prior.rate, values, True, limits)
    deviation = noise * model.sensitivity
    return Statistic(
        (0.0, most), False, coordinate, parameter, log_law, below, said, clipped_noise(deviation), deviation
    )


def mean_statistic(
    model: NormalMean, prior: NormalMean, n: int, numbers: tuple[float, float, float], values: Array
) -> Statistic:
    """The sum of (x - lower) behind draws of a normal mean; records are clipped to the bounds."""
    from scipy.special import ndtr

    power, strength, noise = numbers
    each = power * model.curvatures[0]
    precision = strength * model.precision + n * each
    width = model.upper - model.lower
    centre, count = float(values.mean()), len(values)

    def log_law(total: Array) -> Array:
        place = model.mean + each * (total + n * (model.lower - model.mean)) / precision
        return np.asarray(-0.5 * count * precision * (centre - place) ** 2)

    def below(theta: Array, s: Array) -> Array:
        mean, variance = _clipped_moments(theta - model.lower, math.sqrt(model.variance), width)
        found = ndtr((s - n * mean) / np.sqrt(np.maximum(n * variance, 1e-12 * width * width)))
        return np.asarray(np.where(s <= 0, 0.0, np.where(s >= n * width, 1.0, found)), dtype=np.float64)

    def said(total: Array) -> Array:
        held = prior.precision * prior.mean + n * model.curvatures[0] * (model.lower + total / n)
        return np.asarray(held / (prior.precision + n * model.curvatures[0]))

    far = 9 / math.sqrt(prior.precision)
    parameter = Parameter(
        prior.mean - far,
        prior.mean + far,
        np.asarray,
        lambda x: np.asarray(-0.5 * prior.precision * (x - prior.mean) ** 2),
    )
    coordinate = Coordinate(np.asarray, np.asarray)
    deviation = noise * model.sensitivity
    return Statistic(
        (0.0, n * width), False, coordinate, parameter, log_law, below, said, clipped_noise(deviation), deviation
    )
