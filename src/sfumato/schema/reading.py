"""Reading of every kind of source: the structure is checked on opening, rows are read afterwards, no error shows a cell.

    open_source(data, y, schema, tally) -> iterator of encoded chunks (column name -> array, "matrix" -> the vectors)

A chunk continues the columns that it holds, and need not hold all: a Parquet file is read some columns at a time. Beside
every column of a table it holds the mask of its missing cells, under `missing_key(name)`; vectors have none.

Opening raises ArgumentError for faults of the structure (an absent column, a column of lists where numbers are
declared, lengths that differ) and names the column and the rule. Later failures are reported by their type alone: the
messages of readers and databases may quote cells.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.counts import Counts, Tally
from sfumato.schema.encoding import Cells
from sfumato.schema.missing_cells import with_masks
from sfumato.schema.outcome import attempt
from sfumato.schema.read_arrays import is_matrix, open_arrays
from sfumato.schema.read_arrow import open_arrow_file, open_parquet, open_stream
from sfumato.schema.read_columns import is_dataframe, open_columns, open_dataframe
from sfumato.schema.read_csv import open_csv
from sfumato.schema.schema import Schema

Chunk = dict[str, Any]

# Reader of each file type, by the ending of the file's name.
_ENDINGS: dict[str, Callable[[Path, Schema, Tally], Iterator[Mapping[str, Cells]]]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".txt": open_csv,
    ".dat": open_csv,
    ".parquet": open_parquet,
    ".arrow": open_arrow_file,
    ".feather": open_arrow_file,
}
# Files of SPSS, Stata and SAS, whose labels a draft reads.
_LABELLED = (".sav", ".dta", ".sas7bdat", ".xpt")


def open_source(data: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open arrays where `data` is a matrix, a list of rows or comes with `y`; otherwise a table."""
    if schema.dimension is not None or y is not None or is_matrix(data):
        return open_matrix(data, y, schema, tally)
    return open_table(data, schema, tally)


def counted(data: object, y: object, schema: Schema, rows: bool) -> Counts | None:
    """Check the structure; with `rows`, read them all and count the cells that were changed."""
    tally = Tally()
    chunks = open_source(data, y, schema, tally)
    if not rows:
        return None
    for _ in chunks:
        pass
    return tally.result()


def open_matrix(X: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open rows given as a matrix (numpy, CSR or a list of rows) and a target."""
    opened = attempt(open_arrays, X, y, schema, tally)
    del X, y
    return _guarded(opened.get())


def open_table(source: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open a table: a path, a data frame, anything with an Arrow stream, or a mapping from names to columns."""
    if schema.dimension is not None:
        raise ArgumentError(
            "a vector schema names no columns, so it cannot read a table; use Dataset.from_arrays(X, y, schema=...)."
        )
    opened = attempt(_cells, source, schema, tally)
    del source
    return _guarded(_encoded(opened.get(), schema, tally))


def _cells(source: object, schema: Schema, tally: Tally) -> Iterator[Mapping[str, Cells]]:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix.lower() not in _ENDINGS:
            save = " Save the rows as .csv or .parquet; a schema draft reads this file's labels." * (
                path.suffix in _LABELLED
            )
            raise ArgumentError(f"a table's file must end in {', '.join(_ENDINGS)}; got {path.suffix!r}.{save}")
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
        yield with_masks({name: tally.encode(name, schema.columns[name], cells) for name, cells in chunk.items()})


def _guarded(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Hand the chunks on. No name here holds a chunk when an error is raised: its traceback would keep the rows."""
    while True:
        outcome = attempt(next, chunks, None)
        if outcome.error is None and outcome.made is None:
            return
        yield outcome.get()  # type: ignore[misc]
