"""`Dataset.from_dask`: which partitions there are, who may read them, and how one worker reads one of them."""

from __future__ import annotations

import glob
import hashlib
import os
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset.blocks import Block
from sfumato.dataset.cluster import Cluster
from sfumato.dataset.storing import PersonBlocks, RowStore
from sfumato.dataset.workers import checked_addresses
from sfumato.errors import ArgumentError, PublishError
from sfumato.gathering.people import Run, absent_run, gather_present
from sfumato.gathering.roster import Roster, read_roster
from sfumato.schema import Schema
from sfumato.schema.as_read import identity_of
from sfumato.schema.counts import Tally
from sfumato.schema.identity import Identity
from sfumato.schema.outcome import attempt
from sfumato.schema.person_counts import among
from sfumato.schema.reading import open_table

# Rows of persons stay in a worker's memory: spilling is off, and a worker has as much as it needs for its share.
_MEMORY = 1 << 60
# A recipe is a few names and numbers; one that is larger has rows in it.
_LARGEST_RECIPE = 1 << 20
# Functions of Dask's by which rows are exchanged through files on the workers' disks.
_THROUGH_DISKS = (b"maybe_buffered_partd", b"distributed.shuffle")
# Functions of pandas' and Dask's that choose the types of a table by its rows: all of a text's, or the first ones of a query. One
# odd cell raises there, and a quotation mark joins lines.
_BY_ROWS = tuple(
    b"read_" + source for source in (b"csv", b"table", b"fwf", b"json", b"text", b"excel", b"html", b"xml", b"sql")
)


class ClusterBlocks:
    """The blocks of a data set whose rows are on a cluster: they cannot be read here."""

    held = False
    room = 0

    def __init__(self, cluster: Cluster, absent: Any) -> None:
        """`absent` are the blocks of persons of the roster who are in no partition; None where there are none."""
        self.cluster, self.absent = cluster, absent

    def read(self, columns: object = None, records: object = None, masks: bool = True) -> Iterator[Block]:
        """Refuse: rows do not leave the workers."""
        raise PublishError("the rows of this data set are on a cluster and do not come here.")


@dataclass(frozen=True)
class Partition:
    """One partition on its worker: its blocks, and a digest of all they hold."""

    blocks: Any
    records: int
    sparse: bool
    digest: bytes


@dataclass(frozen=True, repr=False)
class Gathered:
    """The persons of one partition, before it is known who is in an earlier one too: their rows, and digests of their ids."""

    runs: list[tuple[Run, NDArray[np.uint64]]]
    averaged: bool

    @property
    def ids(self) -> NDArray[np.uint64]:
        """Two words for each person."""
        return np.concatenate([np.empty((0, 2), np.uint64), *(words for _, words in self.runs)])

    @property
    def digest(self) -> bytes:
        """What two readings of the same persons have in common."""
        return hashlib.blake2b(self.ids.tobytes(), digest_size=16).digest()

    def without(self, left_out: NDArray[np.uint64]) -> Partition:
        """The partition, from which persons are left out with all of their rows."""
        persons = PersonBlocks(self.averaged, False)
        for run, words in self.runs:
            kept = ~among(words, left_out)
            rows = np.repeat(kept, run.counts)
            persons.add(Run({name: array[rows] for name, array in run.columns.items()}, run.counts[kept]))
        persons.close()
        return Partition(persons, persons.people, persons.sparse, _digested(persons))


