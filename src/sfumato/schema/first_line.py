"""The first line of a text file, which holds the names of the columns and is public. No other line is read here."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
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
# How programs mark a text file as UTF-8.
BOM = b"\xef\xbb\xbf"
# Dates and times that hold letters: with a time, a month as a word, or am and pm.
_MONTH = "(?:" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)) + r")\.?"  # fmt: skip
_DATED = re.compile(
    r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[t ].*"
    r"|(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?(?:"
    r"[0-9]{1,2}(?:st|nd|rd|th)?[\s./-]*[^\W\d_]{3,}[\s./,-]*(?:[0-9]{4}|[0-9]{2})(?:[\st,].*)?"
    rf"|{_MONTH}[\s-]*[0-9]{{1,2}}(?:st|nd|rd|th)?,?[\s-].*[0-9]{{4}})"
    rf"|{_MONTH}(?:[\s./-]*[0-9]{{4}}|[\s./-]+[0-9]{{2}})|[0-9]{{4}}[\s./-]*{_MONTH}"
    r"|[0-9]{1,2}(?::[0-9]{2}){0,2}\s*[ap]\.?m\.?",
    re.IGNORECASE,
)
# Words that programs write for an empty cell, and for yes and no; `float` reads NaN. "Na" and "No" are common names.
_WORDS = ("NA", "N/A", "n/a", "<NA>", "NaT", "NULL", "null", "None", "TRUE", "FALSE", "True", "False", "true", "false")


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
    return split(first.removeprefix(BOM).decode("latin-1"), separator)


def looks_like_data(names: Sequence[str | None]) -> bool:
    """Whether the first line is a record rather than names, decided by this line alone.

    It is where a cell is empty, repeated, without a letter (numbers and dates of any form), a number with an exponent, a date
    with a month in words, or a word that programs write for an empty cell or a truth value. A line of other texts passes.
    """
    return len(set(names)) < len(names) or any(name is not None and _is_data(name) for name in names)


def _is_data(cell: str) -> bool:
    if not any(map(str.isalpha, cell)) or cell in _WORDS or _DATED.fullmatch(cell):
        return True
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


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
