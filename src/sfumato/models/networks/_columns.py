"""Columns of a schema as nodes of a network: their levels, their codes, and the public bins of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families import _bins
from sfumato.models.networks._tables import size_of
from sfumato.schema import Number, Schema

if TYPE_CHECKING:
    from sfumato.models.networks.bayesian_network import BayesianNetwork
    from sfumato.models.networks.learned import LearnedNetwork

Edges = _bins.Edges
# As many cells as the finest grid of a share has.
_MOST_BINS = 2**16


def checked_bins(pairs: list[tuple[Any, Any]], levels: Mapping[str, Any]) -> tuple[tuple[str, Edges], ...]:
    """Edges of bins by column: rising, one more than the column has levels."""
    checked = []
    for name, given in pairs:
        if name not in levels:
            raise ArgumentError(f"bins names {name!r}, which is not a column of the network.")
        edges = _rising(name, given)
        if len(edges) != size_of(levels[name]) + 1:
            raise ArgumentError(
                f"bins[{name!r}] has {len(edges) - 1} bins and the network {size_of(levels[name])} levels for it."
            )
        checked.append((name, edges))
    return tuple(checked)


def _rising(name: str, given: Any) -> Edges:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"bins[{name!r}] must be a number of bins or a list of edges; got {_validate.shown(given)}."
        )
    edges = tuple(_validate.finite(f"bins[{name!r}]", edge) for edge in given)
    if len(edges) < 3 or any(b <= a for a, b in pairwise(edges)):
        raise ArgumentError(f"bins[{name!r}] must be rising edges of at least two bins; got {list(edges)!r}.")
    return edges


def edges_of(schema: Schema, bins: Mapping[str, Any], named: set[str]) -> dict[str, Edges]:
    """Edges for every Number column of the network; a number of bins is read as equal ones between the bounds."""
    rising = {}
    for name, given in bins.items():
        column = schema.columns.get(name)
        if name not in named or not isinstance(column, Number):
            raise ArgumentError(f"bins[{name!r}]: only Number columns of the network are cut into bins.")
        edges = _bins.in_numbers(column, given)
        if hasattr(given, "__index__"):
            count = _validate.whole(
                f"bins[{name!r}]", given, 2, _MOST_BINS, "every bin is a cell of the network's tables"
            )
            # Bins of whole numbers end at whole numbers, unless there are more bins than numbers.
            whole = column.integer and count <= column.upper - column.lower
            edges = _bins.equal_edges(column.lower, column.upper, count, whole)
        rising[name] = _rising(name, edges)
    return rising


def levels_of(schema: Schema, name: str, edges: Mapping[str, Edges]) -> Any:
    """Levels of a column as the schema declares them, or the number of its bins."""
    column = schema.columns[name]
    if column.levels is not None:
        return column.levels
    if name not in edges:
        kind = type(column).__name__
        raise ArgumentError(f"column {name!r} is a {kind}: give bins={{{name!r}: [public edges]}} or a number of bins.")
    return len(edges[name]) - 1


def check(schema: Schema, name: str, levels: int | tuple[Any, ...], edges: Edges | None) -> None:
    """Refuse a schema whose column is not what the network declares."""
    if name not in schema.columns:
        raise ArgumentError(f"the network has a column {name!r}, which schema {schema.name!r} does not have.")
    column = schema.columns[name]
    if edges is not None or isinstance(column, Number):
        if edges is None or not isinstance(column, Number):
            raise ArgumentError(f"column {name!r}: bins go with a Number column, and a Number column needs bins.")
        if not (edges[0] <= column.lower and column.upper <= edges[-1]):
            raise ArgumentError(
                f"the bins of column {name!r} reach from {edges[0]:g} to {edges[-1]:g} and the schema's bounds from "
                f"{column.lower:g} to {column.upper:g}: the bins must contain them."
            )
        return
    declared = column.levels or ()
    if size_of(levels) != len(declared) or (isinstance(levels, tuple) and levels != declared):
        raise ArgumentError(
            f"the levels of column {name!r} in the schema are not the network's, in the same order. "
            "Use BayesianNetwork.from_schema(schema, parents)."
        )


def codes(values: Any, size: int, edges: Edges | None) -> NDArray[np.int64]:
    """Whole numbers in [0, size): positions of levels, or of bins; clipped once more, whatever comes in."""
    if edges is None:
        return np.clip(np.asarray(values).astype(np.int64), 0, size - 1)
    return _bins.codes_of(values, edges)


def words(model: BayesianNetwork | LearnedNetwork, node: str) -> tuple[str, ...]:
    """The levels of a column in words."""
    edges = dict(model.bins).get(node)
    if edges is not None:
        shown = [f"[{a:g}, {b:g})" for a, b in pairwise(edges)]
        return (*shown[:-1], f"[{edges[-2]:g}, {edges[-1]:g}]")
    levels = dict(model.cardinalities)[node]
    return tuple(map(str, range(levels) if isinstance(levels, int) else levels))
