"""Shares of a histogram, one at a time: draws that were broken stick by stick, counts that were noised and projected.

The share of one level is Beta given its count, the count is binomial given the share, and both hold whatever the other
levels do: each share is a rate of its own. Only the projection of noisy counts onto those that sum to n ties them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato._quadrature import Array
from sfumato.models.families import _cells as _grids
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.queries._coordinates import count_statistic
from sfumato.queries.hidden import Statistic

# Invented sets of the other levels' counts, from the reader's prior with a fixed public seed.
_INVENTED = 64
# Cells of a noisy count: each is averaged over all invented sets.
_PARTS = 80


def share_statistic(
    cells: tuple[float, ...],
    prior: tuple[float, ...],
    level: int,
    n: int,
    numbers: tuple[float, float, float],
    known: tuple[Array, Array],
    reach: float,
) -> Statistic:
    """The count of one level among n, behind draws of its share."""
    power, strength, noise = numbers
    others = tuple(value for place, value in enumerate(prior) if place != level)
    deviation = noise * reach
    return count_statistic(
        n,
        (prior[level], sum(others)),
        (strength * cells[level], strength * (sum(cells) - cells[level])),
        power,
        known,
        noisy_below=projected_noise(n, others, deviation) if noise > 0 else None,
        noise=deviation,
        parts=_PARTS if noise > 0 else None,
    )


def share_statistics(
    model: DirichletCategorical,
    prior: DirichletCategorical,
    n: int,
    numbers: tuple[float, float, float],
    draws: Array,
    levels: Sequence[int] | None = None,
) -> list[Statistic]:
    """The counts behind draws (N, K) of all shares, or of some."""
    power, strength, _ = numbers
    known = model.law([Fraction(0)] * len(model.units), n, power, strength).geometry.ends(draws)
    wanted = range(len(known)) if levels is None else levels
    return [
        share_statistic(model.alpha, prior.alpha, level, n, numbers, known[level], model.sensitivity)
        for level in wanted
    ]


def projected_noise(n: int, others: tuple[float, ...], deviation: float) -> Callable[[Array, Array], Array]:
    """P(S~ <= x | S) for one noisy count, after all of them were moved to the nearest point that sums to n.

    The projection of u is max(u_i - t, 0) with one threshold t. If the count is to be x, the others must sum to n - x, which
    fixes t from them alone: t(x) = max_k (u_(1) + ... + u_(k) - (n - x))/k over the others' k largest. So S~ <= x if and only
    if u_i <= x + t(x), a normal probability; it is averaged over invented counts of the others, given S.
    """
    from scipy.special import ndtr

    def below(held: Array, x: Array) -> Array:
        """P(noisy count <= x) given the count, averaged over invented noise of the other levels."""
        counts = _invented_counts(np.rint(n - held).astype(np.int64), others)
        noisy = -np.sort(-(counts + deviation * _invented_noise(len(others))), axis=-1)
        sums = np.ascontiguousarray(np.moveaxis(np.cumsum(noisy, axis=-1), -1, 0))
        found = np.empty((len(held), len(x)))
        for column, value in enumerate(x):
            bar = sums[0] - (n - value)
            for k in range(1, len(sums)):
                np.maximum(bar, (sums[k] - (n - value)) / (k + 1), out=bar)
            found[:, column] = ndtr((bar + (value - held)[:, None]) / deviation).mean(axis=1)
        return found

    return below


def _invented_counts(totals: np.ndarray, others: tuple[float, ...]) -> Array:
    """Counts (J, M, K - 1) of the other levels given their total, from the prior; the same shares for every total."""
    rng = np.random.default_rng(20_170_117)
    shares = _grids.sketch(rng, np.tile(np.array(others), (_INVENTED, 1)))
    if len(others) == 1:
        return np.repeat(totals.astype(np.float64)[:, None, None], _INVENTED, axis=1)
    return rng.multinomial(totals[:, None], shares[None]).astype(np.float64)


@lru_cache(maxsize=8)
def _invented_noise(size: int) -> Array:
    """Standard normal noise (M, K - 1) whose sum over the levels stands at equal steps of probability, in any order."""
    from scipy.special import ndtri

    rng = np.random.default_rng(5)
    found = rng.standard_normal((_INVENTED, size))
    total = rng.permutation(ndtri((np.arange(_INVENTED) + 0.5) / _INVENTED))
    found += total[:, None] / np.sqrt(size) - found.mean(axis=1, keepdims=True)
    found.setflags(write=False)
    return np.asarray(found, dtype=np.float64)
