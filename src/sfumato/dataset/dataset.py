"""`sf.Dataset`: how rows enter, and the one door through which engines reach them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, final

from sfumato import _validate
from sfumato.dataset.blocks import Blocks, Rows, Stays
from sfumato.dataset.storing import PersonBlocks, RowStore
from sfumato.errors import ArgumentError
from sfumato.gathering.people import gather
from sfumato.gathering.roster import Roster, read_roster
from sfumato.schema import Schema
from sfumato.schema.as_read import identity_of
from sfumato.schema.counts import Tally
from sfumato.schema.identity import Identity
from sfumato.schema.outcome import attempt
from sfumato.schema.read_arrays import is_sparse
from sfumato.schema.reading import open_matrix, open_table

# Rows of persons take at most this share of the memory that is free before they are written to encrypted temporaries.
_SHARE = 0.5
# Assumed to be free where the system does not say: 4 GB.
_FREE = 4 << 30


@final
class Dataset(Stays):
    """Private records under a public schema.

    It has `schema`, the public facts about one record, `n`, the public number of records, and `kind`, "table", "dense" or
    "sparse"; it cannot be indexed, iterated, turned into an array, copied or pickled, and its repr shows no value. Every cell
    was mapped into the declared bounds when it was made, so that a record, whatever it held, moves a statistic by no more
    than the schema allows. n is public: neighbouring data sets replace one record. Where the schema declares persons a record is
    a person with all of their rows, n their public number, and the number of rows is private; ids are not kept.
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
    def from_arrays(
        cls,
        X: object,
        y: object = None,
        *,
        schema: Schema,
        groups: object = None,
        sample_weight: object = None,
        roster: object = None,
    ) -> Dataset:
        """Read a matrix and, where the schema declares a target, its column.

        X: a numpy array (rows, columns), a SciPy CSR matrix (vector schemas only) or a list of rows; one dimension
            will do for one column. Under a table schema its columns are the schema's, in order, without the target.
        y: a list, a one-dimensional array or a series. A label of a list may be a list of one cell.
        groups, sample_weight: the ids and the weights of the rows, where the schema declares persons or a weight.
        roster: the ids of all persons, as for `from_table`.
        """
        made = attempt(_from_arrays, X, y, schema, groups, sample_weight, roster)
        del X, y, groups, sample_weight, roster  # an error raised below keeps no rows in its traceback
        return made.get()

    @classmethod
    def from_table(cls, source: object, *, schema: Schema, roster: object = None, memory: int | None = None) -> Dataset:
        """Read the declared columns of a table, in chunks; all other columns are left out.

        source: the path of a .csv, .parquet, .arrow or .feather file; a pandas-like data frame; anything with
            `__arrow_c_stream__` (polars, DuckDB, pyarrow); or a mapping from names to columns. A .csv file gives one
            row per line, whatever the line holds.
        roster: where the schema declares persons, the ids of all of them: a file with the id column, or a list or array; by
            default the file that the schema names, or none where it declares their number. The table may be in any order.
        memory: bytes that the rows of persons may take before they go to encrypted temporary files; half of what is free.
        """
        made = attempt(_from_table, source, schema, roster, memory)
        del source, roster  # an error raised below keeps no rows in its traceback
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


def _from_arrays(
    X: object, y: object, schema: Schema, groups: object, sample_weight: object, roster: object
) -> Dataset:
    identity, listed = _people(schema, roster)
    chunks = open_matrix(X, y, schema, Tally(), groups, sample_weight, identity)
    return _made(schema, chunks) if identity is None else _gathered(schema, chunks, listed, None, is_sparse(X))


def _from_table(source: object, schema: Schema, roster: object, memory: int | None) -> Dataset:
    identity, listed = _people(schema, roster)
    chunks = open_table(source, schema, Tally(), identity)
    return _made(schema, chunks) if identity is None else _gathered(schema, chunks, listed, memory)


def _people(schema: Schema, roster: object) -> tuple[Identity | None, Roster | None]:
    """The key under which ids are read, and the roster; neither where the schema declares no persons."""
    persons = _schema(schema).persons
    if persons is None:
        if roster is not None:
            raise ArgumentError(
                "roster lists persons, and the schema declares none: sf.Schema(..., persons=sf.Persons(...))."
            )
        return None, None
    identity = identity_of(schema)
    source = persons.roster if roster is None else roster
    return identity, None if source is None else read_roster(source, schema, identity)


def _made(schema: Schema, chunks: Iterator[dict[str, Any]]) -> Dataset:
    store = RowStore()
    for chunk in chunks:
        store.add(chunk)
    blocks, n = store.blocks()
    return _holding(schema, blocks, store.sparse, n)


def _gathered(
    schema: Schema, chunks: Iterator[dict[str, Any]], roster: Roster | None, memory: int | None, sparse: bool = False
) -> Dataset:
    """The data set of persons: N is that of the roster, or the declared count, whoever has rows."""
    allowed = int(_SHARE * _free_memory()) if memory is None else _validate.whole("memory", memory)
    piles, runs = gather(chunks, schema, roster, allowed, sparse)
    averaged = schema.persons is not None and schema.persons.averaged is not None
    store = PersonBlocks(averaged, averaged and piles.spilled)
    for run in runs:
        store.add(run)
    store.close()
    return _holding(schema, store, store.sparse, store.people)


def _holding(schema: Schema, blocks: Blocks, sparse: bool, n: int) -> Dataset:
    kind = "table" if schema.dimension is None else "sparse" if sparse else "dense"
    made = object.__new__(Dataset)
    rows = Rows(schema, blocks, kind, n)
    for name, value in (("_Dataset__rows", rows), ("schema", schema), ("n", n), ("kind", kind)):
        object.__setattr__(made, name, value)
    return made


def _free_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _FREE
