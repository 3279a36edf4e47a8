"""Noisy tables of single columns and of pairs as one matrix of shares with its precisions: what a mixture is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.mixtures.mixture import Array, firsts

# Cells that are known to be empty count as this many times the most precise measured cell.
_KNOWN = 25.0
# Least share from which a fit starts: a level that noise makes negative may still be there.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Noisy counts of one column, or of the combinations of two; every cell has noise of this standard deviation."""

    columns: tuple[int, ...]
    counts: Array
    deviation: float


@dataclass(frozen=True, eq=False)
class NoisyPairs:
    """Noisy shares of all pairs of levels and of all levels, with their precisions (1/variance); 0 where nothing was measured.

    Matrices are symmetric. `known` marks cells that are empty by a public rule; their shares are 0 and carry no noise.
    """

    sizes: tuple[int, ...]
    shares: Array
    precisions: Array
    single_shares: Array
    single_precisions: Array
    known: NDArray[np.bool_]

    @property
    def cells(self) -> int:
        """Measured cells, those of a pair counted once."""
        measured = np.count_nonzero((self.precisions > 0) & ~self.known) // 2
        return int(measured + np.count_nonzero(self.single_precisions))

    def start(self) -> Array:
        """Shares of every level, pooled over the tables that hold its column by their precisions, and made positive."""
        edges = firsts(self.sizes)
        pooled = np.empty(edges[-1])
        for first, last in pairwise(edges):
            weighed = self.single_precisions[first:last] * self.single_shares[first:last]
            weights = self.single_precisions[first:last].copy()
            for begin, end in pairwise(edges):
                # The variance of a sum of cells is their number times that of one.
                precision = self.precisions[first:last, begin:end]
                if begin != first and precision[~self.known[first:last, begin:end]].any():
                    one = float(precision[~self.known[first:last, begin:end]].max()) / (end - begin)
                    weighed = weighed + one * self.shares[first:last, begin:end].sum(axis=1)
                    weights = weights + one
            shares = np.maximum(weighed / np.where(weights > 0, weights, 1.0), _LEAST)
            pooled[first:last] = shares / shares.sum()
        return pooled

    def parted(self, folds: int, source: np.random.RandomState) -> list[tuple[NoisyPairs, NoisyPairs]]:
        """The same information in `folds` parts: of each, all other parts together, and the part itself.

        From y = truth + N(0, s^2) come y_k = y + sqrt(folds) s (z_k - mean z), which are independent of each other with variance
        folds s^2 each, z being standard normal. Noise is added to what is released already: no record is read.
        """
        normals = source.standard_normal((folds, *self.shares.shape))
        normals = np.triu(normals) + np.triu(normals, 1).transpose(0, 2, 1)
        singles = source.standard_normal((folds, len(self.single_shares)))
        normals, singles = normals - normals.mean(axis=0), singles - singles.mean(axis=0)
        parts = []
        for noise, single in zip(normals, singles, strict=True):
            own = self.shares + np.sqrt(folds) * _deviations(self.precisions, self.known) * noise
            alone = self.single_shares + np.sqrt(folds) * _deviations(self.single_precisions, None) * single
            rest = (folds * self.shares - own) / (folds - 1), (folds * self.single_shares - alone) / (folds - 1)
            parts.append((self._with(*rest, (folds - 1) / folds), self._with(own, alone, 1 / folds)))
        return parts

    def _with(self, shares: Array, singles: Array, information: float) -> NoisyPairs:
        return NoisyPairs(
            self.sizes, shares, information * self.precisions, singles, information * self.single_precisions, self.known
        )


def _deviations(precisions: Array, known: NDArray[np.bool_] | None) -> Array:
    noisy = precisions > 0 if known is None else (precisions > 0) & ~known
    return np.where(noisy, 1 / np.sqrt(np.where(precisions > 0, precisions, 1.0)), 0.0)


def assembled(
    sizes: tuple[int, ...], n: int, tables: Sequence[NoisyTable], empty: Sequence[tuple[int, int]] = ()
) -> NoisyPairs:
    """The tables as one matrix of shares; `empty` lists pairs of levels, counted over all columns, that no record can have."""
    edges = firsts(sizes)
    shares, precisions = np.zeros((edges[-1], edges[-1])), np.zeros((edges[-1], edges[-1]))
    single_shares, single_precisions = np.zeros(edges[-1]), np.zeros(edges[-1])
    for table in tables:
        precision = (n / table.deviation) ** 2
        where = [slice(edges[column], edges[column + 1]) for column in table.columns]
        if len(where) == 1:
            single_shares[where[0]], single_precisions[where[0]] = table.counts / n, precision
            continue
        first, second = where
        shares[first, second], shares[second, first] = table.counts / n, table.counts.T / n
        precisions[first, second] = precisions[second, first] = precision
    known = np.zeros(shares.shape, dtype=bool)
    for a, b in empty:
        known[a, b] = known[b, a] = True
    most = max(float(precisions.max()), float(single_precisions.max()))
    shares[known], precisions[known] = 0.0, _KNOWN * most
    return NoisyPairs(sizes, shares, precisions, single_shares, single_precisions, known)
