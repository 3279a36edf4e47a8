"""The rows of a table while it is read: in memory, or once they take too much of it in encrypted temporaries.

A pile holds the rows of some persons, all of each. Which pile a person belongs to follows from the place on the roster, or from
the digest of the id where there is no roster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.gathering.secret_file import SecretFile

# Piles of a table that does not fit into memory: one of them at a time must.
_PILES = 64
# Names under which the slot of each row and the two words of its id, and the word for samples, are piled up.
SLOT, FIRST, SECOND, SAMPLE = " slot", " first", " second", " sample"


class Piles:
    """Rows that are added in any order and taken out person by person."""

    def __init__(self, people: int | None, memory: int) -> None:
        """Start in memory. `people` is the length of the roster, None without one; `memory` the bytes that rows may take."""
        self._people, self._memory = people, memory
        self._held: list[dict[str, Any]] = []
        self._bytes = 0
        self._files: dict[int, SecretFile] | None = None

    def add(self, rows: dict[str, Any]) -> None:
        """Add rows: encoded columns, and SLOT, FIRST, SECOND and SAMPLE of each."""
        self._held.append(rows)
        self._bytes += sum(_size(array) for array in rows.values())
        sparse = any(not isinstance(array, np.ndarray) for array in rows.values())
        if self._bytes > self._memory and not sparse:
            self._write()

    def _write(self) -> None:
        if self._files is None:
            self._files = {}
        for rows in self._held:
            pile = self._pile_of(rows)
            for number in np.unique(pile).tolist():
                inside = pile == number
                if number not in self._files:
                    self._files[number] = SecretFile()
                self._files[number].write({name: array[inside] for name, array in rows.items()})
        self._held, self._bytes = [], 0

    def _pile_of(self, rows: Mapping[str, Any]) -> NDArray[np.int64]:
        if self._people is None:
            # The first six bits, one of 64 piles; of the digest that is the same in every reading, so that the order of persons is.
            return np.asarray(rows[SAMPLE] >> np.uint64(58), dtype=np.int64)
        return np.asarray(rows[SLOT] * _PILES // max(1, self._people), dtype=np.int64)

    def __iter__(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield (first slot, slot after the last, rows) of every pile; slots are 0 and 0 where there is no roster."""
        if self._files is None:
            held, self._held = self._held, []
            yield 0, self._people or 0, _joined(held)
            return
        self._write()
        for number in range(_PILES):
            file = self._files.pop(number, None)  # dropped before the next pile is read
            rows = {} if file is None else _joined(list(file.read()))
            yield self._edge(number), self._edge(number + 1), rows

    def _edge(self, number: int) -> int:
        """The first slot of a pile: the smallest with slot * piles // people >= number."""
        return 0 if self._people is None else -(-number * self._people // _PILES)


def _size(array: Any) -> int:
    return int(array.nbytes if isinstance(array, np.ndarray) else array.data.nbytes + array.indices.nbytes)


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The parts one after the other; a column's parts are dropped as soon as they are joined."""
    if not parts:
        return {}
    joined: dict[str, Any] = {}
    for name in list(parts[0]):
        pieces = [part.pop(name) for part in parts]
        if isinstance(pieces[0], np.ndarray):
            joined[name] = np.concatenate(pieces)
        else:
            from scipy.sparse import csr_array, vstack

            joined[name] = csr_array(vstack(pieces, format="csr"))
    return joined
