"""A table whose dependences are learnt: noisy tables of pairs of columns, and a mixture fitted to them.

A record adds 1 to one cell of every table, so replacing it moves each table by sqrt(2) in Euclidean norm, whatever the columns.
Which pairs are counted is public ("all"), or is chosen in rounds by draws that are priced ("select"). Bins of numbers are public,
or follow from noisy counts that are priced. What is fitted and drawn afterwards reads noisy tables alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families import _count_tree
from sfumato.models.families.family import Array, Family
from sfumato.models.networks import _columns, _impossible
from sfumato.models.networks._tables import named_levels, pairs_of, size_of
from sfumato.schema import Schema
from sfumato.schema.missing_cells import missing_key

# Most levels of all columns together: shares of all pairs of them are held as one matrix, of 32 MB here.
MOST_LEVELS = 2000
# The word for a missing cell as a level.
MISSING = _impossible.MISSING


@dataclass(frozen=True)
class Counted:
    """One table: the places of its columns, one or two, and where its cells lie among the totals."""

    columns: tuple[int, ...]
    first: int
    shape: tuple[int, ...]

    @property
    def last(self) -> int:
        """One past its last cell."""
        return self.first + math.prod(self.shape)


@dataclass(frozen=True, repr=False, init=False)
class LearnedNetwork(Family):
    """Noisy tables of pairs of columns. `sf.networks.learn(schema, ...)` makes one.

    cardinalities: column -> number of levels or bins, or the levels. bins: Number columns -> public edges; quantiles: Number
    columns whose bins are private quantiles -> public edges of the fine cells that are counted for them. missing: columns in
    which missing is a level of its own, the last one. apart: groups of columns of which no two are counted together. target: a
    column that is counted with every other one. chosen: how many other pairs are chosen, 0 for all; rounds: in how many
    rounds. impossible: combinations of levels of two columns that no record can have, by their positions.
    """

    cardinalities: tuple[tuple[str, Any], ...]
    bins: tuple[tuple[str, tuple[float, ...]], ...]
    quantiles: tuple[tuple[str, tuple[float, ...]], ...]
    missing: tuple[str, ...]
    apart: tuple[tuple[str, ...], ...]
    target: str | None
    chosen: int
    rounds: int
    impossible: tuple[_impossible.Rule, ...]
    name = "LearnedNetwork"
    quantity = "shares of pairs of columns"
    proportion = True
    drawn = False
    releases_totals = True

    def __init__(
        self,
        cardinalities: Any,
        bins: Any = (),
        quantiles: Any = (),
        missing: Sequence[str] = (),
        apart: Sequence[Sequence[str]] = (),
        target: str | None = None,
        chosen: int = 0,
        rounds: int = 1,
        impossible: Any = (),
    ) -> None:
        """Check names, bins and sizes; nothing here depends on a record."""
        levels = {
            key: named_levels(f"cardinalities[{key!r}]", each) for key, each in pairs_of("cardinalities", cardinalities)
        }
        if len(levels) < 2:
            raise ArgumentError(f"a table to learn needs at least two columns; got {', '.join(levels) or 'none'}.")
        cells = pairs_of("quantiles", quantiles)
        binned = [name for name, _ in (*cells, *pairs_of("bins", bins))]
        if len(pairs_of("cardinalities", cardinalities)) != len(levels) or len(set(binned)) != len(binned):
            raise ArgumentError("a column has one set of levels, and bins or quantiles once at most.")
        for name in (*(name for name, _ in cells), *_named("missing", missing), *([] if target is None else [target])):
            if name not in levels:
                raise ArgumentError(f"{name!r} is not a column of the table: {', '.join(levels)}.")
        groups = [_named("apart", group) for group in apart]
        if any(not set(group) <= set(levels) for group in groups):
            raise ArgumentError(f"a group of columns that are kept apart names some of {', '.join(levels)}.")
        vars(self).update(
            cardinalities=tuple(levels.items()),
            bins=_columns.checked_bins(pairs_of("bins", bins), levels),
            quantiles=tuple((name, _fine_cells(name, given, size_of(levels[name]))) for name, given in cells),
            missing=tuple(missing),
            apart=tuple(groups),
            target=target,
            chosen=_validate.whole("chosen", chosen, 0),
            rounds=_validate.whole("rounds", rounds, 1),
        )  # fmt: skip
        vars(self)["impossible"] = _impossible.checked_rules(impossible, self.sizes)
        if sum(self.sizes.values()) > MOST_LEVELS:
            raise ArgumentError(
                f"the columns have {sum(self.sizes.values()):,} levels and bins together; at most {MOST_LEVELS:,}. "
                "Join rare levels, take fewer bins, or leave columns out."
            )
        if not self.candidates:
            raise ArgumentError("no pair of columns is left to be counted: name fewer columns in leave_out.")
        if not 0 <= self.chosen <= len(self.open_pairs) or self.rounds > max(self.chosen, 1):
            raise ArgumentError(
                f"chosen must be at most {len(self.open_pairs)}, the pairs there are, in at most as many rounds."
            )

    # --- columns and tables ------------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Column -> number of levels, with that for missing cells."""
        return {name: size_of(levels) + (name in self.missing) for name, levels in self.cardinalities}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(self.sizes)

    @cached_property
    def candidates(self) -> tuple[tuple[int, int], ...]:
        """All pairs that may be counted, by the places of their columns."""
        groups = [{self.names.index(name) for name in group} for group in self.apart]
        pairs = combinations(range(len(self.names)), 2)
        return tuple(pair for pair in pairs if not any(set(pair) <= group for group in groups))

    @cached_property
    def fixed_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs that are counted in any case: all, or those with the target where others are chosen."""
        if not self.chosen:
            return self.candidates
        return tuple(
            pair for pair in self.candidates if self.target is not None and self.names.index(self.target) in pair
        )

    @cached_property
    def open_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs among which some are chosen."""
        fixed = set(self.fixed_pairs) if self.chosen else set()
        return tuple(pair for pair in self.candidates if pair not in fixed)

    @cached_property
    def counted(self) -> tuple[Counted, ...]:
        """All tables that are summed over the records: of single columns where pairs are chosen, and of every candidate pair."""
        groups = [(place,) for place in range(len(self.names))] if self.chosen else []
        sizes, first, tables = list(self.sizes.values()), 0, list[Counted]()
        for columns in (*groups, *self.candidates):
            tables.append(Counted(columns, first, tuple(sizes[column] for column in columns)))
            first = tables[-1].last
        return tuple(tables)

    @property
    def empty_cells(self) -> list[tuple[int, int]]:
        """Pairs of levels that are impossible, by their places among the levels of all columns."""
        firsts = dict(zip(self.names, np.cumsum([0, *self.sizes.values()]).tolist(), strict=False))
        return [
            (firsts[a] + i, firsts[b] + j) for (a, first), (b, second) in self.impossible for i in first for j in second
        ]

    # --- what is released and what is read ---------------------------------------------------------------------------

    @property
    def possible(self) -> tuple[float, float]:
        """Shares."""
        return 0.0, 1.0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Every level of every column; private bins by their number, since their edges are part of the release."""
        return tuple(f"{name}={word}" for name in self.names for word in self.words(name))

    def words(self, name: str) -> tuple[str, ...]:
        """The levels of a column in words."""
        if name in dict(self.quantiles):
            count = size_of(dict(self.cardinalities)[name])
            shown = tuple(f"bin {k} of {count}" for k in range(1, count + 1))
        else:
            shown = _columns.words(self, name)
        return (*shown, MISSING) if name in self.missing else shown

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The table's columns, whose levels and bounds in the schema must be those that the model was made for."""
        edges = {**dict(self.bins), **dict(self.quantiles)}
        for name, levels in self.cardinalities:
            _columns.check(schema, name, levels, edges.get(name))
        return self.names

    def codes(self, block: Mapping[str, Any], name: str) -> NDArray[np.int64]:
        """Positions of the levels of one column."""
        size = size_of(dict(self.cardinalities)[name])
        codes = _columns.codes(block[name], size, dict(self.bins).get(name))
        if name in self.missing and (key := missing_key(name)) in block:
            codes = np.where(block[key], size, codes)
        return codes

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Counts of every table: each record adds 1 to one cell of each. Private bins must be resolved first."""
        if self.quantiles:
            raise ArgumentError("the bins of this model are not known before its first noisy counts are.")
        codes = [self.codes(block, name) for name in self.names]
        parts = []
        for table in self.counted:
            place = np.zeros(len(codes[0]), dtype=np.int64)
            for column, size in zip(table.columns, table.shape, strict=True):
                place = place * size + codes[column]
            parts.append(np.bincount(place, minlength=math.prod(table.shape)))
        return np.concatenate(parts).astype(np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts."""
        return (Fraction(1),) * self.counted[-1].last

    @property
    def sensitivity(self) -> float:
        """In each table one count falls by 1 and one rises by 1."""
        return math.sqrt(2 * len(self.counted)) * (1 + 1e-15)

    # --- private bins ------------------------------------------------------------------------------------------------

    def cell_radices(self, name: str) -> tuple[int, ...]:
        """The tree over the fine cells of a column with private bins."""
        return _count_tree.radices_for(len(dict(self.quantiles)[name]) - 1)

    def tally_cells(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Counts of the trees over the fine cells of all columns with private bins; missing cells count as declared."""
        parts = []
        for name, edges in self.quantiles:
            cells = np.array(edges)
            places = np.searchsorted(cells, np.asarray(block[name], dtype=np.float64), "right") - 1
            counts = np.bincount(np.clip(places, 0, len(cells) - 2), minlength=len(cells) - 1)
            parts.append(_count_tree.tree_counts(counts.astype(np.int64), self.cell_radices(name)))
        return np.concatenate(parts)

    def resolved(self, edges: Mapping[str, Sequence[float]]) -> LearnedNetwork:
        """The same table with public bins in place of private ones."""
        bins = {**dict(self.bins), **{name: tuple(map(float, edges[name])) for name, _ in self.quantiles}}
        return replace(self, bins=tuple(bins.items()), quantiles=())

    def feasible(self, totals: Array, n: int) -> Array:
        """The noisy counts unchanged: fit and intervals are computed from them as they are."""
        return totals

    def widest(self, n: int) -> Array:
        """Refuse: widths are those of many tables at once."""
        raise ArgumentError(
            "a learnt table has no single width to plan for; plan.expected has its expected error, and sf.price_list shows it for "
            "several epsilons."
        )

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """Refuse: there is no prior."""
        raise ArgumentError("a learnt table has no prior that public records could change; publish both.")

    def __repr__(self) -> str:
        pairs = f"{self.chosen} chosen pairs" if self.chosen else f"{len(self.candidates)} pairs"
        return f"{self.name}({', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}; {pairs})"


def _named(what: str, given: Any) -> tuple[str, ...]:
    """Names of columns, each once."""
    if isinstance(given, str) or len(set(given)) != len(tuple(given)):
        raise ArgumentError(f"{what} must be a list of different columns; got {_validate.shown(given)}.")
    return tuple(given)


def _fine_cells(name: str, given: Any, bins: int) -> tuple[float, ...]:
    edges = tuple(_validate.finite(f"quantiles[{name!r}]", edge) + 0.0 for edge in given)
    if len(edges) <= bins or any(b <= a for a, b in pairwise(edges)):
        raise ArgumentError(
            f"quantiles[{name!r}] must be rising edges of at least as many cells as there are bins, {bins}."
        )
    return edges
