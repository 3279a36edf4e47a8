"""A Bayesian network over the columns of a table: each column given its parents, Dirichlet row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families.family import Array, Claim
from sfumato.models.networks import _columns, _invented, _unshrunk
from sfumato.models.networks._tables import (
    LARGEST,
    Factor,
    Table,
    Tables,
    named_levels,
    pairs_of,
    prior_cells,
    size_of,
)
from sfumato.schema import Schema

# Accepted values of `adjacency`.
ADJACENCIES = ("replace-one", "replace-entry")


@dataclass(frozen=True, repr=False, init=False)
class BayesianNetwork(Tables):
    """p(record) = product over columns k of theta_k[x_k | x_parents(k)], every row of theta_k Dirichlet(alpha).

    parents: column -> its parents, [] for none; no cycle. cardinalities: column -> number of levels, or the levels.
    alpha: one number for every cell, or one per column, or "balanced": columns with many cells get the smaller prior, in
    proportion to cells^(-2/3), which spreads the price over the tables by how much noise each must carry.
    floor: every conditional probability at least this much; draws are then pure (Dimitrakakis Lemma 24, corrected).
    adjacency: "replace-one", or "replace-entry", which protects one cell of a record and not the whole of it.
    bins: for Number columns the public edges of their bins. `from_schema` fills in levels and bins.
    """

    parents: tuple[tuple[str, tuple[str, ...]], ...]
    cardinalities: tuple[tuple[str, Any], ...]
    alpha: Any
    floor: float | None
    adjacency: str
    bins: tuple[tuple[str, tuple[float, ...]], ...]
    name = "BayesianNetwork"

    def __init__(
        self,
        parents: Any,
        cardinalities: Any,
        alpha: Any = 1.0,
        floor: float | None = None,
        adjacency: str = "replace-one",
        bins: Any = (),
    ) -> None:
        """Check the structure: no unknown column, no cycle, tables of a size that can be drawn."""
        levels = {
            _column_name(key): named_levels(f"cardinalities[{key!r}]", value)
            for key, value in pairs_of("cardinalities", cardinalities)
        }
        if not levels:
            raise ArgumentError("cardinalities must name at least one column.")
        above = _checked_parents(pairs_of("parents", parents), list(levels))
        object.__setattr__(self, "parents", tuple((node, above[node]) for node in levels))
        object.__setattr__(self, "cardinalities", tuple(levels.items()))
        object.__setattr__(self, "adjacency", _validate.one_of("adjacency", adjacency, ADJACENCIES))
        object.__setattr__(self, "bins", _columns.checked_bins(pairs_of("bins", bins), levels))
        object.__setattr__(self, "floor", _checked_floor(floor, max(self.sizes.values())))
        object.__setattr__(self, "bounded", self.floor is not None)
        if (cells := sum(self._rows(node) * self.sizes[node] for node in levels)) > LARGEST:
            raise ArgumentError(
                f"the tables would have {cells:,} cells; at most {LARGEST:,}. Give columns fewer parents."
            )
        chosen = _balanced(self.tables) if isinstance(alpha, str) and alpha == "balanced" else alpha
        object.__setattr__(self, "alpha", prior_cells(chosen, self.tables))

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        parents: Mapping[str, Sequence[str]],
        bins: Mapping[str, Any] | None = None,
        alpha: Any = 1.0,
        floor: float | None = None,
        adjacency: str = "replace-one",
    ) -> BayesianNetwork:
        """Take the levels of Category and Boolean columns from a schema; Number columns are cut into public `bins`.

        bins: column -> the edges, in order, or a number of equal bins between the declared bounds.
        """
        named = {name for node, above in pairs_of("parents", parents) for name in (node, *_listed(node, above))}
        if unknown := sorted(map(str, named - set(schema.columns))):
            raise ArgumentError(f"parents name columns that the schema does not have: {', '.join(unknown)}.")
        edges = _columns.edges_of(schema, dict(pairs_of("bins", bins or {})), named)
        levels = {name: _columns.levels_of(schema, name, edges) for name in schema.columns if name in named}
        return cls(parents, levels, alpha, floor, adjacency, edges)

    # --- structure ---------------------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Column -> number of levels."""
        return {node: size_of(levels) for node, levels in self.cardinalities}

    @cached_property
    def above(self) -> dict[str, tuple[str, ...]]:
        """Column -> parents."""
        return dict(self.parents)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Columns, parents before children."""
        # Every pass places a column, since cycles were refused.
        placed: list[str] = []
        while len(placed) < len(self.parents):
            placed += [node for node, above in self.parents if node not in placed and set(above) <= set(placed)]
        return tuple(placed)

    def _rows(self, node: str) -> int:
        return math.prod(self.sizes[parent] for parent in self.above[node])

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """One table per column, in the order of `cardinalities`."""
        tables, first = [], 0
        for node, size in self.sizes.items():
            tables.append(Table(node, first, self._rows(node), size))
            first = tables[-1].last
        return tuple(tables)

    @property
    def lowest(self) -> float:
        """The floor, 0 for none."""
        return self.floor or 0.0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every cell in words: column=level | parent=level, ..."""
        words = {node: _columns.words(self, node) for node in self.sizes}
        labels = []
        for node in self.sizes:
            for row in product(*(words[parent] for parent in self.above[node])):
                given = ", ".join(f"{parent}={word}" for parent, word in zip(self.above[node], row, strict=True))
                labels += [f"{node}={word}{' | ' if given else ''}{given}" for word in words[node]]
        return tuple(labels)

    # --- what is read ------------------------------------------------------------------------------------------------

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The network's columns, whose levels in the schema must be the network's."""
        for node, levels in self.cardinalities:
            _columns.check(schema, node, levels, dict(self.bins).get(node))
        return tuple(self.sizes)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Counts of every cell: each record adds 1 to one cell of each table."""
        edges = dict(self.bins)
        codes = {node: _columns.codes(block[node], self.sizes[node], edges.get(node)) for node in columns}
        parts = []
        for table in self.tables:
            place = np.zeros_like(codes[table.node])
            for parent in self.above[table.node]:
                place = place * self.sizes[parent] + codes[parent]
            cells = place * table.size + codes[table.node]
            parts.append(np.bincount(cells, minlength=table.rows * table.size))
        return np.concatenate(parts).astype(np.int64)

    @property
    def sensitivity(self) -> float:
        """In each table one count falls by 1 and one rises by 1."""
        return math.sqrt(2 * len(self.tables)) * (1 + 1e-15)

    # --- what is drawn -----------------------------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """The price depends on the smallest cell of each table, or for truncated ones on the range of the log likelihood."""
        nodes = list(self.sizes)
        numbered = tuple(tuple(nodes.index(parent) for parent in self.above[node]) for node in nodes)
        if self.floor is not None:
            bounds = {"cardinalities": tuple(self.sizes.values()), "floor": self.floor}
            return Claim("truncated-network", {"parents": numbered, **bounds, "adjacency": self.adjacency})
        facts = {"parents": numbered, "smallest_cells": self.smallest_cells, "adjacency": self.adjacency}
        return Claim("network-tables", facts)

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Tables from the prior, and the counts of n records from each."""
        truth = self.sketch(rng, np.tile(self.prior, (size, 1)))
        return truth, _invented.counts(self, rng, truth, n)

    def row_weights(self, truth: Array) -> Iterator[Array]:
        """Share of records in each row: the product of the parents' shares, exact where the parents are independent."""
        shares: dict[str, Array] = {}
        weights: dict[str, Array] = {}
        for node in self.order:
            row_share = np.ones((*truth.shape[:-1], 1))
            for parent in self.above[node]:
                row_share = (row_share[..., :, None] * shares[parent][..., None, :]).reshape(*truth.shape[:-1], -1)
            weights[node] = row_share
            shares[node] = (row_share[..., None] * self.table_of[node].of(truth)).sum(axis=-2)
        return (weights[node] for node in self.sizes)

    # --- queries of a release ----------------------------------------------------------------------------------------

    def factors(self, values: Array, columns: Sequence[str]) -> list[Factor]:
        """One factor per column, parents before children."""
        factors = []
        for node in self.order:
            shape = (*(self.sizes[parent] for parent in self.above[node]), self.sizes[node])
            factors.append(Factor(node, self.above[node], self.table_of[node].of(values).reshape(shape)))
        return factors

    def unshrunk(self, values: Array, n: int, power: float, strength: float) -> Array | None:
        """Undo the prior's pull row by row, from the roots down; truncated tables are left alone."""
        return None if self.floor is not None else _unshrunk.network(self, values, n, power, strength)