def opened(source: Any, schema: Schema, client: Any, roster: object) -> tuple[ClusterBlocks, int]:
    """Let the workers read a source: a Dask data frame, a path with wildcards, or a list of paths; the blocks, and n."""
    persons = schema.persons
    identity = None if persons is None else identity_of(schema)
    listed = None
    if identity is not None and persons is not None:
        given = persons.roster if roster is None else roster
        listed = None if given is None else read_roster(given, schema, identity)
    elif roster is not None:
        raise ArgumentError(
            "roster lists persons, and the schema declares none: sf.Schema(..., persons=sf.Persons(...))."
        )
    recipes = recipes_of(source, schema)
    cluster = Cluster(connected(client), recipes, ReadPartition(schema, identity, listed), _digest)
    if persons is None:
        return ClusterBlocks(cluster, None), sum(cluster.facts(_records))
    cluster.settle(Gathered.without, _in_earlier_ones(cluster.facts(_ids)))
    found = sum(cluster.facts(_records))
    people = persons.count if listed is None else len(listed)
    if people is None or found > people:
        raise ArgumentError(
            f"the table has ids of more persons than the schema's count = {people:,}. Declare how many there really are."
        )
    absent = None
    if found < people:
        absent = PersonBlocks(persons.averaged is not None, False)
        absent.add(absent_run(schema, people - found))
        absent.close()
    return ClusterBlocks(cluster, absent), people


def _records(partition: Partition) -> int:
    return partition.records


def _digest(partition: Partition | Gathered) -> bytes:
    return partition.digest


def _ids(partition: Gathered) -> NDArray[np.uint64]:
    return partition.ids


def _in_earlier_ones(parts: list[NDArray[np.uint64]]) -> list[NDArray[np.uint64]]:
    """Of each partition the persons who are in an earlier one too: their rows there count, and those here do not.

    Workers would count such a person twice; a refusal would tell of one person's rows.
    """
    seen, left_out = np.empty((0, 2), np.uint64), []
    for ids in parts:
        left_out.append(ids[among(ids, seen)])
        seen = np.unique(np.concatenate([seen, ids]), axis=0)
    return left_out


@dataclass(frozen=True)
class ReadPartition:
    """How a worker reads a partition: the schema, and under which key ids are read. It holds no row."""

    schema: Schema
    identity: Identity | None
    roster: Roster | None

    def __call__(self, recipe: bytes) -> Partition | Gathered:
        read = attempt(self._read, recipe)
        return read.get()

    def _read(self, recipe: bytes) -> Partition | Gathered:
        chunks = open_table(_source(recipe), self.schema, Tally(), self.identity)
        if self.identity is None:
            store = RowStore()
            for chunk in chunks:
                store.add(chunk)
            blocks, rows = store.blocks()
            return Partition(blocks, rows, store.sparse, _digested(blocks))
        averaged = self.schema.persons is not None and self.schema.persons.averaged is not None
        return Gathered(list(gather_present(chunks, self.schema, self.roster, _MEMORY)), averaged)


def _digested(blocks: Any) -> bytes:
    """What two readings of the same rows have in common, and readings of other rows have not."""
    digest = hashlib.blake2b(digest_size=16)
    for block in blocks.read():
        block.add_to(digest)
    return digest.digest()


def _source(recipe: bytes) -> Any:
    """The path or the table of a recipe; a Dask partition is computed here, on its worker and nowhere else."""
    given = pickle.loads(recipe)  # made by `recipes_of` in the client that this worker serves
    return given if isinstance(given, str) else given.compute(scheduler="synchronous")


