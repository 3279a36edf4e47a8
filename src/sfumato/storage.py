"""Arrays and JSON documents in one file with a checksum for every part, whatever their meaning.

Layout: the magic line, the length and SHA-256 of the header, the header (canonical JSON: version, documents, arrays with
dtype, shape, size and SHA-256), then the arrays' bytes one after another. Nothing is executed on reading: no pickle, a
closed list of dtypes, shapes and sizes checked before memory is allocated. The error for a damaged part names it. Checksums
detect damage, not forgery: an editor can recompute them (`signing` has signatures).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import FormatError

# The first bytes of every file, with the version of the layout.
MAGIC = b"sfumato file 1\n"
VERSION = 1
# Little-endian floats and integers, and bytes; releases hold "<f8" alone.
DTYPES = ("<f8", "<i8", "<i4", "|u1")
# Bytes of the header's length, and of a SHA-256.
_LENGTH, _HASH = 8, 32
# 256 MiB; the header of a release has some kilobytes.
_LARGEST_HEADER = 1 << 28
# The most dimensions of an array; the draws of a release have at most four.
_MOST_SIDES = 8
# The keys of a header and of an entry of its array table; others are refused, so that nothing can be hidden in a file.
_HEADER_KEYS = {"version", "documents", "arrays"}
_ENTRY_KEYS = {"name", "dtype", "shape", "size", "sha256"}


def pack(documents: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return one byte string that `unpack` reads back; equal content gives equal bytes."""
    parts, table = [], []
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        kind = array.dtype.str
        if kind not in DTYPES:
            raise FormatError(f"array {name!r} must have one of the dtypes {', '.join(DTYPES)}; got {kind}.")
        raw = array.tobytes()
        parts.append(raw)
        shape, size = list(array.shape), len(raw)
        table.append({"name": name, "dtype": kind, "shape": shape, "size": size, "sha256": _digest(raw)})
    content = {"version": VERSION, "documents": dict(documents), "arrays": table}
    header = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    length = len(header).to_bytes(_LENGTH, "little")
    return b"".join([MAGIC, length, hashlib.sha256(header).digest(), header, *parts])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (documents, arrays), or raise FormatError with the name of the damaged part."""
    packed, rest = split(data)
    if rest:
        raise FormatError(f"the file has {len(rest)} bytes too many after its last part.")
    content, position = _header(packed)
    arrays = {}
    for entry in content["arrays"]:
        arrays[entry["name"]] = _array(entry, packed[position : position + entry["size"]])
        position += entry["size"]
    return content["documents"], arrays


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return the bytes that `pack` wrote and those that follow them; the header holds the length of the first part."""
    content, position = _header(data)
    for entry in content["arrays"]:
        present = max(0, min(entry["size"], len(data) - position))
        if present < entry["size"]:
            raise FormatError(f"the array {entry['name']!r} is cut short: {present} of {entry['size']} bytes.")
        position += entry["size"]
    return data[:position], data[position:]


def _header(data: bytes) -> tuple[dict[str, Any], int]:
    """Return the checked header and the position of the arrays; no memory is allocated from its numbers."""
    if not data.startswith(MAGIC):
        raise FormatError("this is not a Sfumato file, or its first bytes (the magic line) are damaged.")
    start = len(MAGIC) + _LENGTH + _HASH
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + _LENGTH], "little")
    if len(data) < start or length > min(_LARGEST_HEADER, len(data) - start):
        raise FormatError("the header's length is damaged, or the file is cut short.")
    header = data[start : start + length]
    if hashlib.sha256(header).digest() != data[start - _HASH : start]:
        raise FormatError("the header is damaged: its checksum does not match.")
    try:
        content = json.loads(header, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_unique)
        _check_header(content, len(data))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the header does not describe a Sfumato file: {type(error).__name__}.") from None
    return content, start + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: readers would differ in which of its values they take."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise FormatError("the header gives a key twice.")
    return table


def _no_number(name: str) -> float:
    """Refuse NaN and Infinity, which Python reads and `pack` never writes."""
    raise FormatError(f"the header holds {name}, which is no number of a Sfumato file.")


def _finite(text: str) -> float:
    """Refuse numbers beyond the largest float, such as 1e999: they would become infinite."""
    value = float(text)
    if math.isinf(value):
        raise FormatError(f"the header holds the number {text[:40]}, which is too large.")
    return value


def _check_header(content: Any, length: int) -> None:
    """Refuse another version, and arrays whose sizes do not fit each other or a file of this length."""
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise FormatError(
            f"the file has version {content.get('version')!r}; this Sfumato reads {VERSION}. Update Sfumato."
        )
    if set(content) != _HEADER_KEYS or any(set(entry) != _ENTRY_KEYS for entry in content["arrays"]):
        raise FormatError("the header does not describe a Sfumato file: it has unknown keys, or lacks some.")
    names = [entry["name"] for entry in content["arrays"]]
    if not isinstance(content["documents"], dict) or len(set(names)) != len(names):
        raise FormatError("the header does not describe a Sfumato file: its documents or arrays have no names.")
    for entry in content["arrays"]:
        _check_entry(entry, length)


def _check_entry(entry: Mapping[str, Any], length: int) -> None:
    name, shape, size = entry["name"], entry["shape"], entry["size"]
    if entry["dtype"] not in DTYPES:
        raise FormatError(f"the array {name!r} has the dtype {entry['dtype']!r}, which is not read.")
    whole = isinstance(shape, list) and all(type(side) is int and side >= 0 for side in shape)
    if not whole or type(size) is not int or len(shape) > _MOST_SIDES:
        raise FormatError(f"the array {name!r} has no shape of at most {_MOST_SIDES} whole numbers.")
    # No dimension exceeds the file's length: an empty array of a billion rows would otherwise be looped over.
    if max(shape, default=0) > length or math.prod(shape) * np.dtype(entry["dtype"]).itemsize != size:
        raise FormatError(f"the array {name!r} cannot have the shape {str(shape)[:80]} in {size} bytes.")


def _array(entry: Mapping[str, Any], raw: bytes) -> NDArray[Any]:
    if _digest(raw) != entry["sha256"]:
        raise FormatError(f"the array {entry['name']!r} is damaged: its checksum does not match.")
    return np.frombuffer(raw, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError unless a file can be written beside this path, as `write` does first. Nothing is left behind."""
    target = Path(path)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.") as file:
        file.write(b"x")
        file.flush()


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file or none: to a temporary neighbour, synced, then renamed."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
