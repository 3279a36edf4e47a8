"""Float draws of Dirichlets whose shares all stay above a floor: for expectations alone, never released."""

from __future__ import annotations

import numpy as np

from sfumato.models.families import _cells
from sfumato.models.families.family import Array

# Passes over all pairs of shares; enough for expectations, which need no exact draws.
_SWEEPS = 4
# Free draws that are tried before the passes: one that stays above the floor is an exact draw, and costs a hundredth of them.
_TRIES = 8


def sketch(rng: np.random.Generator, cells: Array, floor: float) -> Array:
    """One draw from each row of cells, (..., size), restricted to shares of at least `floor`.

    The first free draw that stays above the floor is taken, which is rejection sampling; what has none in a few tries is
    redrawn by pairs.
    """
    size = cells.shape[-1]
    rows = cells.reshape(-1, size)
    shares, left = np.empty_like(rows), np.arange(len(rows))
    for _ in range(_TRIES):
        shares[left] = _cells.sketch(rng, rows[left])
        left = left[shares[left].min(axis=-1) < floor]
        if not left.size:
            break
    else:
        shares[left] = _by_pairs(rng, rows[left], floor)
    return shares.reshape(cells.shape)


def _by_pairs(rng: np.random.Generator, cells: Array, floor: float) -> Array:
    """One draw from each row of cells restricted to shares of at least `floor`, by passes over pairs of shares.

    Starts from the free draw, pushed above the floor, and redraws neighbouring pairs of shares given the others: a pair's
    split is a Beta restricted to an interval. Two shares need one such step, which is exact.
    """
    size = cells.shape[-1]
    above = np.maximum(_cells.sketch(rng, cells) - floor, 0.0) + 1e-12
    shares = floor + (1 - size * floor) * above / above.sum(axis=-1, keepdims=True)
    for step in range(1 if size == 2 else _SWEEPS * size):
        i, j = step % size, (step + 1) % size
        both = shares[..., i] + shares[..., j]
        split = _restricted(rng, cells[..., i], cells[..., j], np.minimum(floor / both, 0.5))
        shares[..., i], shares[..., j] = both * split, both * (1 - split)
    return np.asarray(shares, dtype=np.float64)


def _restricted(rng: np.random.Generator, a: Array, b: Array, edge: Array) -> Array:
    """Beta(a, b) restricted to [edge, 1 - edge]; where its mass there underflows, the end nearer to the mean."""
    from scipy.special import betainc, betaincinv

    low, high = betainc(a, b, edge), betainc(a, b, 1 - edge)
    inside = betaincinv(a, b, low + rng.random(a.shape) * (high - low))
    split = np.where(high - low > 1e-12, np.nan_to_num(inside, nan=0.5), a / (a + b))
    return np.asarray(np.clip(split, edge, 1 - edge), dtype=np.float64)
