"""Log mass of a released grid cell under a Beta or Gamma law, for every value of the hidden statistic.

A draw on a public grid is known up to its cell, and its probability is the INTEGRAL of the density over the cell. Inner
cells are integrated by Gauss-Legendre; the outer ones, which extend to an end of the support, by incomplete Beta and Gamma
functions in logarithms. Laws are arrays (J,) of their parameters, cells two arrays (N,) of ends; results are (J, N).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato._quadrature import Array

# Eight nodes integrate the density over a cell, which is far narrower than the law, to rounding.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
# Masses below this have lost digits to underflow; the smallest normal float is 2e-308.
_TINY = 1e-290


def log_beta_mass(a: Array, b: Array, low: Array, high: Array) -> Array:
    """Log of the mass of [low, high] under Beta(a, b): inner cells in phi, the two outer ones in closed form."""
    from scipy.special import betaln

    left, right = np.arcsin(np.sqrt(low)), np.arcsin(np.sqrt(high))
    half = np.maximum(0.5 * (right - left), 1e-300)
    phi = (left + half)[:, None] + half[:, None] * _NODES
    with np.errstate(divide="ignore"):
        ones, zeros = 2 * np.log(np.sin(phi)), 2 * np.log(np.cos(phi))
    p, q = a[:, None, None], b[:, None, None]
    inner = (p - 0.5) * ones + (q - 0.5) * zeros
    logs = _log_sum(inner, half[:, None] * _WEIGHTS) + math.log(2.0) - betaln(a, b)[:, None]
    for column in np.flatnonzero(low == 0):
        logs[:, column] = _log_beta_below(a, b, float(high[column]))
    for column in np.flatnonzero((high == 1) & (low > 0)):
        logs[:, column] = _log_beta_below(b, a, float(1 - low[column]))
    return np.asarray(logs, dtype=np.float64)


def _log_beta_below(a: Array, b: Array, x: float) -> Array:
    """Log of I_x(a, b) = x^a (1 - x)^b 2F1(a + b, 1; a + 1; x)/(a B(a, b)), which does not underflow."""
    from scipy.special import betainc, betaln, hyp2f1

    if x >= 1:
        return np.zeros_like(a)
    plain = betainc(a, b, x)
    series = a * math.log(x) + b * math.log1p(-x) - np.log(a) - betaln(a, b)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rest = np.log(hyp2f1(a + b, 1.0, a + 1.0, min(x, 0.5)))
        # Where it overflows the law lies far above x, and the terms fall at least as fast as a geometric series.
        rest = np.where(np.isfinite(rest), rest, -np.log1p(-np.minimum((a + b) * x / (a + 1), 0.999)))
        return np.asarray(np.where(plain > _TINY, np.log(plain), series + rest), dtype=np.float64)


def log_beta_inside(a: Array, b: Array, floor: float) -> Array:
    """Log of the mass of [floor, 1 - floor] under Beta(a, b), from the side on which it does not cancel."""
    from scipy.special import betaln

    if floor == 0:
        return np.zeros_like(a)
    mass, edge, slope = _beta_between(a, b, floor, 1 - floor), *_beta_edge(a, b, floor)
    # Where even that underflows, the law falls from the edge like an exponential with the slope there.
    steep = (a - 1) * np.log(edge) + (b - 1) * np.log1p(-edge) - betaln(a, b) - np.log(np.maximum(slope, 1e-300))
    return _log_or(mass, steep)


def _beta_between(a: Array, b: Array, floor: float, x: float) -> Array:
    """Mass of [floor, x] under Beta(a, b), from the side on which it does not cancel."""
    from scipy.special import betainc, betaincc

    above, below = betaincc(a, b, floor) - betaincc(a, b, x), betainc(a, b, x) - betainc(a, b, floor)
    return np.asarray(np.where(a < (a + b) * floor, above, below), dtype=np.float64)


def _beta_edge(a: Array, b: Array, floor: float) -> tuple[Array, Array]:
    """The end of [floor, 1 - floor] next to the mode of Beta(a, b), and the slope of the log density there."""
    edge = np.where(a < (a + b) * floor, floor, 1 - floor)
    return edge, np.abs((a - 1) / edge - (b - 1) / (1 - edge))


def _log_or(mass: Array, instead: Array) -> Array:
    """Log of a mass, or the other value where the mass underflows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(mass > _TINY, np.log(np.maximum(mass, 0.0)), instead), dtype=np.float64)


