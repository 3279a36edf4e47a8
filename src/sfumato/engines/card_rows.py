"""The rows of a data set where a graphics card can read them: on the card if they fit, else in page-locked memory, in chunks.

What enters is a function of one record alone: float32 numbers, each cut off towards 0, so that no row becomes longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cuda.card import Card
from sfumato.dataset import Dataset, rows_of
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.errors import ArgumentError, PublishError
from sfumato.models.gibbs import Gibbs
from sfumato.models.regression import label_values

Array = NDArray[np.float64]
# Rows that one warp adds up, as in the source of the kernels; rows of a part of matrix sums; and parts of a step at most.
RUN, PART, PARTS = 2048, 4096, 64
# Bytes of a matrix of float64 rows on the card, of which there are several at a time.
_BYTES = 1 << 27


@dataclass(frozen=True, eq=False, repr=False)
class Piece:
    """Rows that are on the card at a time: their first place, their number, and quads of float32."""

    first: int
    count: int
    rows: Any


@dataclass(frozen=True)
class Room:
    """What fits on the card: all rows, or so many at a time."""

    width: int
    quads: int
    length: int | None

    @classmethod
    def of(cls, dataset: Dataset, model: Gibbs, card: Card) -> Room:
        """From the public numbers of the table and the free memory of the card; an error where not even one step fits."""
        n, dimension = dataset.n, coordinates(dataset, model)[1]
        width = dimension - bool(model.intercept)
        quads, step = max(1, -(-width // 4)), step_rows(dimension)
        # Labels, shares and weights, and the slopes of rows that are read twice.
        beside = n * (3 * 4 + 8)
        # Sums of the runs of eight chains; float64 rows of one step, with the copies that products make; and sums of matrices.
        work = 8 * (4 * quads + 1) * 8 * -(-n // RUN) + 8 * 8 * step * (width + 2) + 32 * 8 * (width + 2) ** 2
        room = card.room() - beside - work
        rows = 0 if rows_of(dataset).on_card() is not None else 16 * quads * n
        if rows <= room:
            return cls(width, quads, None)
        # Two chunks are on the card at a time.
        length = room // 2 // (16 * quads) // step * step
        if length < step or not rows:
            raise ArgumentError(
                f"the card has no room for {step:,} rows of {width} columns at a time; free some of its memory."
            )
        return cls(width, quads, length)


class CardRows:
    """Rows, labels and shares of a data set: rows on the card if they fit there, else in the machine's memory, in chunks."""

    def __init__(self, dataset: Dataset, model: Gibbs, card: Card, room: Room) -> None:
        self._card, self.n = card, dataset.n
        there, wide = rows_of(dataset).on_card(), 4 * room.quads
        self._rows: Any = None
        self._chunks: list[Any] = []
        if there is not None:
            self._rows = there.matrix
        elif room.length is None:
            self._rows = card.xp.empty((self.n, wide), np.float32)
        else:
            self._chunks = [
                card.held((min(room.length, self.n - start), wide)) for start in range(0, self.n, room.length)
            ]
        self.labels = card.xp.empty(self.n, np.float32)
        self.shares: Any = None
        with np.errstate(all="ignore"):  # a warning would reveal a label that is too large for float32
            self._fill(dataset, model, room.width)

    def _fill(self, dataset: Dataset, model: Gibbs, width: int) -> None:
        """Copy the features of all blocks, cut off to float32 towards 0."""
        place, there = 0, rows_of(dataset).on_card()
        for codes in () if there is None else there.codes():
            labels = label_values(model, dataset.schema, codes)
            self.labels[place : place + len(labels)] = self._card.xp.asarray(finite(labels))
            place += len(labels)
        for block in feature_blocks(dataset, model) if there is None else ():
            count = block.rows.shape[0]
            padded = np.zeros((count, (self._chunks or [self._rows])[0].shape[1]), np.float32)
            padded[:, :width] = cut_off(block.rows)
            self._write(place, padded)
            self.labels[place : place + count] = self._card.xp.asarray(finite(block.labels))
            if block.shares is not None:
                if self.shares is None:
                    self.shares = self._card.xp.empty(self.n, np.float32)
                self.shares[place : place + count] = self._card.xp.asarray(cut_off(block.shares))
            place += count
        if place != self.n:
            raise PublishError("the source gave another number of rows than it states; nothing was released.")

    def _write(self, place: int, rows: NDArray[np.float32]) -> None:
        if self._rows is not None:
            self._rows[place : place + len(rows)] = self._card.xp.asarray(rows)
            return
        length, start = len(self._chunks[0]), 0
        while start < len(rows):
            chunk, inside = divmod(place + start, length)
            count = min(len(rows) - start, len(self._chunks[chunk]) - inside)
            self._chunks[chunk][inside : inside + count] = rows[start : start + count]
            start += count

    def pieces(self) -> Iterator[Piece]:
        """The rows of one pass, on the card."""
        if self._rows is not None:
            if self.n:
                yield Piece(0, self.n, self._rows)
            return
        first = 0
        for rows in self._card.in_turn(self._chunks):
            yield Piece(first, len(rows), rows)
            first += len(rows)


def step_rows(dimension: int) -> int:
    """Rows whose matrix products are computed at a time: whole parts, as many as follow from the width."""
    return PART * max(1, min(PARTS, _BYTES // (8 * PART * (dimension + 1))))


def finite(labels: Array) -> NDArray[np.float32]:
    """Labels as float32, the largest of these where they are larger: a loss would subtract infinities."""
    most = float(np.finfo(np.float32).max)
    return np.clip(labels, -most, most).astype(np.float32)


def cut_off(values: Array) -> NDArray[np.float32]:
    """Float32 numbers next to these, towards 0: no row becomes longer."""
    with np.errstate(all="ignore"):
        near = values.astype(np.float32)
        longer = np.abs(near.astype(np.float64)) > np.abs(values)
        near[longer] = np.nextafter(near[longer], np.float32(0))
    return near
