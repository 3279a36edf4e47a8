"""The public roster of persons, and which of its places a row belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema.identity import LONGEST, Identity
from sfumato.schema.outcome import attempt
from sfumato.schema.read_columns import open_column
from sfumato.schema.reading import open_ids
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_ROWS

Words = NDArray[np.uint64]
Slots = NDArray[np.int64]


class Roster:
    """The ids of all persons, as digests under the key of one reading; a person's slot is their place on the roster."""

    def __init__(self, words: Words) -> None:
        """Keep the digests sorted, with the slot of each; the same id twice is one person."""
        order = np.lexsort((words[:, 1], words[:, 0]))
        ordered = words[order, :2]
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        # The first place of each id; `lexsort` is stable, so that it stands first among its equals.
        places = order[new]
        slots = np.empty(len(places), dtype=np.int64)
        slots[np.argsort(places, kind="stable")] = np.arange(len(places))
        self._first, self._second, self._slots = ordered[new, 0], ordered[new, 1], slots

    def __len__(self) -> int:
        return len(self._slots)

    def slots(self, words: Words) -> Slots:
        """The slot of every row, -1 for an id that is not on the roster."""
        found = np.full(len(words), -1, dtype=np.int64)
        if not len(self._slots):
            return found
        place = np.searchsorted(self._first, words[:, 0], "left")
        # Ids whose first words are equal stand side by side; there is hardly ever more than one.
        while True:
            inside = np.minimum(place, len(self._slots) - 1)
            same = (place < len(self._slots)) & (self._first[inside] == words[:, 0])
            hit = same & (self._second[inside] == words[:, 1]) & (found < 0)
            found[hit] = self._slots[inside[hit]]
            if not (same & (found < 0)).any():
                return found
            place = place + 1

    def __repr__(self) -> str:
        return f"Roster({len(self)} persons)"


def read_roster(source: Any, schema: Schema, identity: Identity) -> Roster:
    """Read a roster: a file with a column called as the id column, or a list, an array or a series of ids."""
    read = attempt(_digests, source, schema, identity)
    del source
    if isinstance(read.error, ArgumentError):
        raise ArgumentError(f"the roster cannot be read: {read.error}")
    words, empty = read.get()
    if empty:
        raise ArgumentError(
            f"the roster has a row without an id, or with one of more than {LONGEST:,} bytes: list every person once, by an id."
        )
    roster = Roster(words)
    persons = schema.persons
    if persons is not None and persons.count is not None and persons.count != len(roster):
        raise ArgumentError(
            f"the roster has {len(roster):,} persons and the schema declares count = {persons.count:,}: one of the two is wrong."
        )
    return roster


def _digests(source: Any, schema: Schema, identity: Identity) -> tuple[Words, bool]:
    name = "" if schema.persons is None else schema.persons.id
    parts, empty = [np.empty((0, 3), dtype=np.uint64)], False
    for encoded in _encoded(source, name, schema, identity):
        parts.append(encoded.values)
        empty = empty or bool(encoded.missing.any())
    return np.concatenate(parts), empty


def _encoded(source: Any, name: str, schema: Schema, identity: Identity) -> Iterator[Any]:
    from sfumato.schema.encoding import encode

    if isinstance(source, str) or hasattr(source, "__fspath__"):
        for cells in open_ids(source, name, schema, identity):
            yield encode(identity, cells)
        return
    count, read = open_column(name, identity, source)
    for start in range(0, count, CHUNK_ROWS):
        yield encode(identity, read(start, min(start + CHUNK_ROWS, count)))
