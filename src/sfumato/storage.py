"""Arrays and JSON in one file with a checksum for every part; it knows nothing of what they mean.

Layout: the magic line, the length and SHA-256 of the header, the header (canonical JSON: version, documents, arrays with
dtype, shape, size and SHA-256), then the arrays' bytes one after another. Nothing is executed on reading: no pickle, a
closed list of dtypes, sizes checked before memory is taken. A damaged part is refused by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import FormatError

MAGIC = b"sfumato file 1\n"
VERSION = 1
DTYPES = ("<f8", "<i8", "<i4", "|u1")
_LENGTH = 8
_HASH = 32
_LARGEST_HEADER = 1 << 28


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
        table.append(
            {"name": name, "dtype": kind, "shape": list(array.shape), "size": len(raw), "sha256": _digest(raw)}
        )
    header = json.dumps(
        {"version": VERSION, "documents": dict(documents), "arrays": table},
        sort_keys=True, separators=(",", ":"), allow_nan=False,
    ).encode()  # fmt: skip
    length = len(header).to_bytes(_LENGTH, "little")
    return b"".join([MAGIC, length, hashlib.sha256(header).digest(), header, *parts])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return (documents, arrays), or raise FormatError with the name of the damaged part."""
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
        return _parts(json.loads(header), data, start + length)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the header does not describe a Sfumato file: {type(error).__name__}.") from None


def _parts(content: Any, data: bytes, position: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Cut the arrays out of the file as the header describes them."""
    if content.get("version") != VERSION:
        raise FormatError(
            f"the file has version {content.get('version')!r}; this Sfumato reads {VERSION}. Update Sfumato."
        )
    arrays = {}
    for entry in content["arrays"]:
        arrays[entry["name"]] = _array(entry, data[position : position + entry["size"]])
        position += entry["size"]
    if position != len(data):
        raise FormatError(f"the file has {len(data) - position} bytes too many after its last part.")
    return content["documents"], arrays


def _array(entry: Mapping[str, Any], raw: bytes) -> NDArray[Any]:
    name = entry["name"]
    if len(raw) != entry["size"]:
        raise FormatError(f"the array {name!r} is cut short: {len(raw)} of {entry['size']} bytes.")
    if _digest(raw) != entry["sha256"]:
        raise FormatError(f"the array {name!r} is damaged: its checksum does not match.")
    if entry["dtype"] not in DTYPES:
        raise FormatError(f"the array {name!r} has the dtype {entry['dtype']!r}, which is not read.")
    return np.frombuffer(raw, dtype=np.dtype(entry["dtype"])).reshape(entry["shape"])


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


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
