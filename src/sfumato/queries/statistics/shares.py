"""Shares of a histogram: the count of each level behind draws by stick-breaking, or behind noisy counts.

The share of one level is Beta given its count and the count is binomial given the share, whatever the other levels: each
share is a rate of its own. From released noisy counts its law is that of `count_laws`. Releases that keep the draws alone are
read through the projection of the noisy counts onto those that sum to n, which makes them depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families import _cells
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.queries.statistics.count_laws import Noisy, ShareLaw, share_law
from sfumato.queries.statistics.posterior import CELLS, Statistic, ends_of
from sfumato.queries.statistics.protocol import REFERENCE, Ends, Numbers, Released
from sfumato.queries.statistics.rates import count_statistic

# Simulated sets of the other levels' counts, from the reader's prior with a fixed public seed.
_SIMULATED = 64
# Cells of a noisy count; fewer than elsewhere, since each is averaged over all simulated sets.
_PARTS = 80


def read(model: DirichletCategorical, prior: DirichletCategorical, released: Released) -> Ends:
    """Intervals of every share: from the noisy counts where they were released, else from the draws."""
    if released.numbers.noise == 0 or released.totals is None:
        return ends_of(share_statistics(model, prior, released.n, released.numbers, released.first))
    laws = noisy_shares(model, prior, released, released.totals)
    return lambda level, sampling: (
        np.array([law.share_ends(level) if sampling else law.rows_ends(level) for law in laws]).T
    )


def noisy_shares(
    model: DirichletCategorical, prior: DirichletCategorical, released: Released, totals: Array
) -> list[ShareLaw]:
    """The law of every share, from noisy counts of all levels; that of the others together adds up their noise."""
    variance = (released.numbers.noise * model.sensitivity) ** 2
    whole, laws = float(totals.sum()), []
    for level, count in enumerate(totals.tolist()):
        own, others = Noisy(count, variance), Noisy(whole - count, (len(totals) - 1) * variance)
        laws.append(share_law(own, others, released.n, prior_of_share(prior, [level])))
    return laws


def prior_of_share(prior: DirichletCategorical, levels: Sequence[int]) -> tuple[float, float]:
    """The Beta prior of the share of some levels together: the declared cells, or the reference prior where none are."""
    if prior.reference:
        return REFERENCE
    inside = sum(prior.alpha[level] for level in levels)
    return inside, sum(prior.alpha) - inside


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
        share_statistic(model.alpha, _cells_of(prior, level), level, n, numbers, known[level], model.sensitivity)
        for level in wanted
    ]


def _cells_of(prior: DirichletCategorical, level: int) -> tuple[float, ...]:
    """Prior cells in which this level has its own prior: those declared, or cells that make it the reference prior."""
    if not prior.reference:
        return prior.alpha
    others = REFERENCE[1] / (len(prior.alpha) - 1)
    return tuple(REFERENCE[0] if place == level else others for place in range(len(prior.alpha)))


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
