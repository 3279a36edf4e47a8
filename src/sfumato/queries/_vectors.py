"""Normal vectors and log odds: the hidden sums of the families whose laws are not Beta or Gamma.

For vectors everything is normal, so the posterior is in closed form. In the coordinates of the public basis, with S the sum
over the records of (x - mean) and y = (mean of the draws - mean) P/(r a),

    y = S + N(0, P/(N r^2 a^2) + noise^2),    mean + S/n ~ N(theta, 1/(n a)),    theta ~ N(m', 1/l').

Records that were shortened to the radius are taken as they are.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.families import _logit
from sfumato.models.families._vectors import Vectors
from sfumato.models.families.logit_normal import LogitNormal
from sfumato.queries._coordinates import arcsine, binomial_below, clipped_noise
from sfumato.queries.hidden import Parameter, Statistic

# Deviations that a sum must keep from the edge of what n records can sum to, for its noise to be read as normal.
_CLEAR = 6.0


def vector_law(
    model: Vectors, prior: Vectors, n: int, numbers: tuple[float, float, float], draws: Array, sampling: bool
) -> tuple[Array, Array]:
    """Mean and standard deviation of each coordinate, given draws (N, d): of theta, or of its mean given the rows."""
    power, strength, noise = numbers
    deviation, count = noise * model.sensitivity, len(draws)
    turn = np.eye(model.size) if model.basis is None else np.array(model.basis)
    a, own, start = np.array(model.curvatures), np.array(model.precisions), np.array(model.start) @ turn
    precision = strength * own + power * n * a
    y = (draws.mean(axis=0) @ turn - start) * precision / (power * a)
    error = precision / (count * (power * a) ** 2) + deviation**2
    if deviation > 0:
        _check_inside(model, n, float(np.linalg.norm(y + n * start)), float(np.sqrt(error.sum())))
    held, centre = np.array(prior.precisions), np.array(prior.start) @ turn
    seen, spread = start + y / n, error / n**2
    if sampling:
        total = held + 1 / (1 / (n * a) + spread)
        mean, variance = (held * centre + (total - held) * seen) / total, 1 / total
    else:
        # The rows' mean: from the prior N(centre, 1/held + 1/(n a)); then the posterior mean that it leads to.
        before = 1 / (1 / held + 1 / (n * a))
        after = before + 1 / spread
        rows, width = (before * centre + seen / spread) / after, 1 / after
        share = n * a / (held + n * a)
        mean, variance = centre + share * (rows - centre), share**2 * width
    return mean @ turn.T, np.sqrt(variance @ (turn.T**2))


def _check_inside(model: Vectors, n: int, norm: float, error: float) -> None:
    if norm + _CLEAR * error > n * model.radius:
        raise ArgumentError(
            "the noisy sum lies where it may have been moved into the ball of what the records can sum to, and its noise "
            "cannot be read off: no interval. Use mechanism='diffused', or a larger radius."
        )


def log_odds_statistic(
    model: LogitNormal, prior: LogitNormal, n: int, numbers: tuple[float, float, float], values: Array
) -> Statistic:
    """The number of ones behind draws of log odds."""
    power, strength, noise = numbers

    def log_law(count: Array) -> Array:
        natural = model.natural(count[:, None], n, power, strength)
        points, own = _logit.nodes(natural)
        integral = (_logit.log_density(natural, points) - own)[:, :1]
        at = np.broadcast_to(values, (len(count), len(values)))
        return np.asarray((_logit.log_density(natural, at) - integral).sum(axis=1))

    def said(count: Array) -> Array:
        t, logs = _logit.nodes(prior.natural(count[:, None], n))
        weights = np.exp(logs) * _logit.widths(t)
        return np.asarray((weights * t).sum(axis=1) / weights.sum(axis=1))

    held = prior.natural(np.zeros((1, 1)), 0)
    low, high = _logit.span(prior.ones + prior.zeros, prior.precision, prior.centre, 9.0)
    parameter = Parameter(low, high, np.asarray, lambda x: _logit.log_density(held, x[None, :])[0])
    binomial = binomial_below(n)
    deviation = noise * model.sensitivity
    return Statistic(
        (0.0, float(n)),
        True,
        arcsine(n),
        parameter,
        log_law,
        lambda t, s: binomial(1 / (1 + np.exp(-t)), s),
        said,
        clipped_noise(deviation),
        deviation,
    )


def normal_ends(mean: Array, deviation: Array, level: float) -> Array:
    """Equal-tailed intervals (2, d) of normal laws."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + 0.5 * level)) * deviation
    return np.stack([mean - half, mean + half])


def bounded_mean(
    estimate: float, n: int, bounds: tuple[float, float], deviation: float, level: float, sampling: bool
) -> tuple[float, float]:
    """Interval for a mean of bounded values, with nothing assumed of their spread: `deviation` is the noise of the total.

    In units of the range the estimate is N(m, deviation^2/n^2) about the rows' mean m; a mean mu in [0, 1] has a variance of
    at most mu (1 - mu) (Bhatia and Davis), so sampling adds at most mu (1 - mu)/n. The interval is every mu that is not
    rejected, |estimate - mu| <= z sqrt(deviation^2/n^2 + mu (1 - mu)/n): a quadratic, as in Wilson's interval.
    """
    from scipy.special import ndtri

    low, high = bounds
    seen, z = (estimate - low) / (high - low), float(ndtri(0.5 + 0.5 * level))
    extra, added = (z * deviation / n) ** 2, z * z / n if sampling else 0.0
    # (1 + added) mu^2 - (2 seen + added) mu + seen^2 - extra <= 0
    centre, lead = seen + 0.5 * added, 1 + added
    root = math.sqrt(max(centre**2 - lead * (seen**2 - extra), 0.0))
    ends = [min(max((centre + sign * root) / lead, 0.0), 1.0) for sign in (-1, 1)]
    return low + (high - low) * ends[0], low + (high - low) * ends[1]
