"""One pool of threads per process, made when first needed and made anew after a fork; sums in an order that it cannot change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Part = TypeVar("Part")

_POOLS: dict[int, ThreadPoolExecutor] = {}
# Parts whose sums are held at a time. A term takes part in the additions of its part, of its run of parts and of the runs:
# fewer than if all rows were added in parts of 8,192, which is what the price of a rounding assumes.
_RUN = 64


def in_order(work: Callable[[Part], Any], parts: Iterable[Part], threads: int) -> list[Any]:
    """Results of `work` on every part, in the order of the parts, whoever computed them."""
    if threads == 1:
        return [work(part) for part in parts]
    process = os.getpid()
    if process not in _POOLS:
        # A pool does not survive a fork: its threads are gone, and a child that waited for them would wait for ever.
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
        for found in in_order(work, parts[first : first + _RUN], threads):
            inside += found
        total += inside
    return total
