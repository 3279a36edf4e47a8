"""Exact hockey-stick divergence of two laws whose log ratio is monotone in one dimension.

For P against Q with log ratio L increasing in x and L(x*) = eps,

    delta(eps) = P[x > x*] - exp(eps) Q[x > x*] = integral over x > x* of p(x) (1 - exp(-(L(x) - eps))) dx.

The left form subtracts two nearly equal tails; the right form has a positive integrand, so its relative error is
that of the density. The densities are log-concave in x, so panels laid out by how far the density has dropped, with
Gauss-Legendre on each, integrate them to rounding; writing them about their mode (Loader's saddle-point form) keeps
every digit at a million records.

Beta against Beta and Gamma against Gamma are all that the conjugate families need (docs/proofs/conjugate.md); the
mirrored direction is the same integral with the line reflected.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato._quadrature import Array, log_concave_panels, log_mean_exp

# Charged on every delta: the quadrature and the density together stay below a tenth of this against 30 digits.
RELATIVE_ERROR = 1e-11

# Absolute part of the error of `log_gamma_ratio`, beside a part in proportion to shift and value: it subtracts two Stirling
# remainders of at most 1/192 each, and three roundings of 2^-53 of each of them are below 2^-59.
RATIO_ERROR = 2.0**-58

# `math.lgamma` for arrays: only small arguments come here, and the reader of a release then needs no scipy.
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def log_gamma(z: Array) -> Array:
    """Log of Gamma(z) for positive z."""
    return np.asarray(_lgamma(z), dtype=np.float64)


def stirling_error(z: Array) -> Array:
    """Log Gamma(z) - [(z - 1/2) log z - z + log(2 pi)/2]."""
    z = np.asarray(z, dtype=np.float64)
    large = np.maximum(z, 16.0)
    w = 1.0 / (large * large)
    series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * 691 / 360360))))) / large
    small = np.minimum(z, 16.0)
    direct = log_gamma(small) - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    return np.where(z >= 16.0, series, direct)


def log_gamma_ratio(x: Array, shift: Array) -> Array:
    """Log Gamma(x + shift) - log Gamma(x) for positive x and x + shift, without cancellation for large x."""
    x, shift = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(shift, dtype=np.float64))
    small = np.minimum(x, x + shift) < 16.0
    # Gamma(x + s)/Gamma(x) = Gamma(x + 16 + s)/Gamma(x + 16) divided by the product of (1 + s/(x + k)), k < 16: a
    # difference of two log-Gammas would lose digits that the charge on epsilon does not cover.
    steps = np.log1p(shift[..., None] / (x[..., None] + np.arange(16.0))).sum(axis=-1)
    base = np.where(small, x + 16.0, x)
    top = base + shift
    growth = np.where(shift < -0.5 * base, np.log(top) - np.log(base), np.log1p(shift / base))
    above, below = stirling_error(np.stack([top, base]))
    far = (base - 0.5) * growth + shift * np.log(top) - shift + above - below
    ratio: Array = far - np.where(small, steps, 0.0)
    return ratio


def _tail_integral(
    log_density: Callable[[Array], Array],
    gap: Callable[[Array], Array],
    start: Array,
    mode: Array,
    origin: Array,
    slope: Array,
) -> Array:
    """Integral over x > start of exp(log_density(x)) (1 - exp(-gap(x - start))), one per entry of `start`.

    `slope` is gap'(0): just above `start` the second factor rises over a length of 1/slope.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        points, weights = log_concave_panels(log_density, start, None, mode, origin, 1.0 / slope)
        inner = _with_weight(weights)
        logs = log_density(points[:, inner])
        top = logs.max(axis=1)  # taken out, so that a delta near the smallest float keeps its digits
        values = np.exp(logs - top[:, None]) * -np.expm1(-gap(points[:, inner] - start[:, None]))
        terms = np.zeros_like(weights)  # summed with the zeros: then a sum does not depend on what else is in the block
        terms[:, inner] = np.where(np.isfinite(logs), values, 0.0) * weights[:, inner]
        scaled = terms.sum(axis=1)
        total: Array = np.exp(top + np.log(scaled))
    return np.where(np.isfinite(top), total, 0.0)


def _with_weight(weights: Array) -> slice:
    """The columns in which some weight is positive, and one more on each side.

    Panels beyond the ends of the interval have no length: their points are the end itself and their weights 0. The column beyond
    keeps the end among the points, whose largest density is taken out of the integral.
    """
    used = np.flatnonzero(weights.any(axis=0))
    return slice(0, 1) if not used.size else slice(max(0, used[0] - 1), used[-1] + 2)


def _in_blocks(evaluate: Callable[..., Array], *arguments: Array, block: int = 2048) -> Array:
    """Broadcast the arguments, flatten, evaluate in blocks to bound memory, and give the broadcast shape back."""
    broad = np.broadcast_arrays(*arguments)
    flat = [np.ascontiguousarray(a, dtype=np.float64).ravel() for a in broad]
    parts = [evaluate(*(a[k : k + block] for a in flat)) for k in range(0, flat[0].size, block)]
    return np.concatenate(parts).reshape(broad[0].shape) if parts else np.empty(broad[0].shape)


