"""Counts of records simulated from given tables, for expectations; no private record is used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families.family import Array

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork

# Most records times columns that are simulated one by one, over all networks together: about two seconds of work.
_MOST = 50_000_000
# Fewest records of a network that stand for more.
_FEWEST = 1000
# Simulating a cell of a table of counts takes about as long as this many columns of a record (a binomial and a comparison).
_CELL = 3


def counts(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """Counts (size, cells) of n records from each of the tables (size, cells)."""
    if all(len(above) <= 1 for above in model.above.values()):
        return _forest(model, rng, truth, n)
    most = max(_FEWEST, _MOST // (len(truth) * len(model.order)))
    if _CELL * sum(_cells(model)) <= min(n, most) * len(model.order):
        return _by_cells(model, rng, truth, n)
    return np.stack([_records(model, rng, tables, n, most) for tables in truth])


def _open_columns(model: BayesianNetwork) -> list[list[str]]:
    """For each column in order: the earlier columns that are a parent of it or of a later one."""
    last = {parent: place for place, node in enumerate(model.order) for parent in model.above[node]}
    return [[node for node in model.order[:place] if last.get(node, -1) >= place] for place in range(len(model.order))]


def _cells(model: BayesianNetwork) -> list[int]:
    """For each column in order: the cells of the joint table of counts of it and of the open columns."""
    return [
        model.sizes[node] * math.prod(model.sizes[each] for each in among)
        for node, among in zip(model.order, _open_columns(model), strict=True)
    ]


def _by_cells(model: BayesianNetwork, rng: np.random.Generator, truth: Array, n: int) -> Array:
    """Exact counts: each cell of the joint table of the open columns is divided among the next column's levels.

    The levels of a column are independent of the earlier columns given its parents, all of which are open: so the counts of its
    levels in each cell are multinomial. A column is summed out once the last column below it is done.
    """
    made = np.empty_like(truth)
    joint, held = np.full(len(truth), n, dtype=np.int64), list[str]()
    for node, among in zip(model.order, _open_columns(model), strict=True):
        joint, held = _marginal(joint, held, among), among
        table, parents = model.table_of[node], model.above[node]
        shape = (len(truth), *(model.sizes[each] for each in parents), table.size)
        chances = table.of(truth).reshape(shape)
        # The parents' axes in the order in which they are open, and an axis of length 1 for every other open column.
        ordered = [each for each in among if each in parents]
        chances = chances.transpose(0, *(1 + parents.index(each) for each in ordered), len(parents) + 1)
        wide = [model.sizes[each] if each in parents else 1 for each in among]
        joint = rng.multinomial(joint, chances.reshape(len(truth), *wide, table.size))
        held = [*among, node]
        made[:, table.first : table.last] = _marginal(joint, held, [*parents, node]).reshape(len(truth), -1)
    return made


def _marginal(joint: NDArray[np.int64], held: list[str], kept: list[str]) -> NDArray[np.int64]:
    """Sum out the columns that are not kept; the others in the order of `kept`."""
    gone = tuple(1 + place for place, name in enumerate(held) if name not in kept)
    left = [name for name in held if name in kept]
    summed = joint.sum(axis=gone) if gone else joint
    return np.asarray(summed.transpose(0, *(1 + left.index(name) for name in kept)))


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
        edges, uniform = np.cumsum(table.of(tables), axis=-1), rng.random(count)
        codes[node] = np.zeros(count, dtype=np.int64)
        for level in range(table.size - 1):
            codes[node] += uniform > edges[:, level][row]
        cells = np.bincount(row * table.size + codes[node], minlength=table.rows * table.size)
        if count < n:
            rows = rng.multinomial(n, np.bincount(row, minlength=table.rows) / count)
            cells = rng.multinomial(rows, table.of(tables)).ravel()
        counts[table.first : table.last] = cells
    return counts
