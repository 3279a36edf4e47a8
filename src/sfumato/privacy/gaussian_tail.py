"""The privacy profile of the Gaussian mechanism in plain Python, with its error bounded and charged.

For a mu-GDP mechanism

    delta(eps) = Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2)
               = phi(a) [R(a) - R(b)],     a = eps/mu - mu/2,   b = a + mu,

where R(x) = Phi(-x)/phi(x) is the Mills ratio (because exp(eps) phi(b) = phi(a)). The first form loses every digit in
the tail and for small mu; the second has no cancellation once R(a) - R(b) is written as the integral of
-R'(x) = 1 - x R(x), which the continued fraction of R gives without subtraction.

Only `math` is used, so that a ledger and the reader of a release need neither numpy nor scipy.
Source: Balle and Wang 2018 (the profile); the stable form and its error terms are derived in docs/proofs/currency.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

# Unit roundoff of float64, its smallest positive number, and two constants of the normal density.
UNIT = 2.0**-53
TINY = 5e-324
_LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

# Gauss-Legendre nodes and weights on [-1, 1], ten points: exact to rounding for 1 - xR(x) on intervals up to 1/2.
_NODES = (0.14887433898163122, 0.43339539412924719, 0.67940956829902441, 0.86506336668898451, 0.97390652851717172)
_WEIGHTS = (0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059, 0.06667134430868814)


def mills(x: float) -> float:
    """R(x) = Phi(-x)/phi(x), for x > -38."""
    return _mills_and_slope(x)[0]


def _mills_and_slope(x: float) -> tuple[float, float]:
    """(R(x), 1 - x R(x)); the second is -R'(x) > 0."""
    if x < 3.0:
        ratio = 0.5 * math.erfc(x * _SQRT_HALF) * math.exp(0.5 * x * x + _LOG_ROOT_TWO_PI)
        return ratio, 1.0 - x * ratio
    # R = 1/(x + K), K = 1/(x + 2/(x + 3/(x + ...))): then 1 - xR = K R, with no subtraction.
    terms = 24 + int(400.0 / (x * x))
    tail = 0.0
    for k in range(terms, 0, -1):
        tail = k / (x + tail)
    ratio = 1.0 / (x + tail)
    return ratio, tail * ratio


def _mills_drop(a: float, width: float) -> float:
    """R(a) - R(a + width), to full relative precision."""
    if width > 0.5:
        return mills(a) - mills(a + width)
    half, middle = 0.5 * width, a + 0.5 * width
    total = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total += weight * (_mills_and_slope(middle - half * node)[1] + _mills_and_slope(middle + half * node)[1])
    return half * total


def log_upper_tail(x: float) -> float:
    """Log of Phi(-x)."""
    if x < 3.0:
        return math.log(0.5 * math.erfc(x * _SQRT_HALF))
    return -0.5 * x * x - _LOG_ROOT_TWO_PI + math.log(mills(x))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta(eps) of mu-GDP for eps >= 0, rounded up: never below the true value, within about 1e-12 of it.

    A positive value that underflows is returned as the smallest positive float, never as 0.
    """
    if mu == 0:
        return 0.0
    ratio = epsilon / mu
    a = ratio - 0.5 * mu
    if a > 40.0:
        return TINY
    if a < 0 and mu > 0.5:
        value = 0.5 * math.erfc(a * _SQRT_HALF) - math.exp(-0.5 * a * a - _LOG_ROOT_TWO_PI) * mills(a + mu)
    else:
        drop, exponent = _mills_drop(a, mu), -0.5 * a * a - _LOG_ROOT_TWO_PI
        # A product where the drop is tiny (its logarithm would cost digits), one exponential where exp underflows.
        value = math.exp(exponent) * drop if exponent > -600.0 else math.exp(exponent + math.log(drop))
    # Rounding: about 60 units for the ratio, and a enters with relative slope (a + 2) and error (ratio + mu) units.
    relative = UNIT * (128.0 + 8.0 * (max(a, 0.0) + 2.0) * (ratio + mu))
    return min(1.0, math.nextafter(value * (1.0 + relative), math.inf))


def bisect_down(holds: Callable[[float], bool], lower: float, upper: float, relative: float = 1e-15) -> float:
    """Smallest point found at which a monotone `holds` is true, given that it is true at `upper`.

    One-sided: what is returned was itself tested true, so the search never ends on the unsafe side.
    """
    for _ in range(1100):
        if upper - lower <= relative * abs(upper):
            break
        middle = lower + 0.5 * (upper - lower)
        if middle in (lower, upper):
            break
        if holds(middle):
            upper = middle
        else:
            lower = middle
    return upper


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Smallest eps >= 0 with delta(eps) <= delta under mu-GDP, rounded up; infinite for delta = 0."""
    if mu == 0 or gaussian_delta(0.0, mu) <= delta:
        return 0.0
    if delta == 0:
        return math.inf
    # delta(eps) <= P[loss > eps] <= exp(-(eps - mu^2/2)^2 / (2 mu^2)), so this end always holds.
    upper = (0.5 * mu * mu + mu * math.sqrt(-2.0 * math.log(delta))) * (1 + 1e-9) + TINY
    while not gaussian_delta(upper, mu) <= delta:
        upper *= 1.001
    return bisect_down(lambda epsilon: gaussian_delta(epsilon, mu) <= delta, 0.0, upper)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest mu whose profile passes below (epsilon, delta), rounded down; infinite for delta = 1."""
    if delta >= 1:
        return math.inf
    if delta <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta:
        low, high = high, 2.0 * high
    for _ in range(1100):
        if high - low <= 1e-15 * high:
            break
        middle = low + 0.5 * (high - low)
        if middle in (low, high):
            break
        if gaussian_delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    return low


def mu_of_total_variation(log_odds: float) -> float:
    """Mu with 2 Phi(mu/2) - 1 = tanh(log_odds/2), rounded up: the Gaussian pair that swallows randomised response.

    Equivalently Phi(-mu/2) = 1/(1 + exp(log_odds)). Solved in the erf form where the target is near 0 and in the
    logarithm of the tail elsewhere, so that no digit is lost at either end.
    """
    if log_odds == 0:
        return 0.0
    if log_odds > 1e17:  # Phi(-x) <= exp(-x^2/2)/2, so x <= sqrt(2 log_odds); the difference is below rounding
        return 2.0 * math.sqrt(2.0) * math.sqrt(log_odds) * (1 + 64 * UNIT)
    if log_odds < 2.0:
        target = math.tanh(0.5 * log_odds)
        z = 0.5 * math.sqrt(math.pi) * target
        for _ in range(60):
            step = (math.erf(z) - target) * 0.5 * math.sqrt(math.pi) * math.exp(z * z)
            z -= step
            if abs(step) <= 1e-16 * z:
                break
        return math.nextafter(2.0 * math.sqrt(2.0) * z * (1 + 64 * UNIT), math.inf)
    target = -log_odds - math.log1p(math.exp(-log_odds))
    x = math.sqrt(2.0 * log_odds)
    for _ in range(60):
        step = (log_upper_tail(x) - target) * mills(x)
        x += step
        if abs(step) <= 1e-16 * x:
            break
    return 2.0 * x * (1 + 64 * UNIT)
