"""The data set: private rows, of which only the schema and the number of rows are public.

Rows enter through `from_arrays` and `from_table`, mapped cell by cell into the declared bounds. Only engines read them, with
`rows_of`, and engines return sums of bounded per-record terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema import Schema
from sfumato.schema.counts import Tally
from sfumato.schema.missing_cells import Bits, is_missing_key, read_bits, size_of, without_masks, write_bits
from sfumato.schema.outcome import attempt
from sfumato.schema.reading import open_matrix, open_table
from sfumato.schema.structure import BLOCK_ROWS

# Message of every refusal to copy private rows: the class, and what was attempted.
_STAYS = "a {} holds private rows and cannot be {}; publish a release and share that."


class _Stays:
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
class Block(_Stays, Mapping[str, Any]):
    """One run of consecutive rows: column name -> array, "matrix" -> the vectors; read-only, and its repr shows no value.

    Numbers are float64 within their bounds, categories unsigned positions of levels, booleans uint8; the matrix is a
    float64 array or a CSR array whose rows have norm at most data_norm. Beside the columns of a table, and not listed with
    them, are the masks of their missing cells: `block[missing_key("age")]` is a new array of booleans.
    """

    __slots__ = ("_arrays", "_bits", "rows")
    rows: int
    _arrays: dict[str, Any]
    _bits: dict[str, Bits]

    def __init__(self, arrays: dict[str, Any], rows: int) -> None:
        for array in arrays.values():
            for part in (array,) if isinstance(array, np.ndarray) else (array.data, array.indices, array.indptr):
                part.flags.writeable = False
        bits = {name: array for name, array in arrays.items() if is_missing_key(name)}
        for name, value in (("_arrays", without_masks(arrays)), ("_bits", bits), ("rows", rows)):
            object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        return read_bits(self._bits[name], self.rows) if name in self._bits else self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"Block(rows={self.rows}, columns={list(self._arrays)})"


@final
class Rows(_Stays):
    """The rows of a data set, for engines only: `n`, `schema`, `kind` and `blocks()`.

    kind: "table" (columns), "dense" or "sparse" (a matrix).
    """

    __slots__ = ("_blocks", "kind", "n", "schema")
    n: int
    schema: Schema
    kind: str
    _blocks: tuple[Block, ...]

    def __init__(self, schema: Schema, blocks: list[Block], kind: str) -> None:
        n = sum(block.rows for block in blocks)
        for name, value in (("schema", schema), ("_blocks", tuple(blocks)), ("kind", kind), ("n", n)):
            object.__setattr__(self, name, value)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in the order of the rows; all but the last have the same number of rows."""
        return iter(self._blocks)

    def __repr__(self) -> str:
        return f"Rows({self.schema.name!r}, n={self.n}, kind={self.kind!r})"


@final
class Dataset(_Stays):
    """Private records under a public schema.

    It has `schema`, the public facts about one record, `n`, the public number of rows, and `kind`, "table", "dense" or
    "sparse"; it cannot be indexed, iterated, turned into an array, copied or pickled, and its repr shows no value. Every cell
    was mapped into the declared bounds when it was made, so that a record, whatever it held, moves a statistic by no more
    than the schema allows. n is public: neighbouring data sets replace one record.
    """

    __slots__ = ("__rows", "__weakref__", "kind", "n", "schema")
    kind: str
    n: int
    schema: Schema

    def __init__(self) -> None:
        raise TypeError(
            "make a data set with Dataset.from_arrays(X, y, schema=...) or Dataset.from_table(source, schema=...)."
        )

    @classmethod
    def from_arrays(cls, X: object, y: object = None, *, schema: Schema) -> Dataset:
        """Read a matrix and, where the schema declares a target, its column.

        X: a numpy array (rows, columns), a SciPy CSR matrix (vector schemas only) or a list of rows; one dimension
            will do for one column. Under a table schema its columns are the schema's, in order, without the target.
        y: a list, a one-dimensional array or a series. A label of a list may be a list of one cell.
        """
        made = attempt(_from_arrays, X, y, schema)
        del X, y  # an error raised below keeps no rows in its traceback
        return made.get()

    @classmethod
    def from_table(cls, source: object, *, schema: Schema) -> Dataset:
        """Read the declared columns of a table, in chunks; all other columns are left out.

        source: the path of a .csv, .parquet, .arrow or .feather file; a pandas-like data frame; anything with
            `__arrow_c_stream__` (polars, DuckDB, pyarrow); or a mapping from names to columns. A .csv file gives one
            row per line, whatever the line holds.
        """
        made = attempt(_from_table, source, schema)
        del source  # an error raised below keeps no rows in its traceback
        return made.get()

    def __dir__(self) -> list[str]:
        return ["from_arrays", "from_table", "n", "schema"]

    def __repr__(self) -> str:
        schema = self.schema
        what = ", ".join(schema.columns) if schema.dimension is None else f"vectors of {schema.dimension}"
        return f"Dataset({schema.name!r}, n={self.n}, unit={schema.unit!r}, columns: {what})"


def rows_of(dataset: Dataset) -> Rows:
    """The rows of a data set, for engines only: every number computed from them is private until it is released."""
    if not isinstance(dataset, Dataset):
        raise ArgumentError(f"dataset must be a sf.Dataset; got {type(dataset).__name__}.")
    rows: Rows = dataset._Dataset__rows  # type: ignore[attr-defined]
    return rows


def _schema(schema: object) -> Schema:
    if not isinstance(schema, Schema):
        raise ArgumentError(f"schema must be a sf.Schema; got {type(schema).__name__}.")
    return schema


def _from_arrays(X: object, y: object, schema: Schema) -> Dataset:
    return _made(_schema(schema), open_matrix(X, y, schema, Tally()))


def _from_table(source: object, schema: Schema) -> Dataset:
    return _made(_schema(schema), open_table(source, schema, Tally()))


def _made(schema: Schema, chunks: Iterator[dict[str, Any]]) -> Dataset:
    store = _Store()
    for chunk in chunks:
        store.add(chunk)
    blocks = store.blocks()
    kind = "table" if schema.dimension is None else "sparse" if store.sparse else "dense"
    made = object.__new__(Dataset)
    rows = Rows(schema, blocks, kind)
    for name, value in (("_Dataset__rows", rows), ("schema", schema), ("n", rows.n), ("kind", kind)):
        object.__setattr__(made, name, value)
    return made


class _Store:
    """Blocks that are filled column by column; no arrays are concatenated, so no row is held in memory twice."""

    def __init__(self) -> None:
        self.sparse = False
        self._arrays: list[dict[str, Any]] = []
        self._filled: dict[str, int] = {}

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

    def blocks(self) -> list[Block]:
        """Close the last block and return all of them."""
        n = max(self._filled.values(), default=0)
        if any(filled != n for filled in self._filled.values()):
            raise ArgumentError("the source gave columns of different lengths; nothing was kept.")
        last = n % BLOCK_ROWS
        for name, array in self._arrays[-1].items() if last else ():
            if isinstance(array, np.ndarray):
                length = size_of(last) if is_missing_key(name) else last
                array.resize((length, *array.shape[1:]), refcheck=False)  # gives the rest of the memory back in place
        sizes = [min(BLOCK_ROWS, n - at) for at in range(0, n, BLOCK_ROWS)]
        return [Block(arrays, size) for arrays, size in zip(self._arrays, sizes, strict=True)]
