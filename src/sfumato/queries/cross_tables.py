"""Questions to a released cross table: shares, counts, row and column shares and margins, each with its interval.

All of them are sums of noisy counts (`statistics.cell_counts`): the noise of the cells that are summed adds up, so a margin of
ten cells is known less exactly than one cell. A release without noisy counts has its drawn shares, and no margins' intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import Array
from sfumato._validate import visible
from sfumato.draws import Draws
from sfumato.errors import ArgumentError
from sfumato.models import families
from sfumato.models.families._bins import labels_in
from sfumato.models.families.cross_table import CrossTable
from sfumato.queries.shares_by_level import Shares, adding_up, aligned, named_columns, place_of
from sfumato.queries.statistics import cell_counts, count_laws
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.count_laws import ShareLaw
from sfumato.queries.statistics.protocol import REFERENCE, numbers_of
from sfumato.schema import Schema

# What a cross table shows: shares of all records, numbers of records, the last column given the others, or the reverse.
SHARES, COUNTS, BY_ROW, BY_COLUMN = "shares", "counts", "row shares", "column shares"
_NO_COUNTS = (
    "no interval: this cross table was drawn without noisy counts; release.interval() has the intervals of its cells. Plan it "
    "with mechanism='noisy-statistics' for margins, counts and row shares with intervals."
)
_APART = "Each number is the middle of its own interval: cells need not add up to their margin."
# Heading of the margins.
_ALL = "all"


@dataclass(frozen=True, eq=False)
class Crossed:
    """A released cross table as its reader sees it: the drawn shares, and the noisy counts where there are any."""

    model: CrossTable
    n: int
    shares: Array
    counted: Counted | None
    schema: Schema | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        return tuple(name for name, _ in self.model.levels_of)

    @property
    def levels(self) -> dict[str, tuple[Any, ...]]:
        """Column -> levels; bins in words."""
        columns, edges = {} if self.schema is None else self.schema.columns, dict(self.model.bins)
        return {name: labels_in(columns.get(name), each, edges.get(name)) for name, each in self.model.levels_of}

    def law(self, own: Mapping[str, int], given: Mapping[str, int]) -> ShareLaw:
        """The law of the share of some levels, among all records or among those with the levels `given`."""
        if self.counted is None:
            raise ArgumentError(_NO_COUNTS)
        tables = [self.counted]
        if not given:
            return cell_counts.share(tables, self.n, own, self._prior(own, {}))
        return cell_counts.conditional(tables, self.n, own, given, self._prior(own, given))

    def _prior(self, own: Mapping[str, int], given: Mapping[str, int]) -> tuple[float, float]:
        """The Beta prior of a share: sums of declared cells, or the reference prior."""
        if self.model.reference:
            return REFERENCE
        cells = Counted(self.names, np.array(self.model.alpha).reshape(self.model.axes), 1.0)
        inside = cells.set({**given, **own}).count
        return inside, cells.set(given).count - inside


def is_cross(plan: Mapping[str, Any]) -> bool:
    """Whether a plan is of a cross table."""
    return bool(plan["model"].get("family") == CrossTable.name)


def read(draws: Draws, plan: Mapping[str, Any], schema: Schema | None = None) -> Crossed:
    """The cross table of a release; another model is refused. With the schema, bins of dates are named by dates."""
    if not is_cross(plan):
        raise ArgumentError("only a release of sf.families.CrossTable is a cross table; this one is of another model.")
    model: CrossTable = families.from_json(plan["model"])
    counted = None
    if draws.totals is not None:
        variance = (numbers_of(plan).noise * model.sensitivity) ** 2
        counted = Counted(tuple(name for name, _ in model.levels_of), draws.totals.reshape(model.axes), variance)
    return Crossed(model, int(plan["n"]), draws.flat().mean(axis=0).reshape(model.axes), counted, schema)


def marginal(table: Crossed, columns: str | Sequence[str], interval: float | None = None) -> Shares:
    """Joint shares of some columns, the others summed out."""
    names = named_columns("cross table", table.names, columns)
    if interval is None:
        return Shares(names, _levels(table, names), _summed(table, names))
    return _estimated(table, names, (), _validate.between("interval", interval, 0.0, 1.0), SHARES)


def conditional(
    table: Crossed, column: str, given: str | Sequence[str] | Mapping[str, Any], interval: float | None = None
) -> Shares:
    """Shares of a column given others: given levels, one share per level; given names, one row per combination of theirs."""
    names = named_columns("cross table", table.names, given if isinstance(given, str) else tuple(given))
    (wanted,) = named_columns("cross table", table.names, (column,))
    if wanted in names:
        raise ArgumentError(f"column {wanted!r} cannot be given to itself.")
    if interval is None:
        together = _summed(table, (*names, wanted))
        with np.errstate(invalid="ignore", divide="ignore"):
            values = together / together.sum(axis=-1, keepdims=True)
        shares = Shares((*names, wanted), _levels(table, (*names, wanted)), values)
    else:
        level = _validate.between("interval", interval, 0.0, 1.0)
        shares = _estimated(table, (*names, wanted), names, level, SHARES)
    if not isinstance(given, Mapping):
        return shares
    return shares.at(tuple(place_of(name, table.levels[name], given[name]) for name in names))


@dataclass(frozen=True, eq=False)
class CrossView:
    """A cross table with intervals: `cells`, and the margins of its rows and of its columns where they are shown.

    `of` says what is shown; `n` is the number of records.
    """

    of: str
    cells: Shares
    rows: Shares | None
    columns: Shares | None
    n: int

    def __getitem__(self, combination: Any) -> float:
        """The estimate of one cell, by its levels in order."""
        return self.cells[combination]

    def interval(self, combination: Any) -> tuple[float, float]:
        """Lower and upper end for one cell."""
        return self.cells.interval(combination)

    def to_pandas(self) -> Any:
        """One row per cell: its levels, the estimate, and the ends of the interval; `unstack` gives a wide table."""
        return self.cells.to_pandas()

    def grid(self) -> list[list[str]]:
        """The printed table as rows of texts, the heading first: row levels, a column per level of the last, margins."""
        *first, last = self.cells.columns
        head = [*first, *(f"{last}={level}" for level in self.cells.levels[-1])]
        if self.rows is not None:
            head.append(_ALL)
        lines = [head]
        for index in np.ndindex(*self.cells.values.shape[:-1]):
            named = [str(levels[k]) for levels, k in zip(self.cells.levels, index, strict=False)]
            line = [*named, *(_cell(self.cells, (*index, k)) for k in range(self.cells.values.shape[-1]))]
            lines.append(line if self.rows is None else [*line, _cell(self.rows, index)])
        if self.columns is not None:
            margin = [_cell(self.columns, (k,)) for k in range(len(self.columns.values))]
            whole = [] if self.rows is None else [self.cells.shown(self.n if self.of == COUNTS else 1.0)]
            lines.append([_ALL, *[""] * (len(first) - 1), *margin, *whole])
        return [list(map(visible, line)) for line in lines]

    @property
    def note(self) -> str:
        """What is shown and what the intervals include, as a sentence."""
        level = f"{100 * (self.cells.level or 0):g} % intervals"
        sentences = {
            SHARES: f"Shares of all {self.n:,} records; {level} include the privacy noise and the sampling of the records.",
            COUNTS: f"Records in the data, {self.n:,} in all; {level} include the privacy noise alone.",
            BY_ROW: f"Shares within each row; {level} include the privacy noise and the sampling of the records.",
            BY_COLUMN: f"Shares within each column; {level} include the privacy noise and the sampling of the records.",
        }
        shown = (self.cells, self.rows, self.columns)
        words = " ".join(dict.fromkeys(each.meaning for each in shown if each is not None and each.meaning))
        apart = _APART if self.of in (SHARES, COUNTS) else ""
        return " ".join(filter(None, (sentences[self.of], apart, words)))

    def __str__(self) -> str:
        return f"{aligned(self.grid(), len(self.cells.columns) - 1)}\n\n{self.note}"


def cross_table(table: Crossed, columns: Sequence[str], of: str = SHARES, level: float = 0.9) -> CrossView:
    """The table of these columns (all of them by default) with intervals; the last one runs across."""
    _validate.one_of("of", of, (SHARES, COUNTS, BY_ROW, BY_COLUMN))
    share = _validate.between("level", level, 0.0, 1.0)
    names = named_columns("cross table", table.names, tuple(columns) or table.names)
    if len(names) < 2:
        raise ArgumentError(f"a cross table shows at least two columns; got {names[0]!r}. Use marginal({names[0]!r}).")
    given = {BY_ROW: names[:-1], BY_COLUMN: names[-1:]}.get(of, ())
    cells = _estimated(table, names, given, share, of)
    rows = None if of == BY_ROW else _estimated(table, names[:-1], (), share, of)
    across = None if of == BY_COLUMN else _estimated(table, names[-1:], (), share, of)
    if of == BY_COLUMN:  # the margin of row totals: shares of the rows among all records
        rows = _estimated(table, names[:-1], (), share, SHARES)
    return CrossView(of, cells, rows, across, table.n)


def _estimated(table: Crossed, axes: tuple[str, ...], given: tuple[str, ...], level: float, of: str) -> Shares:
    """Estimates and intervals of all combinations of the columns `axes`, given those of `given`."""
    levels = _levels(table, axes)
    shape = tuple(len(each) for each in levels)
    ends = np.empty((3, *shape))
    read: Callable[[ShareLaw, float], tuple[float, float, float]] = _count if of == COUNTS else _share
    for index in np.ndindex(*shape):
        fixed = dict(zip(axes, index, strict=True))
        row = {name: fixed.pop(name) for name in given}
        ends[(slice(None), *index)] = read(table.law(fixed, row), level)
    if given:
        ends[1] = adding_up(ends[1], ends[0], ends[2], tuple(k for k, name in enumerate(axes) if name not in given))
    what = ("records", table.n) if of == COUNTS else ("share", 1)
    return Shares(axes, levels, ends[1], ends[0], ends[2], level, *what)


def _share(law: ShareLaw, level: float) -> tuple[float, float, float]:
    low, high = law.share_ends(level)
    return low, law.share_median(), high


def _count(law: ShareLaw, level: float) -> tuple[float, float, float]:
    low, high = count_laws.count_ends(law, level)
    return low, count_laws.count_median(law), high


def _summed(table: Crossed, names: tuple[str, ...]) -> Array:
    """The drawn shares of some columns, the others summed out, axes in the order of the names."""
    others = tuple(k for k, name in enumerate(table.names) if name not in names)
    kept = [name for name in table.names if name in names]
    return np.asarray(np.transpose(table.shares.sum(axis=others), [kept.index(name) for name in names]))


def _levels(table: Crossed, names: tuple[str, ...]) -> tuple[tuple[Any, ...], ...]:
    return tuple(table.levels[name] for name in names)


def _cell(shares: Shares, index: tuple[int, ...]) -> str:
    """An estimate with its interval in brackets."""
    text, ends = shares.said(index)
    return f"{text} [{ends.replace(' to ', ', ')}]" if ends else text
