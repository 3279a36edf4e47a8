"""Files given in the wrong place: a spec where a release is needed, a folder where a table is. The error says what to write."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sfumato.errors import ArgumentError

# The endings of tables (`schema.reading`); their contents are private and are not looked at here.
_TABLES = (".csv", ".parquet", ".arrow", ".feather")
# First bytes of files that are known by them; those of a release are storage.MAGIC, whose module would import NumPy.
_MARKS = {
    b"sfumato file": "release",
    b"SQLite format 3": "ledger",
    b"-----BEGIN": "key",
    b"<!doctype html": "page",
}
NAMES = {
    "folder": "a folder",
    "empty": "empty",
    "release": "a release",
    "ledger": "a ledger",
    "key": "a key",
    "page": "a report",
    "table": "a table",
    "spec": "a spec file",
    "schema": "a schema",
}
_REMEDIES = {
    "release": "sfumato release SPEC -o FILE makes one",
    "ledger": "sfumato ledger create makes one",
    "spec": "sfumato spec -o FILE writes one",
    "schema": "sfumato schema draft writes one",
    "table": f"a file that ends in {', '.join(_TABLES)}",
}
# Kinds that no command writes over.
KEPT = ("release", "ledger", "key")
# Larger files are not parsed: a hand-written one has some kilobytes.
_LARGEST = 1 << 20


def expect(file: Path, wanted: str) -> Path:
    """Return the file, or raise ArgumentError where it is recognised as something else than `wanted`, a key of _REMEDIES.

    A file that is not there, or that is not recognised, is left to its reader.
    """
    kind = kind_of(file)
    if kind not in ("", wanted):
        raise ArgumentError(f"{file} is {NAMES[kind]}; {NAMES[wanted]} is needed here ({_REMEDIES[wanted]}).")
    return file


def kind_of(file: Path) -> str:
    """A key of NAMES, or "" for a file that is not there or is none of them; of a table the name alone is looked at."""
    if file.is_dir():
        return "folder"
    if not file.is_file():
        return ""
    if file.suffix.lower() in _TABLES:
        return "table"
    with file.open("rb") as stream:
        start = stream.read(_LARGEST)
    if not start:
        return "empty"
    for mark, kind in _MARKS.items():
        if start[: len(mark)].lower() == mark.lower():
            return kind
    return _of_toml(start) if file.suffix.lower() == ".toml" else ""


def _of_toml(text: bytes) -> str:
    """A spec by its tables, a schema by its mark; "" where the text is neither or cannot be read."""
    try:
        document = tomllib.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return ""
    if "columns" in document or document.get("sfumato") == "schema":
        return "schema"
    return "spec" if {"data", "price"} <= set(document) else ""
