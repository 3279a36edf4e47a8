"""Randomness for releases: ChaCha20, keyed with 32 bytes from the operating system, one key per release.

A `Randomness` is passed in, used for one release and discarded. It draws a new key in a forked child, it cannot be pickled or
copied (two holders of one stream would draw the same noise), and it raises if the system gives no entropy. `seeded(number)`
is for tests and rehearsals: its stream never changes, and every release made with it is stamped "not private".
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from sfumato import _validate
from sfumato.errors import RandomnessError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A ChaCha20 key has 256 bits (RFC 8439).
KEY_BYTES = 32


class Randomness:
    """A stream of ChaCha20; `private` is False where the key was chosen by a caller."""

    def __init__(self) -> None:
        """Key the stream from the operating system."""
        self._start(None)

    def _start(self, seed: bytes | None) -> None:
        """Begin a stream keyed by the seed, or by the operating system where there is none."""
        self.private = seed is None
        self._seed = seed or b""
        self._children = 0
        self._lock = threading.Lock()
        self._key(_system_key() if seed is None else seed)

    def _key(self, key: bytes) -> None:
        import numpy as np
        from randomgen import ChaCha

        self._owner = os.getpid()
        self._generator = np.random.Generator(ChaCha(key=np.frombuffer(key, dtype=np.uint64), rounds=20))

    def _ready(self) -> Any:
        """Return the generator, with a key of its own in a forked child."""
        if os.getpid() != self._owner:
            self._key(_system_key() if self.private else _derived(self._seed, b"fork", os.getpid()))
        return self._generator

    def normal(self, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
        """Standard normals in float64, for the inner steps of a chain; released values are drawn on a grid instead."""
        with self._lock:
            values: NDArray[np.float64] = self._ready().standard_normal(shape)
        return values

    def bits(self, count: int) -> int:
        """An integer of `count` independent fair bits."""
        size = (_validate.whole("count", count) + 7) // 8
        with self._lock:
            raw = self._ready().bytes(size)
        return int.from_bytes(raw, "little") >> (8 * size - count)

    def integers_below(self, bound: int) -> int:
        """A uniform integer in [0, bound), exact for any bound; the number of rejected tries is not returned."""
        limit = _validate.whole("bound", bound)
        if limit == 1:
            return 0
        width = (limit - 1).bit_length()
        while True:
            value = self.bits(width)
            if value < limit:
                return value

    def spawn(self) -> Randomness:
        """Return an independent stream: newly keyed by the system, or derived from the seed."""
        if self.private:
            return Randomness()
        with self._lock:
            self._children += 1
            return _from_seed(_derived(self._seed, b"child", self._children))

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a Randomness cannot be pickled or copied: two holders would draw the same noise. Use spawn().")

    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse

    def __repr__(self) -> str:
        return "Randomness(private)" if self.private else "Randomness(seeded, NOT private)"


def seeded(number: int) -> Randomness:
    """Return a reproducible stream for tests and rehearsals; every release made with it is stamped "not private"."""
    return _from_seed(_derived(b"sfumato seeded", b"root", _validate.whole("seed", number, minimum=0)))


def _from_seed(seed: bytes) -> Randomness:
    stream = Randomness.__new__(Randomness)
    stream._start(seed)
    return stream


def _derived(seed: bytes, purpose: bytes, number: int) -> bytes:
    return hashlib.sha256(seed + b"/" + purpose + b"/" + str(number).encode()).digest()


def _system_key() -> bytes:
    """32 bytes from the operating system; raise if it gives none, since there is no other source."""
    try:
        key = os.urandom(KEY_BYTES)
    except (OSError, NotImplementedError) as error:
        raise RandomnessError("the operating system gives no random bytes; nothing was drawn.") from error
    if len(key) != KEY_BYTES or key == bytes(KEY_BYTES):
        raise RandomnessError("the operating system gave no usable random bytes; nothing was drawn.")
    return key
