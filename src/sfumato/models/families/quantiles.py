"""Quantiles of a bounded column with intervals, from noisy counts of a tree of public cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families import _count_tree
from sfumato.models.families._columns import only_column
from sfumato.models.families._public_grid import cell_edges, column_edges, is_even, scaled_range
from sfumato.models.families.family import Array, Family
from sfumato.schema import Number, Schema

# Cells of a range that is divided evenly, and of a wide one: four to the fifth and to the sixth. A cell of an even range holds
# n/1,024 evenly spread records, which is below the noise up to some 20,000 records at epsilon 1; within +-1e12 neighbouring
# edges of 4,096 cells differ by 1.7 %. Four times as many cells add a fifth to the noise.
_EVEN_CELLS, _WIDE_CELLS = 4**5, 4**6
# Most cells: as many as the largest grid has.
_MOST_CELLS = 1 << 16
# Most levels in one release; any other level is asked of it afterwards at no cost.
_MOST_LEVELS = 1000
# Deviations of a normal law within which 90 % of it lie: its 95 % quantile.
_NINETY = 1.6448536269514722


@dataclass(frozen=True, repr=False)
class Quantiles(Family):
    """The quantiles at `levels` of a Number column in [lower, upper], estimated from noisy counts of public cells.

    The totals are the counts of a tree over the cells (`_count_tree`), so that the number of records below any edge is a sum of
    few noisy counts. They are released: any other quantile, and the intervals, follow from them. Within a cell records are
    taken to be evenly spread.

    `cells` is the number of cells, or the list of their edges; left out, one cell for each whole number where there are few, else
    1,024 equal cells, or 4,096 that grow with the distance from 0 if the range is wide. `integer` columns have whole quantiles.
    """

    levels: tuple[float, ...]
    lower: float
    upper: float
    cells: tuple[float, ...]
    column: str | None
    integer: bool
    name = "Quantiles"
    quantity = "quantiles"
    drawn = False
    releases_totals = True
    groupable = False

    def __init__(
        self,
        levels: Sequence[float],
        lower: float,
        upper: float,
        cells: int | Sequence[float] | None = None,
        column: str | None = None,
        integer: bool = False,
    ) -> None:
        low, high = _validate.finite("lower", lower) + 0.0, _validate.finite("upper", upper) + 0.0
        if not low < high or math.isinf(high - low):
            raise ArgumentError(f"upper must be greater than lower by a finite width; got {low!r} and {high!r}.")
        if not isinstance(integer, bool):
            raise ArgumentError(f"integer must be True or False; got {_validate.shown(integer)}.")
        if column is not None and not isinstance(column, str):
            raise ArgumentError(f"column must be the name of a column; got {column!r}.")
        vars(self).update(
            levels=_levels(levels), lower=low, upper=high, cells=_edges(cells, low, high, integer),
            column=column, integer=integer,
        )  # fmt: skip

    @classmethod
    def of(cls, schema: Schema, levels: Sequence[float], column: str | None = None) -> Quantiles:
        """Quantiles of a Number column on the cells that its declared bounds give."""
        name = _column_of(schema, column)
        declared: Any = schema.columns[name]
        return cls(levels, declared.lower, declared.upper, cls.cells_of(declared), column, declared.integer)

    @staticmethod
    def cells_of(column: Any) -> tuple[float, ...] | None:
        """The edges of the cells of a Date column; None for other columns, whose bounds give them."""
        return column_edges(column, _EVEN_CELLS)

    # --- what is released and what is read ---------------------------------------------------------------------------

    @property
    def possible(self) -> tuple[float, float]:
        """Values between the bounds."""
        return self.lower, self.upper

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for every level."""
        return tuple(level_name(level) for level in self.levels)

    @property
    def radices(self) -> tuple[int, ...]:
        """Children of a node at each level of the tree, from the root down."""
        return _count_tree.radices_for(len(self.cells) - 1)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column: the named one, else the target or the only one; its bounds must lie within the cells."""
        name = _column_of(schema, self.column)
        declared: Any = schema.columns[name]
        if not (self.lower <= declared.lower and declared.upper <= self.upper):
            raise ArgumentError(
                f"the bounds of column {name!r} are [{declared.lower:g}, {declared.upper:g}] in the schema and the model's are "
                f"[{self.lower:g}, {self.upper:g}]: the model's must contain them. Change one of the two."
            )
        return (name,)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The counts of the tree; a record below the first edge or above the last counts in the outer cell."""
        edges = np.array(self.cells)
        places = np.searchsorted(edges, np.asarray(block[columns[0]], dtype=np.float64), "right") - 1
        counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
        return _count_tree.tree_counts(counts.astype(np.int64), self.radices)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts."""
        return (Fraction(1),) * _count_tree.tree_size(self.radices)

    @property
    def sensitivity(self) -> float:
        """One count of each level of the tree falls by 1 and one rises by 1."""
        return _count_tree.sensitivity_of(self.radices)

    def feasible(self, totals: Array, n: int) -> Array:
        """The noisy counts unchanged: estimates and intervals are computed from them as they are."""
        return totals

    # --- what follows from noisy counts ------------------------------------------------------------------------------

    def cumulative(self, totals: Array, n: int) -> Array:
        """Least squares numbers of records below every edge of the cells, from the noisy counts."""
        counts = _count_tree.cumulative_counts(totals, self.radices, n)[: len(self.cells)]
        counts[-1] = float(n)  # no record lies beyond, also where the tree has more cells
        return counts

    def edge_deviations(self, deviation: float) -> Array:
        """Standard deviation of the noise in `cumulative` where each count has this one."""
        variances = _count_tree.edge_variances(self.radices)[: len(self.cells)]
        variances[-1] = 0.0
        return np.asarray(deviation * np.sqrt(variances))

    @property
    def spread(self) -> float:
        """Cells over which records are taken to spread where nothing is known: half of an even range, two decades of a wide one."""
        cells = len(self.cells) - 1
        if is_even(self.lower, self.upper):
            return 0.5 * cells
        return min(0.5 * cells, cells * math.log(100) / scaled_range(self.lower, self.upper, self.integer))

    def estimate(self, totals: Sequence[Fraction], n: int) -> list[float]:
        """The quantile at each level: where the nearest rising cumulative counts pass level n."""
        return self.quantiles_at(self.levels, np.array([float(total) for total in totals]), n)

    def quantiles_at(self, levels: Sequence[float], totals: Array, n: int) -> list[float]:
        """Quantiles at any levels, from noisy counts."""
        edges, rising = np.array(self.cells), _rising(self.cumulative(totals, n), n)
        return [self._value(level * n, edges, rising) for level in levels]

    def _value(self, rank: float, edges: Array, rising: Array) -> float:
        after = min(max(int(np.searchsorted(rising, rank, "left")), 1), len(edges) - 1)
        low, high = float(rising[after - 1]), float(rising[after])
        share = min(max((rank - low) / (high - low), 0.0), 1.0) if high > low else 0.5
        value = float(edges[after - 1] + share * (edges[after] - edges[after - 1]))
        if self.integer:  # the edges of whole numbers lie between them
            value = min(max(float(np.rint(value)), math.ceil(edges[after - 1])), math.floor(edges[after]))
        return min(max(value, self.lower), self.upper)

    def estimate_error(self, n: int, deviation: float) -> float:
        """Root mean square noise of the cumulative counts, in records."""
        return float(np.sqrt(np.mean(self.edge_deviations(deviation)[1:-1] ** 2)))

    def estimate_expectation(self, n: int, deviation: float) -> Mapping[str, Any] | None:
        """Half-width in ranks of a 90 % interval of the level nearest the middle, from the mean square noise and sampling."""
        level = min(self.levels, key=lambda each: abs(each - 0.5))
        sampling = n * level * (1 - level)
        value = _NINETY * math.sqrt(sampling + self.estimate_error(n, deviation) ** 2)
        return {"id": "rank-half-width", "value": value, "without_privacy": _NINETY * math.sqrt(sampling)}

    def widest(self, n: int) -> Array:
        """Refuse: there is no width to expect in the column's units."""
        raise ArgumentError(
            "how wide the interval of a quantile is in the column's units depends on the rows; plan.expected has its half-width in "
            "ranks. Choose epsilon by that: sf.price_list shows it for several."
        )

    def __repr__(self) -> str:
        shown = ", ".join(f"{level:g}" for level in self.levels[:6]) + (", ..." if len(self.levels) > 6 else "")
        cells = f"{len(self.cells) - 1:,} cells"
        return f"{self.name}(levels=[{shown}], lower={self.lower:g}, upper={self.upper:g}, {cells})"

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """Refuse: there is no prior."""
        raise ArgumentError("quantiles have no prior that public records could change; publish both.")


