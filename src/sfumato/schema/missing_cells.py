"""Which cells were missing: a mask beside every column of a table, kept at one bit a cell.

A column stores its declared value for a missing cell, so that no model has to know of missing cells. A model that treats
missing as a level of its own asks for the mask under `missing_key(name)`. A mask is a private fact like the column itself:
True where the cell was empty, unparseable, a missing code or an unknown level, as `Encoded.missing` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.schema.encoding import Encoded, Mask

Bits = NDArray[np.uint8]
# A schema refuses names with space around them (`texts.public_text`), so no column has a name that begins like this.
_MARK = " missing: "


def missing_key(name: str) -> str:
    """Key of a column's mask in a chunk or a block; no column can have it as its name."""
    return _MARK + name


def is_missing_key(key: str) -> bool:
    """Whether a key of a chunk is that of a mask."""
    return key.startswith(_MARK)


def with_masks(encoded: Mapping[str, Encoded]) -> dict[str, Any]:
    """A chunk of a table: every column's values, and its mask beside them."""
    chunk: dict[str, Any] = {}
    for name, column in encoded.items():
        chunk |= {name: column.values, missing_key(name): column.missing}
    return chunk


def without_masks(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a chunk alone."""
    return {name: array for name, array in chunk.items() if not is_missing_key(name)}


def size_of(rows: int) -> int:
    """Bytes for the bits of so many rows: a function of their public number alone."""
    return -(-rows // 8)


def write_bits(bits: Bits, place: int, mask: Mask) -> None:
    """Write a mask to zeroed bits, its first row at `place`.

    A run may begin inside a byte that holds the end of the run before it; the rows before `place` are added as zeros, and
    the bytes are joined by "or".
    """
    first, inside = divmod(place, 8)
    packed = np.packbits(np.concatenate([np.zeros(inside, dtype=bool), mask]))
    bits[first : first + len(packed)] |= packed


def read_bits(bits: Bits, rows: int) -> Mask:
    """The mask of so many rows, as a new array that cannot be written."""
    mask: Mask = np.unpackbits(bits, count=rows).view(np.bool_)
    mask.flags.writeable = False
    return mask
