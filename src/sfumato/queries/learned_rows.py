"""A synthetic table from a released learnt table: rows of its mixture in the columns' own types. Post-processing, any number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.mixtures.rows import drawn_rows
from sfumato.models.families import _count_tree
from sfumato.models.networks._tables import size_of
from sfumato.queries import missing_values
from sfumato.queries.convert import needed
from sfumato.queries.learned_tables import LearnedTable
from sfumato.queries.synthesize import FORMS, in_own_type, spread
from sfumato.schema import Number

Codes = NDArray[np.int64]


def synthesize(table: LearnedTable, rows: int, randomness: Any = None, to: str = "mapping") -> Any:
    """A table of `rows` records with the schema's names, levels, types and bounds.

    A number is spread evenly over its bin; where the bin is a private quantile, over the fine cells in it as the noisy counts have
    them. `randomness` is a seed or a NumPy generator: what is drawn from is public. `to`: "mapping", "arrow" or "pandas".
    """
    count = _validate.whole("rows", rows)
    _validate.one_of("to", to, FORMS)
    rng, model = np.random.default_rng(randomness), table.model
    codes = drawn_rows(table.learnt.mixture, count, rng, model.empty_cells)
    columns = {}
    for name in table.schema.columns:
        if name in model.sizes:
            columns[name] = _column(table, name, codes[:, model.names.index(name)], rng, to)
    if to == "mapping":
        return columns
    if to == "arrow":
        import pyarrow

        return pyarrow.table(columns)
    return needed("pandas", "to='pandas'").DataFrame(columns)


def _column(table: LearnedTable, name: str, codes: Codes, rng: np.random.Generator, to: str) -> Any:
    """One column in its own type; missing cells in the form that each kind of table has for them."""
    size = size_of(dict(table.model.cardinalities)[name])
    gone = codes == size
    column = table.schema.columns[name]
    if isinstance(column, Number):
        numbers = _numbers(table, name, column, np.minimum(codes, size - 1), rng)
        values = in_own_type(column, missing_values.off_codes(numbers, column))
    else:
        levels: Any = column.levels
        values = np.array(levels, dtype=object if isinstance(levels[0], str) else None)[np.minimum(codes, size - 1)]
    if name not in table.model.missing:
        return values
    if to == "arrow":
        return missing_values.arrow_array(values, gone)
    return missing_values.pandas_array(values, gone) if to == "pandas" else missing_values.blanked(values, gone, column)


def _numbers(table: LearnedTable, name: str, column: Number, codes: Codes, rng: np.random.Generator) -> NDArray[Any]:
    """Numbers within their bins."""
    edges = np.array(dict(table.model.bins)[name], dtype=np.float64)
    tree = table.learnt.trees.get(name)
    if tree is None:
        return spread(column, edges, codes, rng)
    cells = np.array(table.learnt.cells[name], dtype=np.float64)
    radices = _count_tree.radices_for(len(cells) - 1)
    below = _count_tree.cumulative_counts(tree, radices, table.learnt.n)[: len(cells)]
    counts = np.maximum(np.diff(below), 0.0)
    chosen = np.empty(len(codes), dtype=np.int64)
    for k, (low, high) in enumerate(pairwise(edges)):
        first, last = (int(np.searchsorted(cells, edge)) for edge in (low, high))
        inside = counts[first:last] if counts[first:last].sum() > 0 else np.ones(last - first)
        here = np.flatnonzero(codes == k)
        chosen[here] = first + rng.choice(last - first, len(here), p=inside / inside.sum())
    return spread(column, cells, chosen, rng)
