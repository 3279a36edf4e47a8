"""Counts behind draws of rates and shares, as hidden statistics; and what all families share: the plan's numbers, the noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families._rate import Rate
from sfumato.queries import _cells
from sfumato.queries.hidden import Coordinate, Parameter, Statistic

# Beyond nine deviations and a little more no binomial, Poisson or Gamma law has mass (Bernstein): below 1e-16.
FAR, MORE = 9.0, 40.0


def chosen(plan: Mapping[str, Any]) -> tuple[float, float, float]:
    """Power, strength and noise of a plan's document."""
    numbers = plan["parameters"]
    return float(numbers.get("power", 1.0)), float(numbers.get("strength", 1.0)), float(numbers.get("noise", 0.0))


# --- what noise does --------------------------------------------------------------------------------------------------


def clipped_noise(deviation: float) -> Callable[[Array, Array], Array] | None:
    """P(S + deviation Z <= x): what is clipped afterwards piles up at the ends."""
    from scipy.special import ndtr

    if deviation == 0:
        return None
    return lambda held, x: np.asarray(ndtr((x[None, :] - held[:, None]) / deviation), dtype=np.float64)


# --- rates and shares -------------------------------------------------------------------------------------------------


def beta_parameter(a: float, b: float, floor: float = 0.0) -> Parameter:
    """Theta = sin(x)^2 with a Beta(a, b) prior, perhaps above a floor."""
    from scipy.special import betaln

    edge = math.asin(math.sqrt(floor))

    def log_prior(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            logs = (2 * a - 1) * np.log(np.sin(x)) + (2 * b - 1) * np.log(np.cos(x))
        return np.asarray(logs + math.log(2) - betaln(a, b), dtype=np.float64)

    def below(x: float) -> float:
        return float(
            _cells.log_beta_mass(np.array([a]), np.array([b]), np.zeros(1), np.array([math.sin(x) ** 2]))[0, 0]
        )

    def above(x: float) -> float:
        return float(
            _cells.log_beta_mass(np.array([b]), np.array([a]), np.zeros(1), np.array([math.cos(x) ** 2]))[0, 0]
        )

    ends = (None, None) if floor > 0 else (below, above)
    return Parameter(edge, 0.5 * math.pi - edge, lambda x: np.asarray(np.sin(x) ** 2), log_prior, *ends)


def binomial_below(trials: int) -> Callable[[Array, Array], Array]:
    """P(K <= s) for K binomial, P = I_(1 - theta)(trials - k, k + 1)."""
    from scipy.special import betainc

    def below(theta: Array, s: Array) -> Array:
        """P(K <= s) of a binomial count, 0 and 1 where it is to rounding."""
        k = np.clip(np.floor(s), -1.0, float(trials))
        rate, count = np.broadcast_arrays(theta, k)
        found = np.where(count >= trials, 1.0, 0.0)
        gap = count - trials * rate
        far = FAR * np.sqrt(trials * rate * (1 - rate)) + MORE
        found[(gap > far) & (count >= 0)] = 1.0
        near = (np.abs(gap) <= far) & (count >= 0) & (count < trials)
        found[near] = betainc(trials - count[near], count[near] + 1, 1 - rate[near])
        return found

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
    cells: tuple[Array, Array],
    floor: float = 0.0,
    noisy_below: Callable[[Array, Array], Array] | None = None,
    noise: float = 0.0,
    parts: int | None = None,
) -> Statistic:
    """A count K among `trials`; draws are known up to `cells` of Beta(law[0] + power K, law[1] + power (trials - K))."""
    low, high = cells

    def log_law(count: Array) -> Array:
        a, b = law[0] + power * count, law[1] + power * (trials - count)
        masses = _cells.log_beta_mass(a, b, low, high).sum(axis=1)
        return np.asarray(masses - len(low) * _cells.log_beta_inside(a, b, floor), dtype=np.float64)

    def said(count: Array) -> Array:
        """Mean of the posterior that this count would give without privacy."""
        a, b = prior[0] + count, prior[1] + trials - count
        plain = a / (a + b)
        if floor == 0:
            return np.asarray(plain)
        kept = _cells.log_beta_inside(a + 1, b, floor) - _cells.log_beta_inside(a, b, floor)
        return np.asarray(np.clip(plain * np.exp(kept), floor, 1 - floor))

    parameter = beta_parameter(*prior, floor)
    found = Statistic(
        (0.0, float(trials)),
        True,
        arcsine(trials),
        parameter,
        log_law,
        binomial_below(trials),
        said,
        noisy_below,
        noise,
    )
    return found if parts is None else replace(found, cells=parts)


def rate_statistic(model: Rate, prior: Rate, n: int, numbers: tuple[float, float, float], values: Array) -> Statistic:
    """The number of successes behind draws of a rate."""
    power, strength, noise = numbers
    grid = model.law([Fraction(0)], n, power, strength).geometry.rates
    deviation = noise * model.sensitivity
    return count_statistic(
        n * model.trials,
        (prior.alpha, prior.beta),
        (strength * model.alpha, strength * model.beta),
        power,
        grid.ends(values),
        model.floor,
        clipped_noise(deviation),
        deviation,
    )
