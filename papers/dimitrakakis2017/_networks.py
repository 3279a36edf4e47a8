"""Discrete networks by enumeration: corner tables, log likelihoods of records, and the worst prior on two tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Tables = dict[tuple[int, tuple[int, ...]], list[float]]


def tables_at_corners(sizes: Sequence[int], parents: Sequence[Sequence[int]], floor: float) -> Iterator[Tables]:
    """Every choice of tables whose rows have one large probability and all others at the floor."""
    places = [(k, above, size) for k, size in enumerate(sizes)
              for above in itertools.product(*(range(sizes[j]) for j in parents[k]))]  # fmt: skip
    for peaks in itertools.product(*(range(size) for _, _, size in places)):
        yield {(k, above): [1 - (size - 1) * floor if value == peak else floor for value in range(size)]
               for (k, above, size), peak in zip(places, peaks, strict=True)}  # fmt: skip


def log_likelihood(tables: Tables, record: Sequence[int], parents: Sequence[Sequence[int]]) -> float:
    """Logarithm of the probability of one record."""
    return sum(math.log(tables[k, tuple(record[j] for j in parents[k])][value]) for k, value in enumerate(record))


def worst_posterior(gaps: NDArray[np.float64]) -> float:
    """Largest log ratio of posteriors over priors on two tables, one of them rare; `gaps` are ln p(x)/p(y) by table."""
    rare = 1e-14  # in the limit of 0 the range of the gaps is reached
    top, bottom = float(gaps.max()), float(gaps.min())
    return top - math.log(rare * math.exp(top) + (1 - rare) * math.exp(bottom))
