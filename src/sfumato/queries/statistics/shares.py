"""Shares of a histogram: the count of each level behind draws by stick-breaking, or behind noisy, projected counts.

The share of one level is Beta given its count and the count is binomial given the share, whatever the other levels: each
share is a rate of its own. Only the projection of noisy counts onto those that sum to n makes them depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families import _cells
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.queries.statistics.posterior import CELLS, Statistic, ends_of
from sfumato.queries.statistics.protocol import Ends, Numbers, Released
from sfumato.queries.statistics.rates import count_statistic
from sfumato.queries.statistics.released_totals import noisy

# Simulated sets of the other levels' counts, from the reader's prior with a fixed public seed.
_SIMULATED = 64
# Cells of a noisy count; fewer than elsewhere, since each is averaged over all simulated sets.
_PARTS = 80


def read(model: DirichletCategorical, prior: DirichletCategorical, released: Released) -> Ends:
    """Intervals of every share."""
    if released.totals is not None:
        return ends_of(counted_shares(model, prior, released, released.totals))
    return ends_of(share_statistics(model, prior, released.n, released.numbers, released.first))


def share_statistic(
    cells: tuple[float, ...],
    prior: tuple[float, ...],
    level: int,
    n: int,
    numbers: Numbers,
    known: tuple[Array, Array],
    sensitivity: float,
) -> Statistic:
    """The count of one level among n, behind draws of its share."""
    power, strength, noise, _ = numbers
    others = tuple(value for place, value in enumerate(prior) if place != level)
    deviation = noise * sensitivity
    return count_statistic(
        n,
        (prior[level], sum(others)),
        (strength * cells[level], strength * (sum(cells) - cells[level])),
        power,
        known,
        noisy_below=projected_noise(n, others, deviation) if noise > 0 else None,
        noise=deviation,
        cells=_PARTS if noise > 0 else CELLS,
    )


def share_statistics(
    model: DirichletCategorical,
    prior: DirichletCategorical,
    n: int,
    numbers: Numbers,
    draws: Array,
    levels: Sequence[int] | None = None,
) -> list[Statistic]:
    """The counts behind draws (N, K) of all shares, or of some."""
    power, strength, _, grid = numbers
    known = model.public_law(n, power, strength, grid).geometry.ends(draws)
    wanted = range(len(known)) if levels is None else levels
    return [
        share_statistic(model.alpha, prior.alpha, level, n, numbers, known[level], model.sensitivity)
        for level in wanted
    ]


def counted_shares(
    model: DirichletCategorical, prior: DirichletCategorical, released: Released, counts: Array
) -> list[Statistic]:
    """The count of each level behind the noisy counts of all, which are released as they are.

    The noisy count of a level and n less those of the others are two views of one count, with variances s^2 and (K - 1) s^2;
    together they have the variance s^2 (K - 1)/K.
    """
    n, size, alpha = released.n, len(counts), prior.alpha
    deviation = released.numbers.noise * model.sensitivity
    seen = counts + (n - counts.sum()) / size
    none = (np.empty(0), np.empty(0))
    statistics = (count_statistic(n, (own, sum(alpha) - own), (own, sum(alpha) - own), 1.0, none) for own in alpha)
    known = deviation * np.sqrt(1 - 1 / size)
    return [noisy(each, float(value), known) for each, value in zip(statistics, seen, strict=True)]


def projected_noise(n: int, others: tuple[float, ...], deviation: float) -> Callable[[Array, Array], Array]:
    """P(S~ <= x | S) for one noisy count, after all of them were moved to the nearest point that sums to n.

    The projection of u is max(u_i - t, 0) with one threshold t. If the count is to be x, the others must sum to n - x, which
    fixes t from them alone: t(x) = max_k (u_(1) + ... + u_(k) - (n - x))/k over the others' k largest. So S~ <= x if and only
    if u_i <= x + t(x), a normal probability; it is averaged over simulated counts of the others, given S.
    """
    from scipy.special import ndtr

    def below(held: Array, x: Array) -> Array:
        """P(noisy count <= x) given the count, averaged over simulated noise of the other levels."""
        counts = _simulated_counts(np.rint(n - held).astype(np.int64), others)
        noisy = -np.sort(-(counts + deviation * _simulated_noise(len(others))), axis=-1)
        sums = np.ascontiguousarray(np.moveaxis(np.cumsum(noisy, axis=-1), -1, 0))
        shares = np.empty((len(held), len(x)))
        for column, value in enumerate(x):
            bar = sums[0] - (n - value)
            for k in range(1, len(sums)):
                np.maximum(bar, (sums[k] - (n - value)) / (k + 1), out=bar)
            shares[:, column] = ndtr((bar + (value - held)[:, None]) / deviation).mean(axis=1)
        return shares

    return below


def _simulated_counts(totals: np.ndarray, others: tuple[float, ...]) -> Array:
    """Counts (J, M, K - 1) of the other levels given their total, from the prior; the same shares for every total."""
    rng = np.random.default_rng(20_170_117)
    shares = _cells.sketch(rng, np.tile(np.array(others), (_SIMULATED, 1)))
    if len(others) == 1:
        return np.repeat(totals.astype(np.float64)[:, None, None], _SIMULATED, axis=1)
    return rng.multinomial(totals[:, None], shares[None]).astype(np.float64)


@lru_cache(maxsize=8)
def _simulated_noise(size: int) -> Array:
    """Standard normal noise (M, K - 1) whose sums over the levels are the normal's quantiles at equal steps, shuffled."""
    from scipy.special import ndtri

    rng = np.random.default_rng(5)
    noise = rng.standard_normal((_SIMULATED, size))
    total = rng.permutation(ndtri((np.arange(_SIMULATED) + 0.5) / _SIMULATED))
    noise += total[:, None] / np.sqrt(size) - noise.mean(axis=1, keepdims=True)
    noise.setflags(write=False)
    return np.asarray(noise, dtype=np.float64)
