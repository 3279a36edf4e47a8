"""CSV, one row per physical line, without exception.

A reader that lets a quoted text run over the end of a line lets one stray quotation mark swallow every line after it:
one record would then decide how many rows there are and what they hold. Here each line is read by itself. Quotes protect
commas within a line; a line whose quotes do not close, or that has another number of fields than the header, is one row
whose cells are all missing; so is an empty line. A text with a line break inside quotes therefore makes two rows, of
whatever the two lines spell: such tables are to be kept as Parquet or Arrow. Bytes that are not UTF-8 are read as the replacement
character.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from sfumato.errors import ArgumentError
from sfumato.schema.counts import Tally
from sfumato.schema.encoding import Cells
from sfumato.schema.schema import Schema
from sfumato.schema.structure import CHUNK_ROWS, places


def open_csv(path: Path, schema: Schema, tally: Tally) -> Iterator[Mapping[str, Cells]]:
    """Check the header; return the rows, to be read in chunks."""
    with path.open("rb") as file:
        first = file.readline()
    if not first:
        raise ArgumentError("the .csv file is empty; its first line must hold the names of the columns.")
    header = fields(first.removeprefix(b"\xef\xbb\xbf"))
    if header is None:
        raise ArgumentError(
            "the first line of the .csv file must hold the names of the columns; its quotes do not close."
        )
    return _rows(path, len(header), places([name.strip() for name in header], schema), tally)


def _rows(path: Path, width: int, wanted: dict[str, int], tally: Tally) -> Iterator[Mapping[str, Cells]]:
    ragged = [""] * width
    with path.open("rb") as file:
        file.readline()
        while lines := list(islice(file, CHUNK_ROWS)):
            rows = [fields(line) for line in lines]
            whole = [row if row is not None and len(row) == width else ragged for row in rows]
            tally.ragged += sum(row is ragged for row in whole)
            columns = list(zip(*whole, strict=True))
            yield {name: columns[place] for name, place in wanted.items()}


def fields(line: bytes) -> list[str] | None:
    """Return the fields of one line, or None where its quotes do not close or a quoted field is beyond csv's limit."""
    text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader((text,), strict=True), None)
    except csv.Error:
        return None