def level_name(level: float) -> str:
    """The quantile's name, such as "5 % quantile"."""
    return f"{100 * level:.10g} % quantile"


def _levels(levels: Sequence[float]) -> tuple[float, ...]:
    given = [levels] if isinstance(levels, (int, float)) and not isinstance(levels, bool) else levels
    if isinstance(given, str) or not isinstance(given, Sequence) or not 1 <= len(given) <= _MOST_LEVELS:
        raise ArgumentError(
            f"levels must be a list of shares between 0 and 1 such as [0.25, 0.5, 0.75]; got {_validate.shown(levels)}."
        )
    shares = tuple(_validate.between("levels", level, 0.0, 1.0) for level in given)
    if len(set(map(level_name, shares))) != len(shares):
        raise ArgumentError("levels must be different, each listed once.")
    return tuple(sorted(shares))


def _edges(cells: int | Sequence[float] | None, low: float, high: float, integer: bool) -> tuple[float, ...]:
    """The edges of the cells: as given, or made from the bounds."""
    if cells is None:
        return cell_edges(low, high, integer, _EVEN_CELLS if is_even(low, high) else _WIDE_CELLS)
    if isinstance(cells, int) and not isinstance(cells, bool):
        return cell_edges(low, high, integer, _validate.whole("cells", cells, 2, _MOST_CELLS))
    if isinstance(cells, str) or not isinstance(cells, Sequence):
        raise ArgumentError(
            f"cells must be a number of cells or the list of their edges; got {_validate.shown(cells)}."
        )
    edges = tuple(_validate.finite("cells", edge) + 0.0 for edge in cells)
    if not 3 <= len(edges) <= _MOST_CELLS + 1 or any(a >= b for a, b in pairwise(edges)):
        raise ArgumentError(f"cells must list 3 to {_MOST_CELLS + 1:,} rising edges of cells.")
    if not (edges[0] <= low and high <= edges[-1]):
        raise ArgumentError(f"the edges of the cells must reach from lower={low:g} to upper={high:g}.")
    return edges


def _column_of(schema: Schema, column: str | None) -> str:
    if column is None:
        return only_column(schema, Number, Quantiles.name)
    if not isinstance(schema.columns.get(column), Number):
        raise ArgumentError(f"column {column!r} is no Number column of schema {schema.name!r}.")
    return column


def _rising(counts: Array, n: int) -> Array:
    """The nearest rising sequence in least squares, within [0, n]: neighbours that fall are replaced by their mean."""
    means: list[float] = []
    sizes: list[int] = []
    for value in counts.tolist():
        mean, size = value, 1
        while means and means[-1] >= mean:
            mean = (mean * size + means[-1] * sizes[-1]) / (size + sizes[-1])
            size += sizes.pop()
            means.pop()
        means.append(mean)
        sizes.append(size)
    return np.asarray(np.clip(np.repeat(means, sizes), 0.0, float(n)), dtype=np.float64)
