"""Made-up records: one cell per column of a schema, tables of them, and neighbours that differ in one.

A record is a mapping from column names to cells; the row of a vector schema stands under `MATRIX`. Tables are numpy columns, so
that a million equal records cost a few arrays. Where the schema declares persons each record is a row of a person of its own, and
the person in whose rows neighbours differ may have more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.pairs import Neighbours
from sfumato.dataset import Dataset
from sfumato.mechanisms.plan import Plan
from sfumato.schema import Boolean, Column, Number, Schema
from sfumato.schema.persons import Persons

Record = Mapping[str, Any]
# The name under which a block holds the rows of a vector schema (`dataset.Block`).
MATRIX = "matrix"
# Place of the record in which neighbours differ.
PLACE = 0


@dataclass(frozen=True, eq=False)
class Table:
    """Records in columns: float64 for numbers, bool for yes and no, objects for levels, (n, d) floats for vectors."""

    schema: Schema
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, schema: Schema, runs: Sequence[tuple[Record, int]]) -> Table:
        """Runs of equal records: each record is repeated so many times."""
        counts = [count for _, count in runs]
        columns = {}
        for name in names_of(schema):
            cells = [record[name] for record, _ in runs]
            columns[name] = np.repeat(_array(schema, name, cells), counts, axis=0)
        return cls(schema, columns)

    @property
    def n(self) -> int:
        """How many records there are."""
        return len(next(iter(self.columns.values())))

    def record(self, place: int) -> dict[str, Any]:
        """The record at a place."""
        return {name: column[place] for name, column in self.columns.items()}

    def with_record(self, place: int, record: Record) -> Table:
        """The same records but for one."""
        columns = {name: column.copy() for name, column in self.columns.items()}
        for name, column in columns.items():
            column[place] = record[name]
        return Table(self.schema, columns)

    def dataset(self, more: Sequence[Record] = ()) -> Dataset:
        """The records as a data set; `more` are further rows of the person at `PLACE`, where the schema declares persons."""
        if not more:
            return dataset_of(self.schema, self.columns)
        columns = {
            name: np.concatenate([column, _array(self.schema, name, [record[name] for record in more])])
            for name, column in self.columns.items()
        }
        return dataset_of(_of_people(self.schema, self.n), columns, np.append(np.arange(self.n), [PLACE] * len(more)))


def dataset_of(
    schema: Schema, columns: Mapping[str, Any], owners: Sequence[Any] | NDArray[Any] | None = None, listed: bool = True
) -> Dataset:
    """A data set from columns by name, arrays or lists; the vectors of a vector schema stand under `MATRIX`.

    Where the schema declares persons, `owners` are the ids of the rows: by default every row is of a person of its own, and their
    number is that of the rows. `listed` gives the roster 0, 1, 2, ...; otherwise persons come as they appear.
    """
    if schema.persons is None:
        return _made(schema, columns)
    if owners is None:
        owners = np.arange(len(columns[names_of(schema)[0]]))
        schema = _of_people(schema, len(owners))
    return _made(schema, columns, owners, np.arange(people_of(schema)) if listed else None)


def people_of(schema: Schema) -> int:
    """The declared number of persons, 0 where there are none."""
    return 0 if schema.persons is None else schema.persons.count or 0


def _of_people(schema: Schema, count: int) -> Schema:
    """The schema of so many persons, where it declares persons."""
    return schema if schema.persons is None else schema.with_persons(replace(schema.persons, count=count))


def _made(schema: Schema, columns: Mapping[str, Any], owners: Any = None, roster: Any = None) -> Dataset:
    if schema.dimension is None:
        ids = {} if schema.persons is None else {schema.persons.id: owners}
        return Dataset.from_table({**columns, **ids}, schema=schema, roster=roster)
    label = None if schema.target is None else columns[schema.target]
    return Dataset.from_arrays(columns[MATRIX], label, schema=schema, groups=owners, roster=roster)


def names_of(schema: Schema) -> tuple[str, ...]:
    """The names of a record's cells: the columns, and `MATRIX` for the row of a vector schema."""
    return tuple(schema.columns) if schema.dimension is None else (MATRIX, *schema.columns)


def _array(schema: Schema, name: str, cells: Sequence[Any]) -> NDArray[Any]:
    """Cells as one column."""
    column = schema.columns.get(name)
    if column is None:
        return np.array(cells, dtype=np.float64).reshape(len(cells), schema.dimension or 0)
    if isinstance(column, Number):
        return np.array(cells, dtype=np.float64)
    if isinstance(column, Boolean):
        return np.array(cells, dtype=bool)
    values = np.empty(len(cells), dtype=object)
    values[:] = list(cells)
    return values


# --- pairs -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidate:
    """Two records that replace each other, and the others: records with weights, in proportion to which they are repeated.

    `more` are further rows of the person who differs, in the one data set and in the other, where a person may have several; by
    default that person's rows are all alike, and more than count.
    """

    name: str
    first: Record
    second: Record
    others: Sequence[tuple[Record, float]]
    more: tuple[Sequence[Record], Sequence[Record]] | None = None

    def built(self, schema: Schema, n: int) -> Neighbours:
        """Data sets of n records; the record that differs stands at `PLACE`."""
        counts = shared(n - 1, [weight for _, weight in self.others])
        runs = [(record, count) for (record, _), count in zip(self.others, counts, strict=True)]
        first = Table.of(schema, [(self.first, 1), *runs])
        second = first.with_record(PLACE, self.second)
        if schema.persons is None:
            return Neighbours(self.name, first.dataset(), second.dataset())
        alike = copies(schema.persons)
        one, two = self.more or ([self.first] * alike, [self.second] * alike)
        name = self.name.replace("one record", "one person, with all rows,")
        return Neighbours(name, first.dataset(one), second.dataset(two))


