"""Text files (CSV and its relatives), one row per physical line, without exception.

A reader that lets a quoted text run over the end of a line lets one stray quotation mark swallow every line after it:
one record would then decide how many rows there are and what they hold. Here each line is read by itself. Quotes protect
separators within a line; a line whose quotes do not close, that has another number of fields than the header, or that is
longer than a public limit is one row whose cells are all missing; so is an empty line. A text with a line break inside
quotes therefore makes two rows, of whatever the two lines spell: such tables are to be kept as Parquet or Arrow.

Separator, decimal mark and encoding are those of the schema; no line but the first says anything about them. Of each line the
declared columns alone are decoded and kept. A cell whose bytes are not text in the encoding is missing. Memory is
bounded by public numbers: one line of limited length, and a chunk of cells of limited length. Where the schema says that there is
no header, the first line is a record too, and the names are those of the schema, by position.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sfumato.errors import ArgumentError
from sfumato.schema.cells import Unread, level_finder, number, texts_of
from sfumato.schema.columns import Boolean, Category, Column, Date
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells
from sfumato.schema.first_line import BOM, decoded, first_line, names_in, refuse_separator, split
from sfumato.schema.form import Form
from sfumato.schema.identity import Identity, is_long
from sfumato.schema.missing_codes import LETTERS
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_CELLS, CHUNK_ROWS, places

# Bytes that a line other than the first may have: this many, or sixteen times the first line where that is more.
_LINE_BYTES, _LINE_HEADERS = 1 << 24, 16
# Letters up to which a cell of a long line is kept as it is until its chunk is encoded.
_CELL_LETTERS = 200
# Bytes up to which a line is decoded as a whole, which is quicker than by cells, and its cells are kept as they are.
_SHORT_LINE = 4_096


@dataclass(frozen=True)
class _Lines:
    """How the lines of one file are read: fields in all, the places of the declared ones, their columns and the form."""

    width: int
    where: list[int]
    columns: list[Column]
    form: Form
    separator: str


def open_csv(path: Path, schema: Schema, tally: Tally) -> Iterator[Mapping[str, Cells]]:
    """Check the header; return the rows, to be read in chunks."""
    separator, encoding = schema.form.separator_of(path.suffix.lower()), schema.form.encoding
    if not schema.form.header:  # the first line is a record like all others: it decides nothing
        names: Sequence[str | None] = schema.form.names
        return _rows(path, len(names), _LINE_BYTES, places(names, schema), schema, tally)
    first = first_line(path)
    refuse_separator(first, separator, schema)
    names = names_in(first, separator, encoding)
    if None in names and not set(schema.columns) <= set(names):
        raise ArgumentError(
            f"the table lacks columns that the schema {schema.name!r} declares, and the first line of the file, which must "
            f"hold their names, is not text in the encoding {encoding}. Save the file as UTF-8, or state its encoding under "
            '[table] in the schema, such as encoding = "cp1252".'
        )
    limit = max(_LINE_BYTES, _LINE_HEADERS * len(first))
    return _rows(path, len(names), limit, places(names, schema), schema, tally)


def _rows(
    path: Path, width: int, limit: int, where: dict[str, int], schema: Schema, tally: Tally
) -> Iterator[Mapping[str, Cells]]:
    """Yield the declared columns, as many rows at a time as their number allows."""
    columns, wanted = [schema.columns[name] for name in where], list(where.values())
    lines = _Lines(width, wanted, columns, schema.form, schema.form.separator_of(path.suffix.lower()))
    step = max(1, min(CHUNK_ROWS, CHUNK_CELLS // len(where)))
    with path.open("rb") as file:
        if schema.form.header:
            first_line(file)
        elif file.read(len(BOM)) != BOM:
            file.seek(0)
        while True:
            rows: list[Sequence[object]] = []
            while len(rows) < step and (line := _line(file, limit)) != b"":
                rows.append(_cells(line, lines, tally))
            if not rows:
                return
            runs = zip(where, columns, zip(*rows, strict=True), strict=True)
            yield {name: _spelled(cells, column, schema.form) for name, column, cells in runs}


def _line(file: IO[bytes], limit: int) -> bytes | None:
    """Return the next line with its end, b"" at the end of the file; None for a line beyond the limit, which is skipped."""
    line = file.readline(limit)
    if len(line) < limit or line.endswith(b"\n"):
        return line
    while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
        pass
    return None


def _cells(line: bytes | None, lines: _Lines, tally: Tally) -> Sequence[object]:
    """Return the declared cells of one line; None for a missing one."""
    encoding = lines.form.encoding
    if line is not None and len(line) <= _SHORT_LINE and (text := decoded(line, encoding)) is not None:
        short = split(text, lines.separator)
        if short is not None and len(short) == lines.width:
            return [short[place] for place in lines.where]
    elif line is not None and (fields := _fields(line, lines, max(lines.where) + 1)) is not None:
        cells = zip(lines.where, lines.columns, strict=True)
        return [_kept(fields[place], column, lines.form) for place, column in cells]
    tally.ragged += 1
    return [Unread(None)] * len(lines.where)


def _kept(raw: bytes, column: Column, form: Form) -> object:
    """Return a cell as text; a long one as what it will count as, so that a chunk of long cells takes no memory."""
    cell = decoded(raw, form.encoding)
    if cell is None:
        return Unread(raw[:_CELL_LETTERS])
    if len(cell) <= _CELL_LETTERS:
        return cell
    if isinstance(column, Identity):
        return None if is_long(cell) else cell
    cell = cell.strip()
    if len(cell) <= _CELL_LETTERS:
        return cell
    if isinstance(column, Category | Boolean):
        place = level_finder(column)(*_spelled((cell,), column, form))
        return Unread(cell[:_CELL_LETTERS]) if place < 0 else column.levels[place]
    value = math.nan if isinstance(column, Date) else number(form.plain(cell) if form.marks_numbers else cell)
    return Unread(cell[:_CELL_LETTERS]) if math.isnan(value) else value


def _spelled(cells: Sequence[object], column: Column, form: Form) -> Sequence[object]:
    """Return the cells of one column with numbers as Python spells them. Texts that are levels or dates stay as they are."""
    texts = column.levels is not None and isinstance(column.levels[0], str)
    if not form.marks_numbers or texts or isinstance(column, Date):
        return cells
    if isinstance(column, Identity):  # "7,0" is 7, and a text that spells no number is an id too
        plain = [form.plain(cell.strip()) if isinstance(cell, str) and not is_long(cell) else "" for cell in cells]
        return [number or cell for number, cell in zip(plain, cells, strict=True)]
    codes = {code for code in getattr(column, "missing_codes", ()) if isinstance(code, str)}
    alias = dict(getattr(column, "alias", ()))
    words = texts_of(column) if alias else {}
    return [_number(cell, codes, words, form) if isinstance(cell, str) else cell for cell in cells]


def _number(cell: str, codes: set[str], words: Mapping[str, int], form: Form) -> object:
    """A number as Python spells it, an alias as it is; what spells no number in the form is none, though Python may read one."""
    word = cell.strip()
    if words and len(word) <= LETTERS and (word in words or word.casefold() in words):
        return word
    return None if not word or word in codes else form.plain(word) or Unread(word)


def _fields(line: bytes, lines: _Lines, wanted: int) -> list[bytes] | None:
    """Return the first `wanted` fields of one line as bytes; None where its quotes do not close or it has not all of them."""
    separator = lines.separator.encode("ascii")
    if b'"' not in line:
        # Of a line of many columns those after the last declared one are counted and not made.
        whole = line.count(separator) == lines.width - 1
        return line.rstrip(b"\r\n").split(separator, wanted) if whole else None
    # Latin-1 gives one letter a byte, whatever the bytes: a separator or quote is never part of a longer UTF-8 letter.
    fields = split(line.decode("latin-1"), lines.separator)
    if fields is None or len(fields) != lines.width:
        return None
    return [field.encode("latin-1") for field in fields[:wanted]]
