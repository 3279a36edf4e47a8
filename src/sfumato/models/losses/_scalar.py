"""Helpers of the losses of one score: constants from a slope bound, spreads of values, random labels, class shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models._rounding import norm_up, product_up
from sfumato.models.constants import Constants

if TYPE_CHECKING:
    from sfumato.models.losses.protocol import FloatArray, ScalarLinkLoss

# Absolute error of a computed value, in units of the largest value: a few elementary functions of two ulp each.
_VALUE_ERROR = 64 * 2.0**-53


def radius_with_intercept(data_norm: float, intercept: float = 1.0) -> float:
    """sqrt(data_norm^2 + intercept^2), rounded up: the norm of a row once the intercept feature is appended.

    The gradient with respect to (theta, intercept) is phi' times (x, 1), so a logistic loss on rows of norm r with an
    intercept is sqrt(r^2 + 1)-Lipschitz. Minami et al. 2016, section 3.3, print r.
    """
    return norm_up(_validate.positive("data_norm", data_norm), _validate.non_negative("intercept", intercept))


def arrays(u: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Both arguments as float arrays."""
    return np.asarray(u, dtype=np.float64), np.asarray(y, dtype=np.float64)


def two_classes(second: FloatArray) -> FloatArray:
    """Shares (..., 2) of the first and the second class, from those (..., 1) of the second."""
    return np.concatenate([1 - second, second], axis=-1)


def asymmetric_laplace(scores: FloatArray, quantile: float, rng: np.random.Generator) -> FloatArray:
    """Random numbers with density proportional to exp(-quantile loss), whose `quantile` is the score."""
    above, below = rng.exponential(size=(2, len(scores)))
    return np.asarray(scores + above / quantile - below / (1 - quantile))


def checked_radius(domain_radius: float) -> float:
    """Return the largest |theta| of the domain, or raise; `math.inf` means unbounded."""
    radius = _validate.real("domain_radius", domain_radius)
    if radius < 0:
        raise ArgumentError(f"domain_radius must be 0 or greater; got {radius!r}.")
    return radius


def constants_of_slope(
    loss: ScalarLinkLoss, *, slope: float, curvature: float, bound: float, convex: bool, difference: float | None = None
) -> Constants:
    """Constants of phi(<theta, x>, y) with |phi'| <= slope, phi'' <= curvature and |x| <= r, the loss's radius.

    The gradient is phi' x: norm at most slope r; two of them differ by at most 2 slope r; and phi'' x x' has norm at
    most curvature r^2. The strong convexity is 0: one record's loss is constant in directions orthogonal to its x.
    """
    smoothness = product_up(curvature, loss.radius, loss.radius)
    return Constants(
        lipschitz=product_up(slope, loss.radius),
        difference=product_up(2.0, slope, loss.radius) if difference is None else difference,
        smoothness=smoothness,
        strong_convexity=0.0,
        bound=bound,
        convex=convex,
        smooth=math.isfinite(smoothness),
    )


def crossing(steepness: Callable[[FloatArray], FloatArray], level: float, low: float, high: float) -> float:
    """Where a falling function passes `level` between `low` and `high`: by bisection down to neighbouring floats."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if float(steepness(np.asarray(middle))) > level else (low, middle)
    return high


def slope_bound(radius: float, slope: float, domain_radius: float) -> float:
    """Delta from the slope alone, 2 slope r R: |phi(u, y) - phi(0, y)| <= slope |u| for each of the two records."""
    return product_up(2.0, slope, radius, checked_radius(domain_radius))


def spread(
    loss: ScalarLinkLoss, slope: float, domain_radius: float, labels: Iterable[float], turning: float = 0.0
) -> float:
    """Return max psi - min psi over |u| <= r R and `labels`, psi(u, y) = phi(u, y) - phi(0, y), rounded up.

    This is Delta exactly, since at one theta the two records may take any two values of u. `labels` are the extreme
    ones; psi is convex in u, so its maximum lies at an end, and `turning` is where its minimum lies if inside. Never
    above 2 * slope * largest, which the slope bound gives.
    """
    largest = product_up(loss.radius, checked_radius(domain_radius))
    simple = slope_bound(loss.radius, slope, domain_radius)
    if not 0 < simple < math.inf:
        return simple
    points = np.array([-largest, 0.0, largest, min(max(turning, -largest), largest)])
    values = [loss.value(points, np.full(4, label)) for label in labels]
    shifted = np.concatenate([value - value[1] for value in values])
    error = _VALUE_ERROR * float(np.max(np.abs(values)))
    return min(simple, float(shifted.max() - shifted.min()) + error)
