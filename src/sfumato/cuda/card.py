"""The graphics card: its arrays, its kernels, and rows that pass through it in chunks. CuPy is imported on first use.

A `Card` is what the engine of the card needs of a machine. There is one for CUDA here; the tests have another, which compiles the
same source as C++ and runs every lane of a warp on the processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError

SOURCE = Path(__file__).parent / "passes.cu"
# Lanes of a warp, warps and threads of a block, as in the source.
_LANES, WARPS = 32, 8
THREADS = _LANES * WARPS
# Share of the free memory that arrays may take: libraries of the card need some of their own.
_SHARE = 0.9

Launch = Callable[..., None]


class Card(Protocol):
    """A card, or a machine that stands for one."""

    # The module of its arrays, with NumPy's functions.
    xp: Any

    def kernel(self, name: str, **defined: int) -> Launch:
        """A function of the source, compiled for these numbers: `launch(blocks, *arguments)`; None is no array."""

    def room(self) -> int:
        """Bytes that may be allocated now."""

    def held(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """A float32 array in the memory of the machine, from which the card reads fast."""

    def in_turn(self, chunks: Sequence[NDArray[np.float32]]) -> Iterator[Any]:
        """Arrays of the machine on the card, one after the other; the next one is copied while one is used."""

    def wait(self) -> None:
        """Return when all that was begun on the card is done."""


# Process id -> the card that it opened: one entry, and more only in a forked process.
_OPENED: dict[int, Card] = {}


def open_card() -> Card:
    """The first CUDA card of this machine; where there is none, an error says what is missing."""
    process = os.getpid()
    if process in _OPENED:
        return _OPENED[process]
    if _OPENED:
        raise ArgumentError(
            'the card was opened before this process was forked, and CUDA does not survive a fork: start processes with "spawn" '
            '(multiprocessing.get_context("spawn")).'
        )
    try:
        import cupy
    except ImportError:
        raise ArgumentError(
            "engine=\"gpu\" needs a CUDA card and CuPy, which is absent: pip install 'sfumato[gpu]' (CUDA 13) or cupy-cuda12x "
            "(CUDA 12). Without a card leave the engine out: price and promise are the same."
        ) from None
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # CuPy raises errors of the driver, which is missing where there is no card
        found = 0
    if not found:
        raise ArgumentError('engine="gpu" found no CUDA card on this machine; use engine="memory" or "streamed".')
    card = CudaCard(cupy)
    _check_products(card)
    _OPENED[process] = card
    return card


class CudaCard:
    """A CUDA card through CuPy."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        self._kernels: dict[tuple[str, tuple[tuple[str, int], ...]], Any] = {}

    def kernel(self, name: str, **defined: int) -> Launch:
        """Compile on first use. Neither fast mathematics nor timing: the same source gives the same code."""
        key = (name, tuple(sorted(defined.items())))
        if key not in self._kernels:
            options = ("-std=c++17", *(f"-D{each}={value}" for each, value in key[1]))
            self._kernels[key] = self.xp.RawKernel(SOURCE.read_text(encoding="utf-8"), name, options=options)
        compiled = self._kernels[key]

        def launch(blocks: int, *given: Any) -> None:
            compiled((blocks,), (THREADS,), tuple(np.uint64(0) if each is None else each for each in given))

        return launch

    def room(self) -> int:
        """What is free on the card and in CuPy's own pool, within the limit that the pool was given."""
        pool = self.xp.get_default_memory_pool()
        free = int(self.xp.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
        limit = int(pool.get_limit())
        return int(_SHARE * (min(free, limit - int(pool.used_bytes())) if limit else free))

    def held(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Page-locked memory, which is copied at the full speed of the bus."""
        count = int(np.prod(shape))
        memory = self.xp.cuda.alloc_pinned_memory(max(1, 4 * count))
        return np.frombuffer(memory, np.float32, count).reshape(shape)

    def in_turn(self, chunks: Sequence[NDArray[np.float32]]) -> Iterator[Any]:
        """Two buffers: while the kernels of one run, the other is filled by a stream of its own."""
        cuda, largest = self.xp.cuda, max((chunk.size for chunk in chunks), default=0)
        buffers = [self.xp.empty(largest, self.xp.float32) for _ in range(2)]
        copying, used = cuda.Stream(non_blocking=True), [cuda.Event(), cuda.Event()]
        current = cuda.get_current_stream()

        def copied(place: int) -> tuple[Any, Any]:
            """Begin to copy a chunk, after the kernels that use its buffer."""
            chunk, buffer = chunks[place], buffers[place % 2]
            copying.wait_event(used[place % 2])
            view = buffer[: chunk.size].reshape(chunk.shape)
            view.set(chunk, stream=copying)
            done = cuda.Event()
            done.record(copying)
            return view, done

        for event in used:
            event.record(current)
        following = copied(0) if chunks else None
        try:
            for place in range(len(chunks)):
                view, done = following  # type: ignore[misc]
                following = copied(place + 1) if place + 1 < len(chunks) else None
                current.wait_event(done)
                yield view
                used[place % 2].record(current)
        finally:
            # Also after an error: buffers are given back when nothing is copied to them any more.
            copying.synchronize()
            current.synchronize()

    def wait(self) -> None:
        """Return when all streams are done."""
        self.xp.cuda.Device().synchronize()


def _check_products(card: Card) -> None:
    """Refuse a library of matrix products that keeps fewer digits than float64, as some can be told to: differences of numbers
    that differ in the last digit, in a product of the size of those of a regression.
    """
    left, right = np.zeros((4096, 64)), np.zeros((64, 64))
    left[:, 0], left[:, 1] = 1.0 + np.arange(4096) * 2.0**-52, 1.0
    right[0], right[1] = 1.0, -1.0
    found = card.xp.matmul(card.xp.asarray(left), card.xp.asarray(right))
    if not bool((found == card.xp.asarray(left[:, :1] - 1.0)).all()):
        raise ArgumentError(
            "the card's matrix products are not those of float64 (an environment variable of cuBLAS may ask for emulated ones): "
            "prices do not cover their roundings."
        )


@dataclass(frozen=True)
class Shape:
    """How the gradients of some chains are computed: which kernel, the numbers it is compiled for, and runs of rows a block."""

    kernel: str
    defined: Mapping[str, int]
    runs: int


def shape_of(quads: int, chains: int) -> Shape:
    """A warp a run of rows; where rows are wider than 32 quads and there are several chains, as many warps as a row has 32 quads.

    Lanes a row (G) or warps a row (W), quads of entries a lane (K), rows in flight (U), and chains (C).
    """
    common = {"D4": quads, "C": chains}
    if chains > 1 and quads > _LANES:
        warps = 2
        while _LANES * warps < quads:
            warps *= 2
        return Shape("wide_gradient", {**common, "W": warps, "U": 4}, WARPS // warps)
    lanes = 1
    while lanes < min(_LANES, quads):
        lanes *= 2
    each = 1
    while lanes * each < quads:
        each *= 2
    return Shape("gradient", {**common, "G": lanes, "K": each, "U": min(lanes, max(2, 8 // each))}, WARPS)


def most_chains(quads: int) -> int:
    """Chains of one read; 0 where a row is too wide for the warps of a block."""
    return 8 if quads <= _LANES * WARPS else 0
