"""A cross table: the joint shares of two or more columns, one Dirichlet over all combinations of their levels.

A record adds 1 to one cell, whatever the number of columns: a replaced record takes one count from a cell and gives it to
another, as in one histogram, so the price and the noise of a cell are those of one histogram.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models.families import _bins
from sfumato.models.families.dirichlet_categorical import DirichletCategorical, read_alpha
from sfumato.schema import Number, Schema

# Most cells: more take minutes to read, and in nearly all of them the noise exceeds the count.
MOST_CELLS = 10_000


@dataclass(frozen=True, repr=False, init=False)
class CrossTable(DirichletCategorical):
    """theta ~ Dirichlet(alpha) over the combinations of the levels of two or more columns; each record is one of them.

    levels_of: column -> its levels in order, as they stand in the schema; bins: for Number columns the edges instead; whole:
    names of those that hold whole numbers. Use
    `CrossTable.from_schema(schema, ["region", "smoker"], bins={"age": 10})`, which reads them from the schema.
    alpha: one number for every cell or one per cell, the last column's levels next to each other. Left out, draws are made
    with 1/2, and intervals take for each share, margin or conditional share the reference prior Beta(1/2, 1/2).
    """

    levels_of: tuple[tuple[str, tuple[Any, ...]], ...]
    bins: tuple[tuple[str, tuple[float, ...]], ...]
    whole: tuple[str, ...]
    reference: bool
    name = "CrossTable"
    quantity = "shares of cells"
    releases_totals = True

    def __init__(
        self,
        levels_of: Any,
        bins: Any = (),
        alpha: float | Sequence[float] | None = None,
        whole: Sequence[str] = (),
    ) -> None:
        """Check that there are at least two columns, and no more cells than can be read."""
        edges = {
            name: _named_error(name, partial(_bins.read_edges, None, None, edges=given, whole=name in whole))
            for name, given in _pairs("bins", bins)
        }
        listed = dict(_pairs("levels_of", levels_of))
        strange = [name for name in edges if name not in listed]
        if strange:
            raise ArgumentError(f"bins names {strange[0]!r}, which is not a column of the cross table.")
        levels = {
            name: _bins.labels_of(edges[name], name in whole) if name in edges else _checked_levels(name, given)
            for name, given in listed.items()
        }
        if len(levels) < 2:
            raise ArgumentError(
                f"a cross table needs at least two columns; got {', '.join(levels) or 'none'}. Of one column use "
                "DirichletCategorical, Histogram or BetaBernoulli."
            )
        _check_cells({name: len(each) for name, each in levels.items()})
        object.__setattr__(self, "levels_of", tuple(levels.items()))
        object.__setattr__(self, "bins", tuple(edges.items()))
        object.__setattr__(self, "whole", tuple(name for name in edges if name in whole))
        object.__setattr__(self, "levels", tuple(product(*levels.values())))
        object.__setattr__(self, "alpha", read_alpha(alpha, len(self.levels)))
        object.__setattr__(self, "reference", alpha is None)

    @classmethod
    def from_schema(
        cls,
        schema: Schema,
        columns: Sequence[str],
        bins: Mapping[str, Any] | None = None,
        alpha: float | Sequence[float] | None = None,
    ) -> CrossTable:
        """The table of these columns; `bins` gives for Number columns a number of bins, the edges, or {"width": 5}."""
        names = _named(schema, columns)
        edges = {}
        for name, given in _pairs("bins", bins or {}):
            column = schema.columns.get(name)
            if name not in names or not isinstance(column, Number):
                raise ArgumentError(f"bins names {name!r}: only Number columns of the cross table are cut into bins.")
            edges[name] = _column_edges(name, column, given)
        levels: dict[str, Any] = {name: schema.columns[name].levels or () for name in names}
        for name in names:
            if schema.columns[name].levels is None and name not in edges:
                kind = type(schema.columns[name]).__name__
                raise ArgumentError(
                    f"column {name!r} is a {kind}: give its bins, such as bins = {{ {name} = 5 }}, edges or a width."
                )
        return cls(levels, edges, alpha, [name for name in edges if getattr(schema.columns[name], "integer", False)])

    @property
    def axes(self) -> tuple[int, ...]:
        """Levels of each column: the shape of the table."""
        return tuple(len(levels) for _, levels in self.levels_of)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every cell in words, column=level, ..."""
        names = [name for name, _ in self.levels_of]
        return tuple(
            ", ".join(f"{name}={level}" for name, level in zip(names, cell, strict=True)) for cell in self.levels
        )

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns, whose levels or bounds in the schema must be the table's."""
        edges = dict(self.bins)
        for name, levels in self.levels_of:
            column = schema.columns.get(name)
            if column is None:
                raise ArgumentError(
                    f"the cross table has a column {name!r}, which schema {schema.name!r} does not have."
                )
            if name in edges:
                _check_number(name, column, edges[name], name in self.whole)
            elif column.levels is None or tuple(column.levels) != levels:
                raise ArgumentError(
                    f"the levels of column {name!r} in the schema are not the cross table's, in the same order. "
                    "Use CrossTable.from_schema(schema, columns)."
                )
        return tuple(name for name, _ in self.levels_of)

    def record_in(self, place: int, columns: Sequence[str]) -> dict[str, Any]:
        """A record in the cell at this place; a number is the lower edge of its bin."""
        edges, index = dict(self.bins), np.unravel_index(place, self.axes)
        levels = zip(self.levels_of, index, strict=True)
        return {name: edges[name][int(k)] if name in edges else each[int(k)] for (name, each), k in levels}

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of records of each combination."""
        edges, place = dict(self.bins), np.zeros(len(block[columns[0]]), dtype=np.int64)
        for name, levels in self.levels_of:
            values = np.asarray(block[name])
            codes = _bins.codes_of(values, edges[name]) if name in edges else values.astype(np.int64)
            place = place * len(levels) + np.clip(codes, 0, len(levels) - 1)
        return np.bincount(place, minlength=self.cells).astype(np.int64)

    def updated(self, totals: Sequence[Fraction], n: int) -> CrossTable:
        """The counts of public records, added to the prior cells."""
        cells = [a + float(t) for a, t in zip(self.alpha, totals, strict=True)]
        return CrossTable(self.levels_of, self.bins, cells, self.whole)

    def to_json(self) -> dict[str, Any]:
        """Columns with their levels or edges, and the prior; a prior that was left out stays out."""
        edges = dict(self.bins)
        levels = [[name, [] if name in edges else list(each)] for name, each in self.levels_of]
        alpha = None if self.reference else list(self.alpha)
        bins = [[name, list(each)] for name, each in self.bins]
        return {"family": self.name, "levels_of": levels, "bins": bins, "alpha": alpha, "whole": list(self.whole)}

    def __repr__(self) -> str:
        return f"CrossTable({' x '.join(f'{name} ({len(levels)})' for name, levels in self.levels_of)})"


def _pairs(what: str, given: Any) -> list[tuple[str, Any]]:
    """A mapping from column names, or its items as a document holds them."""
    items = list(given.items()) if isinstance(given, Mapping) else given
    if (
        isinstance(items, str)
        or not isinstance(items, Sequence)
        or not all(
            isinstance(item, Sequence) and len(item) == 2 and isinstance(item[0], str) and item[0] for item in items
        )
    ):
        raise ArgumentError(f"{what} must be a mapping from column names; got {given!r}.")
    if len({name for name, _ in items}) != len(items):
        raise ArgumentError(f"{what} must name each column once.")
    return [(name, value) for name, value in items]


def _checked_levels(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"levels_of[{name!r}] must list the levels of the column; got {given!r}.")
    levels = tuple(given)
    if len(levels) < 2 or len({(type(level), level) for level in levels}) != len(levels):
        raise ArgumentError(f"levels_of[{name!r}] must be at least two different levels; got {list(levels)!r}.")
    return levels


def _column_edges(name: str, column: Number, given: Any) -> tuple[float, ...]:
    """Edges of one Number column between its declared bounds."""
    width = given.get("width") if isinstance(given, Mapping) and set(given) == {"width"} else None
    if isinstance(given, Mapping) and width is None:
        raise ArgumentError(
            f"bins of {name!r} must be a number, a list of edges or {{ width = 5 }}; got {dict(given)!r}."
        )
    bins = None if width is not None else _named_error(name, partial(_bins.in_numbers, column, given))
    read = partial(_bins.read_edges, column.lower, column.upper, bins, width, whole=column.integer)
    edges: tuple[float, ...] = _named_error(name, read)
    return edges


def _named_error(name: str, read: Callable[[], Any]) -> Any:
    """The result, or its refusal with the name of the column."""
    try:
        return read()
    except ArgumentError as error:
        raise ArgumentError(f"bins of column {name!r}: {error}") from None


def _check_number(name: str, column: Any, edges: tuple[float, ...], whole: bool) -> None:
    if not isinstance(column, Number):
        raise ArgumentError(f"the cross table cuts column {name!r} into bins, and in the schema it is no Number.")
    if not (edges[0] <= column.lower and column.upper <= edges[-1]):
        raise ArgumentError(
            f"the bins of column {name!r} reach from {edges[0]:g} to {edges[-1]:g} and the schema's bounds from "
            f"{column.lower:g} to {column.upper:g}: the bins must contain them."
        )
    _bins.check_whole_column(name, column, edges, whole)


def _named(schema: Schema, columns: Sequence[str]) -> list[str]:
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise ArgumentError(f'a cross table is of a list of columns such as ["region", "smoker"]; got {columns!r}.')
    names = list(columns)
    if len(set(names)) != len(names):
        raise ArgumentError(f"a cross table names each column once; got {names!r}.")
    for name in names:
        if name not in schema.columns:
            raise ArgumentError(f"schema {schema.name!r} has the columns {', '.join(schema.columns)}; got {name!r}.")
    return names


def _check_cells(sizes: Mapping[str, int]) -> None:
    cells = math.prod(sizes.values())
    if cells > MOST_CELLS:
        shape = " x ".join(f"{name} ({size})" for name, size in sizes.items())
        raise ArgumentError(
            f"the cross table {shape} has {cells:,} cells; at most {MOST_CELLS:,}. Leave out a column, or give a number fewer "
            "bins."
        )
