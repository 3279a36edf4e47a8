"""Files that last: every flipped byte is refused by the name of the damaged part, and nothing in a file can run."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import storage
from sfumato.errors import FormatError

DOCUMENTS = {"release": {"name": "survey", "values": [1, 2.5, None, "é"]}}
ARRAYS = {
    "draws": np.linspace(0, 1, 12).reshape(1, 4, 3),
    "codes": np.arange(5, dtype="<i4"),
    "empty": np.empty((0, 3)),
}


def test_round_trip_and_equal_content_gives_equal_bytes():
    data = storage.pack(DOCUMENTS, ARRAYS)
    documents, arrays = storage.unpack(data)
    assert documents == DOCUMENTS
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert storage.pack(DOCUMENTS, dict(reversed(ARRAYS.items()))) == data


def test_every_flipped_byte_is_refused():
    data = storage.pack(DOCUMENTS, ARRAYS)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x40
        with pytest.raises(FormatError):
            storage.unpack(bytes(damaged))


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_the_damaged_part_is_named(position, mask):
    data = bytearray(storage.pack(DOCUMENTS, ARRAYS))
    sizes = {name: ARRAYS[name].nbytes for name in sorted(ARRAYS)}
    start = len(data) - sum(sizes.values())
    position = start + position % (len(data) - start)
    data[position] ^= mask
    ends = np.cumsum(list(sizes.values())) + start
    damaged = list(sizes)[int(np.searchsorted(ends, position, side="right"))]
    with pytest.raises(FormatError, match=f"'{damaged}'"):
        storage.unpack(bytes(data))


def test_cut_and_lengthened_files_are_refused():
    data = storage.pack(DOCUMENTS, ARRAYS)
    for cut in (1, 7, 40, len(data) // 2, len(data) - 1):
        with pytest.raises(FormatError):
            storage.unpack(data[:cut])
    with pytest.raises(FormatError, match="too many"):
        storage.unpack(data + b"x")


def test_a_pickle_is_no_file_and_nothing_runs(tmp_path):
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return os.system, (f"touch {marker}",)

    bomb = pickle.dumps(Bomb())
    for data in (bomb, storage.MAGIC + bomb, storage.pack({"release": {}}, {}) + bomb):
        with pytest.raises(FormatError):
            storage.unpack(data)
    with pytest.raises(FormatError, match="dtype"):
        storage.pack({}, {"objects": np.array([Bomb()], dtype=object)})
    assert not marker.exists()


def test_other_versions_are_refused():
    data = storage.pack(DOCUMENTS, {}).replace(b'"version":1', b'"version":2')
    with pytest.raises(FormatError, match="checksum"):
        storage.unpack(data)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.sfumato"
    storage.write(path, b"old")

    def fails(*_):
        raise OSError("disk full")

    monkeypatch.setattr(storage.os, "fsync", fails)
    with pytest.raises(OSError, match="disk full"):
        storage.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "header",
    [b"[]", b"{}", b"{", b'{"version":1}', b'{"version":1,"documents":{},"arrays":[{}]}', b"[" * 100_000,
     b'{"version":1,"documents":{},"arrays":[{"name":"x","dtype":"<f8","shape":[-3],"size":0,"sha256":""}]}'],
)  # fmt: skip
def test_a_crafted_header_is_refused_as_such(header):
    import hashlib

    data = storage.MAGIC + len(header).to_bytes(8, "little") + hashlib.sha256(header).digest() + header
    with pytest.raises(FormatError):
        storage.unpack(data)
