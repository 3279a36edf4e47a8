"""The expected error of a learnt table before anything is paid: noise and fit on a made-up table of the same columns.

The made-up table is a mixture of a few random classes, the same for everybody. How closely columns depend on each other is not
known beforehand, so that the error of a real table may be larger or smaller; it falls with n and the noise in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from sfumato.mixtures.fitting import fitted
from sfumato.mixtures.mixture import Array, Mixture, firsts
from sfumato.mixtures.noisy_pairs import NoisyTable, assembled

_SEED = 20_170_117
# Classes of the made-up table, whose laws are uniform on the simplex.
_CLASSES = 6
# A quick fit: its error is within some percent of that of the release.
_FOLDS, _COMPONENTS, _STEPS = 3, 30, 300

Noises = tuple[tuple[tuple[int, ...], float], ...]


@lru_cache(maxsize=64)
def expected_error(sizes: tuple[int, ...], n: int, noises: Noises, chosen: int) -> float:
    """Mean total variation over all pairs of columns; the last `chosen` pairs stand for those that fit worst."""
    source = np.random.RandomState(_SEED)
    truth = _made_up(sizes, source)
    pairs = truth.pairs()
    counted = _tables(truth, pairs, n, _worst(truth, pairs, noises, chosen), source)
    model = fitted(assembled(sizes, n, counted), _FOLDS, _COMPONENTS, _STEPS).pairs()
    gaps = [np.abs(_block(model - pairs, sizes, pair)).sum() / 2 for pair in combinations(range(len(sizes)), 2)]
    return float(np.mean(gaps))


def _made_up(sizes: tuple[int, ...], source: np.random.RandomState) -> Mixture:
    laws = [source.dirichlet(np.ones(size), _CLASSES) for size in sizes]
    return Mixture(sizes, np.full(_CLASSES, 1 / _CLASSES), np.concatenate(laws, axis=1))


def _block(matrix: Array, sizes: tuple[int, ...], pair: Sequence[int]) -> Array:
    edges = firsts(sizes)
    a, b = pair
    return matrix[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]


def _worst(truth: Mixture, pairs: Array, noises: Noises, chosen: int) -> Noises:
    """The noises with the last `chosen` pairs replaced by the open ones that are farthest from independence."""
    if not chosen:
        return noises
    fixed = noises[: len(noises) - chosen]
    held = {columns for columns, _ in fixed}
    gap = pairs - np.outer(truth.singles(), truth.singles())
    free = [pair for pair in combinations(range(len(truth.sizes)), 2) if pair not in held]
    free.sort(key=lambda pair: -float(np.abs(_block(gap, truth.sizes, pair)).sum()))
    return (*fixed, *((pair, noises[-1][1]) for pair in free[:chosen]))


def _tables(truth: Mixture, pairs: Array, n: int, noises: Noises, source: np.random.RandomState) -> list[NoisyTable]:
    tables, singles, edges = [], truth.singles(), firsts(truth.sizes)
    for columns, deviation in noises:
        if len(columns) == 1:
            exact = singles[edges[columns[0]] : edges[columns[0] + 1]]
        else:
            exact = _block(pairs, truth.sizes, columns)
        tables.append(NoisyTable(columns, n * exact + deviation * source.standard_normal(exact.shape), deviation))
    return tables
