"""Shares by group after noise on all counts: the hidden sizes, counts and noise are invented from their public laws.

Every division of n among the groups is held equally likely; counts follow the shares, noise is added to every count, and the
counts are moved to the nearest that are possible, as the mechanism does. A share is proposed near the released one from a
heavy-tailed law and weighted by prior over proposal times the law of the released draws given the noisy counts. The
inventions come from a fixed public stream: the same release gives the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families._cells import nearest_counts

Array = NDArray[np.float64]
_INVENTED, _STREAM = 1 << 14, 20_161_112


def noisy_ends(
    draws: Array, n: int, cells: Sequence[float], held: Sequence[float], deviation: float, level: float
) -> Array:
    """Ends (2, groups, shares) of intervals for true shares; draws are (N, groups, shares), of two cells the first alone."""
    from scipy.special import betaln

    rng = np.random.default_rng(_STREAM)
    count, groups, width = draws.shape
    shares = draws if width > 1 else np.concatenate([draws, 1 - draws], axis=2)
    middle = np.clip(shares.mean(axis=0), 1e-9, None)
    middle = middle / middle.sum(axis=1, keepdims=True)
    sizes = _sizes(rng, n, groups)
    noise = deviation * rng.standard_normal((_INVENTED, groups, len(cells)))
    others = np.stack([_split(rng, sizes[:, g], middle[g]) for g in range(groups)], axis=1)
    found = np.empty((2, groups, width))
    typical = n / groups
    scale = math.sqrt(0.25 / typical + 0.5 * (deviation / typical) ** 2)
    for g in range(groups):
        for j in range(width):
            theta, log_proposal = _proposed(rng, float(middle[g, j]), scale)
            counts = others.copy()
            own = rng.binomial(sizes[:, g], theta)
            rest = np.delete(middle[g], j)
            counts[:, g, :] = np.insert(_split(rng, sizes[:, g] - own, rest / rest.sum()), j, own, axis=1)
            seen = nearest_counts((counts + noise).reshape(_INVENTED, -1), n).reshape(counts.shape)[:, g, :]
            a, b = cells[j] + seen[:, j], sum(cells) - cells[j] + seen.sum(axis=1) - seen[:, j]
            t = np.clip(shares[:, g, j], 1e-12, 1 - 1e-12)
            logs = (a - 1) * np.log(t).sum() + (b - 1) * np.log1p(-t).sum() - count * betaln(a, b)
            first, second = held[j], sum(held) - held[j]
            logs += (first - 1) * np.log(theta) + (second - 1) * np.log1p(-theta) - log_proposal
            found[:, g, j] = _weighted_ends(theta, logs, level)
    return found


def _sizes(rng: np.random.Generator, n: int, groups: int) -> NDArray[np.int64]:
    """Sizes (M, groups) that sum to n, every division equally likely: the gaps between groups - 1 bars among n records."""
    bars = np.sort(rng.integers(0, n + 1, (_INVENTED, groups - 1)), axis=1)
    edges = np.column_stack([np.zeros(_INVENTED, np.int64), bars, np.full(_INVENTED, n)])
    return np.diff(edges, axis=1)


def _split(rng: np.random.Generator, sizes: NDArray[np.int64], shares: Array) -> NDArray[np.int64]:
    """Counts of the cells of so many records, (M, cells)."""
    if len(shares) == 1:
        return sizes[:, None]
    return np.asarray(rng.multinomial(sizes, shares / shares.sum()))


def _proposed(rng: np.random.Generator, middle: float, scale: float) -> tuple[Array, Array]:
    """Shares sin^2(phi), phi of a Cauchy law about the released share's, inside (0, pi/2); and their log density."""
    centre = math.asin(math.sqrt(min(max(middle, 1e-9), 1 - 1e-9)))
    low, high = math.atan((1e-6 - centre) / scale), math.atan((math.pi / 2 - 1e-6 - centre) / scale)
    phi = centre + scale * np.tan(low + (high - low) * rng.random(_INVENTED))
    log_density = -np.log(1 + ((phi - centre) / scale) ** 2) - np.log(np.sin(2 * phi))
    return np.sin(phi) ** 2, log_density


def _weighted_ends(values: Array, logs: Array, level: float) -> Array:
    order = np.argsort(values)
    weights = np.exp(logs[order] - logs.max())
    reached = (np.cumsum(weights) - 0.5 * weights) / weights.sum()
    return np.interp([(1 - level) / 2, (1 + level) / 2], reached, values[order])
