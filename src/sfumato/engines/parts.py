"""How rows are cut for float sums: into parts of a public number of records, and parts of persons into pieces of bounded length.

A part holds the same number of records in every data set, in the order of the rows or of the roster, so that a replaced record
changes the sum of one part and no other. A person may have up to `most` rows, so a part of persons is summed in pieces of at most
`piece_rows` rows, cut between persons, and the sums of its pieces are added: no term takes part in more additions than a term of
a table without persons (`protocol.most_additions`), whoever has how many rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.protocol import PART_ROWS

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
# Rows of a piece that are left free for the additions of its part's pieces, beside two for every row of a person.
_ROOM = 8
# Persons of the most rows that a piece holds at least.
_PERSONS = 4


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """Rows that are summed in one go: features, labels, the share with which each counts, and where each person's rows begin.

    `shares` are None where every row counts as 1, `starts` where every row is a record of its own. `steady`: the rows are those of
    persons, whose places follow from how many rows others have, so that what a row adds must not depend on its place.
    """

    rows: Any
    labels: Array
    shares: Array | None = None
    starts: Counts | None = None
    steady: bool = False


Part = tuple[Piece, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """A block of rows as a loss takes them; `shares` and `counts` as in `dataset.Block`, shares as floats; `steady` of `Piece`."""

    rows: Any
    labels: Array
    shares: Array | None = None
    counts: Counts | None = None
    steady: bool = False

    def parts(self, records: int, most: int | None) -> Iterator[Part]:
        """The rows in parts of so many records; `most` is the most rows of a record."""
        starts = None if self.counts is None else np.cumsum(self.counts) - self.counts
        for part in ranges(self.rows.shape[0], self.counts, records, most):
            yield tuple(self._piece(first, last, starts) for first, last in part)

    def _piece(self, first: int, last: int, starts: Counts | None) -> Piece:
        inside = (
            None if starts is None else starts[np.searchsorted(starts, first) : np.searchsorted(starts, last)] - first
        )
        shares = None if self.shares is None else self.shares[first:last]
        return Piece(self.rows[first:last], self.labels[first:last], shares, inside, self.steady)


def ranges(rows: int, counts: Counts | None, records: int, most: int | None) -> Iterator[list[tuple[int, int]]]:
    """Ranges of rows, a list for every part of so many records; the ranges of one part are its pieces."""
    if counts is None:
        for start in range(0, rows, records):
            yield [(start, min(start + records, rows))]
        return
    limit = piece_rows(records, most or 1)
    edges = np.concatenate([[0], np.cumsum(counts)])
    for first in range(0, len(counts), records):
        last, pieces, at = min(first + records, len(counts)), [], first
        while at < last:
            # As many whole persons as fit; one person always does.
            after = int(np.searchsorted(edges, edges[at] + limit, "right")) - 1
            after = min(max(after, at + 1), last)
            pieces.append((int(edges[at]), int(edges[after])))
            at = after
        yield pieces


def piece_rows(records: int, most: int) -> int:
    """Most rows of a piece: about as many as its part has records, and several persons' rows at least.

    Engines with short parts have more of them to add up, and have the additions of longer pieces no more.
    """
    return records if most == 1 else min(PART_ROWS - 2 * most - _ROOM, max(records, _PERSONS * most))


def part_additions(records: int, most: int | None) -> int:
    """Most additions that a term takes part in within a part: over the rows of its piece, then over the pieces."""
    if most is None or most == 1:
        return records
    limit = piece_rows(records, most)
    # Every piece but the last has more than limit - most rows: another person did not fit.
    return limit + records * most // (limit - most + 1) + 1