def beta_below_inside(a: Array, b: Array, floor: float, x: float) -> Array:
    """Share of the mass of Beta(a, b) on [floor, 1 - floor] that lies below x, from the side on which it does not cancel."""
    from scipy.special import betainc

    if floor == 0:
        return np.asarray(betainc(a, b, x))
    part, whole = _beta_between(a, b, floor, x), _beta_between(a, b, floor, 1 - floor)
    slope = _beta_edge(a, b, floor)[1]
    steep = np.where(a < (a + b) * floor, -np.expm1(-slope * (x - floor)), np.exp(-slope * (1 - floor - x)))
    return np.asarray(np.where(whole > _TINY, part / np.maximum(whole, _TINY), steep))


def log_gamma_mass(shape: Array, rate: Array, low: Array, high: Array) -> Array:
    """Log of the mass of [low, high] under Gamma(shape, rate): inner cells in log(theta), open ones by their tails."""
    from scipy.special import gammaln

    inside = (low > 0) & np.isfinite(high)
    safe_low, safe_high = np.where(inside, low, 1.0), np.where(inside, high, 2.0)
    half = 0.5 * np.log(safe_high / safe_low)
    y = (np.log(safe_low) + half)[:, None] + half[:, None] * _NODES
    k, b = shape[:, None, None], rate[:, None, None]
    # About the mode, so that no large numbers cancel.
    d = y + np.log(b) - np.log(k)
    peak = shape * np.log(shape) - shape - gammaln(shape)
    logs = _log_sum(k * (d - np.expm1(np.minimum(d, 600.0))), half[:, None] * _WEIGHTS) + peak[:, None]
    for column in np.flatnonzero(~inside):
        logs[:, column] = _log_gamma_tail(shape, rate, float(low[column]), float(high[column]))
    return np.asarray(logs, dtype=np.float64)


def _log_gamma_tail(shape: Array, rate: Array, low: float, high: float) -> Array:
    from scipy.special import gammainc, gammaincc, gammaln

    below = low == 0
    x = rate * (high if below else low)
    plain = gammainc(shape, x) if below else gammaincc(shape, x)
    gap = np.maximum(np.abs(shape - x), 1.0)
    edge = shape * np.log(x) - x - gammaln(shape) - np.log(gap)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(plain > _TINY, np.log(np.maximum(plain, 1e-320)), edge), dtype=np.float64)


def log_gamma_inside(shape: Array, rate: Array, lower: float, upper: float) -> Array:
    """Log of the mass of [lower, upper] under Gamma(shape, rate)."""
    from scipy.special import gammainc, gammaincc, gammaln

    below = gammainc(shape, rate * upper) - gammainc(shape, rate * lower)
    above = gammaincc(shape, rate * lower) - gammaincc(shape, rate * upper)
    beyond = shape < rate * lower
    mass = np.where(beyond, above, below)
    edge = np.where(beyond, lower, upper)
    slope = np.maximum(np.abs(shape / edge - rate), 1e-300)
    return _log_or(
        mass, shape * np.log(rate) + (shape - 1) * np.log(edge) - rate * edge - gammaln(shape) - np.log(slope)
    )


def _log_sum(logs: Array, weights: Array) -> Array:
    """Log of the weighted sum of exp(logs) along the last axis."""
    top = np.maximum(logs.max(axis=-1, keepdims=True), -1e300)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(top[..., 0] + np.log((np.exp(logs - top) * weights).sum(axis=-1)), dtype=np.float64)
