"""Counts of records simulated from given tables, for expectations; no private record is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families.family import Array

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork

# Most records that are simulated one by one, over all networks together: some seconds of work.
_MOST = 20_000_000


def counts(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """Counts (size, cells) of n records from each of the tables (size, cells)."""
    if all(len(above) <= 1 for above in model.above.values()):
        return _forest(model, rng, truth, n)
    return np.stack([_records(model, rng, tables, n, max(1000, _MOST // len(truth))) for tables in truth])


def _forest(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """With at most one parent, the rows of a table are multinomial given the counts of the parent's levels."""
    counts = np.empty_like(truth)
    level_counts: dict[str, NDArray[np.int64]] = {}
    for node in model.order:
        table = model.table_of[node]
        above = level_counts[model.above[node][0]] if model.above[node] else np.full((len(truth), 1), n, dtype=np.int64)
        cells = rng.multinomial(above, table.of(truth))
        level_counts[node] = cells.sum(axis=-2)
        counts[:, table.first : table.last] = cells.reshape(len(truth), -1)
    return counts


def _records(model: BayesianNetwork, rng: np.random.Generator, tables: Array, n: int, most: int) -> Array:
    """Records one by one; for more than `most` of them the shares of the rows are those of the first `most`."""
    count = min(n, most)
    codes: dict[str, NDArray[np.int64]] = {}
    counts = np.empty_like(tables)
    for node in model.order:
        table, row = model.table_of[node], np.zeros(count, dtype=np.int64)
        for parent in model.above[node]:
            row = row * model.sizes[parent] + codes[parent]
        edges = np.cumsum(table.of(tables), axis=-1)[row, :-1]
        codes[node] = (rng.random(count)[:, None] > edges).sum(axis=-1)
        cells = np.bincount(row * table.size + codes[node], minlength=table.rows * table.size)
        if count < n:
            rows = rng.multinomial(n, np.bincount(row, minlength=table.rows) / count)
            cells = rng.multinomial(rows, table.of(tables)).ravel()
        counts[table.first : table.last] = cells
    return counts
