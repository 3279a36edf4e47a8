"""Levels dealt to records systematically: counts as close to their expectation as whole numbers allow, laws unchanged.

Independent draws give a level of chance p among m records m p of them, give or take sqrt(m p (1 - p)). Here it is m p rounded
down or up, by a chance that keeps the expectation. Each record still has its group's law; only the records are negatively
dependent, as in systematic sampling of a survey (Madow 1949). The levels of a group are split in two, each half in two again
and so on. A split leaves at most one record undecided in each group; one sweep over all groups laid end to end decides where
they go, so that the counts of a level over many groups are close to their expectation too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

# Expected counts are whole multiples of 2^-32 records: sums and comparisons are exact, so a level of chance 0 is never dealt
# and no record is lost, and 2^30 records still fit into 64 bits.
_BITS = 32
_ONE = 1 << _BITS


def systematic_codes(groups: Codes, laws: Array, rng: np.random.Generator) -> Codes:
    """A level for each record, where `groups[i]` is the row of `laws` (groups, levels) that record i follows.

    - The level of a record has the law of its group: chances are exact to 2^-32 divided by the size of the group.
    - The count of a level in a group is its expectation rounded down or up, and 0 where the law says 0.
    - Given the counts, which records of a group have which level is a uniformly random permutation, independent of everything
      else: two columns dealt one after the other are independent given their groups.
    """
    count, levels = laws.shape
    sizes = np.bincount(groups, minlength=count)
    counts = systematic_counts(sizes, laws, rng)
    # Records in random order within their group; a stable sort of small integers takes linear time.
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(_narrow(groups[shuffled], count), kind="stable")]
    codes = np.empty(len(groups), dtype=np.int64)
    codes[order] = np.repeat(np.tile(np.arange(levels), count), counts.ravel())
    return codes


def systematic_groups(weights: Array, rows: int, rng: np.random.Generator) -> Codes:
    """The group of each of `rows` records, in the order of the groups, whose sizes are their weights' shares rounded down or up."""
    (counts,) = systematic_counts(np.array([rows], dtype=np.int64), np.asarray(weights)[None, :], rng)
    return np.repeat(np.arange(len(counts)), counts)


def systematic_counts(sizes: Codes, laws: Array, rng: np.random.Generator) -> Codes:
    """How many of the `sizes` (groups,) records of each group get each level: (groups, levels), expectation sizes * laws.

    Laws are normalised row by row. Every count is its expectation rounded down or up, and so is the count of every half of the
    levels that is split further.
    """
    ends = _expected_ends(sizes, laws)
    counts = np.empty(laws.shape, dtype=np.int64)
    waiting = [(0, laws.shape[1], np.asarray(sizes, dtype=np.int64))]
    while waiting:
        first, last, held = waiting.pop()
        if last - first == 1:
            counts[:, first] = held
            continue
        middle = (first + last) // 2
        left = _left_half(ends[:, middle] - ends[:, first], ends[:, last] - ends[:, middle], held, rng)
        waiting += [(middle, last, held - left), (first, middle, left)]
    return counts


def _expected_ends(sizes: Codes, laws: Array) -> Codes:
    """Expected counts of the levels before each, (groups, levels + 1) in multiples of 2^-32; the last is the group's size."""
    if not (np.isfinite(laws).all() and (laws >= 0).all()):
        raise ArgumentError("laws must be finite chances of at least 0.")
    sums = np.cumsum(laws, axis=1)
    total = sums[:, -1:]
    if ((total[:, 0] <= 0) & (sizes > 0)).any():
        raise ArgumentError("a group with records needs a law with a chance above 0.")
    # Divided by the last sum, levels of chance 0 at the end stand exactly at 1 as well.
    shares = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
    ends = np.zeros((len(laws), laws.shape[1] + 1), dtype=np.int64)
    ends[:, 1:] = np.rint(shares * (np.asarray(sizes, dtype=np.float64)[:, None] * _ONE))
    return ends


def _left_half(left: Codes, right: Codes, held: Codes, rng: np.random.Generator) -> Codes:
    """How many of the records `held` by each group go to the left half, whose expected count is `left`.

    `held` is left + right rounded down or up. With f and g the fractions of left and right, held is the sum of their whole
    parts and 0, 1 or 2 more. None or two more leave no choice. One more goes to the left with chance f / (f + g) where
    f + g < 1, and (1 - g) / (2 - f - g) otherwise, which makes the expected count `left` over both roundings of `held`.
    """
    whole = left >> _BITS
    f, g = left & (_ONE - 1), right & (_ONE - 1)
    more = held - whole - (right >> _BITS)
    over = f + g >= _ONE
    top, bottom = np.where(over, _ONE - g, f), np.where(over, 2 * _ONE - f - g, f + g)
    chances = np.rint(np.where(more == 1, top, 0) / np.maximum(bottom, 1) * _ONE).astype(np.int64)
    return np.asarray(whole + (more == 2) + _swept(chances, rng), dtype=np.int64)


def _swept(chances: Codes, rng: np.random.Generator) -> Codes:
    """1 with each chance (a multiple of 2^-32), else 0; their number is the sum of the chances rounded down or up.

    The chances are laid end to end on a line, with points a distance of 1 apart from one random offset; a chance is taken
    where a point falls into its stretch. They lie in random order: in a fixed one two columns with the same groups and like
    chances would take the same groups by turns, and seem dependent.
    """
    order, offset = rng.permutation(len(chances)), int(rng.integers(_ONE))
    # Points below each end of a stretch; there are none below 0, where the first one begins.
    points = (np.cumsum(chances[order]) + (_ONE - 1 - offset)) >> _BITS
    taken = np.empty_like(chances)
    taken[order] = np.diff(points, prepend=0)
    return taken


def _narrow(groups: Codes, count: int) -> NDArray[np.integer]:
    """The same numbers in 16 bits where they fit: NumPy sorts those by radix."""
    return groups.astype(np.uint16) if count <= 1 << 16 else groups
