"""Checks of the structure of a source. Their errors name the column and the rule, never a cell.

Nor do they repeat names from the source: the first line of a file without a header is a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column
from sfumato.schema.schema import Schema

# Rows that are read and encoded at a time: many enough for numpy to be fast, few beside the rows that are kept.
CHUNK_ROWS = 4_096
# Cells that are held as objects at a time, at some 60 bytes each: chunks of wide rows have fewer rows.
CHUNK_CELLS = 1 << 20
# Rows of a sparse matrix at a time, and of one block of a data set.
BLOCK_ROWS = 65_536


def places(names: Sequence[object], schema: Schema) -> dict[str, int]:
    """Return where each declared column stands among the source's names; absent and repeated ones are refused."""
    listed, declared = list(names), schema.columns
    times = Counter(name for name in listed if isinstance(name, str))
    absent = [name for name in declared if name not in times]
    if absent:
        raise ArgumentError(
            f"the table lacks {_columns(absent)}, which the schema {schema.name!r} declares. "
            "Rename the columns, or check that the first line of a .csv file holds their names. For a file without a header the "
            "schema says header = false and names = [...], all columns of the file, under [table]."
        )
    repeated = [name for name in declared if times[name] > 1]
    if repeated:
        raise ArgumentError(f"the table has {_columns(repeated)} more than once; a declared column must be there once.")
    at = {name: place for place, name in enumerate(listed) if isinstance(name, str) and name in declared}
    return {name: at[name] for name in declared}


def wrong_type(name: str, column: Column, given: str) -> ArgumentError:
    """Return the refusal of a column whose type can hold no cell of the declared kind."""
    cells = "dates, texts or numbers of days" if column.kind == "date" else "numbers, texts or booleans"
    return ArgumentError(
        f"column {name!r}: a {column.kind} is declared, and the source's column is of type {given}. It must hold {cells}; "
        "convert it before reading."
    )


def shown_shape(array: Any, private: bool) -> str:
    """The shape of an array for an error; its number of dimensions alone where the number of rows is `private`."""
    return f"{array.ndim} dimensions" if private else f"an array of shape {array.shape}"


def same_length(lengths: dict[str, int], private: bool = False) -> int:
    """Return the common length of the columns, or raise; without numbers where that of the rows is `private`."""
    if len(set(lengths.values())) > 1 and private:
        raise ArgumentError(f"{', '.join(lengths)} must have the same number of rows.")
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise ArgumentError(f"every column must have the same number of rows; got {given}.")
    return next(iter(lengths.values()))


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"
