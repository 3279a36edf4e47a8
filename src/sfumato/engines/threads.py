"""One pool of threads per process, made on first use and made anew after a fork; sums in an order that it cannot change."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.protocol import IN_A_PART

Part = TypeVar("Part")

# Process id -> its pool: one entry at most.
_POOLS: dict[int, ThreadPoolExecutor] = {}
# Parts whose sums are held at a time. It bounds the memory, and with it a term takes part in far fewer additions than in
# one sum over all parts (`additions`).
_RUN = 64


def in_order(work: Callable[[Part], Any], parts: Iterable[Part], threads: int) -> list[Any]:
    """Results of `work` on every part, in the order of the parts, whichever thread computed them."""
    if threads == 1:
        return [work(part) for part in parts]
    process = os.getpid()
    if process not in _POOLS:
        # A pool does not survive a fork: its threads are gone, and a child process that used it would hang.
        _POOLS.clear()
        _POOLS[process] = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="sfumato")
    return list(_POOLS[process].map(work, parts))


def sum_in_order(
    work: Callable[[Part], NDArray[np.float64]], parts: Sequence[Part], threads: int, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Sum of `work` over the parts: first within fixed runs of parts, then over the runs, each in its order."""
    total = np.zeros(shape)
    for first in range(0, len(parts), _RUN):
        inside = np.zeros(shape)
        for part in in_order(work, parts[first : first + _RUN], threads):
            inside += part
        total += inside
    return total


def sums_one_by_one(
    work: Callable[[Part], Sequence[NDArray[np.float64]]], parts: Iterable[Part], shapes: Sequence[tuple[int, ...]]
) -> list[NDArray[np.float64]]:
    """Sums of the arrays that `work` returns for each part, in the same order as `sum_in_order`.

    For matrices: one part's arrays are held at a time, and the products are left to the threads of the BLAS library.
    """
    totals, inside = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
    for place, part in enumerate(parts, 1):
        for k, term in enumerate(work(part)):
            inside[k] += term
        if place % _RUN == 0:
            for k, run in enumerate(inside):
                totals[k] += run
                run[...] = 0.0
    return [total + run for total, run in zip(totals, inside, strict=True)]


def additions(rows: int, parts: int) -> float:
    """Most additions that a term of `sum_in_order` takes part in: of the rows of its part, of its run, and of the runs."""
    return rows + IN_A_PART + min(parts, _RUN) + math.ceil(parts / _RUN)
