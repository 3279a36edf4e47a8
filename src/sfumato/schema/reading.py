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

import numpy as np

from sfumato._private_files import refuse_private
from sfumato.errors import ArgumentError
from sfumato.schema.as_read import ID, NO_ID, as_read, identity_of, ids_alone, with_ids
from sfumato.schema.cell_counts import CuratorTally
from sfumato.schema.counts import Counts, Tally
from sfumato.schema.encoding import Cells, encode
from sfumato.schema.identity import WORDS, Identity
from sfumato.schema.missing_cells import with_masks
from sfumato.schema.outcome import attempt
from sfumato.schema.person_counts import PersonTally
from sfumato.schema.read_arrays import is_matrix, open_arrays
from sfumato.schema.read_arrow import open_arrow_file, open_parquet, open_stream
from sfumato.schema.read_columns import is_dataframe, open_columns, open_dataframe
from sfumato.schema.read_csv import open_csv
from sfumato.schema.schema import Schema
from sfumato.schema.structure import BLOCK_ROWS, CHUNK_ROWS

Chunk = dict[str, Any]

# Reader of each file type, by the ending of the file's name.
_ENDINGS: dict[str, Callable[..., Iterator[Mapping[str, Cells]]]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".txt": open_csv,
    ".dat": open_csv,
    ".parquet": open_parquet,
    ".arrow": open_arrow_file,
    ".feather": open_arrow_file,
}
# Cells of such a file that are decoded at a time: 2 MB of numbers. Many more rows than CHUNK_ROWS, since a chunk costs its reader
# a tenth of a millisecond a column.
_CELLS = 1 << 18
# Files whose rows can be read again on every pass: they say how many there are, and other columns are skipped.
AGAIN = (".parquet", ".arrow", ".feather")
# Files of SPSS, Stata and SAS, whose labels a draft reads.
_LABELLED = (".sav", ".dta", ".sas7bdat", ".xpt")


def open_source(data: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    """Open PUBLIC rows: arrays where `data` is a matrix, a list of rows or comes with `y`; otherwise a table.

    Public rows belong to nobody: ids and weights are not read. A file that something was released from is refused before any
    row of it is read.
    """
    refuse_private(data)
    return _open(data, y, schema.of_public_rows(), tally)


def _open(data: object, y: object, schema: Schema, tally: Tally) -> Iterator[Chunk]:
    if schema.dimension is not None or y is not None or is_matrix(data):
        return open_matrix(data, y, schema, tally)
    return open_table(data, schema, tally)


def counted(data: object, y: object, schema: Schema, rows: bool, roster: object = None) -> Counts | None:
    """Check the structure; with `rows`, read them all and count the cells that were changed, and whose rows they are."""
    tally = CuratorTally(schema.form.encoding)
    if schema.persons is not None and schema.dimension is None and y is None and not is_matrix(data):
        return _counted_by_person(data, schema, rows, roster, tally)
    # Ids and weights beside a matrix are arguments of their own, and are not checked here.
    chunks = _open(data, y, schema.of_public_rows() if y is not None or is_matrix(data) else schema, tally)
    if not rows:
        return None
    for _ in chunks:
        pass
    return tally.result()


def _counted_by_person(data: object, schema: Schema, rows: bool, roster: object, tally: Tally) -> Counts | None:
    """The counts of a table whose rows have ids; the roster is `roster`, or the file that the schema names."""
    persons, identity = schema.persons, identity_of(schema)
    chunks = open_table(data, schema, tally, identity)
    if not rows or persons is None:
        return None
    listed = persons.roster if roster is None else roster
    people = PersonTally(persons, None if listed is None else ids_of(listed, schema, identity))
    for chunk in chunks:
        if ID in chunk:
            people.add(chunk[ID], chunk[NO_ID])
    return tally.result(people.result())


def ids_of(source: object, schema: Schema, identity: Identity) -> Any:
    """The digests of the ids in a roster that is a file."""
    name = "" if schema.persons is None else schema.persons.id
    parts = [np.empty((0, WORDS), dtype=np.uint64)]
    for cells in open_ids(source, name, schema, identity):
        encoded = encode(identity, cells)
        parts.append(encoded.values[~encoded.missing])
    return np.concatenate(parts)


def open_matrix(
    X: object,
    y: object,
    schema: Schema,
    tally: Tally,
    groups: object = None,
    sample_weight: object = None,
    identity: Identity | None = None,
) -> Iterator[Chunk]:
    """Open rows given as a matrix (numpy, CSR or a list of rows), a target, and where declared the ids and weights of the rows."""
    opened = attempt(open_arrays, X, y, schema, tally, groups, sample_weight, identity)
    del X, y, groups, sample_weight
    return _guarded(with_ids(opened.get(), schema))


def open_table(source: object, schema: Schema, tally: Tally, identity: Identity | None = None) -> Iterator[Chunk]:
    """Open a table: a path, a data frame, anything with an Arrow stream, or a mapping from names to columns.

    Where the schema declares persons, chunks hold ids too, under the key of `identity`.
    """
    if schema.dimension is not None:
        raise ArgumentError(
            "a vector schema names no columns, so it cannot read a table; use Dataset.from_arrays(X, y, schema=...)."
        )
    read = as_read(schema, identity)
    opened = attempt(_cells, source, read, tally)
    del source
    return _guarded(with_ids(_encoded(opened.get(), read, tally), schema))


def open_again(path: Path, schema: Schema, rows: int | None = None, masks: bool = True) -> Iterator[Chunk]:
    """Open a Parquet or Arrow file for one of several passes: all columns of a row come together, in chunks of so many `rows`.

    Without `masks` those of the missing cells are left out; without `rows` chunks have a bounded size.
    """
    read = as_read(schema)
    size = rows or min(BLOCK_ROWS, max(CHUNK_ROWS, _CELLS // max(1, len(read.columns))))
    opened = attempt(_ENDINGS[path.suffix.lower()], path, read, Tally(), together=True, rows=size)
    chunks = _encoded(opened.get(), read, Tally()) if masks else _values(opened.get(), read)
    return _guarded(with_ids(chunks, schema))


def open_ids(source: object, name: str, schema: Schema, identity: Identity) -> Iterator[Cells]:
    """The cells of the id column of a table, such as a roster."""
    for chunk in _cells(source, ids_alone(schema, name, identity), Tally()):
        yield chunk[name]


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


def _values(chunks: Iterator[Mapping[str, Cells]], schema: Schema) -> Iterator[Chunk]:
    for chunk in chunks:
        yield {name: encode(schema.columns[name], cells).values for name, cells in chunk.items()}


def _guarded(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Hand the chunks on. No name here holds a chunk when an error is raised: its traceback would keep the rows."""
    while True:
        outcome = attempt(next, chunks, None)
        if outcome.error is None and outcome.made is None:
            return
        yield outcome.get()  # type: ignore[misc]