def copies(persons: Persons) -> int:
    """How many rows the person who differs has beside the first: with them one more than are averaged, or two."""
    return persons.averaged or 1


def shared(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers that sum to `total`, in proportion to the weights up to rounding; what is left goes to the last."""
    sizes = np.cumsum(np.array(weights, dtype=np.float64))
    ends = np.rint(total * sizes / sizes[-1]).astype(np.int64)
    ends[-1] = total
    return [int(count) for count in np.diff(ends, prepend=0)]


# --- single records ----------------------------------------------------------------------------------------------------------


def plain(schema: Schema) -> dict[str, Any]:
    """The record whose numbers are in the middle of their bounds, with first levels, no, and a row of 0."""
    record: dict[str, Any] = {name: middle(column) for name, column in schema.columns.items()}
    return record if schema.dimension is None else {MATRIX: np.zeros(schema.dimension), **record}


def levels_of(column: Column) -> tuple[Any, ...]:
    """The levels of a column that is not a number."""
    return column.levels or ()


def middle(column: Column) -> Any:
    """The middle of a number's bounds, rounded where it must be whole; the first level of other columns."""
    if not isinstance(column, Number):
        return levels_of(column)[0]
    value = 0.5 * column.lower + 0.5 * column.upper
    return float(np.floor(value)) if column.integer else value


def ends(column: Column) -> tuple[Any, Any]:
    """The bounds of a number; the first and the last level of other columns."""
    if isinstance(column, Number):
        return column.lower, column.upper
    levels = levels_of(column)
    return levels[0], levels[-1]


def extremes(schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
    """The records of the smallest and of the largest values, with opposite rows of the largest norm."""
    records = []
    for end, sign in ((0, -1.0), (1, 1.0)):
        record: dict[str, Any] = {name: ends(column)[end] for name, column in schema.columns.items()}
        if schema.dimension is not None:
            record[MATRIX] = sign * (schema.data_norm or 0.0) * np.eye(schema.dimension)[0]
        records.append(record)
    return records[0], records[1]


def random_cells(column: Column, style: str, size: int, rng: np.random.Generator) -> NDArray[Any]:
    """Random cells: "uniform" over bounds or levels, "extreme" for their ends alone, or "skewed" towards the lower end."""
    shares = rng.random(size)
    if style == "extreme":
        shares = np.where(shares < 0.5, 0.0, 1.0)
    elif style == "skewed":
        shares = shares**8  # nine in ten lie in the lower half
    if isinstance(column, Number):
        values = (1 - shares) * column.lower + shares * column.upper
        return np.rint(values) if column.integer else values
    levels = _array(Schema({"x": column}), "x", levels_of(column))
    return levels[np.minimum((shares * len(levels)).astype(np.int64), len(levels) - 1)]


def random_rows(schema: Schema, style: str, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random rows of a vector schema: of any length, of the largest along an axis, or short but for one in ten."""
    d, norm = schema.dimension or 0, schema.data_norm or 1.0
    if style == "extreme":
        rows = np.zeros((size, d))
        rows[np.arange(size), rng.integers(0, d, size)] = np.where(rng.random(size) < 0.5, -norm, norm)
        return rows
    rows = rng.standard_normal((size, d))
    lengths = rng.random(size) if style == "uniform" else np.where(rng.random(size) < 0.1, 1.0, 1e-3)
    return np.asarray(rows * (norm * lengths / np.maximum(np.linalg.norm(rows, axis=1), 1e-300))[:, None])


def random_table(schema: Schema, style: str, size: int, rng: np.random.Generator) -> Table:
    """Random records of one style."""
    columns: dict[str, NDArray[Any]] = (
        {} if schema.dimension is None else {MATRIX: random_rows(schema, style, size, rng)}
    )
    for name, column in schema.columns.items():
        columns[name] = random_cells(column, style, size, rng)
    return Table(schema, columns)


STYLES = ("uniform", "extreme", "skewed")


def random_record(schema: Schema, rng: np.random.Generator) -> dict[str, Any]:
    """One random record of a random style."""
    return random_table(schema, STYLES[rng.integers(len(STYLES))], 1, rng).record(0)


def one_cell(plan: Plan) -> bool:
    """Whether the plan protects one cell of a record, so that neighbours differ in a single cell."""
    return plan.guarantee.adjacency == "replace-entry"


def neighbour_of(plan: Plan, first: Record, second: Record, rng: np.random.Generator) -> Record:
    """`second`, or where the plan protects single cells `first` with one cell of `second`."""
    if not one_cell(plan):
        return second
    changed = sorted(name for name in first if name in second and not np.array_equal(first[name], second[name]))
    if not changed:
        return second
    name = changed[rng.integers(len(changed))]
    return {**first, name: second[name]}