def _rounded_up(delta: Array) -> Array:
    """Charge the stated relative error; a positive delta that underflowed is the smallest positive float."""
    return np.minimum(1.0, np.nextafter(delta * (1 + RELATIVE_ERROR), np.inf))


def _charged(epsilon: Array, *terms: Array) -> Array:
    """Epsilon less the rounding error of the log ratio: an error there moves epsilon itself, so it is paid first."""
    return epsilon - 2.0**-49 * (1 + np.abs(epsilon) + sum(np.abs(term) for term in terms))


def beta_delta(a: Array, b: Array, power: Array, epsilon: Array) -> Array:
    """delta(eps >= 0) of Beta(a + power, b) against Beta(a, b + power), rounded up.

    The opposite direction is `beta_delta(b, a, power, epsilon)`. In x = logit(theta) the log ratio is
    power x + c with c = log B(a, b + power) - log B(a + power, b).
    """
    return _rounded_up(_in_blocks(_beta_delta, a, b, power, epsilon))


def _beta_delta(a: Array, b: Array, power: Array, epsilon: Array) -> Array:
    rise, fall = log_gamma_ratio(np.stack([b, a]), power)
    first, total = a + power, a + power + b
    mean, rest = first / total, b / total
    mode = np.log(first) - np.log(b)
    start = (_charged(epsilon, rise, fall) - (rise - fall)) / power - mode
    whole, own, other = stirling_error(np.stack([total, first, b]))
    peak = 0.5 * np.log(first * rest / (2 * np.pi)) + whole - own - other

    # About the mode, from the side of the smaller cell: there the logarithm's argument stays away from -1.
    near = (mean <= rest)[:, None]
    cell, share = np.where(near, first[:, None], b[:, None]), np.where(near, mean[:, None], rest[:, None])
    sign = np.where(near, 1.0, -1.0)

    def log_density(d: Array) -> Array:
        away = sign * d
        logs: Array = cell * away - total[:, None] * log_mean_exp(share, away) + peak[:, None]
        return logs

    return _tail_integral(log_density, lambda s: power[:, None] * s, start, np.zeros_like(start), -mode, power)


def _log_gamma_density(shape: Array, d: Array) -> Array:
    """Log density of y = log(theta rate) at y = log(shape) + d, theta ~ Gamma(shape, rate)."""
    peak = 0.5 * np.log(shape / (2 * np.pi)) - stirling_error(shape)
    return peak[:, None] - shape[:, None] * (np.expm1(d) - d)


def gamma_shape_delta(shape: Array, shift: Array, epsilon: Array, upward: bool) -> Array:
    """delta(eps >= 0) of Gamma(shape + shift) against Gamma(shape) (`upward`), or of the latter against the former.

    In y = log(theta) the log ratio of the first against the second is shift y - log Gamma(shape+shift)/Gamma(shape).
    """
    sign = 1.0 if upward else -1.0

    def evaluate(a: Array, s: Array, eps: Array) -> Array:
        """The integral of the tail in which the log ratio exceeds epsilon, for arrays of pairs."""
        ratio = log_gamma_ratio(a, s)
        own = a + s if upward else a
        start = (_charged(eps, ratio) + sign * ratio) / s - sign * np.log(own)
        return _tail_integral(
            lambda d: _log_gamma_density(own, sign * d),
            lambda offset: s[:, None] * offset,
            start,
            np.zeros_like(start),
            -sign * np.log(own),
            s,
        )

    return _rounded_up(_in_blocks(evaluate, shape, shift, epsilon))


def gamma_rate_delta(shape: Array, rate: Array, shift: Array, epsilon: Array, slower: bool) -> Array:
    """delta(eps >= 0) of Gamma(shape, rate) against Gamma(shape, rate + shift) (`slower`), or the other way round.

    The log ratio is shift theta - shape log(1 + shift/rate): unbounded above in one direction and at most
    shape log(1 + shift/rate) in the other, where delta is exactly 0 from there on.
    """
    sign = 1.0 if slower else -1.0

    def evaluate(k: Array, b: Array, s: Array, eps: Array) -> Array:
        """The same integral, 0 where the log ratio never exceeds epsilon."""
        most = k * np.log1p(s / b)  # the largest log ratio of the bounded direction
        cut = (most + sign * _charged(eps, most)) / s
        inside = cut > 0
        cut = np.where(inside, cut, 1.0)
        start = sign * (np.log(cut * (b if slower else b + s)) - np.log(k))
        total = _tail_integral(
            lambda d: _log_gamma_density(k, sign * d),
            lambda offset: (s * cut * sign)[:, None] * np.expm1(sign * offset),
            start,
            np.zeros_like(start),
            -sign * np.log(k),
            s * cut,
        )
        return np.where(inside, np.maximum(total, 5e-324), 0.0)

    raw = _in_blocks(evaluate, shape, rate, shift, epsilon)
    return np.where(raw > 0, _rounded_up(raw), 0.0)
