"""Where the rows of a data set are while they are used: which places there are, and which one a source gets."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sfumato import _validate
from sfumato.dataset.streaming import encoded_bytes, readable_again, row_bytes
from sfumato.errors import ArgumentError
from sfumato.schema import Schema

# "auto" keeps rows in memory as long as they fit into it.
AUTO, MEMORY, STREAMED, DASK, GPU = "auto", "memory", "streamed", "dask", "gpu"
ENGINES = (AUTO, MEMORY, STREAMED, GPU)
# Rows take at most this share of the memory that is free: a regression holds its encoded features beside them.
_SHARE = 0.5
# The share of that which engines may keep of streamed rows: a weight for each, say.
BESIDE = 0.25
# Assumed to be free where the system does not say: 4 GB.
_FREE = 4 << 30


def engine_of(source: object, schema: Schema, engine: str = AUTO, memory: int | None = None) -> str:
    """Where `Dataset.from_table` would keep the rows of a source, from public facts alone: no row is read."""
    if _validate.one_of("engine", engine, ENGINES) == GPU:
        return GPU
    return STREAMED if streams(source, schema, engine, allowed_bytes(memory)) else MEMORY


def streams(source: object, schema: Schema, engine: str, allowed: int) -> bool:
    """Whether rows are read anew on every pass; a source that cannot be is refused where that was asked for."""
    path = None if schema.dimension is not None else readable_again(source)
    if engine == STREAMED and path is None and isinstance(source, str | os.PathLike) and not Path(source).is_file():
        several = " Several files are read by a Dask cluster, or joined first." if "*" in str(source) else ""
        raise ArgumentError(f"there is no file {str(source)!r}.{several}")
    if engine == STREAMED and path is None:
        raise ArgumentError(
            'engine="streamed" reads a .parquet, .arrow or .feather file on every pass; save the table as one of them, or use '
            'engine="memory".'
        )
    if engine != AUTO or path is None:
        return engine == STREAMED
    return encoded_bytes(path, schema) > allowed


def spills(schema: Schema, people: int | None, engine: str, memory: int | None) -> bool:
    """Whether the rows of persons are kept in encrypted temporaries once they are gathered; `people` is the length of a roster.

    That is decided by the number of persons, the most rows of each that count, the declared columns, and the memory of this
    machine: what is free of it depends on how many rows a source holds there, and that is private.
    """
    persons = schema.persons
    if engine != AUTO or persons is None:
        return engine == STREAMED
    most = (persons.count or 0 if people is None else people) * (persons.averaged or 1)
    return most * row_bytes(schema) > (int(_SHARE * _memory("SC_PHYS_PAGES")) if memory is None else memory)


def passing_bytes(engine: str, memory: int | None) -> int:
    """Bytes that rows may take in memory while they are gathered by person."""
    return {MEMORY: sys.maxsize, STREAMED: 0}.get(engine, allowed_bytes(memory))


def allowed_bytes(memory: int | None) -> int:
    """Bytes that rows may take in memory: as many as are declared, or half of what is free."""
    return int(_SHARE * _memory("SC_AVPHYS_PAGES")) if memory is None else _validate.whole("memory", memory)


def _memory(pages: str) -> int:
    try:
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _FREE
