"""Parquet files, Arrow files and objects with an Arrow stream, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.schema.columns import Column, Date
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells, Dates, Repeated
from sfumato.schema.identity import Identity
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_ROWS, places, wrong_type

# A Parquet reader keeps pages and dictionaries of some megabytes for every open column, so few columns are open at once.
_COLUMNS = 8
# Bytes of one column that are fetched from a Parquet file at a time. Without a buffer the whole column chunk is, and a
# file written as one row group would be held in memory twice.
_BUFFER = 1 << 16


def open_parquet(
    path: Path, schema: Schema, tally: Tally, together: bool = False, rows: int | None = None
) -> Iterator[Mapping[str, Cells]]:
    """Check the types in the footer; return the cells, of a few columns after the other, or `together` those of all.

    `rows` is how many are read at a time.
    """
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    check_types(file.schema_arrow, schema)
    names, size = list(schema.columns), rows or CHUNK_ROWS
    # Where rows are gathered by their ids, all columns of a row must come together.
    whole = together or any(isinstance(each, Identity) for each in schema.columns.values())
    step = max(1, len(names)) if whole else _COLUMNS
    groups = [names[at : at + step] for at in range(0, len(names), step)]
    return chain.from_iterable(
        _batches(file.iter_batches(batch_size=size, columns=group), _chosen(schema, group), size) for group in groups
    )


def _chosen(schema: Schema, names: Iterable[str]) -> dict[str, Column]:
    return {name: schema.columns[name] for name in names}


def open_arrow_file(
    path: Path, schema: Schema, tally: Tally, together: bool = True, rows: int | None = None
) -> Iterator[Mapping[str, Cells]]:
    """Check the types of an Arrow (Feather) file or stream; return the rows, `rows` at a time. All columns come together."""
    types = arrow_reader(path).schema
    check_types(types, schema)
    # Other columns are skipped while reading: those of a compressed file would be unpacked.
    reader = arrow_reader(path, sorted(places(types.names, schema).values()))
    return _batches(_each_batch(reader), schema.columns, rows or CHUNK_ROWS)


def _each_batch(reader: Any) -> Iterable[Any]:
    """The batches of an Arrow file, or of a stream, which is iterated as it is."""
    if not hasattr(reader, "num_record_batches"):
        return reader  # type: ignore[no-any-return]
    return (reader.get_batch(place) for place in range(reader.num_record_batches))


def rows_in(path: Path) -> int:
    """How many rows a Parquet or Arrow file has; no cell is read."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        return int(pq.read_metadata(path).num_rows)
    # One column: those of a compressed file are unpacked.
    return sum(batch.num_rows for batch in _each_batch(arrow_reader(path, [0])))


def arrow_reader(path: Path, columns: list[int] | None = None) -> Any:
    """Open some columns of an Arrow file, or of a stream saved as a file. No batch and no dictionary is read yet."""
    import pyarrow as pa

    source = pa.memory_map(str(path))
    start = source.read(6)
    source.seek(0)
    options = pa.ipc.IpcReadOptions(included_fields=columns)
    return (pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream)(source, options=options)


