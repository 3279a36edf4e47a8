"""The rows of a data set as engines see them: blocks of columns, with whose rows they are and what they weigh."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import Schema
from sfumato.schema.as_read import WEIGHT
from sfumato.schema.missing_cells import Bits, is_missing_key, read_bits, without_masks

# Message of every refusal to copy private rows: the class, and what was attempted.
_STAYS = "a {} holds private rows and cannot be {}; publish a release and share that."


class Stays:
    """Base of the objects that hold private rows: pickling, copying and changing them raise."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object = None) -> NoReturn:
        raise TypeError(_STAYS.format(type(self).__name__, "pickled"))

    __reduce__ = __getstate__ = __reduce_ex__

    def __deepcopy__(self, memo: object = None) -> NoReturn:
        raise TypeError(_STAYS.format(type(self).__name__, "copied"))

    __copy__ = __deepcopy__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise TypeError(_STAYS.format(type(self).__name__, "changed"))


@final
class Block(Stays, Mapping[str, Any]):
    """One run of consecutive rows: column name -> array, "matrix" -> the vectors; read-only, and its repr shows no value.

    Numbers are float64 within their bounds, categories unsigned positions of levels, booleans uint8; the matrix is a
    float64 array or a CSR array whose rows have norm at most data_norm. Beside the columns of a table, and not listed with
    them, are the masks of their missing cells: `block[missing_key("age")]` is a new array of booleans.

    `counts` says how many rows each person has, next to each other, where rows are averaged by person; None where each row is
    a record. `weights` are whole numbers of 2^-16 of the largest weight, one a row; None without survey weights. `rows` is
    private where `counts` is there.
    """

    __slots__ = ("_arrays", "_bits", "counts", "rows", "weights")
    rows: int
    counts: NDArray[np.int64] | None
    weights: NDArray[np.uint32] | None
    _arrays: dict[str, Any]
    _bits: dict[str, Bits]

    def __init__(self, arrays: dict[str, Any], rows: int, counts: NDArray[np.int64] | None = None) -> None:
        columns = {name: array for name, array in without_masks(arrays).items() if name != WEIGHT}
        bits = {name: array for name, array in arrays.items() if is_missing_key(name)}
        weights = arrays.get(WEIGHT)
        for part in _plain([*arrays.values(), counts]):
            part.flags.writeable = False
        fields = (("_arrays", columns), ("_bits", bits), ("rows", rows), ("counts", counts), ("weights", weights))
        for name, value in fields:
            object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        return read_bits(self._bits[name], self.rows) if name in self._bits else self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def add_to(self, digest: Any) -> None:
        """Add all that the block holds to a digest of `hashlib`."""
        for part in _plain([*self._arrays.values(), *self._bits.values(), self.counts, self.weights]):
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8))

    def __repr__(self) -> str:
        size = f"rows={self.rows}" if self.counts is None else f"persons={len(self.counts)}"
        return f"Block({size}, columns={list(self._arrays)})"


def _plain(arrays: list[Any]) -> Iterator[NDArray[Any]]:
    """The numpy arrays that arrays consist of: a sparse one has three."""
    for array in arrays:
        if array is not None:
            yield from (array,) if isinstance(array, np.ndarray) else (array.data, array.indices, array.indptr)


class Blocks(Protocol):
    """Blocks in their order: in memory (`held`), or read anew on every pass from encrypted temporaries or from the table's file."""

    held: bool
    room: int

    def read(self, columns: Collection[str] | None, records: int | None, masks: bool) -> Iterator[Block]:
        """The blocks; where they are read anew with these columns alone, and cut further after every so many records.

        Without `masks`, those of the missing cells may be left out.
        """


@runtime_checkable
class Changeable(Protocol):
    """Blocks whose source may be changed by others."""

    def check(self) -> None:
        """Refuse a source that was changed."""


@runtime_checkable
class Watchable(Protocol):
    """Blocks that are read from a file and tell how far they are: `reading(rows read, rows in all)`."""

    reading: Callable[[int, int], None]


class HeldBlocks:
    """Blocks that lie in memory."""

    held = True
    room = 0

    def __init__(self, blocks: tuple[Block, ...]) -> None:
        self._blocks = blocks

    def read(
        self, columns: Collection[str] | None = None, records: int | None = None, masks: bool = True
    ) -> Iterator[Block]:
        """All of them, as they lie."""
        return iter(self._blocks)


@final
class Rows(Stays):
    """The rows of a data set, for engines only: `n`, `schema`, `kind` and `blocks()`.

    n: how many records there are, persons where the schema declares them; public. kind: "table" (columns), "dense" or "sparse"
    (a matrix). averaged: the most rows of a person, whose contributions are averaged; None where each record is one row. held:
    whether the rows lie in memory; otherwise every call of `blocks` reads them anew, and engines may keep `room` bytes of numbers
    beside them. limit: a public number of records that n does not exceed; n itself is private in a part of a table of persons,
    because it says how many of them have rows there.
    """

    __slots__ = ("_blocks", "averaged", "held", "kind", "limit", "n", "room", "schema")
    n: int
    limit: int
    schema: Schema
    kind: str
    averaged: int | None
    held: bool
    room: int
    _blocks: Blocks

    def __init__(self, schema: Schema, blocks: Blocks, kind: str, n: int, limit: int) -> None:
        averaged = None if schema.persons is None else schema.persons.averaged
        fields = {"schema": schema, "_blocks": blocks, "kind": kind, "n": n, "averaged": averaged, "held": blocks.held}
        fields |= {"room": blocks.room, "limit": limit}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def blocks(
        self, columns: Collection[str] | None = None, records: int | None = None, masks: bool = True
    ) -> Iterator[Block]:
        """Yield the blocks in the order of the records; all but the last have `BLOCK_ROWS` of them.

        Rows that are not held are read with these `columns` alone, and each block is cut after every so many `records`. Whoever
        needs no masks of missing cells says so, and rows that are read anew are read faster.
        """
        return self._blocks.read(columns, records, masks)

    def check(self) -> None:
        """Refuse rows whose file was changed; no row is read."""
        if isinstance(self._blocks, Changeable):
            self._blocks.check()

    @contextmanager
    def watched(self, report: Callable[[int, int], None]) -> Iterator[None]:
        """Inside the block, tell how many of the rows of a pass were read from their file, and how many there are."""
        if not isinstance(self._blocks, Watchable):
            yield
            return
        before, self._blocks.reading = self._blocks.reading, report
        try:
            yield
        finally:
            self._blocks.reading = before

    def on_card(self) -> Any:
        """The rows that are on a graphics card (`dataset.on_card.CardBlocks`); None for any others."""
        return self._blocks if hasattr(self._blocks, "matrix") else None

    def __repr__(self) -> str:
        return f"Rows({self.schema.name!r}, n={self.n}, kind={self.kind!r})"