def recipes_of(source: Any, schema: Schema) -> list[bytes]:
    """A recipe for every partition, in the order of the source."""
    if isinstance(source, str | os.PathLike):
        found = sorted(glob.glob(os.fspath(source)))
        if not found:
            raise ArgumentError(f"no file is called {os.fspath(source)!r}.")
        source = found
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | os.PathLike) for each in source):
        if len({os.path.realpath(each) for each in source}) < len(source):
            raise ArgumentError("one file is given twice: its records would count twice.")
        return [pickle.dumps(os.path.abspath(each)) for each in source]
    if not hasattr(source, "to_delayed"):
        raise ArgumentError(
            f"from_dask takes a Dask data frame, a path with wildcards or a list of paths; got {type(source).__name__}."
        )
    import cloudpickle

    wanted = [
        *schema.columns,
        *([schema.persons.id] if schema.persons else []),
        *([schema.weight.column] if schema.weight else []),
    ]
    there = [name for name in wanted if name in list(source.columns)]
    _refuse_whole_ids(source, schema)
    recipes = []
    for partition in source[there].to_delayed():
        if _holds_rows(partition.__dask_graph__()):
            raise ArgumentError(
                "the rows of this Dask data frame are in its task graph (as dask.dataframe.from_pandas puts them there), and would "
                "pass through the scheduler. Write them to files and give dask.dataframe.read_parquet(...), or the paths."
            )
        recipe = cloudpickle.dumps(partition)
        if any(word in recipe for word in _BY_ROWS):
            raise ArgumentError(
                "this Dask data frame is read by pandas from text or a query, with types that follow from rows: one record could "
                "fail the reading, or change how others are read. Give the paths of the files, whose lines are read one by "
                "one, or dask.dataframe.read_parquet(...)."
            )
        if any(word in recipe for word in _THROUGH_DISKS):
            raise ArgumentError(
                "this Dask data frame is shuffled through files, which would leave rows on the disks of workers. Write it, "
                "shuffled, to files of your own, or shuffle it with shuffle_method='tasks'."
            )
        if len(recipe) > _LARGEST_RECIPE:
            raise ArgumentError(
                "the task graph of this Dask data frame is larger than a recipe can be: give the paths of files."
            )
        recipes.append(recipe)
    return recipes


def _refuse_whole_ids(source: Any, schema: Schema) -> None:
    """Refuse ids of a type of numpy's that cannot be missing: of a partition with an empty id pandas makes another type.

    There ids beyond 2^53 lose digits, and a shuffle brings the other rows of a person elsewhere.
    """
    dtype = dict(source.dtypes).get(schema.persons.id) if schema.persons is not None else None
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        raise ArgumentError(
            f"the ids of this Dask data frame are of type {dtype}, and pandas would change the type of a partition in which one is "
            'missing. Read the files by dask.dataframe.read_parquet(..., dtype_backend="numpy_nullable"), or give their paths.'
        )


def _holds_rows(graph: Any) -> bool:
    """Whether something in a task graph is a table or an array."""
    import pandas as pd  # type: ignore[import-untyped]
    import pyarrow as pa

    tables = (pd.DataFrame, pd.Series, np.ndarray, pa.Table, pa.RecordBatch, pa.ChunkedArray, pa.Array)
    waiting, seen = [dict(graph)], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, tables):
            if len(one):
                return True
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        elif type(one).__module__.split(".")[0] in ("dask", "distributed", "dask_expr"):
            slots = [name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ())]
            waiting += [getattr(one, name, None) for name in slots] + list(getattr(one, "__dict__", {}).values())
    return False


def connected(client: Any) -> Any:
    """A client that speaks to the workers directly; clusters that others could listen to, or that spill, are refused."""
    from distributed import Client, get_client

    kind: Any = Client
    security = None
    if isinstance(client, str):
        address = client
        if address.startswith("tls://"):
            raise ArgumentError(
                "a scheduler with TLS wants a client that has a certificate: client=Client(address, security=Security(...)), as in "
                "docs/scale.md."
            )
    else:
        try:
            given: Any = get_client() if client is None else client
        except ValueError:
            raise ArgumentError(
                "from_dask needs a cluster: client=Client(...), or the address of a scheduler."
            ) from None
        address, security = str(given.scheduler.address), given.security
    checked_addresses([address])
    # One of our own, so that results come from the workers themselves and not through the scheduler.
    try:
        direct = kind(address, security=security, direct_to_workers=True, set_as_default=False, timeout="20s")
    except OSError:
        raise ArgumentError(f"no scheduler answers at {address}. Is it started?") from None
    checked_addresses(sorted(direct.scheduler_info(n_workers=-1)["workers"]))
    if any(direct.run(_spills).values()):
        raise ArgumentError(
            "workers of the cluster may write rows to their disks. Turn spilling off where they are started: "
            "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False, or "
            'dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}).'
        )
    return direct


def _spills(dask_worker: Any) -> bool:
    memory = dask_worker.memory_manager
    return bool(memory.memory_target_fraction or memory.memory_spill_fraction)
