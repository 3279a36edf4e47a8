"""Mean vectors: the hidden sum behind draws of normal vectors, in closed form.

In the coordinates of the public basis, with S the sum over the records of (x - mean) and y = (mean of the draws - mean) P/(r a),

    y = S + N(0, P/(N r^2 a^2) + noise^2),    mean + S/n ~ N(theta, 1/(n a)),    theta ~ N(m', 1/l').

Where the noisy sum was released y is that sum less n times the mean, with the noise alone. Records that were shortened to the
radius are taken as they are.
"""

from __future__ import annotations

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.families._vectors import Vectors
from sfumato.queries.statistics.protocol import Ends, Numbers, Released

# Deviations that a sum must keep from the edge of what n records can sum to, for its noise to be read as normal: beyond
# six, a normal has a mass of 2e-9.
_CLEAR = 6.0


def read(model: Vectors, prior: Vectors, released: Released) -> Ends:
    """Normal intervals of every coordinate."""

    def ends(level: float, sampling: bool) -> Array:
        known = released.n, released.numbers, released.draws
        return normal_ends(*vector_law(model, prior, *known, sampling, released.totals), level)

    return ends


def vector_law(
    model: Vectors, prior: Vectors, n: int, numbers: Numbers, draws: Array, sampling: bool, totals: Array | None = None
) -> tuple[Array, Array]:
    """Mean and standard deviation of each coordinate, given draws (N, d): of theta, or of its mean given the rows."""
    power, strength, noise, _ = numbers
    deviation, count = noise * model.sensitivity, len(draws)
    turn = np.eye(model.size) if model.basis is None else np.array(model.basis)
    a, own, start = np.array(model.curvatures), np.array(model.precisions), np.array(model.start) @ turn
    if totals is None:
        precision = strength * own + power * n * a
        y = (draws.mean(axis=0) @ turn - start) * precision / (power * a)
        error = precision / (count * (power * a) ** 2) + deviation**2
        if deviation > 0:
            _check_inside(model, n, float(np.linalg.norm(y + n * start)), float(np.sqrt(error.sum())))
    else:
        # The noisy sum itself, before it was moved to where the records could sum to.
        y, error = totals @ turn - n * start, np.full(model.size, deviation**2)
    held, centre = np.array(prior.precisions), np.array(prior.start) @ turn
    seen, spread = start + y / n, error / n**2
    if sampling:
        total = held + 1 / (1 / (n * a) + spread)
        mean, variance = (held * centre + (total - held) * seen) / total, 1 / total
    else:
        # The rows' mean: from the prior N(centre, 1/held + 1/(n a)); then the posterior mean that it leads to.
        before = 1 / (1 / held + 1 / (n * a))
        after = before + 1 / spread
        rows, width = (before * centre + seen / spread) / after, 1 / after
        share = n * a / (held + n * a)
        mean, variance = centre + share * (rows - centre), share**2 * width
    return mean @ turn.T, np.sqrt(variance @ (turn.T**2))


def _check_inside(model: Vectors, n: int, norm: float, error: float) -> None:
    if norm + _CLEAR * error > n * model.radius:
        raise ArgumentError(
            "the noisy sum lies where it may have been moved into the ball of what the records can sum to, and its noise "
            "cannot be read off: no interval. Use mechanism='diffused', or a larger radius."
        )


def normal_ends(mean: Array, deviation: Array, level: float) -> Array:
    """Equal-tailed intervals (2, d) of normal laws."""
    from scipy.special import ndtri

    half = float(ndtri(0.5 + 0.5 * level)) * deviation
    return np.stack([mean - half, mean + half])
