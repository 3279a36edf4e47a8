"""From the chunks of a table to runs of whole persons: every person of the roster once, with at least one row.

A person who has no usable row counts as one row whose cells are all missing, so that the number of persons, and the size of every
statistic, do not depend on who has rows. Rows without an id, and of ids that are not on the roster, are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.gathering import bounding, reducing
from sfumato.gathering.piles import FIRST, SAMPLE, SECOND, SLOT, Piles
from sfumato.gathering.roster import Roster
from sfumato.schema.as_read import ID, NO_ID, WEIGHT
from sfumato.schema.encoding import encode
from sfumato.schema.missing_cells import missing_key
from sfumato.schema.persons import AVERAGE, Persons
from sfumato.schema.schema import Schema

Places = NDArray[np.int64]
# Names in a pile that are no columns.
_OWN = (SLOT, FIRST, SECOND, SAMPLE)


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The rows of whole persons, each person's next to each other, and how many rows each has."""

    columns: dict[str, Any]
    counts: Places


def gather(
    chunks: Iterator[dict[str, Any]], schema: Schema, roster: Roster | None, memory: int, sparse: bool = False
) -> Iterator[Run]:
    """Read all chunks; return runs of persons in the order of the roster, whether or not rows were written to temporaries.

    Without a roster persons come in the order of a public hash of their ids, those who have no rows last. `sparse`: vectors are
    CSR rows, those of persons without rows too.
    """
    piles = Piles(None if roster is None else len(roster), memory)
    for chunk in chunks:
        piles.add(_known(chunk, roster))
    return _runs(piles, schema, roster, missing_row(schema, sparse))


def gather_present(
    chunks: Iterator[dict[str, Any]], schema: Schema, roster: Roster | None, memory: int
) -> Iterator[tuple[Run, NDArray[np.uint64]]]:
    """Runs of the persons who are in a part of a table, with the digests of their ids; others of the roster are left out."""
    piles, persons, empty = Piles(None, memory), _declared(schema), missing_row(schema)
    for chunk in chunks:
        piles.add(_known(chunk, roster))
    for _, _, rows in piles:
        slots, people = _by_hash(rows)
        if people:
            first = np.unique(slots, return_index=True)[1]
            words = np.stack([rows[FIRST][first], rows[SECOND][first]], axis=1)
            yield _run(rows, slots, people, schema, persons, empty), words


def absent_run(schema: Schema, people: int) -> Run:
    """So many persons without rows."""
    return _run({}, np.empty(0, np.int64), people, schema, _declared(schema), missing_row(schema))


def _known(chunk: dict[str, Any], roster: Roster | None) -> dict[str, Any]:
    """The rows of a chunk whose ids are known, with their slots and words."""
    words, kept = chunk.pop(ID), ~chunk.pop(NO_ID)
    slots = np.zeros(len(words), dtype=np.int64) if roster is None else roster.slots(words)
    kept &= slots >= 0
    rows = {name: array[kept] for name, array in chunk.items()}
    return rows | {SLOT: slots[kept], FIRST: words[kept, 0], SECOND: words[kept, 1], SAMPLE: words[kept, 2]}


def _runs(piles: Piles, schema: Schema, roster: Roster | None, empty: dict[str, Any]) -> Iterator[Run]:
    persons = _declared(schema)
    found = 0
    for first, after, rows in piles:
        slots, people = (rows.get(SLOT, np.empty(0, np.int64)) - first, after - first)
        if roster is None:
            slots, people = _by_hash(rows)
            found += people
        if people:
            yield _run(rows, slots, people, schema, persons, empty)
    if roster is not None:
        return
    if persons.count is None or found > persons.count:
        raise ArgumentError(
            f"the table has ids of more persons than the schema's count = {persons.count:,}. Declare how many there really are; "
            "nothing was kept."
        )
    if found < persons.count:
        yield _run({}, np.empty(0, np.int64), persons.count - found, schema, persons, empty)


def _declared(schema: Schema) -> Persons:
    if schema.persons is None:
        raise ArgumentError("rows are gathered by person where the schema declares persons.")
    return schema.persons


def _by_hash(rows: dict[str, Any]) -> tuple[Places, int]:
    """Slots in the order of the public hash of the ids, whatever the order of the rows, and how many there are."""
    if not rows or not len(rows[FIRST]):
        return np.empty(0, np.int64), 0
    order = np.lexsort((rows[SECOND], rows[FIRST], rows[SAMPLE]))
    first, second = rows[FIRST][order], rows[SECOND][order]
    slots = np.empty(len(order), dtype=np.int64)
    slots[order] = np.concatenate([[0], np.cumsum((first[1:] != first[:-1]) | (second[1:] != second[:-1]))])
    return slots, int(slots.max()) + 1


