"""Rates of events: the sum of clipped counts behind draws of a Gamma law with a public rate.

Records that the bound clips are counted as clipped: the sum has the moments of clipped counts, so a rate near the bound is
not read as if its records had been seen whole.

Noisy statistics release the squares of the counts too. Where these spread more than Poisson counts by a factor f, the sum S of n
counts of mean theta is read as f times a Poisson number of mean n theta/f, which has the variance f n theta.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families.gamma_poisson import GammaPoisson
from sfumato.queries.statistics import cell_masses
from sfumato.queries.statistics.gamma import gamma_below, gamma_parameter
from sfumato.queries.statistics.posterior import Coordinate, Statistic
from sfumato.queries.statistics.protocol import Numbers

# Steps towards the rate of clipped counts: all but a few counts at the bound need fewer.
_CLIPPED = 20


def dispersion(model: GammaPoisson, n: int, events: float, squares: float, deviation: float) -> float:
    """How many times the variance of Poisson counts the counts spread, from noisy totals: from 1 to `bound`.

    The spread about the mean is that of the squares less n times the square of the mean. Its own noise is E, and where that hides
    it the factor is larger: a variance V + D^2 that is known to within E, D the noise of the sum, has quantiles as wide as those of
    a variance that is larger by about E^2/(V + D^2) (Welch and Satterthwaite, at levels near .90).
    """
    mean = min(max(events, 0.0) / n, float(model.bound))
    away, half = mean - 0.5 * model.bound, 0.5 * model.bound
    spread = max(half * squares - n * away**2 + deviation**2 / n, 0.0)
    hidden = deviation * math.hypot(half, 2 * away)
    spread += hidden**2 / (spread + deviation**2)
    rate = np.array([mean])
    for _ in range(_CLIPPED):  # the rate whose clipped counts have this mean
        rate = rate + mean - model._moments(rate)[0]
    poisson = n * float(model._moments(rate)[1][0])
    return float(np.clip(spread / max(poisson, 1e-300), 1.0, max(1.0, model.bound)))


def event_statistic(
    model: GammaPoisson,
    prior: GammaPoisson,
    n: int,
    numbers: Numbers,
    values: Array,
    events: float | None = None,
    squares: float = 0.0,
) -> Statistic:
    """The sum of the counts behind draws of a rate: Poisson counts, or with noisy `events` and `squares` as spread as these say."""
    from scipy.special import ndtr

    power, strength, noise, grid = numbers
    deviation = noise * model.sensitivity
    wider = 1.0 if events is None else dispersion(model, n, events, squares, deviation)
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
        plain = 1 - gamma_below((np.maximum(k, 0.0) + 0.5) / wider + 0.5, n * mean / wider)
        normal = ndtr((k + 0.5 - n * mean) / np.sqrt(np.maximum(wider * n * variance, 1e-12)))
        share = np.where(variance >= 0.99 * mean, plain, normal)
        return np.asarray(np.where(k < 0, 0.0, np.where(k >= most, 1.0, share)), dtype=np.float64)

    root = Coordinate(lambda s: np.asarray(np.sqrt(s)), lambda x: np.asarray(x * x))
    parameter = gamma_parameter(prior.shape, prior.rate, values, False, None)

    def rows_mean(total: Array) -> Array:
        return np.asarray((prior.shape + total) / (prior.rate + n))

    return Statistic((0.0, most), True, root, parameter, log_law, below, rows_mean, deviation)
