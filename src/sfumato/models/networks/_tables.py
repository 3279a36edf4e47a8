"""Base class of the networks: conditional tables whose rows are independent Dirichlets, and the counts of their cells.

A table has one row for every configuration of the parents and one column for every level; its cells lie one after the
other in the totals. One record adds one count to each table (`per_record` counts at most, where a table is shared).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.grids.lattice import steps_for
from sfumato.grids.rates import cells_for_tables
from sfumato.models.families import _cells
from sfumato.models.families.family import Array, Family
from sfumato.models.laws import Dirichlet, Lattice, Law, Product
from sfumato.models.networks import _floor

# Most cells of all tables together, 2 MB a draw: larger networks are too slow to draw and to query.
LARGEST = 1 << 18


@dataclass(frozen=True)
class Table:
    """Where one table lies among the totals, and how many counts a record adds to it."""

    node: str
    first: int
    rows: int
    size: int
    per_record: int = 1
    filled: bool = True  # whether every record adds exactly `per_record` counts, and not fewer

    @property
    def last(self) -> int:
        """One past its last cell."""
        return self.first + self.rows * self.size

    def of(self, values: Array) -> Array:
        """Its cells out of all, shaped (..., rows, size)."""
        return values[..., self.first : self.last].reshape(*values.shape[:-1], self.rows, self.size)


@dataclass(frozen=True)
class Factor:
    """The law of one column given its parents: `values` has an axis for each parent, in order, and one for the column."""

    column: str
    parents: tuple[str, ...]
    values: Array


class Tables(Family):
    """Independent Dirichlet rows: posterior cells strength * alpha + power * counts."""

    quantity = "tables (total variation, mean over tables)"
    proportion = True
    alpha: Any

    @property
    def possible(self) -> tuple[float, float]:
        """Shares."""
        return 0.0, 1.0

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table, in the order of the totals."""
        raise NotImplementedError

    @cached_property
    def table_of(self) -> dict[str, Table]:
        """Node -> table."""
        return {table.node: table for table in self.tables}

    @property
    def size(self) -> int:
        """Numbers of one draw: the cells of all tables, counted without naming them."""
        return self.tables[-1].last

    @property
    def lowest(self) -> float:
        """The smallest conditional probability, 0 where tables are not truncated."""
        return 0.0

    @cached_property
    def prior(self) -> Array:
        """Prior cells of all tables in one row."""
        cells = np.empty(self.tables[-1].last)
        given = dict(self.alpha) if isinstance(self.alpha, tuple) else {}
        for table in self.tables:
            cells[table.first : table.last] = given.get(table.node, self.alpha if not given else 1.0)
        # Cached and shared by all callers.
        cells.setflags(write=False)
        return cells

    @property
    def smallest_cells(self) -> tuple[float, ...]:
        """The smallest prior cell of each table."""
        return tuple(float(table.of(self.prior).min()) for table in self.tables)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts."""
        return (Fraction(1),) * len(self.prior)

    def feasible(self, totals: Array, n: int) -> Array:
        """The nearest counts of at least 0 whose sum in every table is possible for n records."""
        parts = []
        for table in self.tables:
            cells, most = totals[..., table.first : table.last], n * table.per_record
            nearest = _cells.nearest_counts(cells, most)
            clipped = np.maximum(cells, 0.0)
            within = clipped.sum(axis=-1, keepdims=True) <= most
            parts.append(nearest if table.filled else np.where(within, clipped, nearest))
        return np.concatenate(parts, axis=-1)

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Cells strength alpha + power counts."""
        return strength * self.prior + power * np.asarray(totals, dtype=np.float64)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Law:
        """Row by row: broken sticks, or the lattice of shares above the floor."""
        cells = self.natural(np.array([float(total) for total in totals]), n, power, strength)
        parts: list[Law] = []
        for table in self.tables:
            most = power * n * table.per_record
            for row, prior in zip(table.of(cells), table.of(strength * self.prior), strict=True):
                given, weight = tuple(map(float, row)), most + float(prior.sum())
                if self.lowest > 0:
                    parts.append(Lattice(given, weight, self.lowest, steps_for(weight)))
                else:
                    parts.append(Dirichlet(given, weight, float(prior.min()), grid=cells_for_tables(weight)))
        # A record moves counts in at most two rows of a table for each count that it adds; the others stay as they are.
        touched = sum(min(table.rows, 2 * table.per_record) for table in self.tables)
        return Product(tuple(parts), touched=touched)

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        rows = [(float(table.of(self.prior).sum(axis=-1).max()), n * table.per_record) for table in self.tables]
        return min(_cells.strongest_cells(prior, data) for prior, data in rows)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each row of each table."""
        parts = []
        for table in self.tables:
            cells = table.of(natural)
            rows = _floor.sketch(rng, cells, self.lowest) if self.lowest > 0 else _cells.sketch(rng, cells)
            parts.append(rows.reshape(*natural.shape[:-1], -1))
        return np.concatenate(parts, axis=-1)

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of all rows together; for truncated rows, that of the Dirichlets before truncation."""
        gaps = [_cells.divergence(table.of(first), table.of(second)).sum(axis=-1) for table in self.tables]
        return np.asarray(np.sum(gaps, axis=0), dtype=np.float64)

    def row_weights(self, truth: Array) -> Iterator[Array]:
        """Share of records that fall into each row of each table, (..., rows): weights of the distance."""
        for table in self.tables:
            yield np.full((*truth.shape[:-1], table.rows), 1.0 / table.rows)

    def distance(self, draws: Array, truth: Array) -> Array:
        """Mean over tables of the total variation of their rows, weighted by `row_weights`."""
        means = []
        for table, weights in zip(self.tables, self.row_weights(truth), strict=True):
            gaps = 0.5 * np.abs(table.of(draws) - table.of(truth)).sum(axis=-1)
            means.append((weights * gaps).sum(axis=-1))
        return np.asarray(np.mean(means, axis=0), dtype=np.float64)

    def factors(self, values: Array, columns: Sequence[str]) -> list[Factor]:
        """The law of each column given its parents, parents before children, from one draw of all tables."""
        raise NotImplementedError

    def unshrunk(self, values: Array, n: int, power: float, strength: float) -> Array | None:
        """Tables (flat) whose rows are moved away from the prior by as much as it pulled them; None where that is unknown."""
        return None

    def updated(self, totals: Sequence[Fraction], n: int) -> Self:
        """The counts of public records, added to the prior cells."""
        cells = self.prior + np.array([float(total) for total in totals])
        alpha = tuple((table.node, tuple(cells[table.first : table.last].tolist())) for table in self.tables)
        return replace(self, alpha=alpha)  # type: ignore[type-var]


