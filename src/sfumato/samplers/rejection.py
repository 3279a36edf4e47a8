"""Rejection sampling on a public lattice, with a public number of trials, all of which are run.

Law: a proposal has independent coordinates with given weights and is accepted with probability exp(-exponent); a draw is
the first accepted of its trials, or a public point if none is.
Method: weights are whole numbers and a coordinate is picked by exact inversion of 512 fair bits; acceptance compares as many
fair bits as it takes with the float exp(-exponent).
Error: weights below e^-240 of the largest are 0, and the share of a place is off by at most 2^-512; acceptance has exactly the
probability of the float. `theorems.rejection` charges these, and the probability that no trial is accepted. How many trials
were accepted, and which, is not returned.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]
# Proposals that are evaluated together: enough for numpy, few enough for the cache.
BATCH = 1 << 12
# Bits of the uniform number that picks a place, and of the words by which it is compared first.
BITS, _WORD = 512, 64
# Weights below e^-240 = 2^-346.3 of the largest are 0; shifted by 400 bits the others are whole with a float's 53 digits.
SMALLEST, _SHIFT = -240.0, 400
# Bits of a coin that are compared at a time: a float times 2^63 fits a word.
_COIN = 63


@dataclass(frozen=True)
class Table:
    """Upper ends of the places' shares of [0, 2^512), in whole numbers, and their upper words for a fast search."""

    ends: list[int]
    words: NDArray[np.uint64]


def table(logs: Array) -> Table:
    """The table of places 0, 1, ... with weights proportional to exp(logs), the largest log being 0."""
    mantissas, exponents = np.frexp(np.where(logs >= SMALLEST, np.exp(np.maximum(logs, SMALLEST)), 0.0))
    digits = (mantissas * 2.0**53).astype(np.int64).tolist()
    shifts = np.maximum(exponents - 53 + _SHIFT, 0).tolist()
    sums = list(accumulate(d << s for d, s in zip(digits, shifts, strict=True)))
    ends = [(total << BITS) // sums[-1] for total in sums]
    # An end at 2^512, before places of weight 0, does not fit a word: the largest word stands for it, and `places` then compares
    # the lower words too.
    upper = [min(end, (1 << BITS) - 1) >> (BITS - _WORD) for end in ends[:-1]]
    return Table(ends, np.array(upper, dtype=np.uint64))


def words(source: Any, count: int) -> NDArray[np.uint64]:
    """Independent uniform words of 64 bits."""
    return np.frombuffer(source.bits(_WORD * count).to_bytes(8 * count, "little"), dtype="<u8")


def places(table: Table, count: int, source: Any) -> Places:
    """Independent places with the table's weights: the share in which a uniform 512-bit number falls."""
    upper = words(source, count)
    place = np.searchsorted(table.words, upper, side="right")
    # Where the upper word equals that of an end, the lower words are compared.
    for k in np.flatnonzero(np.searchsorted(table.words, upper, side="left") != place):
        place[k] = bisect_right(table.ends, (int(upper[k]) << (BITS - _WORD)) | source.bits(BITS - _WORD))
    return place.astype(np.int64)


def coins(chances: Array, source: Any) -> NDArray[np.bool_]:
    """Independent coins, each true with exactly the probability that its float states.

    63 bits u are compared with 2^63 chance: below its whole part the coin is true, above false. Where they are equal the
    fraction, itself a float without rounding, is the chance of another coin.
    """
    scaled = chances * 2.0**_COIN
    whole = np.floor(scaled)
    bits = words(source, len(chances)) >> np.uint64(_WORD - _COIN)
    true = bits < whole.astype(np.uint64)
    for k in np.flatnonzero((bits == whole.astype(np.uint64)) & (scaled > whole)):
        true[k] = coins(scaled[k : k + 1] - whole[k : k + 1], source)[0]
    return np.asarray(true)


def mixed(drawn: Places, share: float, sizes: Sequence[int], source: Any) -> Places:
    """Each draw, or with probability exactly `share` a uniform one of the places 0, ..., size - 1 of every coordinate."""
    mixture = drawn.copy()
    for number in np.flatnonzero(coins(np.full(len(drawn), share), source)):
        mixture[number] = [source.integers_below(size) for size in sizes]
    return mixture


def first_kept(
    propose: Callable[[int], Places],
    exponent: Callable[[Places], Array],
    trials: int,
    draws: int,
    otherwise: Places,
    source: Any,
    report: Callable[[int, int], None],
) -> Places:
    """For each draw the first of its `trials` proposals that is kept with probability exp(-exponent); else `otherwise`.

    `propose(count)` gives (count, d) proposals, `exponent` a number of 0 or more for each, infinite where it is rejected.
    """
    drawn = np.tile(otherwise, (draws, 1))
    waiting = np.ones(draws, dtype=bool)
    total = trials * draws
    for start in range(0, total, BATCH):
        size = min(BATCH, total - start)
        proposals = propose(size)
        with np.errstate(under="ignore"):
            chance = np.exp(-np.maximum(exponent(proposals), 0.0))
        for place in np.flatnonzero(coins(chance, source)):
            number = (start + int(place)) // trials
            if waiting[number]:
                drawn[number], waiting[number] = proposals[place], False
        report(min(start + size, total), total)
    return drawn