def open_stream(source: Any, schema: Schema) -> Iterator[Mapping[str, Cells]]:
    """Check the types of an object with `__arrow_c_stream__`; return the rows."""
    import pyarrow as pa

    reader = source if isinstance(source, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(source)
    check_types(reader.schema, schema)
    return _batches(reader, schema.columns, CHUNK_ROWS)


def check_types(types: Any, schema: Schema) -> None:
    """Refuse an Arrow schema that lacks a declared column or holds it as a type that can be no cell."""
    for name, place in places(types.names, schema).items():
        check_type(name, schema.columns[name], types.field(place).type)


def check_type(name: str, column: Column, given: Any) -> None:
    """Refuse a type other than numbers, texts, booleans, nulls, and dates for a Date, plain or (no dates) dictionary-encoded.

    Ids may also be bytes, such as those of a UUID.
    """
    if isinstance(column, Identity) and (_holds_dates(given) or _holds_bytes(given)):
        return
    if not (_holds_cells(given) or (isinstance(column, Date) and _holds_dates(given))):
        raise wrong_type(name, column, str(given))


def column_cells(column: Column, array: Any) -> Cells:
    """The cells of an Arrow array for a column; ids as exact numbers and texts, where other whole numbers become floats."""
    return _ids(array) if isinstance(column, Identity) else arrow_cells(array)


def _ids(array: Any) -> Cells:
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        return (
            _joined([_ids(chunk) for chunk in array.chunks]) if array.num_chunks else Repeated([], np.empty(0, np.intp))
        )
    if pa.types.is_dictionary(array.type):
        return _repeated(array.dictionary, array.indices)
    if _holds_dates(array.type):
        return _dates(array)
    raw = is_text(array.type) or _holds_bytes(array.type)
    encoded = (array.cast(pa.large_binary()) if raw else _wide(array)).dictionary_encode()
    return _repeated(encoded.dictionary, encoded.indices)


def _holds_bytes(given: Any) -> bool:
    import pyarrow as pa

    is_ = pa.types
    kinds = (is_.is_binary, is_.is_large_binary, is_.is_binary_view, is_.is_fixed_size_binary)
    return any(kind(given) for kind in kinds)


def arrow_cells(array: Any) -> Cells:
    """Return an Arrow array of an accepted type as cells. Texts are taken as bytes: Arrow does not promise UTF-8."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        # Not joined by Arrow: it cannot join texts of more than 2 GB, nor dictionaries of every type.
        return _joined([arrow_cells(chunk) for chunk in array.chunks])
    if pa.types.is_dictionary(array.type):
        return _repeated(array.dictionary, array.indices)
    if _holds_dates(array.type):
        return _dates(array)
    if is_text(array.type):
        array = array.cast(pa.large_binary())
    elif pa.types.is_decimal(
        array.type
    ):  # read from a dictionary: Arrow's cast to floats is off by a unit in the last place
        array = _wide(array)
    else:
        return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    encoded = array.dictionary_encode()
    return _repeated(encoded.dictionary, encoded.indices)


def _wide(array: Any) -> Any:
    """The narrow decimals, of which Arrow has no dictionaries, with the most digits: a cell of too many would fail for all rows."""
    import pyarrow as pa

    kind = array.type
    narrow = pa.types.is_decimal(kind) and kind.bit_width < 128
    return array.cast(pa.decimal128(38, kind.scale)) if narrow else array


def _joined(parts: list[Cells]) -> Cells:
    """Return the cells of the chunks of one array, which are all of one kind."""
    repeated = [part for part in parts if isinstance(part, Repeated)]
    dates = [part for part in parts if isinstance(part, np.ndarray) and part.dtype.kind == "M"]
    if dates:
        return np.concatenate([part.astype("M8[D]") for part in dates])
    if not repeated:
        return np.concatenate([np.empty(0), *(np.asarray(part, dtype=np.float64) for part in parts)])
    starts = np.cumsum([0, *(len(part.distinct) for part in repeated)])
    index = [
        np.where(part.index < 0, -1, part.index + start) for part, start in zip(repeated, starts[:-1], strict=True)
    ]
    return Repeated([cell for part in repeated for cell in part.distinct], np.concatenate(index))


def _repeated(dictionary: Any, indices: Any) -> Repeated:
    """Return cells from a dictionary, the used ones alone; one whose position is null or outside the dictionary is empty."""
    import pyarrow as pa

    distinct = dictionary.cast(pa.large_binary()) if is_text(dictionary.type) else dictionary
    index = indices.cast(pa.int64(), safe=False).fill_null(-1).to_numpy(zero_copy_only=False)
    inside = (index >= 0) & (index < len(distinct))
    used, places = np.unique(index[inside], return_inverse=True)
    index = np.full(len(index), -1, dtype=np.intp)
    index[inside] = places
    return Repeated(distinct.take(pa.array(used)).to_pylist(), index)


def _batches(batches: Iterable[Any], columns: Mapping[str, Column], rows: int) -> Iterator[Mapping[str, Cells]]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            yield {name: column_cells(column, part.column(name)) for name, column in columns.items()}


def _holds_cells(given: Any) -> bool:
    import pyarrow as pa

    is_ = pa.types
    if is_.is_dictionary(given):
        return _holds_cells(given.value_type) and not is_.is_dictionary(given.value_type)
    plain = (is_.is_integer, is_.is_floating, is_.is_decimal, is_.is_boolean, is_.is_null)
    return is_text(given) or any(test(given) for test in plain)


def _holds_dates(given: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(given) or pa.types.is_timestamp(given))


def _dates(array: Any) -> Dates:
    """Return dates or timestamps as datetime64[D]; those with a time zone as they are shown in it.

    The integers below an Arrow array are taken: Arrow's own casts raise for all rows where one is too far away to be a date.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    unit = {pa.date32(): "D", pa.date64(): "ms"}.get(array.type) or array.type.unit
    counts = array.view(pa.int32() if unit == "D" else pa.int64()).cast(pa.int64())
    whole = counts.fill_null(0).to_numpy(zero_copy_only=False).view(f"M8[{unit}]")
    return np.where(np.asarray(array.is_valid()), whole, np.datetime64("NaT")).astype("M8[D]")


def is_text(given: Any) -> bool:
    """Whether an Arrow type holds texts."""
    import pyarrow as pa

    is_ = pa.types
    return bool(is_.is_string(given) or is_.is_large_string(given) or is_.is_string_view(given))
