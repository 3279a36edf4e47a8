"""Every way a table can enter, as one table of readers, and the comparison that all of them go through.

A reader turns rows (tuples of cells, in the order of the schema) into a Dataset. Sources with typed columns store all
rows as texts where the cell under test is a text, and as numbers where it is a number, so that a clean table and its
neighbour have the same types: types are structure. A reader whose source cannot hold a cell says so.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from sfumato.dataset import Dataset, rows_of
from sfumato.schema import Boolean, Category, Number, Schema

TABLE = Schema(
    {
        "age": Number(0, 100),
        "visits": Number(0, 10, missing=1, integer=True),
        # Other spellings are read alike by every reader: "M" and "Frau" as texts, 2 and "ja" where numbers may stand.
        "sex": Category(["f", "m", "other"], missing="other", alias={"Frau": "f"}, fold_case=True),
        "code": Category([3, 1, 2], missing=3, alias={"drei": 3, "7": 1}),
        "smoker": Boolean(missing=False, alias={"ja": True, "2": True}),
        "y": Number(-1, 1, missing=0.25),
    },
    target="y",
    name="survey",
    unit="person",
)
VECTOR = Schema.vector(3, data_norm=1.5, target=Boolean(missing=False))

TABLE_ROWS = [
    (31.5, 2, "f", 1, 1, 0.5),
    (47.0, 0, "M", 3, 0, -0.25),
    (0.1, 9, "Other", 2, 2, 0.0),
    (99.9, 10, "FRAU", 2, 0, 1.0),
    (18.0, 4, "m", 7, 0, -1.0),
    (64.25, 7, "m", 3, 1, 0.125),
    (77.0, 1, "Frau", 1, 2, -0.5),
]
VECTOR_ROWS = [
    (0.5, 0.25, -0.125, 1),
    (1.0, 0.0, 0.0, 0),
    (0.0, 0.0, 0.0, 1),
    (1.5, 0.0, 0.0, 0),
    (-0.75, 0.5, 0.25, 1),
    (0.1, 0.2, 0.3, 0),
]

Row = tuple[Any, ...]


def as_text(cell: object) -> str | bytes | None:
    """How a clean cell or a bad one is written where everything is text."""
    return cell if cell is None or isinstance(cell, str | bytes) else str(cell)


def typed_columns(rows: list[Row], texts: bool) -> dict[str, list[Any]]:
    """Columns for a typed source: all texts, or numbers but for the one column that is text anyway."""
    columns = dict(zip(TABLE.columns, map(list, zip(*rows, strict=True)), strict=True))
    if texts:
        return {name: [as_text(cell) for cell in cells] for name, cells in columns.items()}
    return {
        name: [as_text(c) if name == "sex" else None if c is None else float(c) for c in cells]
        for name, cells in columns.items()
    }


def arrow_table(rows: list[Row], texts: bool) -> pa.Table:
    arrays = {}
    for name, cells in typed_columns(rows, texts).items():
        if texts or name == "sex":
            raw = pa.array([c.encode() if isinstance(c, str) else c for c in cells], pa.binary())
            arrays[name] = raw.view(pa.string())  # keeps bytes that are no UTF-8
        else:
            arrays[name] = pa.array(cells, pa.float64())
    return pa.table(arrays)


def csv_bytes(rows: list[Row]) -> bytes:
    def field(cell: object) -> bytes:
        raw = as_text(cell)
        raw = b"" if raw is None else raw.encode() if isinstance(raw, str) else raw
        return b'"' + raw.replace(b'"', b'""') + b'"' if b"," in raw or b'"' in raw else raw

    lines = [b",".join(field(cell) for cell in row) for row in rows]
    return b"\n".join([",".join(TABLE.columns).encode(), *lines]) + b"\n"


def from_csv(rows, texts, folder):
    path = folder / "t.csv"
    path.write_bytes(csv_bytes(rows))
    return Dataset.from_table(path, schema=TABLE)


def from_parquet(rows, texts, folder):
    pa.parquet.write_table(arrow_table(rows, texts), folder / "t.parquet", row_group_size=2)
    return Dataset.from_table(str(folder / "t.parquet"), schema=TABLE)


def from_feather(rows, texts, folder):
    pa.feather.write_feather(arrow_table(rows, texts), folder / "t.feather", chunksize=3)
    return Dataset.from_table(folder / "t.feather", schema=TABLE)


def from_arrow_stream_file(rows, texts, folder):
    table = arrow_table(rows, texts)
    with pa.ipc.new_stream(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    return Dataset.from_table(folder / "t.arrow", schema=TABLE)


def from_pyarrow(rows, texts, folder):
    return Dataset.from_table(arrow_table(rows, texts), schema=TABLE)


def from_dictionaries(rows, texts, folder):
    table = arrow_table(rows, texts)
    encoded = {name: table[name].cast(pa.large_binary()) if texts else table[name] for name in table.column_names}
    encoded = {name: column.combine_chunks().dictionary_encode() for name, column in encoded.items()}
    if texts:
        encoded = {
            name: pa.DictionaryArray.from_arrays(array.indices, array.dictionary.view(pa.large_string()))
            for name, array in encoded.items()
        }
    return Dataset.from_table(pa.table(encoded), schema=TABLE)


def from_pandas(rows, texts, folder):
    import pandas as pd

    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns_of_rows(rows).items()})
    return Dataset.from_table(frame, schema=TABLE)


def from_typed_pandas(rows, texts, folder):
    import pandas as pd

    return Dataset.from_table(pd.DataFrame(typed_columns(rows, texts)), schema=TABLE)


def from_polars(rows, texts, folder):
    import polars as pl

    return Dataset.from_table(pl.DataFrame(typed_columns(rows, texts), strict=False), schema=TABLE)


def from_duckdb(rows, texts, folder):
    return Dataset.from_table(database().from_arrow(arrow_table(rows, texts)), schema=TABLE)


@functools.cache
def database() -> Any:
    import duckdb

    return duckdb.connect()


def columns_of_rows(rows: list[Row]) -> dict[str, list[Any]]:
    return dict(zip(TABLE.columns, map(list, zip(*rows, strict=True)), strict=True))


def from_mapping(rows, texts, folder):
    return Dataset.from_table(columns_of_rows(rows), schema=TABLE)


def from_objects(rows, texts, folder):
    X = np.empty((len(rows), 5), dtype=object)
    for i, row in enumerate(rows):
        for j in range(5):
            X[i, j] = row[j]
    return Dataset.from_arrays(X, [row[5] for row in rows], schema=TABLE)


def from_lists(rows, texts, folder):
    return Dataset.from_arrays([list(row[:-1]) for row in rows], tuple(row[-1] for row in rows), schema=TABLE)


def vector_of_floats(rows, texts, folder):
    X = np.array([[math.nan if c is None else c for c in row[:-1]] for row in rows], dtype=np.float64)
    y = np.array([math.nan if row[-1] is None else row[-1] for row in rows], dtype=np.float64)
    return Dataset.from_arrays(X, y, schema=VECTOR)


def vector_of_sparse(rows, texts, folder):
    from scipy.sparse import csr_array

    X = np.array([[math.nan if c is None else c for c in row[:-1]] for row in rows], dtype=np.float64)
    return Dataset.from_arrays(csr_array(X), [row[-1] for row in rows], schema=VECTOR)


def vector_of_objects(rows, texts, folder):
    X = np.empty((len(rows), 3), dtype=object)
    for i, row in enumerate(rows):
        for j in range(3):
            X[i, j] = row[j]
    return Dataset.from_arrays(X, [row[-1] for row in rows], schema=VECTOR)


def vector_of_lists(rows, texts, folder):
    return Dataset.from_arrays([list(row[:-1]) for row in rows], [row[-1] for row in rows], schema=VECTOR)


def is_typed(cell: object) -> bool:
    """What a source with typed columns can hold: a float, nothing, or a text."""
    return cell is None or isinstance(cell, float | str)


@dataclass(frozen=True)
class Reader:
    make: Callable[..., Dataset]
    holds: Callable[[object], bool]
    schema: Schema = TABLE

    @property
    def rows(self) -> list[Row]:
        return TABLE_ROWS if self.schema is TABLE else VECTOR_ROWS


def anything(cell: object) -> bool:
    return True


def floats(cell: object) -> bool:
    return cell is None or isinstance(cell, float)


READERS: dict[str, Reader] = {
    # A line break ends a line of CSV whatever it stands in; that is tested with whole lines.
    "csv": Reader(from_csv, lambda cell: "\n" not in str(cell)),
    "parquet": Reader(from_parquet, lambda cell: is_typed(cell) or isinstance(cell, bytes)),
    "feather": Reader(from_feather, lambda cell: is_typed(cell) or isinstance(cell, bytes)),
    "arrow stream file": Reader(from_arrow_stream_file, lambda cell: is_typed(cell) or isinstance(cell, bytes)),
    "pyarrow": Reader(from_pyarrow, lambda cell: is_typed(cell) or isinstance(cell, bytes)),
    "arrow dictionaries": Reader(from_dictionaries, lambda cell: is_typed(cell) or isinstance(cell, bytes)),
    "pandas objects": Reader(from_pandas, anything),
    "pandas typed": Reader(from_typed_pandas, is_typed),
    "polars": Reader(from_polars, is_typed),
    "duckdb": Reader(from_duckdb, is_typed),
    "mapping": Reader(from_mapping, anything),
    "numpy objects": Reader(from_objects, anything),
    "lists": Reader(from_lists, anything),
    "vector numpy": Reader(vector_of_floats, floats, VECTOR),
    "vector csr": Reader(vector_of_sparse, floats, VECTOR),
    "vector objects": Reader(vector_of_objects, anything, VECTOR),
    "vector lists": Reader(vector_of_lists, anything, VECTOR),
}


def content(dataset: Dataset) -> dict[str, np.ndarray]:
    """All rows, column by column: what an engine would see, joined."""
    rows = rows_of(dataset)
    joined: dict[str, list[np.ndarray]] = {}
    for block in rows.blocks():
        for name, array in block.items():
            joined.setdefault(name, []).append(array if isinstance(array, np.ndarray) else array.toarray())
    return {name: np.concatenate(parts) for name, parts in joined.items()}


def shapes(dataset: Dataset) -> list[dict[str, Any]]:
    return [
        {name: (array.shape, array.dtype, type(array).__name__) for name, array in block.items()}
        for block in rows_of(dataset).blocks()
    ]


def faults(clean: Dataset, bad: Dataset, changed: int) -> list[str]:
    """What is wrong with a neighbour: nothing, if only row `changed` differs and stays inside what is declared."""
    found = []
    if shapes(clean) != shapes(bad) or clean.n != bad.n:
        return ["shapes or dtypes differ"]
    others = [i for i in range(clean.n) if i != changed]
    before, after = content(clean), content(bad)
    for name in before:
        if before[name][others].tobytes() != after[name][others].tobytes():
            found.append(f"{name}: another row changed")
        found += [f"{name}: {fault}" for fault in outside(clean.schema, name, after[name][changed])]
    return found


def outside(schema: Schema, name: str, value: Any) -> list[str]:
    """What of one stored value, or of one stored vector, is not as declared."""
    if name == "matrix":
        if not np.all(np.isfinite(value)):
            return ["not finite"]
        square = sum((Fraction(float(entry)) ** 2 for entry in value), Fraction(0))
        return [] if square <= Fraction(schema.data_norm) ** 2 else ["longer than data_norm"]
    column = schema.columns[name]
    if isinstance(column, Number):
        inside = math.isfinite(value) and column.lower <= value <= column.upper
        return [] if inside and (not column.integer or value == round(value)) else ["outside its bounds"]
    count = len(column.levels) if isinstance(column, Category) else 2
    return [] if 0 <= int(value) < count else ["no declared level"]
