"""Rates: the number of successes behind draws of Beta(a, b).

The hidden count is K ~ Binomial(trials, theta); given K a draw follows Beta(s alpha + r K, s beta + r (trials - K)) with power
r and strength s, perhaps restricted to [floor, 1 - floor], and is known up to its cell of the grid of rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families._rate import Rate
from sfumato.queries.statistics import cell_masses
from sfumato.queries.statistics.posterior import CELLS, Coordinate, Parameter, Statistic
from sfumato.queries.statistics.protocol import REFERENCE, Numbers, Tails

# Beyond nine deviations and 40 more no binomial, Poisson or Gamma law has mass above 1e-16 (Bernstein's inequality).
FAR, MORE = 9.0, 40.0
# Log odds of draws: deviations beyond which a tail is 0 or 1, and the inversion's steps to pi and its points. A law of this
# kind has a mass below 1e-6 beyond the first, and its characteristic function is below 1e-9 at the last point.
_BEYOND, _STEPS, _POINTS = 12.0, 16, 128
# Values of a noisy count, at equal steps of its probability.
_NOISY = 64


def beta_parameter(a: float, b: float, floor: float = 0.0) -> Parameter:
    """Theta = sin(x)^2 with a Beta(a, b) prior, perhaps above a floor."""
    from scipy.special import betaln

    edge = math.asin(math.sqrt(floor))

    def log_prior(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            logs = (2 * a - 1) * np.log(np.sin(x)) + (2 * b - 1) * np.log(np.cos(x))
        return np.asarray(logs + math.log(2) - betaln(a, b), dtype=np.float64)

    def below(first: float, second: float, rate: float) -> float:
        """Log mass of [0, rate] under Beta(first, second)."""
        given = (np.array([value]) for value in (first, second, 0.0, rate))
        return float(cell_masses.log_beta_mass(*given)[0, 0])

    ends: tuple[Callable[[float], float] | None, ...] = (None, None)
    if floor == 0:
        ends = (lambda x: below(a, b, math.sin(x) ** 2), lambda x: below(b, a, math.cos(x) ** 2))
    return Parameter(edge, 0.5 * math.pi - edge, lambda x: np.asarray(np.sin(x) ** 2), log_prior, *ends)


def binomial_below(trials: int) -> Callable[[Array, Array], Array]:
    """P(K <= s) for K binomial, P = I_(1 - theta)(trials - k, k + 1)."""
    from scipy.special import betainc

    def below(theta: Array, s: Array) -> Array:
        """P(K <= s), set to 0 and 1 where it is within 1e-16 of them."""
        k = np.clip(np.floor(s), -1.0, float(trials))
        rate, count = np.broadcast_arrays(theta, k)
        share = np.where(count >= trials, 1.0, 0.0)
        gap = count - trials * rate
        far = FAR * np.sqrt(trials * rate * (1 - rate)) + MORE
        share[(gap > far) & (count >= 0)] = 1.0
        near = (np.abs(gap) <= far) & (count >= 0) & (count < trials)
        share[near] = betainc(trials - count[near], count[near] + 1, 1 - rate[near])
        return share

    return below


def arcsine(trials: float) -> Coordinate:
    """Counts among `trials`: equally wide for rare and common events."""
    return Coordinate(
        lambda s: np.asarray(np.arcsin(np.sqrt(np.clip(s / trials, 0.0, 1.0)))),
        lambda x: np.asarray(trials * np.sin(x) ** 2),
    )


def count_statistic(
    trials: int,
    prior: tuple[float, float],
    law: tuple[float, float],
    power: float,
    known: tuple[Array, Array],
    floor: float = 0.0,
    noise: float = 0.0,
    noisy_below: Callable[[Array, Array], Array] | None = None,
    cells: int = CELLS,
) -> Statistic:
    """A count K among `trials`; draws of Beta(law[0] + power K, law[1] + power (trials - K)) are between the ends `known`."""
    low, high = known

    def log_law(count: Array) -> Array:
        a, b = law[0] + power * count, law[1] + power * (trials - count)
        masses = cell_masses.log_beta_mass(a, b, low, high).sum(axis=1)
        return np.asarray(masses - len(low) * cell_masses.log_beta_inside(a, b, floor), dtype=np.float64)

    def rows_mean(count: Array) -> Array:
        return mean_above_floor(prior[0] + count, prior[1] + trials - count, floor)

    span, parameter, below = (0.0, float(trials)), beta_parameter(*prior, floor), binomial_below(trials)
    return Statistic(span, True, arcsine(trials), parameter, log_law, below, rows_mean, noise, noisy_below, cells)


def mean_above_floor(a: Array, b: Array, floor: float) -> Array:
    """Mean of Beta(a, b) restricted to [floor, 1 - floor]."""
    plain = a / (a + b)
    if floor == 0:
        return np.asarray(plain)
    kept = cell_masses.log_beta_inside(a + 1, b, floor) - cell_masses.log_beta_inside(a, b, floor)
    return np.asarray(np.clip(plain * np.exp(kept), floor, 1 - floor))


def undeclared(model: object, prior: object) -> bool:
    """Whether a rate has the reference prior: none was declared, and the reader gives none."""
    return prior is model and isinstance(model, Rate) and model.reference


def rate_statistic(model: Rate, prior: Rate, n: int, numbers: Numbers, values: Array) -> Statistic:
    """The number of successes behind draws of a rate."""
    power, strength, noise, grid = numbers
    trials, law = n * model.trials, (strength * model.alpha, strength * model.beta)
    known, deviation = model.public_law(n, power, strength, grid).geometry.rates.ends(values), noise * model.sensitivity
    free = undeclared(model, prior)
    held = REFERENCE if free else (prior.alpha, prior.beta)
    statistic = count_statistic(trials, held, law, power, known, model.floor, deviation)

    def tails() -> Tails:
        return drawn_tails(law, power, np.array([trials]), known, deviation)

    return replace(statistic, tails=tails) if free else statistic


def drawn_tails(
    law: tuple[float, float], power: float, trials: Array, known: tuple[Array, Array], deviation: float = 0.0
) -> Tails:
    """Tails of draws at any of these numbers of trials, on average, at the near ends of their cells.

    With noise they are made from a noisy count, here of no success: at equal steps of its probability, clipped to what is possible.
    """
    from scipy.special import ndtri

    own = np.clip(deviation * ndtri((np.arange(_NOISY) + 0.5) / _NOISY), 0.0, trials) if deviation > 0 else np.zeros(1)
    none = draws_as_large(law[0] + power * own, law[1] + power * (trials - own), known[0])
    every = draws_as_large(law[1] + power * own, law[0] + power * (trials - own), 1 - known[1])
    return float(none.mean()), float(every.mean())


def draws_as_large(a: Array, b: Array, seen: Array) -> Array:
    """P(sum of the log odds of N draws of Beta(a, b) >= that of the N `seen`), for each a and b.

    Draws given a count k have the density exp(r k sum log(theta/(1 - theta))) times what does not depend on it, so the sum of
    their log odds is sufficient for k, with a monotone likelihood ratio: no test of "no success" rejects more often than that
    of large sums. The sum has the characteristic function [G(a + iu) G(b - iu)/(G(a) G(b))]^N, which is inverted by the
    midpoint rule (Gil-Pelaez 1951; Davies 1973).
    """
    from scipy.special import digamma, gammaln, loggamma, polygamma

    count = len(seen)
    with np.errstate(divide="ignore"):
        total = float(np.log(seen).sum() - np.log1p(-seen).sum())
    deviation = np.sqrt(count * (polygamma(1, a) + polygamma(1, b)))
    mean = count * (digamma(a) - digamma(b))
    away = np.clip((total - mean) / deviation, -_BEYOND, _BEYOND)
    places = np.arange(_POINTS) + 0.5
    u = 1j * (math.pi / _STEPS) * places / deviation[:, None]
    p, q = a[:, None], b[:, None]
    one = loggamma(p + u) + loggamma(q - u) - gammaln(p) - gammaln(q)
    logs = count * one - u * (mean + away * deviation)[:, None]
    inside = 0.5 + (np.exp(logs).imag / places).sum(axis=1) / math.pi
    return np.asarray(np.where(np.abs(away) < _BEYOND, np.clip(inside, 0.0, 1.0), away < 0), dtype=np.float64)
