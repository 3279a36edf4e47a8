"""The largest mu whose Gaussian curve meets (epsilon, delta), and its parts."""

from __future__ import annotations

from functools import lru_cache

import sfumato as sf


@lru_cache(maxsize=1000)
def largest_mu(epsilon: float, delta: float) -> float:
    """The largest mu with Gaussian(mu).epsilon(delta) <= epsilon, by bisection to nine digits from below."""
    lower, upper = 0.0, 1.0
    while sf.Gaussian(mu=upper).epsilon(delta) <= epsilon:
        lower, upper = upper, 2 * upper
    while upper - lower > 1e-9 * upper:
        middle = (lower + upper) / 2
        if sf.Gaussian(mu=middle).epsilon(delta) <= epsilon:
            lower = middle
        else:
            upper = middle
    return lower
