"""A released learnt table as its reader sees it: shares of any columns from the mixture, intervals from the noisy tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models.families._bins import Edges, labels_in, labels_of
from sfumato.models.networks.learned import MISSING, LearnedNetwork
from sfumato.procedures import task_of
from sfumato.procedures.learnt_parts import Learnt
from sfumato.procedures.noisy_tables import published_as
from sfumato.queries.shares_by_level import Shares, adding_up, named_columns, place_of
from sfumato.queries.statistics import cell_counts
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.count_laws import ShareLaw
from sfumato.schema import Date, Number, Schema

Array = NDArray[np.float64]
# Most cells of shares that are computed at once: 32 MB.
_LARGEST = 1 << 22


@dataclass(frozen=True, eq=False)
class LearnedTable:
    """The parts of a release and the schema under which it was made."""

    learnt: Learnt
    schema: Schema

    @property
    def model(self) -> LearnedNetwork:
        """The model with public bins, the private ones as they were released."""
        return self.learnt.model

    @cached_property
    def levels(self) -> dict[str, tuple[Any, ...]]:
        """The levels of every column: as the schema declares them, bins in words, and a word for missing."""
        return {name: column_levels(self.schema, self.model, name) for name in self.model.names}

    @cached_property
    def counted(self) -> tuple[Counted, ...]:
        """The noisy tables by the names of their columns."""
        names = self.model.names
        return tuple(
            Counted(tuple(names[place] for place in table.columns), table.counts, table.deviation**2)
            for table in self.learnt.tables
        )

    def law(self, own: Mapping[str, int], given: Mapping[str, int]) -> ShareLaw:
        """What the noisy tables say about a share, of all records or among those that have other levels."""
        n = self.learnt.n
        if given:
            return cell_counts.conditional(self.counted, n, own, given)
        return cell_counts.share(self.counted, n, own)

    @cached_property
    def _impossible(self) -> set[frozenset[tuple[str, int]]]:
        rules = self.model.impossible
        return {frozenset(((a, i), (b, j))) for (a, first), (b, second) in rules for i in first for j in second}

    def possible(self, levels: Mapping[str, int]) -> bool:
        """Whether no rule excludes these levels together."""
        items = list(levels.items())
        return not any(frozenset((x, y)) in self._impossible for k, x in enumerate(items) for y in items[k + 1 :])

    def joint(self, columns: Sequence[str]) -> Array:
        """Joint shares of some columns by the mixture, those of impossible combinations 0."""
        places = [self.model.names.index(name) for name in columns]
        shares = self.learnt.mixture.joint(places)
        if self.model.impossible and len(columns) > 1:
            for index in np.ndindex(*shares.shape):
                if not self.possible(dict(zip(columns, index, strict=True))):
                    shares[index] = 0.0
            shares = shares / shares.sum()
        return shares


def is_learned(plan: Mapping[str, Any]) -> bool:
    """Whether a plan's document is of a learnt table."""
    return bool(plan["model"].get("family") == LearnedNetwork.name)


def read(draws: Draws, plan: Mapping[str, Any], schema: Mapping[str, Any]) -> LearnedTable:
    """The learnt table of a release."""
    return LearnedTable(published_as(draws, task_of(plan)[1]), Schema.from_json(schema["document"]))


def column_levels(schema: Schema, model: LearnedNetwork, name: str) -> tuple[Any, ...]:
    """The levels of one column as a reader of the schema writes them."""
    column = schema.columns[name]
    if column.levels is not None:
        shown: tuple[Any, ...] = tuple(column.levels)
    else:
        edges = dict(model.bins).get(name)
        shown = model.words(name)[: model.sizes[name] - (name in model.missing)]
        if edges is not None and isinstance(column, Number):
            shown = _bins_in_words(column, edges)
    return (*shown, MISSING) if name in model.missing else shown


def _bins_in_words(column: Number, edges: Edges) -> tuple[str, ...]:
    """Bins in the column's own values: of whole numbers their first and last one."""
    if isinstance(column, Date):
        return labels_in(column, (), tuple(min(max(edge, column.lower), column.upper) for edge in edges))
    if not column.integer:
        return labels_of(edges)
    words = []
    for k, (a, b) in enumerate(pairwise(edges)):
        last = b if k == len(edges) - 2 and b == np.floor(b) else np.ceil(b) - 1
        # Adding 0 turns -0.0, the first whole number above -0.5, into 0.
        low, high = max(np.ceil(a), column.lower) + 0.0, min(last, column.upper)
        words.append(f"{low:g}" if low >= high else f"{low:g} to {high:g}")
    return tuple(words)


def marginal(table: LearnedTable, columns: str | Sequence[str], interval: float | None = None) -> Shares:
    """Joint shares of some columns; with `interval`, of one or two, from the noisy tables, with intervals."""
    wanted = _named(table, columns)
    levels = tuple(table.levels[name] for name in wanted)
    if interval is None:
        return Shares(wanted, levels, table.joint(wanted))
    return _with_intervals(table, wanted, (), interval)


def conditional(
    table: LearnedTable, column: str, given: str | Sequence[str] | Mapping[str, Any], interval: float | None = None
) -> Shares:
    """Shares of a column given others: given levels, one share per level; given names, one row per combination of theirs."""
    (wanted,) = _named(table, column)
    names = _named(table, list(given) if isinstance(given, Mapping) else given)
    if wanted in names:
        raise ArgumentError(f"column {wanted!r} cannot be given to itself.")
    axes = (*names, wanted)
    place: tuple[int, ...] = ()
    if isinstance(given, Mapping):
        place = tuple(place_of(name, table.levels[name], given[name]) for name in names)
    if interval is None:
        joint = table.joint(axes)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = joint / joint.sum(axis=-1, keepdims=True)
        shares = Shares(axes, tuple(table.levels[name] for name in axes), np.asarray(values))
    else:
        shares = _with_intervals(table, axes, names, interval, place)
    return shares if not place else shares.at(place)


def _named(table: LearnedTable, columns: str | Sequence[str]) -> tuple[str, ...]:
    wanted = named_columns("table", table.levels, columns)
    if (cells := int(np.prod([len(table.levels[name]) for name in wanted], dtype=float))) > _LARGEST:
        raise ArgumentError(f"these columns have {cells:,} combinations; at most {_LARGEST:,}. Ask for fewer columns.")
    return wanted


def _with_intervals(
    table: LearnedTable, axes: tuple[str, ...], given: tuple[str, ...], interval: float, place: tuple[int, ...] = ()
) -> Shares:
    level = _validate.between("interval", interval, 0.0, 1.0)
    cell_counts.holding(table.counted, axes)
    levels = tuple(table.levels[name] for name in axes)
    ends = np.full((3, *(len(each) for each in levels)), np.nan)
    for index in np.ndindex(*ends.shape[1:]):
        if index[: len(place)] != place:
            continue
        fixed = dict(zip(axes, index, strict=True))
        if not table.possible(fixed):
            ends[(slice(None), *index)] = 0.0
            continue
        row = {name: fixed.pop(name) for name in given}
        law = table.law(fixed, row)
        ends[(slice(None), *index)] = (*law.share_ends(level), law.share_median())
    if given:
        ends[2] = adding_up(ends[2], ends[0], ends[1], tuple(k for k, name in enumerate(axes) if name not in given))
    return Shares(axes, levels, ends[2], ends[0], ends[1], level)
