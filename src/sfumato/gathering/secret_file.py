"""Arrays in a temporary file without a name, encrypted with a key that is in memory alone.

The file is a stream of frames, each the arrays of one part of a table, under the stream of ChaCha20 (RFC 8439) with a key of its
own from the operating system. When the process ends, or the object is dropped, the key is gone and with it what was written.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import KEY_BYTES

# Bytes that are encrypted at a time.
_AT_ONCE = 1 << 22
# (rows of the frame, name -> (dtype, shape)); what arrays look like is kept in memory, so that the file holds their bytes alone.
Frame = dict[str, tuple[np.dtype[Any], tuple[int, ...]]]


class SecretFile:
    """Frames that are written once, in order, and read back in the same order any number of times."""

    def __init__(self) -> None:
        """Open a file that no other program can find by a name."""
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._key = os.urandom(KEY_BYTES)
        self._written = _keystream(self._key)
        self._frames: list[Frame] = []

    def __len__(self) -> int:
        return len(self._frames)

    def write(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Append one frame."""
        frame: Frame = {}
        for name, array in arrays.items():
            frame[name] = (array.dtype, array.shape)
            plain = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            for start in range(0, len(plain), _AT_ONCE):
                _write_all(self._file, _crypted(plain[start : start + _AT_ONCE], self._written))
        self._frames.append(frame)

    def read(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield every frame, decrypted; one frame is in memory at a time."""
        stream, place = _keystream(self._key), 0
        for frame in self._frames:
            arrays = {}
            for name, (dtype, shape) in frame.items():
                size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                plain = np.empty(size, dtype=np.uint8)
                for start in range(0, size, _AT_ONCE):
                    part = plain[start : start + _AT_ONCE]
                    read = np.frombuffer(_read_all(self._file, len(part), place), dtype=np.uint8)
                    part[...] = np.frombuffer(_crypted(read, stream), dtype=np.uint8)
                    place += len(part)
                arrays[name] = plain.view(dtype).reshape(shape)
            yield arrays

    def __reduce_ex__(self, protocol: object = None) -> NoReturn:
        raise TypeError("a SecretFile holds private rows and cannot be pickled.")

    __reduce__ = __getstate__ = __reduce_ex__

    def __repr__(self) -> str:
        return "SecretFile()"


def _keystream(key: bytes) -> Any:
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=np.frombuffer(key, dtype=np.uint64), rounds=20))


def _crypted(data: NDArray[np.uint8], stream: Any) -> bytes:
    """Data with the next bytes of the stream added without carry: encrypts, and decrypts what was encrypted."""
    # Whole words, so that writing and reading in the same parts take the same bytes.
    size = -(-len(data) // 8) * 8
    key = np.frombuffer(stream.bytes(size), dtype=np.uint8)[: len(data)]
    return bytes(np.bitwise_xor(data, key))


def _write_all(file: Any, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _read_all(file: Any, size: int, place: int) -> bytes:
    """Read at a place, without moving the position at which the next frame is written."""
    parts, got = [], 0
    while got < size:
        part = os.pread(file.fileno(), size - got, place + got)
        if not part:
            raise OSError("a temporary file is shorter than what was written to it.")
        parts.append(part)
        got += len(part)
    return b"".join(parts)
