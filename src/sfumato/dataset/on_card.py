"""Rows that are on a graphics card already, as an array of CuPy or of any library that shares its arrays so."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dataset.blocks import Block
from sfumato.errors import ArgumentError
from sfumato.schema import Schema
from sfumato.schema.encoding import encode
from sfumato.schema.read_rows import open_labels
from sfumato.schema.structure import BLOCK_ROWS, same_length

if TYPE_CHECKING:
    from sfumato.cuda.card import Card


def is_on_card(X: object) -> bool:
    """Whether this is an array on a CUDA card."""
    return hasattr(X, "__cuda_array_interface__")


class CardBlocks:
    """Rows on a card: bounded in norm there, and read back block by block where an engine of the processor needs them."""

    held = False
    room = 0

    def __init__(self, X: Any, y: Any, schema: Schema, card: Card) -> None:
        """Copy the rows, entries that are no finite numbers as 0, each brought to the declared norm."""
        if schema.dimension is None or schema.persons is not None or schema.weight is not None:
            raise ArgumentError(
                "an array on a card is read under a schema of vectors without persons and weights (Schema.vector); copy it to the "
                "machine first for any other."
            )
        self.matrix = entered(card.xp.asarray(X), schema, card)
        self.n = len(self.matrix)
        self._target, self._codes = schema.target, np.empty(0)
        self._width = schema.dimension
        if (y is None) != (schema.target is None):
            raise ArgumentError("y is the target of the schema; give both or neither.")
        if schema.target is not None:
            # Labels are read by the rules of their column, as those of any other source.
            given = card.xp.asnumpy(y) if is_on_card(y) else y
            column = schema.columns[schema.target]
            count, read = open_labels(schema.target, column, given, False)
            same_length({"X": self.n, "y": count}, False)
            parts = [encode(column, read(at, min(at + BLOCK_ROWS, count))).values for at in range(0, count, BLOCK_ROWS)]
            self._codes = np.concatenate(parts) if parts else encode(column, []).values

    def codes(self) -> Iterator[dict[str, Any]]:
        """The labels as their column stores them, block by block."""
        for start in range(0, self.n, BLOCK_ROWS):
            yield {str(self._target): self._codes[start : start + BLOCK_ROWS]}

    def read(
        self, columns: Collection[str] | None = None, records: int | None = None, masks: bool = True
    ) -> Iterator[Block]:
        """The blocks, copied to the machine one after the other."""
        for start in range(0, self.n, BLOCK_ROWS):
            part = self.matrix[start : start + BLOCK_ROWS, : self._width]
            rows = np.ascontiguousarray(part.get() if hasattr(part, "get") else part, dtype=np.float64)
            labels = {} if self._target is None else {self._target: self._codes[start : start + BLOCK_ROWS].copy()}
            yield Block({"matrix": rows, **labels}, len(rows))

    def __repr__(self) -> str:
        return f"CardBlocks(n={self.n})"


def entered(X: Any, schema: Schema, card: Card) -> Any:
    """The rows as the kernels read them: float32, a multiple of four entries a row, no longer than the declared norm."""
    from sfumato.cuda.card import THREADS

    width = int(schema.dimension or 0)
    if X.ndim != 2 or X.shape[1] != width or X.dtype != np.float32:
        raise ArgumentError(
            f"an array on a card must be float32 and have the {width} columns of the schema; got {X.dtype} of shape {X.shape}."
        )
    quads = max(1, -(-width // 4))
    rows = card.xp.empty((len(X), 4 * quads), np.float32)
    launch = card.kernel("enter", D4=quads)
    given = card.xp.ascontiguousarray(X)
    normalise = np.int32(schema.rows == "normalise")
    longest = np.float64(schema.data_norm or 0.0)
    launch(-(-len(X) // (THREADS // 32)) or 1, given, np.int64(len(X)), np.int32(width), longest, normalise, rows)
    card.wait()  # the caller may change the array from now on
    return rows
