"""The Gaussian that covers a curve, up to a probability delta0 of revealing everything.

A mechanism with delta(eps) <= delta0 + (1 - delta0) delta_mu(eps) for every eps is a post-processing of "with probability
delta0 reveal the data, else release a mu-Gaussian". `covering_mu` finds the smallest such mu. Between two known points a
profile lies below its chord in x = exp(eps), so it is enough that the Gaussian side stays above every chord; that side is
convex in x with slope -Phi(-eps/mu - mu/2), so its smallest distance from a chord lies where the slopes agree.

This is how a ledger charges curves that have no mu of their own (every conjugate draw): docs/proofs/ledger.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from statistics import NormalDist

from sfumato.privacy.curves import Curve
from sfumato.privacy.gaussian_tail import bisect_down, gaussian_delta

# Points at which the curve is evaluated; more points, tighter chords. Relative loss in mu is about the square of the spacing.
_POINTS = 64
# Relative width at which the bisection for mu stops.
_RELATIVE = 1e-9


def covering_mu(curve: Curve, delta0: float) -> float | None:
    """Smallest mu of the search with delta(eps) <= delta0 + (1 - delta0) delta_mu(eps) for all eps; None if there is none.

    Sound whatever the grid: the returned mu was itself tested on every chord.
    """
    if curve.mu is not None:
        return curve.mu
    if not curve.composable_as_profile:
        return None
    return covering_mu_of(curve.delta, delta0)


def covering_mu_of(delta: Callable[[float], float], delta0: float) -> float | None:
    """The same for a profile given as a function of eps >= 0."""
    if delta0 <= 0 or delta0 >= 1:
        return None
    limit = _last_epsilon(delta, delta0)
    if limit is None or limit == 0:
        return limit
    if limit > 700:  # exp(eps) has no float there, and no ledger would admit such a curve
        return None
    # What is left of the curve after the revealing part, at points that crowd towards 0 and towards the limit.
    epsilons = [0.5 * limit * (1 - math.cos(math.pi * k / _POINTS)) for k in range(_POINTS + 1)]
    levels = [max(0.0, (delta(e) - delta0) / (1.0 - delta0)) * (1 + 1e-12) for e in epsilons[:-1]] + [0.0]
    high = 1e-6
    while not _covers(high, epsilons, levels):
        high *= 2.0
        if high > 1e4:
            return None
    low = 0.0 if high == 1e-6 else 0.5 * high
    while high - low > _RELATIVE * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _covers(middle, epsilons, levels) else (middle, high)
    return high


def _last_epsilon(delta: Callable[[float], float], delta0: float) -> float | None:
    """An eps with delta(eps) <= delta0, close to the smallest: from there on the revealing part covers everything."""
    if delta(0.0) <= delta0:
        return 0.0
    upper = 1.0
    while delta(upper) > delta0:
        upper *= 2.0
        if upper > 1e4:
            return None
    return bisect_down(lambda eps: delta(eps) <= delta0, 0.0, upper, relative=1e-6)


def _covers(mu: float, epsilons: list[float], levels: list[float]) -> bool:
    """Whether delta_mu stays on or above every chord of the levels."""
    if any(_gaussian_below(e, mu) < level for e, level in zip(epsilons, levels, strict=True)):
        return False
    segments = pairwise(zip(epsilons, levels, strict=True))
    return all(_above_chord(mu, *first, *second) for first, second in segments)


def _above_chord(mu: float, e0: float, d0: float, e1: float, d1: float) -> bool:
    """Whether delta_mu is above the chord of (exp(e0), d0), (exp(e1), d1), at the point where it comes closest."""
    x0, x1 = math.exp(e0), math.exp(e1)
    steepness = (d0 - d1) / (x1 - x0)
    if not 0 < steepness < 0.5:
        return True  # the ends decide: the Gaussian's own slope is between -1/2 and 0
    closest = mu * (-NormalDist().inv_cdf(steepness) - 0.5 * mu)
    if not e0 < closest < e1:
        return True
    chord = d0 - steepness * (math.exp(closest) - x0)
    return _gaussian_below(closest, mu) >= chord


def _gaussian_below(epsilon: float, mu: float) -> float:
    """delta_mu rounded down: the stated error of the rounded-up value is taken off twice."""
    value = gaussian_delta(epsilon, mu)
    return value * (1 - 1e-11) if value > 1e-300 else 0.0
