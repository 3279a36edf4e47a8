"""Blocks that are filled row by row while a table is read, or person by person after it was gathered."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset.blocks import Block, HeldBlocks
from sfumato.errors import ArgumentError
from sfumato.gathering.people import Run
from sfumato.gathering.secret_file import SecretFile
from sfumato.schema.missing_cells import is_missing_key, size_of, write_bits
from sfumato.schema.structure import BLOCK_ROWS

# Under which name the counts of a block's persons are written beside its columns.
_COUNTS = " counts"


class RowStore:
    """Blocks that are filled column by column; no arrays are concatenated, so no row is held in memory twice."""

    def __init__(self) -> None:
        self.sparse = False
        self._arrays: list[dict[str, Any]] = []
        self._filled: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Rows so far."""
        return max(self._filled.values(), default=0)

    def add(self, chunk: dict[str, Any]) -> None:
        """Append to each column that the chunk holds."""
        for name, array in chunk.items():
            at = self._filled.setdefault(name, 0)
            if isinstance(array, np.ndarray):
                self._append(name, array, at)
            else:
                self.sparse = True
                self._block(at)[name] = array  # sparse matrices come in whole blocks
            self._filled[name] = at + array.shape[0]

    def _append(self, name: str, array: NDArray[Any], at: int) -> None:
        start = 0
        while start < len(array):
            block, place = self._block(at + start), (at + start) % BLOCK_ROWS
            step = min(len(array) - start, BLOCK_ROWS - place)
            run = array[start : start + step]
            if is_missing_key(name):
                # One bit a cell, whatever the cells held: the memory of a data set depends on its size and schema alone.
                if name not in block:
                    block[name] = np.zeros(size_of(BLOCK_ROWS), dtype=np.uint8)
                write_bits(block[name], place, run)
            else:
                if name not in block:
                    block[name] = np.empty((BLOCK_ROWS, *array.shape[1:]), dtype=array.dtype)
                block[name][place : place + step] = run
            start += step

    def _block(self, row: int) -> dict[str, Any]:
        if row // BLOCK_ROWS == len(self._arrays):
            self._arrays.append({})
        return self._arrays[row // BLOCK_ROWS]

    def blocks(self) -> tuple[HeldBlocks, int]:
        """Close the last block; return all of them and the number of rows."""
        n = self.rows
        if any(filled != n for filled in self._filled.values()):
            raise ArgumentError("the source gave columns of different lengths; nothing was kept.")
        last = n % BLOCK_ROWS
        for name, array in self._arrays[-1].items() if last else ():
            if isinstance(array, np.ndarray):
                length = size_of(last) if is_missing_key(name) else last
                array.resize((length, *array.shape[1:]), refcheck=False)  # gives the rest of the memory back in place
        sizes = [min(BLOCK_ROWS, n - at) for at in range(0, n, BLOCK_ROWS)]
        return HeldBlocks(tuple(Block(arrays, size) for arrays, size in zip(self._arrays, sizes, strict=True))), n


class PersonBlocks:
    """Blocks of whole persons, each of the same number of persons but the last, from runs of persons."""

    def __init__(self, averaged: bool, temporary: bool) -> None:
        """`averaged`: persons keep several rows. `temporary`: blocks are kept in an encrypted file, not in memory."""
        self.sparse = False
        self.people = 0
        self._averaged = averaged
        self._file = SecretFile() if temporary else None
        self.held, self.room = not temporary, 0
        self._held: list[Block] = []
        self._left: list[Run] = []
        self._waiting = 0

    def add(self, run: Run) -> None:
        """Append persons; full blocks are closed."""
        self.sparse = self.sparse or any(not isinstance(array, np.ndarray) for array in run.columns.values())
        start = 0
        while start < len(run.counts):
            step = min(len(run.counts) - start, BLOCK_ROWS - self._waiting)
            self._left.append(_part(run, start, start + step))
            self._waiting += step
            start += step
            if self._waiting == BLOCK_ROWS:
                self.close()

    def close(self) -> None:
        """Make a block of the persons that are waiting."""
        if not self._waiting:
            return
        counts = np.concatenate([run.counts for run in self._left])
        arrays = {name: self._joined([run.columns[name] for run in self._left]) for name in self._left[0].columns}
        packed = {name: np.packbits(array) if is_missing_key(name) else array for name, array in arrays.items()}
        self.people += len(counts)
        self._left, self._waiting = [], 0
        if self._file is None:
            self._held.append(self._block(packed, counts))
        else:
            self._file.write({**packed, _COUNTS: counts})

    def _joined(self, parts: list[Any]) -> Any:
        if not self.sparse or (isinstance(parts[0], np.ndarray) and parts[0].ndim == 1):
            return np.concatenate(parts)
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack(parts, format="csr"))

    def _block(self, arrays: dict[str, Any], counts: NDArray[np.int64]) -> Block:
        return Block(arrays, int(counts.sum()), counts if self._averaged else None)

    def read(
        self, columns: Collection[str] | None = None, records: int | None = None, masks: bool = True
    ) -> Iterator[Block]:
        """The blocks as they lie in memory, or decrypted one after the other."""
        if self._file is None:
            yield from self._held
            return
        for arrays in self._file.read():
            counts = arrays.pop(_COUNTS)
            yield self._block(arrays, counts)


def _part(run: Run, start: int, stop: int) -> Run:
    """Some persons of a run, with their rows."""
    if start == 0 and stop == len(run.counts):
        return run
    edges = np.concatenate([[0], np.cumsum(run.counts)])
    rows = slice(int(edges[start]), int(edges[stop]))
    return Run({name: array[rows] for name, array in run.columns.items()}, run.counts[start:stop])
