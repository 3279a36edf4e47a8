"""Privacy loss distributions through dp_accounting; no other module uses that library's classes for them.

A profile known at a grid of eps gives a pessimistic discrete distribution by connecting the dots (Doroshenko et al.
2022): between dots the true profile is convex in exp(eps), so the chord lies above it; the mass beyond the last dot
is put on the infinite loss. Rounding that makes a chord non-convex only adds mass, which is again pessimistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Bound on the absolute mass that one FFT convolution of probability vectors adds or loses, with margin. A k-fold power loses in
# proportion to k (about 2e-16 a fold at k = 1e5), and so do the roundings of the dots.
FFT_ERROR, FOLD_ERROR = 1e-14, 2e-15


def two_sided(forward: Array, backward: Array, epsilons: Array) -> Array:
    """Delta of an ordered pair on the grid -eps_m..eps_m from both directions at eps >= 0.

    delta_PQ(-e) = 1 - exp(-e) + exp(-e) delta_QP(e). `forward`, `backward` are at the ascending `epsilons`, from 0.
    """
    reverse = -np.expm1(-epsilons) + np.exp(-epsilons) * backward
    return np.concatenate([reverse[:0:-1], forward])


def from_profile(forward: Array, backward: Array, interval: float) -> Any:
    """Return the pessimistic distribution of an ordered pair from its deltas at 0, interval, 2 interval, ..."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    top = len(forward) - 1
    values = two_sided(forward, backward, interval * np.arange(top + 1, dtype=np.float64))
    values = np.minimum(1.0, np.maximum.accumulate(values[::-1])[::-1])  # non-increasing, rounded up
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -top, top, values)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


class ComposedLoss:
    """Composition of discrete loss distributions, with the numerical error of the convolutions charged."""

    def __init__(self, parts: list[tuple[Any, int]]) -> None:
        """Compose each distribution with itself `count` times, and then all of them."""
        total: Any = None
        self.error = 0.0
        # dp_accounting bounds tails with exponentials that overflow harmlessly; the infinite bound is then not used.
        with np.errstate(all="ignore"):
            for distribution, count in parts:
                single = distribution if count == 1 else distribution.self_compose(count)
                self.error += FFT_ERROR + FOLD_ERROR * count if count > 1 else 0.0
                if total is None:
                    total = single
                else:
                    total = total.compose(single)
                    self.error += FFT_ERROR
        self._total = total

    def delta(self, epsilon: float) -> float:
        """Upper bound on delta at `epsilon`."""
        value = float(self._total.get_delta_for_epsilon(epsilon))
        return min(1.0, value * (1 + 1e-9) + self.error + 5e-324)

    def epsilon(self, delta: float) -> float:
        """Upper bound on epsilon at `delta`; infinite where the numerical error alone is larger."""
        usable = (delta - self.error) / (1 + 1e-9)
        if usable <= 0:
            return math.inf
        value = max(0.0, float(self._total.get_epsilon_for_delta(usable)))
        return value if value == math.inf else value * (1 + 1e-12)


# How far a grid may reach; the loss beyond counts as infinite.
_FARTHEST = 2.0**17
# Halvings of the interval in which the limit lies, and how many of them are decided by one call: 15 points, then 15, then 15.
_HALVINGS, _AT_ONCE = 12, 4


def loss_limit(delta: Callable[[float], float], floor: float, mass: float = 1e-17) -> float:
    """An epsilon beyond which at most `mass` more than the floor is left: how far a grid must reach."""
    upper = 1.0
    while upper < _FARTHEST and delta(upper) > floor + mass:
        upper *= 2.0
    lower = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (lower + upper)
        if delta(middle) > floor + mass:
            lower = middle
        else:
            upper = middle
    return upper


def loss_limit_of(deltas: Callable[[Array], Array], mass: float = 1e-17) -> float:
    """The limit of `loss_limit` with floor 0, for a profile that takes many epsilons at once: the same number in fewer calls.

    Every point is a multiple of a power of two, so it is the point at which halving one by one would have looked.
    """
    points = np.exp2(np.arange(18.0))
    upper = 1.0
    for first in range(0, len(points), _AT_ONCE):
        some = points[first : first + _AT_ONCE]
        enough = deltas(some) <= mass
        upper = float(some[np.argmax(enough)]) if enough.any() else _FARTHEST
        if enough.any():
            break
    lower, parts = 0.0, 2**_AT_ONCE
    for _ in range(_HALVINGS // _AT_ONCE):
        width = (upper - lower) / parts
        inner = lower + width * np.arange(1, parts)
        enough = deltas(inner) <= mass
        place = int(np.argmax(enough)) if enough.any() else parts - 1
        lower, upper = lower + width * place, lower + width * (place + 1)
    return upper
