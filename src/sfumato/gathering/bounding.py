"""Which rows of a person count, where a person has more than the most that are averaged: a sample that no order of rows changes.

Every row gets a number from its content, from how many equal rows of the person there are before it, and from the person's id,
by a public hash; the rows with the smallest numbers are taken. That is a function of the person's id and rows alone, and as good
as a random sample of them: a shuffled file gives the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Places = NDArray[np.int64]
# Constants of SplitMix64 (Steele, Lea and Flood 2014), a fixed mixing of 64 bits.
_STEP, _FIRST, _SECOND = (np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mixed(words: Words) -> Words:
    """SplitMix64's mixing: every bit of the result depends on every bit given."""
    with np.errstate(over="ignore"):
        words = words + _STEP
        words = (words ^ (words >> np.uint64(30))) * _FIRST
        words = (words ^ (words >> np.uint64(27))) * _SECOND
        return words ^ (words >> np.uint64(31))


def chosen(persons: Places, contents: Words, samples: Words, most: int) -> Places:
    """Places of the rows that count, at most `most` of each person, in rising order.

    `persons` says whose row it is, in rising order; `contents` are hashes of the rows, `samples` of their persons' ids.
    """
    order = np.lexsort((contents, persons))
    before = _within(persons[order], contents[order])
    with np.errstate(over="ignore"):
        ranks = mixed(mixed(contents[order] ^ mixed(before.astype(np.uint64))) ^ samples[order])
    ranked = np.lexsort((ranks, persons[order]))
    kept = _within(persons[order][ranked]) < most
    return np.sort(order[ranked[kept]])


def _within(*keys: NDArray[Any]) -> Places:
    """The place of every row within its run of equal keys."""
    new = np.zeros(len(keys[0]), dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(new)
    return np.arange(len(new)) - np.repeat(starts, np.diff(np.append(starts, len(new))))


def content_of(columns: Mapping[str, Any], places: Places) -> Words:
    """A hash of the encoded content of some rows."""
    words = np.zeros(len(places), dtype=np.uint64)
    for array in columns.values():
        part = array[places]
        if isinstance(part, np.ndarray):
            cells = part.reshape(len(places), -1)
            for column in range(cells.shape[1]):
                words = mixed(words ^ _as_words(cells[:, column]))
        else:
            words = mixed(words ^ _of_sparse(part))
    return words


def _as_words(values: NDArray[Any]) -> Words:
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return values.astype(np.uint64)


def _of_sparse(rows: Any) -> Words:
    """One word for every row of a CSR matrix: the sum of its entries' hashes."""
    entries = mixed(mixed(rows.indices.astype(np.uint64)) ^ _as_words(rows.data))
    with np.errstate(over="ignore"):
        running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entries, dtype=np.uint64)])
        sums: Words = running[rows.indptr[1:]] - running[rows.indptr[:-1]]
    return sums
