"""Rows given as a matrix: a numpy array, a SciPy CSR matrix or a list of rows, with a target beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.schema.as_read import identity_of
from sfumato.schema.columns import Column, Number
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, Encoded
from sfumato.schema.identity import Identity
from sfumato.schema.missing_cells import with_masks
from sfumato.schema.norms import bound_rows, bound_sparse_rows
from sfumato.schema.read_columns import Reader, check_dtype, numpy_cells, open_column
from sfumato.schema.read_rows import Entries, floats, open_grid, open_labels, open_rows, whole_row
from sfumato.schema.schema import Schema
from sfumato.schema.structure import BLOCK_ROWS, CHUNK_CELLS, CHUNK_ROWS, same_length, shown_shape

Chunk = dict[str, Any]
# The column type by which entries of a matrix are checked: any entry is a number.
_ENTRY = Number(-1, 1)


def is_matrix(data: object) -> bool:
    """Whether this is a numpy array, a SciPy sparse matrix or a list, rather than a table."""
    return isinstance(data, np.ndarray | list | tuple) or is_sparse(data)


def open_arrays(
    X: Any,
    y: object,
    schema: Schema,
    tally: Tally,
    groups: object = None,
    sample_weight: object = None,
    identity: Identity | None = None,
) -> Iterator[Chunk]:
    """Check shapes and dtypes; return the encoded rows, to be read in chunks."""
    width = schema.dimension if schema.dimension is not None else len(schema.features)
    sparse = is_sparse(X)
    count = _check_sparse(X, width, schema) if sparse else _check_dense(X, width, schema.persons is not None)
    if (y is None) != (schema.target is None):
        fault = "none was given" if y is None else "the schema declares none"
        raise ArgumentError(f"y is the target of the schema {schema.name!r}, and {fault}; give both or neither.")
    target: Reader | None = None
    if schema.target is not None:
        target = open_labels(schema.target, schema.columns[schema.target], y, schema.persons is not None)
        same_length({"X": count, "y": target[0]}, schema.persons is not None)
    beside = _open_beside(groups, sample_weight, schema, count, identity)
    return _with_beside(_open_rows(X, sparse, count, width, target, schema, tally), beside, tally)


def _open_rows(
    X: Any, sparse: bool, count: int, width: int, target: Reader | None, schema: Schema, tally: Tally
) -> Iterator[Chunk]:
    if sparse:
        return _read(count, BLOCK_ROWS, partial(_sparse_chunk, X, schema, tally), target, schema, tally)
    if schema.dimension is None:
        rows = _rows(X, width)
        return _read(count, CHUNK_ROWS, partial(_table_chunk, rows, width, schema, tally), target, schema, tally)
    entries = open_entries(X, width, tally)
    step = max(1, min(CHUNK_ROWS, CHUNK_CELLS // width))
    return _read(count, step, partial(_dense_chunk, entries, schema, tally), target, schema, tally)


def _open_beside(
    groups: object, sample_weight: object, schema: Schema, count: int, identity: Identity | None
) -> list[tuple[str, Column, Callable[[int, int], Cells]]]:
    """The ids and the weights of rows that are given as a matrix: there exactly where the schema declares them."""
    opened: list[tuple[str, Column, Callable[[int, int], Cells]]] = []
    persons, weight = schema.persons, schema.weight
    declared: dict[str, tuple[str, Column] | None] = {
        "groups": None if persons is None else (persons.id, identity or identity_of(schema)),
        "sample_weight": None if weight is None else (weight.column, weight.cells),
    }
    for argument, given in (("groups", groups), ("sample_weight", sample_weight)):
        stated = declared[argument]
        if (given is None) != (stated is None):
            of = "persons, the ids of the rows" if argument == "groups" else "weight, the weights of the rows"
            fault = "is not given" if given is None else "is given and the schema declares none"
            raise ArgumentError(f"{argument} belongs to {of}, and {fault}; give both or neither.")
        if stated is not None:
            name, column = stated
            length, read = open_column(name, column, given, persons is not None)
            same_length({"X": count, argument: length}, persons is not None)
            opened.append((name, column, read))
    return opened


def _with_beside(
    chunks: Iterator[Chunk], beside: list[tuple[str, Column, Callable[[int, int], Cells]]], tally: Tally
) -> Iterator[Chunk]:
    start = 0
    for chunk in chunks:
        stop = start + next(iter(chunk.values())).shape[0]
        cells = {name: tally.encode(name, column, read(start, stop)) for name, column, read in beside}
        start = stop
        yield {**chunk, **with_masks(cells)}


def open_entries(X: Any, width: int, tally: Tally) -> Entries:
    """Return a matrix of numbers, given as an array or as a list of rows, to be read a run of rows at a time."""
    if isinstance(X, Entries):
        return X
    rows = _rows(X, width)
    return open_grid(rows) if isinstance(rows, np.ndarray) else open_rows(rows, width, tally)


def _rows(X: Any, width: int) -> Any:
    """Return a plain matrix, or a list of rows: an array of objects in one dimension is such a list."""
    if not isinstance(X, np.ndarray):
        return X
    plain = np.asarray(X)
    if plain.ndim == 1 and plain.dtype == object:
        return list(plain)
    return plain.reshape(len(plain), width)


def _read(
    count: int,
    step: int,
    rows: Callable[[int, int], Chunk],
    target: Reader | None,
    schema: Schema,
    tally: Tally,
) -> Iterator[Chunk]:
    for start in range(0, count, step):
        stop = min(start + step, count)
        chunk = rows(start, stop)
        if target is not None and schema.target is not None:
            cells = target[1](start, stop)
            labels = tally.encode(schema.target, schema.columns[schema.target], cells)
            # Of a vector no model asks which labels were missing: masks are for tables.
            chunk |= with_masks({schema.target: labels}) if schema.dimension is None else {schema.target: labels.values}
        yield chunk


def _table_chunk(X: Any, width: int, schema: Schema, tally: Tally, start: int, stop: int) -> Chunk:
    """Return the columns of a matrix as the columns of a table."""
    part = X[start:stop]
    if isinstance(part, np.ndarray):
        columns: list[Cells] = [numpy_cells(part[:, place]) for place in range(width)]
    else:
        columns = list(zip(*(whole_row(row, width, tally) for row in part), strict=True))
    cells = zip(schema.features, columns, strict=True)
    return with_masks({name: tally.encode(name, schema.columns[name], run) for name, run in cells})


def _dense_chunk(entries: Entries, schema: Schema, tally: Tally, start: int, stop: int) -> Chunk:
    """Return vectors: an entry that is no finite number is 0, and then the norm is bounded."""
    grid = entries.read(start, stop)
    unusable = ~np.isfinite(grid)
    grid[unusable] = 0.0
    grid += 0.0  # one zero: -0.0 becomes 0.0
    long = bound_rows(grid, _norm(schema), schema.rows)
    tally.add("matrix", Encoded(grid, unusable, long))
    return {"matrix": grid}


def _sparse_chunk(X: Any, schema: Schema, tally: Tally, start: int, stop: int) -> Chunk:
    """Return CSR rows whose norm is bounded."""
    part, unusable = sparse_rows(X, start, stop)
    long = bound_sparse_rows(part, _norm(schema), schema.rows)
    tally.add("matrix", Encoded(part.data, unusable, long))
    return {"matrix": part}


def sparse_rows(X: Any, start: int, stop: int) -> tuple[Any, NDArray[np.bool_]]:
    """Return rows of a CSR matrix and which of their entries were no finite number.

    The rows have sorted indices and no duplicates; an entry that is no finite number or in no column is 0.
    """
    from scipy.sparse import csr_array

    first, last = int(X.indptr[start]), int(X.indptr[stop])
    data, indices = floats(X.data[first:last]), np.asarray(X.indices[first:last])
    outside = (indices < 0) | (indices >= X.shape[1])
    data[outside] = 0.0
    dtype = np.int32 if max(X.shape[1], last - first) < 2**31 else np.int64
    indices = np.where(outside, 0, indices).astype(dtype)
    indptr = (np.asarray(X.indptr[start : stop + 1]) - first).astype(dtype)
    part = csr_array((data, indices, indptr), shape=(stop - start, X.shape[1]))
    with np.errstate(all="ignore"):
        part.sum_duplicates()
    unusable = ~np.isfinite(part.data)
    part.data[unusable] = 0.0
    part.data += 0.0  # one zero: -0.0 becomes 0.0
    return part, unusable


def _norm(schema: Schema) -> float:
    if schema.data_norm is None:
        raise ArgumentError("a vector schema needs data_norm.")
    return schema.data_norm


def is_sparse(X: object) -> bool:
    """Whether this is a SciPy sparse matrix."""
    return hasattr(X, "format") and hasattr(X, "nnz") and hasattr(X, "shape")


def _check_sparse(X: Any, width: int, schema: Schema) -> int:
    if schema.dimension is None:
        raise ArgumentError("a sparse matrix needs a vector schema: Schema.vector(dimension, data_norm, ...).")
    if X.format != "csr" or len(X.shape) != 2:
        raise ArgumentError(f"a sparse X must be a CSR matrix; got format {X.format!r}. Give X.tocsr().")
    _check_width(X.shape, width)
    check_sparse(X)
    return int(X.shape[0])


def check_sparse(X: Any) -> None:
    """Refuse a CSR matrix whose entries cannot be numbers or whose rows have no beginning and end."""
    check_dtype("X", _ENTRY, X.data.dtype)
    indptr = np.asarray(X.indptr)
    sound = len(indptr) == X.shape[0] + 1 and indptr[0] == 0 and indptr[-1] <= len(X.data) == len(X.indices)
    if not sound or bool(np.any(np.diff(indptr) < 0)):
        raise ArgumentError("a sparse X must be a sound CSR matrix: indptr rises from 0 to the number of entries.")


def _check_dense(X: Any, width: int, private: bool) -> int:
    if isinstance(X, list | tuple):
        return len(X)
    if isinstance(X, Entries):
        _check_width(X.shape, width)
        return X.shape[0]
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):
        raise ArgumentError(
            "X must be a plain numpy array, a SciPy CSR matrix or a list of rows; "
            f"got {type(X).__name__}. A table is read by Dataset.from_table."
        )
    if X.ndim not in (1, 2):
        raise ArgumentError(f"X must have one row per record, so two dimensions; got {shown_shape(X, private)}.")
    if X.ndim == 1 and X.dtype == object:  # a list of rows
        return len(X)
    _check_width(X.shape if X.ndim == 2 else (len(X), 1), width)
    check_dtype("X", _ENTRY, X.dtype)
    return len(X)


def _check_width(shape: tuple[int, ...], width: int) -> None:
    if shape[1] != width:
        raise ArgumentError(f"X must have {width} column(s), as the schema declares; got {shape[1]}.")