def _column_name(key: object) -> str:
    if not isinstance(key, str) or not key:
        raise ArgumentError(f"columns are named by texts; got {key!r}.")
    return key


def _listed(node: object, above: Any) -> tuple[str, ...]:
    """The parents of one column; a single text is one parent."""
    listed = (above,) if isinstance(above, str) else tuple(above)
    if len(set(listed)) != len(listed):
        raise ArgumentError(f"parents[{node!r}] lists a column twice: {list(listed)!r}.")
    return listed


def _checked_parents(pairs: list[tuple[Any, Any]], nodes: list[str]) -> dict[str, tuple[str, ...]]:
    above: dict[str, tuple[str, ...]] = dict.fromkeys(nodes, ())
    for node, given in pairs:
        listed = _listed(node, given)
        for name in (node, *listed):
            if name not in above:
                raise ArgumentError(f"parents names {name!r}, which is not among the columns {', '.join(nodes)}.")
        above[node] = listed
    left = set(nodes)
    while ready := {node for node in left if not left & set(above[node])}:
        left -= ready
    if left:
        raise ArgumentError(f"parents must have no cycle; there is one through {', '.join(sorted(left))}.")
    return above


def _checked_floor(floor: float | None, most: int) -> float | None:
    if floor is None:
        return None
    lowest = _validate.positive("floor", floor)
    if not lowest * most < 1:
        raise ArgumentError(f"floor must be below 1/{most}, for a column of {most} levels; got {lowest!r}.")
    return lowest


def _balanced(tables: Sequence[Table]) -> dict[str, float]:
    """Prior cells in proportion to (cells of the table)^(-2/3), those of the largest table 1.

    Noise of deviation sqrt(x) in each of m cells costs m sqrt(x) in total variation and about 1/x in price; the sum of the
    first over tables is least, at a given sum of the second, for x in proportion to m^(-2/3). Rounded to powers of two: the
    price is computed once for each distinct cell.
    """
    most = max(table.rows * table.size for table in tables)
    return {table.node: 2.0 ** round(2 / 3 * math.log2(most / (table.rows * table.size))) for table in tables}
