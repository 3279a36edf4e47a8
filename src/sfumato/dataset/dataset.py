"""`sf.Dataset`: how rows enter, and the one door through which engines reach them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from sfumato import _validate
from sfumato._private_files import FileNote, notes_of
from sfumato.dataset.blocks import Blocks, Rows, Stays
from sfumato.dataset.on_card import CardBlocks, is_on_card
from sfumato.dataset.places import (
    AUTO,
    BESIDE,
    DASK,
    ENGINES,
    GPU,
    MEMORY,
    STREAMED,
    allowed_bytes,
    passing_bytes,
    spills,
    streams,
)
from sfumato.dataset.storing import PersonBlocks, RowStore
from sfumato.dataset.streaming import FileBlocks, readable_again, row_bytes
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


@final
class Dataset(Stays):
    """Private records under a public schema.

    It has `schema`, the public facts about one record, `n`, the public number of records, `kind`, the form of the rows, and
    `engine`, where they are: "memory", "streamed", "gpu" or "dask". It cannot be indexed, iterated, turned into an array, copied or
    pickled, and its repr shows no value. Every cell was mapped into the declared bounds when it was made, so that a record,
    whatever it held, moves a statistic by no more than the schema allows. n is public: neighbouring data sets replace one
    record. Where the schema declares persons a record is a person with all of their rows, n their public number, and the number
    of rows is private; ids are not kept.
    """

    __slots__ = ("__files", "__rows", "__weakref__", "engine", "kind", "n", "schema")
    engine: str
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
        engine: str = MEMORY,
    ) -> Dataset:
        """Read a matrix and, where the schema declares a target, its column.

        X: a numpy array (rows, columns), a SciPy CSR matrix (vector schemas only) or a list of rows; one dimension
            will do for one column. Under a table schema its columns are the schema's, in order, without the target.
        y: a list, a one-dimensional array or a series. A label of a list may be a list of one cell.
        groups, sample_weight: the ids and the weights of the rows, where the schema declares persons or a weight.
        roster: the ids of all persons, as for `from_table`.
        engine: "memory", or "gpu": regressions are summed on a CUDA card. X may be a float32 array on the card then.
        """
        made = attempt(_from_arrays, X, y, schema, groups, sample_weight, roster, engine)
        del X, y, groups, sample_weight, roster  # an error raised below keeps no rows in its traceback
        return made.get()

    @classmethod
    def from_table(
        cls,
        source: object,
        *,
        schema: Schema,
        roster: object = None,
        memory: int | None = None,
        engine: str = AUTO,
    ) -> Dataset:
        """Read the declared columns of a table, in chunks; all other columns are left out.

        source: the path of a .csv, .parquet, .arrow or .feather file; a pandas-like data frame; anything with
            `__arrow_c_stream__` (polars, DuckDB, pyarrow); or a mapping from names to columns. A .csv file gives one
            row per line, whatever the line holds.
        roster: where the schema declares persons, the ids of all of them: a file with the id column, or a list or array; by
            default the file that the schema names, or none where it declares their number. The table may be in any order.
        memory: bytes that the rows may take in memory; by default half of what is free.
        engine: "memory", "streamed", or "auto": in memory as long as they fit. Streamed rows are read from their .parquet, .arrow
            or .feather file on every pass; those of persons are gathered in encrypted temporary files. "gpu": the features of a
            regression are brought to a CUDA card once, and summed there.
        """
        files = notes_of(source, roster)
        made = attempt(_from_table, source, schema, roster, memory, engine)
        del source, roster  # an error raised below keeps no rows in its traceback
        return _read_from(made.get(), files)

    @classmethod
    def from_dask(cls, source: object, *, schema: Schema, client: object = None, roster: object = None) -> Dataset:
        """Let the workers of a Dask cluster read a table, each its own partitions, and hold the rows.

        source: a Dask data frame that is read from files, the path of files with wildcards, or a list of paths that every worker
            can read. client: a distributed.Client or the address of a scheduler; by default the current client. The cluster must
            speak TLS or be this machine alone, and its workers must not spill to disk.
        roster: as for `from_table`. Of a person with rows in several partitions those in the first of them count.
        """
        files = notes_of(*(source if isinstance(source, list | tuple) else [source]), roster)
        made = attempt(_from_dask, source, schema, client, roster)
        del source, roster
        return _read_from(made.get(), files)

    def __dir__(self) -> list[str]:
        return ["engine", "from_arrays", "from_dask", "from_table", "n", "schema"]

    def __repr__(self) -> str:
        schema = self.schema
        what = ", ".join(schema.columns) if schema.dimension is None else f"vectors of {schema.dimension}"
        return f"Dataset({schema.name!r}, n={self.n}, unit={schema.unit!r}, engine={self.engine!r}, columns: {what})"


def rows_of(dataset: Dataset) -> Rows:
    """The rows of a data set, for engines only: every number computed from them is private until it is released."""
    if not isinstance(dataset, Dataset):
        raise ArgumentError(f"dataset must be a sf.Dataset; got {type(dataset).__name__}.")
    rows: Rows = dataset._Dataset__rows  # type: ignore[attr-defined]
    return rows


def files_of(dataset: Dataset) -> tuple[FileNote, ...]:
    """Notes of the files that a data set was read from, as they were then."""
    files: tuple[FileNote, ...] = dataset._Dataset__files  # type: ignore[attr-defined]
    return files


def _read_from(dataset: Dataset, files: tuple[FileNote, ...]) -> Dataset:
    """The data set, which knows the files that it was read from."""
    object.__setattr__(dataset, "_Dataset__files", files)
    return dataset


def _schema(schema: object) -> Schema:
    if not isinstance(schema, Schema):
        raise ArgumentError(f"schema must be a sf.Schema; got {type(schema).__name__}.")
    return schema


def _from_arrays(
    X: object, y: object, schema: Schema, groups: object, sample_weight: object, roster: object, engine: str
) -> Dataset:
    if engine == STREAMED:
        raise ArgumentError(
            "an array is in memory already; streamed rows come from a file: Dataset.from_table(path, ...)."
        )
    _validate.one_of("engine", engine, (MEMORY, GPU))
    if engine == GPU or is_on_card(X):
        return _on_gpu(X, y, schema, groups, sample_weight, roster)
    identity, listed = _people(schema, roster)
    chunks = open_matrix(X, y, schema, Tally(), groups, sample_weight, identity)
    if identity is None:
        return _made(schema, chunks)
    return _gathered(schema, chunks, listed, MEMORY, None, is_sparse(X))


def _on_gpu(X: object, y: object, schema: Schema, groups: object, sample_weight: object, roster: object) -> Dataset:
    """Rows for a card: those that are on it already, or rows in memory that an engine brings there."""
    card = _card()
    if not is_on_card(X):
        return _summed_on_card(_from_arrays(X, y, schema, groups, sample_weight, roster, MEMORY))
    if groups is not None or sample_weight is not None or roster is not None:
        raise ArgumentError("an array on a card is taken without groups, sample_weight and roster.")
    blocks = CardBlocks(X, y, _schema(schema), card)
    return _holding(schema, blocks, False, blocks.n, GPU)


def _card() -> Any:
    """The card: one that is missing is an error here, before anything is charged."""
    from sfumato.cuda.card import open_card

    return open_card()


def _summed_on_card(dataset: Dataset) -> Dataset:
    """The same rows, whose regressions are summed on a card."""
    if dataset.kind == "sparse":
        raise ArgumentError('engine="gpu" takes dense rows, and these are sparse; use engine="memory".')
    if dataset.schema.persons is not None:
        raise ArgumentError('engine="gpu" takes tables without persons; use engine="memory" or "streamed".')
    rows = rows_of(dataset)
    return _holding(dataset.schema, rows._blocks, False, dataset.n, GPU)


def _from_table(source: object, schema: Schema, roster: object, memory: int | None, engine: str) -> Dataset:
    _validate.one_of("engine", engine, ENGINES)
    if engine == GPU:
        _card()
        # Rows that can be read from their file need not lie in the machine's memory: they are brought to the card once.
        table = _schema(schema).persons is None and schema.dimension is None
        again = table and readable_again(source) is not None
        return _summed_on_card(_from_table(source, schema, roster, memory, STREAMED if again else AUTO))
    identity, listed = _people(schema, roster)
    allowed = allowed_bytes(memory)
    if identity is not None:
        return _gathered(schema, open_table(source, schema, Tally(), identity), listed, engine, memory)
    if streams(source, schema, engine, allowed):
        blocks = FileBlocks(Path(str(source)), schema, int(BESIDE * allowed))
        return _holding(schema, blocks, False, blocks.n)
    # A limit that was declared is kept; the default is half of what is free, and a table may take more of that.
    kept = memory if engine == AUTO and schema.dimension is None else None
    return _made(schema, open_table(source, schema, Tally()), kept)


def _from_dask(source: object, schema: Schema, client: object, roster: object) -> Dataset:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ArgumentError("a cluster needs Dask: pip install 'sfumato[dask]'.") from None
    from sfumato.dataset.on_dask import opened

    blocks, n = opened(source, _schema(schema), client, roster)
    return _holding(schema, blocks, False, n, DASK)


def part_of(partition: Any, schema: Schema, limit: int | None = None) -> Dataset:
    """The records of one partition as a data set of their own, on the worker that holds them; at most `limit`, if that is given."""
    return _holding(schema, partition.blocks, partition.sparse, partition.records, limit=limit)


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


def _made(schema: Schema, chunks: Iterator[dict[str, Any]], memory: int | None = None) -> Dataset:
    """The data set of rows in memory; those of a table that take more than so many bytes are refused."""
    store = RowStore()
    for chunk in chunks:
        store.add(chunk)
        if memory is not None and store.rows * row_bytes(schema) > memory:
            raise ArgumentError(
                f"the rows take more than the {memory:,} bytes of memory=, and only a .parquet, .arrow or .feather file can be "
                "read on every pass instead. Save the table as one of them, or allow more memory."
            )
    blocks, n = store.blocks()
    return _holding(schema, blocks, store.sparse, n)


def _gathered(
    schema: Schema,
    chunks: Iterator[dict[str, Any]],
    roster: Roster | None,
    engine: str,
    memory: int | None,
    sparse: bool = False,
) -> Dataset:
    """The data set of persons: N is that of the roster, or the declared count, whoever has rows.

    How many rows there are decides whether they pass through temporaries on their way, and nothing that is seen of the data set.
    """
    averaged = schema.persons is not None and schema.persons.averaged is not None
    store = PersonBlocks(averaged, spills(schema, None if roster is None else len(roster), engine, memory))
    for run in gather(chunks, schema, roster, passing_bytes(engine, memory), sparse):
        store.add(run)
    store.close()
    return _holding(schema, store, store.sparse, store.people)


def _holding(
    schema: Schema, blocks: Blocks, sparse: bool, n: int, engine: str | None = None, limit: int | None = None
) -> Dataset:
    kind = "cluster" if engine == DASK else "table" if schema.dimension is None else "sparse" if sparse else "dense"
    made = object.__new__(Dataset)
    rows = Rows(schema, blocks, kind, n, n if limit is None else limit)
    facts = {"schema": schema, "n": n, "kind": kind, "engine": engine or (MEMORY if rows.held else STREAMED)}
    for name, value in {"_Dataset__rows": rows, "_Dataset__files": (), **facts}.items():
        object.__setattr__(made, name, value)
    return made
