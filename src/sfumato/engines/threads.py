"""One pool of threads per process, made on first use and made anew after a fork; sums in an order that it cannot change."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.protocol import IN_A_PART

Part = TypeVar("Part")

# Process id -> its pool: one entry at most.
_POOLS: dict[int, ThreadPoolExecutor] = {}
# Parts whose sums are held at a time. It bounds the memory, and with it a term takes part in far fewer additions than in
# one sum over all parts (`additions`).
RUN = 64


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
    runs = (in_order(work, parts[first : first + RUN], threads) for first in range(0, len(parts), RUN))
    return added_in_runs((part for run in runs for part in run), np.zeros(shape))


def added_in_runs(sums: Iterable[NDArray[np.float64]], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of arrays, in their order: within runs of so many, then over the runs. `total` is zero, and is written to."""
    remaining = iter(sums)
    while run := list(islice(remaining, RUN)):
        inside = np.zeros_like(total)
        for each in run:
            inside += each
        total += inside
    return total


def add_up(sums: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The sum of arrays, in their order; a single one as it is."""
    total = sums[0]
    for each in sums[1:]:
        total = total + each
    return total


def few_at_a_time(work: Callable[[Part], Any], parts: Iterable[Part]) -> Iterator[Any]:
    """Results of `work` on every part, in the order of the parts; one part per core is computed and held at a time.

    For matrix products. The BLAS library is limited to one thread meanwhile: its own threads wait for each other busily, which
    on a machine with other work was measured to take fifty times as long.
    """
    count, remaining = os.cpu_count() or 1, iter(parts)
    with _blas().limit(limits=1, user_api="blas"):
        while batch := list(islice(remaining, count)):
            yield from in_order(work, batch, min(count, len(batch)))


@functools.cache
def _blas() -> Any:
    """The control of numpy's matrix library. To look it up takes milliseconds, far longer than a pass over a small table."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def sums_few_at_a_time(
    work: Callable[[Part], Sequence[NDArray[np.float64]]], parts: Iterable[Part], shapes: Sequence[tuple[int, ...]]
) -> list[NDArray[np.float64]]:
    """Sums of the arrays that `work` returns for each part, added in the same order as by `sum_in_order`."""
    totals, inside = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
    for place, terms in enumerate(few_at_a_time(work, parts), 1):
        for k, term in enumerate(terms):
            inside[k] += term
        if place % RUN == 0:
            for k, run in enumerate(inside):
                totals[k] += run
                run[...] = 0.0
    return [total + run for total, run in zip(totals, inside, strict=True)]


def additions(rows: int, parts: int) -> float:
    """Most additions that a term of `sum_in_order` takes part in: of the rows of its part, of its run, and of the runs."""
    return rows + IN_A_PART + min(parts, RUN) + math.ceil(parts / RUN)
