"""Log odds with a normal prior: the number of ones behind draws of log odds."""

from __future__ import annotations

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families import _logit
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.queries.statistics.posterior import Parameter, Statistic
from sfumato.queries.statistics.protocol import Numbers
from sfumato.queries.statistics.rates import arcsine, binomial_below

# The prior is read within this many of its deviations; beyond them it has a mass of 2e-19.
_ROOM = 9.0


def log_odds_statistic(model: LogitNormal, prior: LogitNormal, n: int, numbers: Numbers, values: Array) -> Statistic:
    """The number of ones; the cells of the grid are so narrow that the density at a draw stands for its cell."""
    power, strength, noise, _ = numbers

    def log_law(count: Array) -> Array:
        natural = model.natural(count[:, None], n, power, strength)
        points, own = _logit.nodes(natural)
        integral = (_logit.log_density(natural, points) - own)[:, :1]
        at = np.broadcast_to(values, (len(count), len(values)))
        return np.asarray((_logit.log_density(natural, at) - integral).sum(axis=1))

    def rows_mean(count: Array) -> Array:
        t, logs = _logit.nodes(prior.natural(count[:, None], n))
        weights = np.exp(logs) * _logit.widths(t)
        return np.asarray((weights * t).sum(axis=1) / weights.sum(axis=1))

    held = prior.natural(np.zeros((1, 1)), 0)
    low, high = _logit.span(prior.ones + prior.zeros, prior.precision, prior.centre, _ROOM)
    parameter = Parameter(low, high, np.asarray, lambda x: _logit.log_density(held, x[None, :])[0])
    binomial = binomial_below(n)

    def below(t: Array, s: Array) -> Array:
        return binomial(1 / (1 + np.exp(-t)), s)

    span, deviation = (0.0, float(n)), noise * model.sensitivity
    return Statistic(span, True, arcsine(n), parameter, log_law, below, rows_mean, deviation)
