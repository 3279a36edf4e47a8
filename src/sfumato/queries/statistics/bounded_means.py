"""Means of bounded values, estimated from one noisy total, with nothing assumed about the spread of the values."""

from __future__ import annotations

import math

import numpy as np

from sfumato.models.families.bounded_mean import BoundedMean
from sfumato.queries.statistics.protocol import Ends, Released


def read(model: BoundedMean, prior: BoundedMean, released: Released) -> Ends:
    """The interval of `bounded_mean` about the released estimate; there is no prior."""
    noise = released.numbers.noise * model.sensitivity
    given = float(released.draws[0, 0]), released.n, (model.lower, model.upper), noise
    return lambda level, sampling: np.array(bounded_mean(*given, level, sampling))[:, None]


def bounded_mean(
    estimate: float, n: int, bounds: tuple[float, float], deviation: float, level: float, sampling: bool
) -> tuple[float, float]:
    """Interval for a mean of bounded values; `deviation` is the noise of the total.

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