def _run(
    rows: dict[str, Any], slots: Places, people: int, schema: Schema, persons: Persons, empty: dict[str, Any]
) -> Run:
    """The persons of one pile: bounded, reduced, and with one missing row for each who has none."""
    order = np.argsort(slots, kind="stable")
    owners = slots[order]
    if persons.rule == AVERAGE and persons.most is not None:
        kept = _bounded(rows, order, owners, persons.most)
        order, owners = order[kept], owners[kept]
    present, starts, counts = np.unique(owners, return_index=True, return_counts=True)
    columns = {name: array[order] for name, array in rows.items() if name not in _OWN}
    if persons.rule != AVERAGE:
        columns = _one_row(columns, starts, counts, schema, persons) if len(present) else {}
        counts = np.ones(len(present), dtype=np.int64)
    return _with_absent(columns, present, counts, people, empty)


def _bounded(rows: dict[str, Any], order: Places, owners: Places, most: int) -> Places:
    """Places, among the ordered rows, of those that count."""
    sizes = np.bincount(owners)
    many = sizes[owners] > most if len(owners) else np.zeros(0, dtype=bool)
    if not many.any():
        return np.arange(len(owners))
    crowded = np.flatnonzero(many)
    places = order[crowded]
    columns = {name: array for name, array in rows.items() if name not in _OWN}
    contents = bounding.content_of(columns, places)
    taken = crowded[bounding.chosen(owners[crowded], contents, rows[SAMPLE][places], most)]
    return np.sort(np.concatenate([np.flatnonzero(~many), taken]))


def _one_row(
    columns: dict[str, Any], starts: Places, counts: Places, schema: Schema, persons: Persons
) -> dict[str, Any]:
    if not persons.reduce:
        return reducing.firsts(columns, starts)
    made: dict[str, Any] = reducing.reduced(columns, starts, counts, schema.columns, dict(persons.reduce))
    if WEIGHT in columns:
        # The mean of whole steps, rounded down: what a person weighs.
        totals = np.add.reduceat(columns[WEIGHT].astype(np.int64), starts)
        made[WEIGHT] = (totals // counts).astype(columns[WEIGHT].dtype)
    return made


def _with_absent(columns: dict[str, Any], present: Places, counts: Places, people: int, empty: dict[str, Any]) -> Run:
    """Every slot from 0 to `people`; one that is not present gets the row `empty`, whose cells are all missing."""
    if len(present) == people:
        return Run(columns, counts)
    absent = np.setdiff1d(np.arange(people), present, assume_unique=True)
    every = np.zeros(people, dtype=np.int64)
    every[present], every[absent] = counts, 1
    owners = np.concatenate([np.repeat(present, counts), absent])
    order = np.argsort(owners, kind="stable")
    filled = {}
    for name, row in empty.items():
        filled[name] = _stacked(columns.get(name), row, len(absent))[order]
    return Run(filled, every)


def missing_row(schema: Schema, sparse: bool = False) -> dict[str, Any]:
    """The row of a person who has none: every cell missing, a vector of zeros (CSR if `sparse`), a weight of 0."""
    row: dict[str, Any] = {}
    for name, column in schema.columns.items():
        counted = schema.persons is not None and dict(schema.persons.reduce).get(name) in ("count", "sum")
        cell = encode(column, [0 if counted else None])
        row[name], row[missing_key(name)] = cell.values, cell.missing
    if schema.dimension is not None:
        row = {name: array for name, array in row.items() if name in schema.columns}
        row["matrix"] = _no_entries(1, schema.dimension) if sparse else np.zeros((1, schema.dimension))
    if schema.weight is not None:
        row[WEIGHT] = np.zeros(1, dtype=np.uint32)
    return row


def _no_entries(rows: int, dimension: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((rows, dimension), dtype=np.float64)


def _stacked(rows: Any, row: Any, count: int) -> Any:
    """Rows, and `count` times the missing row below them."""
    if isinstance(row, np.ndarray):
        more = np.repeat(row, count, axis=0)
        return more if rows is None else np.concatenate([rows, more.astype(rows.dtype)])
    from scipy.sparse import csr_array, vstack

    below = _no_entries(count, row.shape[1])
    return below if rows is None else csr_array(vstack([rows, below], format="csr"))