def named_levels(what: str, given: Any) -> int | tuple[Any, ...]:
    """A number of levels, or the levels themselves: at least two, all different."""
    if hasattr(given, "__index__") and not isinstance(given, bool):
        return _validate.whole(what, given, minimum=2)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"{what} must be a number of levels or the list of them; got {given!r}.")
    levels = tuple(given)
    if len(levels) < 2 or len({(type(level), level) for level in levels}) != len(levels):
        raise ArgumentError(f"{what} must be at least two different levels; got {list(levels)!r}.")
    return levels


def size_of(levels: int | tuple[Any, ...]) -> int:
    """How many levels there are."""
    return levels if isinstance(levels, int) else len(levels)


def prior_cells(alpha: Any, tables: Sequence[Table]) -> float | tuple[tuple[str, Any], ...]:
    """One number for every cell; or for each table by name a number, or one per cell."""
    if hasattr(alpha, "__float__") and not isinstance(alpha, bool):
        return _validate.positive("alpha", alpha)
    try:
        given = dict(alpha)
    except (TypeError, ValueError):
        raise ArgumentError(f"alpha must be a number, or a mapping from each node to one; got {alpha!r}.") from None
    names = [table.node for table in tables]
    if set(given) != set(names):
        raise ArgumentError(f"alpha must name every node, {', '.join(names)}; got {', '.join(map(str, given))}.")
    return tuple((table.node, _table_cells(given[table.node], table)) for table in tables)


def _table_cells(value: Any, table: Table) -> float | tuple[float, ...]:
    what, cells = f"alpha of {table.node!r}", table.rows * table.size
    if not isinstance(value, Sequence):
        return _validate.positive(what, value)
    if len(value) != cells:
        raise ArgumentError(f"{what} must be a number or one per cell ({cells}); got {len(value)}.")
    return tuple(_validate.positive(what, cell) for cell in value)


def pairs_of(what: str, given: Any) -> list[tuple[Any, Any]]:
    """A mapping, or its items as a document holds them."""
    if isinstance(given, Mapping):
        return list(given.items())
    if (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2 for item in given)
    ):
        return [(item[0], item[1]) for item in given]
    raise ArgumentError(f"{what} must be a mapping from column names; got {given!r}.")
