"""Every way in which rows of persons with weights enter, and the comparison of neighbours by person.

A reader turns columns (name -> cells, or an Arrow array for the ids) into what holds the rows: a data set, or the partition that a
worker of a cluster would hold.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from table_readers import as_text, database

import sfumato as sf
from sfumato.dataset import rows_of
from sfumato.dataset.on_dask import ReadPartition
from sfumato.gathering.roster import _digests, read_roster
from sfumato.schema.identity import Identity
from sfumato.schema.missing_cells import missing_key

MOST = 2
COLUMNS = {"x": sf.Number(0, 10), "level": sf.Category(["a", "b", "c"], missing="a"), "yes": sf.Boolean(missing=False)}
SCHEMA = sf.Schema(
    COLUMNS, name="visits", persons=sf.Persons("who", most=MOST, count=7), weight=sf.Weight("w", upper=4.0, fixed=True)
)
# Whose rows these are, by place on the roster: person 2 has more rows than count, persons 5 and 6 have none.
OWNERS = (0, 1, 2, 1, 2, 3, 2, 4)
CELLS: dict[str, list[Any]] = {
    "x": [1.0, 2.5, 3.0, 4.0, 5.0, 6.5, 7.0, 8.0],
    "level": list("abcabcab"),
    "yes": [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0],
    "w": [4.0, 1.0, 2.0, 3.0, 4.0, 0.5, 1.0, 2.0],
}
NAMES = [f"P-{k}" for k in range(7)]
# One key for all readings, so that the persons of a partition can be told apart.
IDENTITY = Identity(key=bytes(32))
Columns = dict[str, Any]


def with_ids(ids: Any) -> Columns:
    """The table with these ids, one for each row."""
    return {"who": ids, **CELLS}


def named(odd: tuple[str, int, object] | None = None) -> Columns:
    """The table with the names as ids; `odd` is one cell in place of another: (column, row, cell)."""
    columns = {name: list(cells) for name, cells in with_ids([NAMES[owner] for owner in OWNERS]).items()}
    if odd is not None:
        columns[odd[0]][odd[1]] = odd[2]
    return columns


def arrow(columns: Columns) -> pa.Table:
    """The columns as an Arrow table: texts by their bytes, whatever they are, and numbers."""

    def array(cells: Any) -> Any:
        if isinstance(cells, pa.Array | pa.ChunkedArray):
            return cells
        if any(isinstance(cell, str | bytes) for cell in cells):
            raw = [
                cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else cell for cell in map(as_text, cells)
            ]
            return pa.array(raw, pa.binary()).view(pa.string())
        return pa.array(cells, pa.float64())

    return pa.table({name: array(cells) for name, cells in columns.items()})


def objects(cells: Any) -> np.ndarray:
    made = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        made[place] = cell
    return made


def csv(columns: Columns, folder: Any) -> Any:
    def field(cell: object) -> bytes:
        raw = as_text(cell)
        raw = b"" if raw is None else raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
        return b'"' + raw.replace(b'"', b'""') + b'"'

    lines = [",".join(columns).encode(), *(b",".join(map(field, row)) for row in zip(*columns.values(), strict=True))]
    (folder / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
    return folder / "t.csv"


def parquet(columns: Columns, folder: Any) -> Any:
    pa.parquet.write_table(arrow(columns), folder / "t.parquet", row_group_size=3)
    return folder / "t.parquet"


def feather(columns: Columns, folder: Any) -> Any:
    pa.feather.write_feather(arrow(columns), folder / "t.feather", chunksize=3)
    return folder / "t.feather"


def stream(columns: Columns, folder: Any) -> Any:
    table = arrow(columns)
    with pa.ipc.new_stream(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return folder / "t.arrow"


def pandas_on_arrow(columns: Columns, folder: Any) -> Any:
    table = arrow(columns)
    return pd.DataFrame({n: pd.Series(pd.arrays.ArrowExtensionArray(table[n])) for n in table.column_names})


Source = Callable[[Columns, Any], Any]
# Sources that hold any Python object, and those with typed columns.
OBJECTS: dict[str, Source] = {
    "lists": lambda columns, folder: columns,
    "tuples": lambda columns, folder: {name: tuple(cells) for name, cells in columns.items()},
    "numpy objects": lambda columns, folder: {name: objects(cells) for name, cells in columns.items()},
    "pandas objects": lambda columns, folder: pd.DataFrame(
        {name: pd.Series(objects(cells), dtype=object) for name, cells in columns.items()}
    ),
}
TYPED: dict[str, Source] = {
    "pyarrow": lambda columns, folder: arrow(columns),
    "parquet": parquet,
    "feather": feather,
    "arrow stream": stream,
    "pandas on arrow": pandas_on_arrow,
    "polars": lambda columns, folder: pl.from_arrow(arrow(columns)),
    "duckdb": lambda columns, folder: database().from_arrow(arrow(columns)),
}
FILES: dict[str, Source] = {"csv": csv, **TYPED, "partition": parquet, **OBJECTS}


def read(source: Any, roster: Any) -> Any:
    """The rows of a source, in a data set."""
    return sf.Dataset.from_table(source, schema=SCHEMA, roster=roster)


def read_matrix(columns: Columns, roster: Any) -> Any:
    """The same rows as a matrix, with ids and weights beside it."""
    rows = [list(row) for row in zip(*(columns[name] for name in COLUMNS), strict=True)]
    groups, weights = columns["who"], columns["w"]
    return sf.Dataset.from_arrays(rows, schema=SCHEMA, groups=groups, sample_weight=weights, roster=roster)


@dataclass(frozen=True)
class Held:
    """A partition of which no person is in an earlier one, with the digests of their ids."""

    blocks: Any
    ids: Any


def read_partition(path: Any, roster: Any) -> Held:
    """The rows of a file as a worker of a cluster holds them."""
    listed = read_roster(roster, SCHEMA, IDENTITY)
    gathered: Any = ReadPartition(SCHEMA, IDENTITY, listed)(pickle.dumps(str(path)))
    return Held(gathered.without(gathered.ids[:0]).blocks, gathered.ids)


def people(held: Any) -> dict[Any, tuple[bytes, ...]]:
    """What each person contributes, bit by bit: by their place on the roster, in a partition by the digest of the id."""
    blocks = held.blocks if isinstance(held, Held) else rows_of(held)
    found: list[tuple[bytes, ...]] = []
    for block in blocks.read() if isinstance(held, Held) else blocks.blocks():
        edges = np.concatenate([[0], np.cumsum(block.counts)])
        arrays = [*(block[name] for name in COLUMNS), *(block[missing_key(name)] for name in COLUMNS), block.weights]
        found += [
            (str([array.dtype for array in arrays]).encode(), *(array[first:after].tobytes() for array in arrays))
            for first, after in pairwise(edges)
        ]
    if isinstance(held, Held):
        return dict(zip(map(tuple, held.ids.tolist()), found, strict=True))
    assert len(found) == held.n == 7
    return dict(enumerate(found))


def others_changed(clean: Any, odd: Any, owner: int, roster: Any) -> bool:
    """Whether anybody but the owner of the changed row contributes something else than before."""
    before, after = people(clean), people(odd)
    if isinstance(clean, Held):
        mine: Any = tuple(_digests(roster, SCHEMA, IDENTITY)[0][owner, :2].tolist())
    else:
        mine = owner
    before.pop(mine, None)
    after.pop(mine, None)
    return before != after
