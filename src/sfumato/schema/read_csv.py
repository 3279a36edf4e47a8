"""CSV, one row per physical line, without exception.

A reader that lets a quoted text run over the end of a line lets one stray quotation mark swallow every line after it:
one record would then decide how many rows there are and what they hold. Here each line is read by itself. Quotes protect
commas within a line; a line whose quotes do not close, that has another number of fields than the header, or that is
longer than a public limit is one row whose cells are all missing; so is an empty line. A text with a line break inside
quotes therefore makes two rows, of whatever the two lines spell: such tables are to be kept as Parquet or Arrow.

Of each line the declared columns alone are decoded and kept. A cell whose bytes are not UTF-8 is missing. Memory is
bounded by public numbers: one line of limited length, and a chunk of cells of limited length.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from sfumato.errors import ArgumentError
from sfumato.schema.cells import number
from sfumato.schema.columns import Category, Column
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_CELLS, CHUNK_ROWS, places

# Bytes that the first line may have: a hundred thousand names of 600 bytes.
_HEADER_BYTES = 1 << 26
# Bytes that any other line may have: this many, or sixteen times the first line where that is more.
_LINE_BYTES, _LINE_HEADERS = 1 << 24, 16
# Letters up to which a cell of a long line is kept as it is until its chunk is encoded.
_CELL_LETTERS = 200
# Bytes up to which a line is decoded as a whole, which is quicker than by cells, and its cells are kept as they are.
_SHORT_LINE = 4_096


def open_csv(path: Path, schema: Schema, tally: Tally) -> Iterator[Mapping[str, Cells]]:
    """Check the header; return the rows, to be read in chunks."""
    names, length = header(path)
    if None in names and not set(schema.columns) <= set(names):
        raise ArgumentError(
            f"the table lacks columns that the schema {schema.name!r} declares, and the first line of the .csv file, which "
            "must hold their names, is not UTF-8. Save the file as UTF-8 and read it again."
        )
    limit = max(_LINE_BYTES, _LINE_HEADERS * length)
    return _rows(path, len(names), limit, places(names, schema), schema, tally)


def header(path: Path) -> tuple[list[str | None], int]:
    """Return the names in the first line, None for one that is not UTF-8, and the length of that line in bytes.

    No other line is read, even where quotes do not close.
    """
    with path.open("rb") as file:
        first = _line(file, _HEADER_BYTES)
    if first is None:
        raise ArgumentError(
            f"the first line of the .csv file must hold the names of the columns; it is longer than {_HEADER_BYTES} "
            "bytes. Check that the lines of the file end in a line feed."
        )
    if not first:
        raise ArgumentError("the .csv file is empty; its first line must hold the names of the columns.")
    if b"\r" in first.removesuffix(b"\n").removesuffix(b"\r"):
        # A file whose lines end in a carriage return alone is one line: all of its records would be taken for names.
        raise ArgumentError(
            "the lines of a .csv file must end with \\n or \\r\\n. Save the file with such ends and read it again."
        )
    fields = _split(first.removeprefix(b"\xef\xbb\xbf").decode("latin-1"))
    if fields is None:
        raise ArgumentError(
            "the first line of the .csv file must hold the names of the columns; its quotes do not close."
        )
    decoded = [_decoded(field.encode("latin-1")) for field in fields]
    return [None if name is None else name.strip() for name in decoded], len(first)


def _rows(
    path: Path, width: int, limit: int, where: dict[str, int], schema: Schema, tally: Tally
) -> Iterator[Mapping[str, Cells]]:
    """Yield the declared columns, as many rows at a time as their number allows."""
    columns, wanted = [schema.columns[name] for name in where], list(where.values())
    step = max(1, min(CHUNK_ROWS, CHUNK_CELLS // len(where)))
    with path.open("rb") as file:
        _line(file, _HEADER_BYTES)
        while True:
            rows: list[Sequence[object]] = []
            while len(rows) < step and (line := _line(file, limit)) != b"":
                rows.append(_cells(line, width, wanted, columns, tally))
            if not rows:
                return
            yield dict(zip(where, zip(*rows, strict=True), strict=True))


def _line(file: IO[bytes], limit: int) -> bytes | None:
    """Return the next line with its end, b"" at the end of the file; None for a line beyond the limit, which is skipped."""
    line = file.readline(limit)
    if len(line) < limit or line.endswith(b"\n"):
        return line
    while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
        pass
    return None


def _cells(line: bytes | None, width: int, where: list[int], columns: list[Column], tally: Tally) -> Sequence[object]:
    """Return the declared cells of one line; None for a missing one."""
    if line is not None and len(line) <= _SHORT_LINE and (text := _decoded(line)) is not None:
        short = _split(text)
        if short is not None and len(short) == width:
            return [short[place] for place in where]
    elif line is not None and (fields := _fields(line, width, max(where) + 1)) is not None:
        return [_kept(fields[place], column) for place, column in zip(where, columns, strict=True)]
    tally.ragged += 1
    return [None] * len(where)


def _kept(raw: bytes, column: Column) -> object:
    """Return a cell as text; a long one as what it will count as, so that a chunk of long cells takes no memory."""
    cell = _decoded(raw)
    if cell is None or len(cell) <= _CELL_LETTERS:
        return cell
    cell = cell.strip()
    if isinstance(column, Category) and isinstance(column.levels[0], str):
        return cell if cell in column.levels else None
    return cell if len(cell) <= _CELL_LETTERS else number(cell)


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _split(line: str) -> list[str] | None:
    """Return the fields of one line, or None where its quotes do not close.

    A quoted field beyond the limit of Python's csv module counts as one whose quotes do not close.
    """
    line = line.removesuffix("\n").removesuffix("\r")
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader((line,), strict=True), None)
    except csv.Error:
        return None


def _fields(line: bytes, width: int, wanted: int) -> list[bytes] | None:
    """Return the first `wanted` fields of one line as bytes; None where its quotes do not close or it has not `width`."""
    if b'"' not in line:
        # Of a line of many columns those after the last declared one are counted and not made.
        return line.rstrip(b"\r\n").split(b",", wanted) if line.count(b",") == width - 1 else None
    # Latin-1 gives one letter a byte, whatever the bytes: a comma or quote is never part of a longer UTF-8 letter.
    fields = _split(line.decode("latin-1"))
    if fields is None or len(fields) != width:
        return None
    return [field.encode("latin-1") for field in fields[:wanted]]
