"""Counts of records that were invented from given tables: for expectations, never from a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families.family import Array

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork

# Records invented one by one at most, over all networks together.
_MOST = 20_000_000


def counts(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """Counts (size, cells) of n records from each of the tables (size, cells)."""
    if all(len(above) <= 1 for above in model.above.values()):
        return _forest(model, rng, truth, n)
    return np.stack([_records(model, rng, tables, n, max(1000, _MOST // len(truth))) for tables in truth])


def _forest(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """With one parent at most, a table's rows are multinomial given how often the parent took each level."""
    found = np.empty_like(truth)
    met: dict[str, NDArray[np.int64]] = {}
    tables = {table.node: table for table in model.tables}
    for node in model.order:
        table = tables[node]
        above = met[model.above[node][0]] if model.above[node] else np.full((len(truth), 1), n, dtype=np.int64)
        cells = rng.multinomial(above, table.of(truth))
        met[node] = cells.sum(axis=-2)
        found[:, table.first : table.last] = cells.reshape(len(truth), -1)
    return found


def _records(model: BayesianNetwork, rng: np.random.Generator, tables: Array, n: int, most: int) -> Array:
    """Records one by one; beyond `most` of them, how often each row is met is taken from the first `most`."""
    count = min(n, most)
    codes: dict[str, NDArray[np.int64]] = {}
    found = np.empty_like(tables)
    by_name = {table.node: table for table in model.tables}
    for node in model.order:
        table, row = by_name[node], np.zeros(count, dtype=np.int64)
        for parent in model.above[node]:
            row = row * model.sizes[parent] + codes[parent]
        edges = np.cumsum(table.of(tables), axis=-1)[row, :-1]
        codes[node] = (rng.random(count)[:, None] > edges).sum(axis=-1)
        cells = np.bincount(row * table.size + codes[node], minlength=table.rows * table.size)
        if count < n:
            rows = rng.multinomial(n, np.bincount(row, minlength=table.rows) / count)
            cells = rng.multinomial(rows, table.of(tables)).ravel()
        found[table.first : table.last] = cells
    return found
