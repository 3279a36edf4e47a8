"""One door for every source: structure is checked when it is opened, rows are read afterwards, and no error shows a cell.

    open_source(data, y, schema, tally) -> iterator of encoded chunks (column name -> array, "matrix" -> the vectors)

A chunk continues the columns that it holds, and need not hold all: a Parquet file is read some columns at a time.

Opening raises ArgumentError for what is wrong with the structure (an absent column, a column of lists where numbers are
declared, lengths that differ) and names the column and the rule. Whatever goes wrong later is reported by the type of
the failure alone: the messages of readers and databases quote cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sfumato.errors import ArgumentError, SfumatoError
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, encode
from sfumato.schema.read_arrays import is_matrix, open_arrays
from sfumato.schema.read_arrow import open_arrow_file, open_parquet, open_stream
from sfumato.schema.read_columns import is_dataframe, open_columns, open_dataframe
from sfumato.schema.read_csv import open_csv
from sfumato.schema.schema import Schema

Chunk = dict[str, Any]
Read = TypeVar("Read")

_ENDINGS: dict[str, Callable[[Path, Schema, Tally], Iterator[Mapping[str, Cells]]]] = {
    ".csv": open_csv,
    ".parquet": open_parquet,
    ".arrow": open_arrow_file,
    ".feather": open_arrow_file,
}


def open_source(data: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open arrays where `data` is a matrix, a list of rows or comes with `y`; otherwise a table."""
    if schema.dimension is not None or y is not None or is_matrix(data):
        return open_matrix(data, y, schema, tally)
    return open_table(data, schema, tally)


def open_matrix(X: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open rows given as a matrix (numpy, CSR or a list of rows) and a target."""
    return _guarded(_quietly(lambda: open_arrays(X, y, schema, tally)))


def open_table(source: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open a table: a path, a data frame, anything with an Arrow stream, or a mapping from names to columns."""
    if schema.dimension is not None:
        raise ArgumentError(
            "a vector schema names no columns, so it cannot read a table; use Dataset.from_arrays(X, y, schema=...)."
        )
    chunks = _quietly(lambda: _cells(source, schema, tally))
    return _guarded(_encoded(chunks, schema, tally))


def _cells(source: object, schema: Schema, tally: Tally) -> Iterator[Mapping[str, Cells]]:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() not in _ENDINGS:
            raise ArgumentError(f"a table's file must end in {', '.join(_ENDINGS)}; got {path.suffix!r}.")
        if not path.is_file():
            raise ArgumentError(f"there is no file {str(path)!r}.")
        return _ENDINGS[path.suffix.lower()](path, schema, tally)
    if is_dataframe(source):
        return open_dataframe(source, schema)
    if isinstance(source, Mapping):
        return open_columns(source, schema)
    if hasattr(source, "__arrow_c_stream__"):
        return open_stream(source, schema)
    raise ArgumentError(
        f"a table must be a path ({', '.join(_ENDINGS)}), a data frame, an object with an Arrow stream, or a mapping "
        f"from column names to columns; got {type(source).__name__}."
    )


def _encoded(chunks: Iterator[Mapping[str, Cells]], schema: Schema, tally: Tally) -> Iterator[Chunk]:
    for chunk in chunks:
        found = {}
        for name, cells in chunk.items():
            encoded = encode(schema.columns[name], cells)
            tally.add(name, encoded)
            found[name] = encoded.values
        yield found


def _guarded(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Hand the chunks on; a failure of the source is reported without its message."""
    while True:
        chunk = _quietly(lambda: next(chunks, None))
        if chunk is None:
            return
        yield chunk


def _quietly(work: Callable[[], Read]) -> Read:
    """Run `work`; an error that is not Sfumato's own is replaced by one that quotes nothing and is chained to nothing."""
    fault = ""
    try:
        return work()
    except SfumatoError:
        raise
    except Exception as error:
        fault = type(error).__name__
    if fault.endswith("MemoryError"):
        raise MemoryError("the rows do not fit into memory.")
    # Raised here, not in the handler: even a suppressed __context__ would keep the original message.
    raise ArgumentError(
        f"the source could not be read: it failed with {fault}. The message is withheld because it may quote a cell; "
        "read the source with its own tool to see it."
    )
