"""One pool of threads per process, made when first needed and made anew after a fork."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Part = TypeVar("Part")

_POOLS: dict[int, ThreadPoolExecutor] = {}


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
