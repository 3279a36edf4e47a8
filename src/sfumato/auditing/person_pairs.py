"""Made-up tables of persons: several rows under one id, and neighbours in which the rows of one person are replaced.

The new rows stand under the same id: more than count, fewer, none, or rows whose cells cannot be read. Tables are unsorted, ids are
spelt in several ways, and some rows have no id: they belong to nobody. The number of persons is public and the same throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from sfumato.auditing.odd_records import ODD_CELLS
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.records import (
    MATRIX,
    STYLES,
    Candidate,
    Record,
    dataset_of,
    extremes,
    names_of,
    people_of,
    plain,
    random_table,
)
from sfumato.dataset import Dataset
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.schema import Schema
from sfumato.schema.persons import REDUCE, Persons

# Rows of a person beyond those that count.
_BEYOND = 3
# Rows of a person where all are read, and one row is made of them.
_SEVERAL = 4
# What stands where an id should: such a row belongs to nobody.
_NO_ID: tuple[Any, ...] = (None, "", "  ", math.nan, "NaN")
# Cells that a sparse matrix can hold and no record should.
_ODD_FLOATS = (math.nan, math.inf, -math.inf, 1e308, 5e-324)
# Candidates beside whose others a person is spread over several cells, and cells among which these are chosen.
_SPREAD, _CELLS = 3, 64


def with_persons(plan: Plan, schema: Schema) -> Schema:
    """The schema of made-up records for a plan: with its persons, as many as the plan has records, where it is about persons."""
    if schema.weight is not None:
        raise ArgumentError("made-up records have no survey weights: leave weight out of the schema of an audit.")
    terms, own = plan.persons, schema.persons
    if terms is None:
        if own is not None:
            raise ArgumentError(
                "the schema declares persons with several rows, and the plan is about single rows. Plan with "
                "persons=schema.persons."
            )
        return schema
    if own is not None and own.terms != terms:
        raise ArgumentError("the schema declares other persons (id, rule, most or rows) than the plan. Plan again.")
    steps = dict(own.reduce) if own is not None else dict.fromkeys(schema.columns, "first")
    reduce = steps if terms.rule == REDUCE else {}
    return schema.with_persons(Persons(terms.id, terms.most, terms.rule, plan.n, None, terms.rows, reduce))


@dataclass(frozen=True, eq=False)
class People:
    """The rows of a table in their order: whose they are (None: nobody's), how the id is spelt, and the record.

    `listed`: the roster is given, and not the number of persons alone.
    """

    schema: Schema
    rows: tuple[tuple[int | None, Any, Record], ...]
    listed: bool = True

    def replaced(self, person: int, records: Sequence[Record], rng: np.random.Generator) -> People:
        """The same table with the rows of one person replaced by others under the same id, anywhere among those of the others."""
        rows = [row for row in self.rows if row[0] != person]
        for record in records:
            rows.insert(int(rng.integers(len(rows) + 1)), (person, _spelt(person, rng), record))
        return replace(self, rows=tuple(rows))

    def dataset(self, sparse: bool = False) -> Dataset:
        """The table as a data set; `sparse`: vectors are given as a CSR matrix."""
        columns: dict[str, Any] = {name: [record[name] for _, _, record in self.rows] for name in names_of(self.schema)}
        if self.schema.dimension is not None:
            columns[MATRIX] = _matrix(columns[MATRIX], self.schema.dimension, sparse)
        return dataset_of(self.schema, columns, [spelt for _, spelt, _ in self.rows], self.listed)


def _matrix(rows: list[Any], width: int, sparse: bool) -> Any:
    """The vectors as a matrix, or as a list of rows where a cell is no number."""
    numbers = all(isinstance(cell, float) for row in rows for cell in row)
    if not numbers and not sparse:
        return [list(row) for row in rows]
    dense = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    if not sparse:
        return dense
    from scipy.sparse import csr_array

    return csr_array(dense)


def _spelt(person: int, rng: np.random.Generator) -> Any:
    """One of the ways to write an id."""
    ways = (
        person,
        float(person),
        str(person),
        f" {person} ",
        f"{person}.0",
        f"00{person}",
        np.int64(person),
        f"+{person}",
    )
    return ways[int(rng.integers(len(ways)))]


def random_people(schema: Schema, style: str, rng: np.random.Generator) -> People:
    """A random table: each person has none to a few more rows than count, some rows are nobody's, the order is random."""
    people = people_of(schema)
    counts = rng.integers(0, _rows(schema) + _BEYOND + 1, people)
    owners: list[int | None] = [person for person in range(people) for _ in range(counts[person])]
    owners += [None] * int(rng.integers(0, 3))
    owners = [owners[k] for k in rng.permutation(len(owners))]
    records = random_table(schema, style, len(owners), rng)
    rows = tuple(
        (who, _NO_ID[int(rng.integers(len(_NO_ID)))] if who is None else _spelt(who, rng), _plain(records.record(k)))
        for k, who in enumerate(owners)
    )
    return People(schema, rows, bool(rng.integers(2)))


def _rows(schema: Schema) -> int:
    """Rows of a person that count; where one row is made of all of them, a few."""
    averaged = None if schema.persons is None else schema.persons.averaged
    return _SEVERAL if averaged is None else averaged


def _plain(record: Record) -> dict[str, Any]:
    """The record with a list of floats for its vector."""
    return {name: cell.tolist() if isinstance(cell, np.ndarray) else cell for name, cell in record.items()}


def random_rows_for_one(schema: Schema, rng: np.random.Generator, sparse: bool = False) -> list[dict[str, Any]]:
    """Rows that one person may have: none, one, as many as count or more; alike at an end, of random styles, or unreadable."""
    most = _rows(schema)
    count = int((0, 1, most, most + _BEYOND, rng.integers(0, most + _BEYOND + 1))[int(rng.integers(5))])
    kind = ("alike", "mixed", "odd")[int(rng.integers(3))]
    if kind == "alike":
        one = random_table(schema, "extreme", 1, rng).record(0)
        return [_plain(one) for _ in range(count)]
    rows = [_plain(random_table(schema, STYLES[int(rng.integers(3))], 1, rng).record(0)) for _ in range(count)]
    return rows if kind == "mixed" else [_with_odd_cell(schema, row, rng, sparse) for row in rows]


def _with_odd_cell(schema: Schema, record: dict[str, Any], rng: np.random.Generator, sparse: bool) -> dict[str, Any]:
    """The record with one cell that cannot be read."""
    odd = list(ODD_CELLS.values())
    name = names_of(schema)[int(rng.integers(len(names_of(schema))))]
    if name != MATRIX:
        return {**record, name: odd[int(rng.integers(len(odd)))]}
    cells: Sequence[Any] = _ODD_FLOATS if sparse else odd
    row = list(record[MATRIX])
    row[int(rng.integers(len(row)))] = cells[int(rng.integers(len(cells)))]
    return {**record, MATRIX: row}


def person_groups(
    schema: Schema, size: int, rng: np.random.Generator, style: str, sparse: bool = False
) -> list[Dataset]:
    """Data sets of which every two are neighbours: the rows of one person are replaced, all else is the same.

    In one of them that person has no rows. In others all are alike, and more than count: at either end of every column, and with a
    target also at one end with the target of the other.
    """
    table = random_people(schema, style, rng)
    person = int(rng.integers(people_of(schema)))
    low, high = map(_plain, extremes(schema))
    corners = [low, high]
    if schema.target is not None:
        corners += [{**low, schema.target: high[schema.target]}, {**high, schema.target: low[schema.target]}]
    chosen: list[Sequence[Record]] = [[], *([record] * (_rows(schema) + _BEYOND) for record in corners)]
    chosen += [random_rows_for_one(schema, rng, sparse) for _ in range(size - len(chosen))]
    return [table.replaced(person, rows, rng).dataset(sparse) for rows in chosen[:size]]


def random_person_pairs(schema: Schema, count: int, seed: int = 0) -> list[Neighbours]:
    """Random tables of the schema's persons, with the rows of one replaced by others under the same id."""
    rng, pairs = np.random.default_rng(seed), []
    for place in range(count):
        style = STYLES[place % len(STYLES)]
        table = random_people(schema, style, rng)
        person = int(rng.integers(people_of(schema)))
        first, second = (table.replaced(person, random_rows_for_one(schema, rng), rng).dataset() for _ in range(2))
        name = f"the rows of one person of a random table are replaced (table {place + 1}, {style} values)"
        pairs.append(Neighbours(name, first, second))
    return pairs


def spread_candidates(columns: Sequence[str], candidates: Sequence[Candidate], schema: Schema) -> list[Candidate]:
    """Persons whose rows lie in several cells and are replaced by rows in as many others, where several rows are averaged.

    `columns` are those that a model reads; cells are combinations of their levels. The others are those of the candidates.
    """
    persons = schema.persons
    levels = {name: schema.columns[name].levels for name in columns if name in schema.columns}
    if persons is None or not levels or any(each is None for each in levels.values()):
        return []
    cells = list(islice(product(*(each or () for each in levels.values())), _CELLS))
    size = min(persons.averaged or 1, len(cells) // 2)
    if size < 2:
        return []
    rows = [{**plain(schema), **dict(zip(levels, cell, strict=True))} for cell in cells[: 2 * size]]
    old, new = rows[:size], rows[size:]
    name = "one record changes, spread over several cells"
    return [Candidate(name, old[0], new[0], candidate.others, (old[1:], new[1:])) for candidate in candidates[:_SPREAD]]
