"""Numbers of persons and of rows that do not count, where one person may have several rows. For the curator alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.persons import Persons

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class PersonCounts:
    """Whose rows were found. Exact functions of private rows: never publish, log or quote them.

    declared: the public number of persons. absent: how many of them have no row. unexpected: ids beyond a declared count, with
    which a data set is refused. above: persons with more rows than are averaged, and beyond: their rows that are left out.
    without_id, off_roster: rows that count for nobody.
    """

    persons: Persons
    declared: int
    absent: int
    unexpected: int
    above: int
    beyond: int
    without_id: int
    off_roster: int

    def lines(self) -> list[str]:
        """The counts as sentences."""
        rows, name = self.persons.rows, self.persons.id
        more = f", {self.above} with more than {self.persons.most} {rows}" if self.persons.averaged else ""
        lines = [f"persons by {name}: {self.declared} declared, {self.absent} of them without {rows}{more}"]
        left = [
            (self.without_id, f"without {name}"),
            (self.off_roster, "of ids that are not on the roster"),
            (self.beyond, f"beyond the {self.persons.most} of one person"),
        ]
        lines.append("rows left out: " + (", ".join(f"{count} {why}" for count, why in left if count) or "none"))
        if self.unexpected:
            more = f"{self.unexpected} person{'s' * (self.unexpected > 1)} more than the {self.declared} that the schema declares"
            lines.append(f"{more}: a release would be refused")
        return lines


class PersonTally:
    """The running counts of one pass over a table; ids are digests under the key of that pass."""

    def __init__(self, persons: Persons, roster: Words | None) -> None:
        """`roster` holds the digests of all persons, None where only their number is declared."""
        self._persons, self._roster = persons, None if roster is None else np.unique(roster[:, :2], axis=0)
        self._ids = [np.empty((0, 2), dtype=np.uint64)]
        self._counts = [np.empty(0, dtype=np.int64)]
        self._without = 0

    def add(self, words: Words, missing: NDArray[Any]) -> None:
        """Count the rows of one chunk by their ids."""
        self._without += int(missing.sum())
        ids, counts = np.unique(words[~missing, :2], axis=0, return_counts=True)
        self._ids.append(ids)
        self._counts.append(counts)

    def result(self) -> PersonCounts:
        """Return the counts so far."""
        ids, places = np.unique(np.concatenate(self._ids), axis=0, return_inverse=True)
        each = np.bincount(places.ravel(), weights=np.concatenate(self._counts), minlength=len(ids)).astype(np.int64)
        declared, off = self._persons.count or 0, 0
        if self._roster is not None:
            known = among(ids, self._roster)
            declared, off, each = len(self._roster), int(each[~known].sum()), each[known]
        most = self._persons.averaged or int(each.max(initial=0))
        above = each[each > most]
        return PersonCounts(
            self._persons,
            declared,
            max(0, declared - len(each)),
            max(0, len(each) - declared),
            len(above),
            int((above - most).sum()),
            self._without,
            off,
        )


def among(ids: Words, roster: Words) -> NDArray[np.bool_]:
    """Which of some different ids are on a roster of different ids."""
    _, places, counts = np.unique(np.concatenate([ids, roster]), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[places.ravel()[: len(ids)]] == 2)
