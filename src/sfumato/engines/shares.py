"""The share with which a row counts: 1, or one over the number of its person's rows, times its survey weight.

Totals stay exact. Rows are put together by share, and the sums of whole numbers over the rows of one share are multiplied by it:
over persons with c rows by 1/c; and with weights v = 2^-16 (b_0 + 2 b_1 + 4 b_2 + ...) over the rows whose bit b_k is set by
2^(k - 16).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Block
from sfumato.schema.structure import BLOCK_ROWS
from sfumato.schema.weight import STEPS

Array = NDArray[np.float64]
# Bits of a weight, the largest weight of 2^16 steps included.
_BITS = STEPS.bit_length()


class Picked(Mapping[str, Any]):
    """Some rows of a block; columns are picked when they are asked for."""

    def __init__(self, block: Block, places: NDArray[np.int64]) -> None:
        self._block, self._places = block, places

    def __getitem__(self, name: str) -> Any:
        return self._block[name][self._places]

    def __iter__(self) -> Iterator[str]:
        return iter(self._block)

    def __len__(self) -> int:
        return len(self._block)


def shared(block: Block, means: bool) -> Iterator[tuple[Fraction, Mapping[str, Any]]]:
    """Yield (share, rows that count with it): every row once, or with weights once for each bit of its weight.

    At most as many rows at a time as a block without persons has, so that whole numbers do not overflow. `means`: a person is
    one row, that of the means of their numbers.
    """
    if means and block.weights is None:
        yield Fraction(1), of_means(block)
        return
    counts = None if block.counts is None else np.repeat(block.counts, block.counts)
    for number in [1] if counts is None else np.unique(counts).tolist():
        of_number = np.arange(block.rows) if counts is None else np.flatnonzero(counts == number)
        for bit in [None] if block.weights is None else range(_BITS):
            places = of_number
            share = Fraction(1, number)
            if bit is not None and block.weights is not None:
                places = of_number[(block.weights[of_number] >> np.uint32(bit)) & np.uint32(1) == 1]
                share *= Fraction(1 << bit, STEPS)
            # No row may have a share, and the totals have their length all the same.
            for start in range(0, max(1, len(places)), BLOCK_ROWS):
                yield share, Picked(block, places[start : start + BLOCK_ROWS])


def of_means(block: Block) -> Mapping[str, Any]:
    """One row for every person: the means of their numbers. For models whose statistic is that of a person's mean."""
    if block.counts is None:
        return block
    starts, sizes = np.cumsum(block.counts) - block.counts, np.repeat(block.counts, block.counts)
    # Each value is divided first: a sum of a person's values may overflow where none of them does.
    return {name: np.add.reduceat(block[name] / sizes, starts) for name in block if _numbers(block[name])}


def _numbers(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind == "f"


def row_shares(block: Block) -> Array | None:
    """The share of every row as a float, rounded down so that those of one person sum to at most 1; None where all are 1."""
    if block.counts is None and block.weights is None:
        return None
    shares = np.ones(block.rows)
    if block.counts is not None:
        shares = np.repeat(one_over(block.counts), block.counts)
    if block.weights is not None:
        # Steps are a power of two: the quotient is exact, and the product rounds once.
        shares = shares * (block.weights / STEPS)
        shares = np.nextafter(shares, 0.0) if block.counts is not None else shares
    return shares


def one_over(counts: NDArray[np.int64]) -> Array:
    """1/c in floats, rounded down: c of them, added up exactly, are at most 1."""
    return np.array([0.0, *map(_rounded_down, range(1, int(counts.max(initial=1)) + 1))])[counts]


def _rounded_down(count: int) -> float:
    share = 1.0 / count
    return share if Fraction(share) * count <= 1 else float(np.nextafter(share, 0.0))
