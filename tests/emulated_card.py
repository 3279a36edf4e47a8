"""A card for tests: the source of the kernels, compiled as C++, with every lane of a warp on this processor."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.cuda.card import SOURCE, THREADS

COMPILER = shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="the kernels of a card are compiled as C++ here: install g++"
)
# Kernels that are there where a number is defined.
_NEEDS = {"gradient": "K", "wide_gradient": "W"}
_TYPES = {"whole": ctypes.c_longlong, "int": ctypes.c_int, "double": ctypes.c_double}


class _Poisoned:
    """NumPy, whose new arrays hold no numbers: what a kernel does not write is seen."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def empty(shape: Any, dtype: Any = np.float64) -> np.ndarray:
        return np.full(shape, np.nan, dtype)


class EmulatedCard:
    """The card; `limit` bytes may be allocated."""

    def __init__(self, limit: int = 1 << 40, source: str | None = None) -> None:
        self.xp = _Poisoned()
        self.limit = limit
        self.in_pieces = 0
        self._source = SOURCE.read_text(encoding="utf-8") if source is None else source

    def kernel(self, name: str, **defined: int) -> Any:
        library, kinds = _compiled(self._source, tuple(sorted(defined.items())))

        def launch(blocks: int, *given: Any) -> None:
            passed = [_passed(kind, each) for kind, each in zip(kinds[name], given, strict=True)]
            getattr(library, f"run_{name}")(ctypes.c_longlong(blocks), ctypes.c_int(THREADS), *passed)

        return launch

    def room(self) -> int:
        return self.limit

    def wait(self) -> None:
        """Everything is done at once."""

    def held(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, np.nan, np.float32)

    def in_turn(self, chunks: list[np.ndarray]) -> Iterator[np.ndarray]:
        """Two buffers, as on a card: one that is used after its turn holds no numbers."""
        buffers = [np.empty(max((chunk.size for chunk in chunks), default=0), np.float32) for _ in range(2)]
        for place, chunk in enumerate(chunks):
            self.in_pieces += 1
            view = buffers[place % 2][: chunk.size].reshape(chunk.shape)
            view[...] = chunk
            yield view
            buffers[place % 2][...] = np.nan


def _passed(kind: str, value: Any) -> Any:
    if kind.endswith("*"):
        if value is None:
            return ctypes.c_void_p(0)
        assert value.flags.c_contiguous
        wanted = np.float64 if "double" in kind else np.float32
        assert value.dtype == wanted, (kind, value.dtype)
        return ctypes.c_void_p(value.ctypes.data)
    return _TYPES[kind](value)


@functools.cache
def _compiled(source: str, defined: tuple[tuple[str, int], ...]) -> tuple[ctypes.CDLL, dict[str, list[str]]]:
    """All kernels of the source for some numbers, in one library; and the types of each kernel's parameters."""
    absent = {name for name, needed in _NEEDS.items() if needed not in dict(defined)}
    kernels = {name: each for name, each in _kernels(source).items() if name not in absent}
    wrapped = "".join(_wrapper(name, parameters) for name, parameters in kernels.items())
    header = Path(__file__).with_name("warp_emulator.h")
    whole = f'#include "{header}"\n{source}\n{wrapped}'
    options = [f"-D{each}={value}" for each, value in defined]
    digest = hashlib.sha256(f"{whole}{options}{header.read_text()}".encode()).hexdigest()
    folder = Path(tempfile.gettempdir()) / "sfumato-emulated-card"
    folder.mkdir(exist_ok=True)
    library = folder / f"{digest[:24]}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            text, built = Path(made) / "k.cpp", Path(made) / "k.so"
            text.write_text(whole)
            command = [
                str(COMPILER),
                "-O1",
                "-w",
                "-shared",
                "-fPIC",
                "-std=c++17",
                *options,
                str(text),
                "-o",
                str(built),
            ]
            subprocess.run(command, check=True)
            built.replace(library)
    kinds = {name: [kind for kind, _ in parameters] for name, parameters in kernels.items()}
    return ctypes.CDLL(str(library)), kinds


def _kernels(source: str) -> dict[str, list[tuple[str, str]]]:
    """Name -> type and name of every parameter, as the source declares them."""
    found = {}
    for name, text in re.findall(r"__global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(([^)]*)\)", source):
        words = [re.sub(r"\bconst\b|__restrict__", "", each).split() for each in text.split(",")]
        found[name] = [("".join(each[:-1]), each[-1]) for each in words]
    return found


def _wrapper(name: str, parameters: list[tuple[str, str]]) -> str:
    """A function of C that runs a kernel on all lanes."""
    fields = " ".join(f"{kind} {each};" for kind, each in parameters)
    signature = ", ".join(f"{kind} {each}" for kind, each in parameters)
    values = ", ".join(each for _, each in parameters)
    passed = ", ".join(f"g->{each}" for _, each in parameters)
    return f"""
struct Given_{name} {{ {fields} }};
static void body_{name}(void* p) {{ Given_{name}* g = (Given_{name}*)p; {name}({passed}); }}
extern "C" void run_{name}(long long blocks, int threads, {signature}) {{
    Given_{name} all_given = {{ {values} }};
    warp::run(body_{name}, &all_given, blocks, threads);
}}
"""
