"""Rows that stay in their file: a Parquet or Arrow file is read anew on every pass, with the columns that the pass needs.

Nothing of it is copied to a disk, and a few chunks at a time are in memory. The file must stay as it is between two passes: it
is known by its inode, size and time of change, and one that was changed is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.dataset.blocks import Block
from sfumato.errors import ArgumentError, PublishError
from sfumato.schema import Schema
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import encode
from sfumato.schema.missing_cells import is_missing_key, size_of, write_bits
from sfumato.schema.read_arrow import rows_in
from sfumato.schema.reading import AGAIN, open_again, open_table
from sfumato.schema.structure import BLOCK_ROWS

Chunk = dict[str, Any]


def readable_again(source: object) -> Path | None:
    """The path of a source that can be read on every pass; None for any other."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    return path if path.suffix.lower() in AGAIN and path.is_file() else None


def encoded_bytes(path: Path, schema: Schema) -> int:
    """Bytes that the encoded rows of a file would take in memory, from its public number of rows and the schema."""
    return rows_in(path) * row_bytes(schema)


def row_bytes(schema: Schema) -> int:
    """Bytes that the encoded columns of one row take."""
    return sum(int(encode(column, [None]).values.itemsize) for column in schema.columns.values())


class FileBlocks:
    """The blocks of a file, read on every pass."""

    held = False

    def __init__(self, path: Path, schema: Schema, room: int = 0) -> None:
        """Check the structure of the file and count its rows. `room`: bytes that engines may keep beside them."""
        self.room = room
        self.reading: Callable[[int, int], None] = unseen  # told how many of the rows of a pass were read
        self._path, self._schema = path.resolve(), schema
        self._state = _state(self._path)
        open_table(self._path, schema, Tally())  # refuses absent columns and wrong types; no row is read
        self.n = rows_in(self._path)

    def read(
        self, columns: Collection[str] | None = None, records: int | None = None, masks: bool = True
    ) -> Iterator[Block]:
        """One pass over the rows."""
        self.check()
        rows = 0
        chunks = open_again(self._path, self._narrowed(columns), records, masks)
        for block in assembled(chunks, records or BLOCK_ROWS):
            rows += block.rows
            self.reading(rows, self.n)
            yield block
        self.check()
        if rows != self.n:
            raise PublishError("the file gave another number of rows than it states; nothing was released.")

    def _narrowed(self, columns: Collection[str] | None) -> Schema:
        if columns is None or set(columns) == set(self._schema.columns):
            return self._schema
        target = self._schema.target
        return self._schema.only(columns, target if target in columns else None)

    def check(self) -> None:
        """Refuse a file that was changed."""
        if _state(self._path) != self._state:
            raise PublishError(
                f"{self._path.name} was changed after the data set was made: every pass must read the same rows. Make the data set "
                "anew."
            )

    def __repr__(self) -> str:
        return f"FileBlocks(n={self.n})"


def unseen(read: int, n: int) -> None:
    """How far a pass is, where nobody looks."""


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        raise ArgumentError(f"there is no file {str(path)!r} any more.") from None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def assembled(chunks: Iterator[Chunk], records: int) -> Iterator[Block]:
    """Blocks of `BLOCK_ROWS` rows, cut after every so many records, from chunks of any length."""
    part, place, inside = None, 0, 0
    for chunk in chunks:
        rows, start = len(next(iter(chunk.values()))), 0
        while start < rows:
            if part is None:
                size = min(records, BLOCK_ROWS - inside)
                if start == 0 and size == rows:  # a block as it was decoded: nothing is copied
                    yield Block({n: np.packbits(a) if is_missing_key(n) else a for n, a in chunk.items()}, rows)
                    start, inside = rows, (inside + rows) % BLOCK_ROWS
                    continue
                part, place = _Filling(size), 0
            step = min(rows - start, part.size - place)
            part.write(chunk, start, place, step)
            start, place = start + step, place + step
            if place == part.size:
                yield part.block(place)
                inside, part = (inside + place) % BLOCK_ROWS, None
    if part is not None:
        yield part.block(place)


class _Filling:
    """The arrays of one block while they are filled."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._arrays: dict[str, Any] = {}

    def write(self, chunk: Chunk, start: int, place: int, step: int) -> None:
        """Copy some rows of a chunk to a place."""
        for name, array in chunk.items():
            run = array[start : start + step]
            if is_missing_key(name):
                write_bits(self._arrays.setdefault(name, np.zeros(size_of(self.size), dtype=np.uint8)), place, run)
            else:
                if name not in self._arrays:
                    self._arrays[name] = np.empty((self.size, *array.shape[1:]), dtype=array.dtype)
                self._arrays[name][place : place + step] = run

    def block(self, rows: int) -> Block:
        """The rows that were written."""
        lengths = {name: size_of(rows) if is_missing_key(name) else rows for name in self._arrays}
        return Block({name: array[: lengths[name]] for name, array in self._arrays.items()}, rows)
