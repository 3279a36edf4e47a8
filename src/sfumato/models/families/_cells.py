"""Arithmetic of Dirichlet cells that the discrete families share; two cells are a Beta."""

from __future__ import annotations

import numpy as np

from sfumato.grids.rates import WEIGHT_OF_A_CELL
from sfumato.grids.size import most_cells
from sfumato.models.families.family import Array


def strongest_cells(prior: float, data: float) -> float:
    """Largest strength of a prior of this total weight that the grid of rates can still draw."""
    # The factor keeps the rounding of the weight below the limit.
    return max(1.0, (WEIGHT_OF_A_CELL * most_cells() ** 2 - data) / prior * (1 - 1e-9))


def divergence(first: Array, second: Array) -> Array:
    """KL of Dirichlet(first) from Dirichlet(second), along the last axis."""
    from scipy.special import digamma, gammaln

    total_first, total_second = first.sum(axis=-1), second.sum(axis=-1)
    gap = gammaln(total_first) - gammaln(total_second) + (gammaln(second) - gammaln(first)).sum(axis=-1)
    moved = ((first - second) * (digamma(first) - digamma(total_first)[..., None])).sum(axis=-1)
    return np.asarray(np.maximum(0.0, gap + moved), dtype=np.float64)


def sketch(rng: np.random.Generator, cells: Array) -> Array:
    """One float draw from each Dirichlet, as normalised Gammas; tiny cells in logarithms, so that not all underflow."""
    # Gamma(c) is Gamma(c + 1) times U^(1/c), U uniform.
    logs = np.log(rng.gamma(cells + 1.0)) + np.log(rng.random(cells.shape)) / cells
    top = logs.max(axis=-1, keepdims=True)
    values = np.exp(logs - top)
    return np.asarray(values / values.sum(axis=-1, keepdims=True), dtype=np.float64)


def nearest_counts(totals: Array, n: int) -> Array:
    """The nearest point (Euclidean) with entries of at least 0 that sum to n, along the last axis."""
    # Projection onto a simplex by sorting: the largest entries are shifted by one number, the others become 0.
    falling = -np.sort(-totals, axis=-1)
    above = np.cumsum(falling, axis=-1) - n
    size = np.arange(1, totals.shape[-1] + 1)
    kept = (falling - above / size > 0).sum(axis=-1)
    shift = np.take_along_axis(above, kept[..., None] - 1, axis=-1) / kept[..., None]
    return np.asarray(np.maximum(totals - shift, 0.0), dtype=np.float64)
