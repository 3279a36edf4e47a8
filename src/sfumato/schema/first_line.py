"""The first line of a text file, which holds the names of the columns and is public. No other line is read here."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import IO

from sfumato.errors import ArgumentError
from sfumato.schema.documents import toml_value
from sfumato.schema.form import SEPARATORS, WORDS
from sfumato.schema.schema import Schema

# Bytes that the first line may have: a hundred thousand names of 600 bytes.
_HEADER_BYTES = 1 << 26
# How a file in UTF-16 begins, in either order of bytes.
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def first_line(source: Path | IO[bytes]) -> bytes:
    """Return the first line of a file with its end, or raise."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            return first_line(file)
    first = source.readline(_HEADER_BYTES)
    if len(first) >= _HEADER_BYTES and not first.endswith(b"\n"):
        raise ArgumentError(
            f"the first line of the file must hold the names of the columns; it is longer than {_HEADER_BYTES} "
            "bytes. Check that the lines of the file end in a line feed."
        )
    if not first:
        raise ArgumentError("the file is empty; its first line must hold the names of the columns.")
    if first.startswith(_UTF_16) and b"\0" in first:
        raise ArgumentError(
            "the file is in UTF-16, which cannot be read line by line. Save it as UTF-8 and read it again."
        )
    if b"\r" in first.removesuffix(b"\n").removesuffix(b"\r"):
        # A file whose lines end in a carriage return alone is one line: all of its records would be taken for names.
        raise ArgumentError(
            "the lines of a text file must end with \\n or \\r\\n. Save the file with such ends and read it again."
        )
    return first


def names_in(first: bytes, separator: str, encoding: str) -> list[str | None]:
    """Return the names in the first line, None for one that is not text in the encoding."""
    names = _names(first, separator, encoding)
    if not names:
        raise ArgumentError(
            f"the first line of the file must hold the names of the columns, separated by {separator!r}; its quotes do not close, "
            "or another mark separates the names."
        )
    return names


def _names(first: bytes, separator: str, encoding: str) -> list[str | None]:
    """The names, none where the quotes do not close."""
    names = [decoded(field.encode("latin-1"), encoding) for field in _fields(first, separator) or ()]
    return [None if name is None else name.strip() for name in names]


def _fields(first: bytes, separator: str) -> list[str] | None:
    # Latin-1 gives one letter a byte: the bytes of separators and quotes mean nothing else in any encoding.
    return split(first.removeprefix(b"\xef\xbb\xbf").decode("latin-1"), separator)


def decoded(raw: bytes, encoding: str) -> str | None:
    """Return bytes as text; None where they are none in this encoding."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError:
        return None


def split(line: str, separator: str) -> list[str] | None:
    """Return the fields of one line, or None where its quotes do not close.

    A quoted field beyond the limit of Python's csv module counts as one whose quotes do not close.
    """
    line = line.removesuffix("\n").removesuffix("\r")
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader((line,), delimiter=separator, strict=True), None)
    except csv.Error:
        return None


def widths(first: bytes) -> dict[str, int]:
    """Into how many names each separator splits the first line; 0 where its quotes would not close."""
    return {separator: len(_fields(first, separator) or ()) for separator in SEPARATORS}


def refuse_separator(first: bytes, separator: str, schema: Schema) -> None:
    """Raise where the first line is one name that holds another separator, or has the declared columns with another one alone.

    The error names separators, and nothing else of the line: in a file without a header the line is a record.
    """
    declared, encoding, counts = set(schema.columns), schema.form.encoding, widths(first)
    known = declared & set(_names(first, separator, encoding))
    others = [other for other in SEPARATORS if other != separator and counts[other] > 1]
    # A name in quotes, or a separator that the schema states, says that the one name is meant.
    single = counts[separator] == 1 and b'"' not in first and not (known and schema.form.separator is not None)
    fitting = [other for other in others if declared & set(_names(first, other, encoding))]
    if (known and not single) or not (fitting or (single and others)):
        return
    right = max(fitting or others, key=lambda other: counts[other])
    what = "is one name that holds" if counts[separator] == 1 else "names the declared columns if it is split at"
    raise ArgumentError(
        f"the first line of the file {what} {WORDS[right]}, and the schema {schema.name!r} reads files separated by "
        f"{WORDS[separator]}. Write separator = {toml_value(right)} under [table] in the schema (separator={right!r} in "
        f"sf.Schema), or save the file with {WORDS[separator]}."
    )
