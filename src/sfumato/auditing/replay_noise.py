"""A stand-in for the randomness of a release: it writes down every number that meets noise, and answers with frozen outputs.

`Replay` is passed to a procedure in the place of a `Randomness`. Where the procedure computes values + deviation * normals, it
writes down the values and the deviation and answers with what is published: any numbers at all. A second run, on a neighbouring
data set, is given the answers of the first, so that every part is compared after the same published history, as the adaptive
composition of prices demands. No release is made this way: nothing here is random, and nothing is private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError

Array = NDArray[np.float64]
Answer = Callable[[int, Array, float], Array]


@dataclass(frozen=True, eq=False)
class Part:
    """Numbers before noise, the deviation of the noise, and what was published.

    Parts of exact samplers (`replay_samplers`) have another `kind` than "normal": their values are what the randomness meets
    there, `facts` the public numbers of the call, and `points` where the values belong.
    """

    values: Array
    noise: float
    published: Any
    kind: str = "normal"
    facts: tuple[Any, ...] = ()
    points: Array | None = None


class Replay:
    """The stand-in; `answer(place, values, noise)` gives what the part at that place publishes.

    `parts` are the numbers that met noise, in order; `reused` says that one set of normals was added to two sets of numbers.
    """

    private = False

    def __init__(self, answer: Answer) -> None:
        """Nothing was asked for yet."""
        self.answer = answer
        self.parts: list[Part] = []
        self.reused = False

    def normal(self, shape: int | tuple[int, ...]) -> _Normals:
        """Normals of this shape, which are recognised where they are added to something."""
        return _Normals(self, shape if isinstance(shape, tuple) else (shape,))

    def meet(self, values: Array, noise: float) -> Array:
        """Write down numbers that meet noise of this deviation, and answer with what is published."""
        published = self.answer(len(self.parts), values, noise)
        self.parts.append(Part(np.array(values, dtype=np.float64), float(noise), published))
        return published


class _Normals:
    """deviation * this has the deviation, and values + deviation * this is the answer."""

    __array_ufunc__ = None

    def __init__(self, replay: Replay, shape: tuple[int, ...], deviation: float = 1.0) -> None:
        self.replay, self.shape, self.deviation, self.used = replay, shape, deviation, [False]

    def __rmul__(self, factor: float) -> _Normals:
        scaled = _Normals(self.replay, self.shape, self.deviation * float(factor))
        scaled.used = self.used
        return scaled

    def __radd__(self, values: Array) -> Array:
        if values.shape != self.shape:
            raise ArgumentError(f"numbers shaped {values.shape} met normals shaped {self.shape}.")
        self.replay.reused |= self.used[0]
        self.used[0] = True
        return self.replay.meet(values, self.deviation)


def live(seed: int, size: float = 1.0) -> Replay:
    """Normal noise, `size` times as large as it should be: noise of size 0 publishes the numbers, of size 100 hides them."""
    rng = np.random.default_rng(seed)
    return Replay(lambda place, values, noise: values + size * noise * rng.normal(size=values.shape))


def after(history: Sequence[Array]) -> Replay:
    """The published numbers of an earlier run, in order; a run that asks for more of them is refused."""

    def answer(place: int, values: Array, noise: float) -> Array:
        if place >= len(history) or history[place].shape != values.shape:
            raise ArgumentError(
                f"part {place + 1} of a replay, shaped {values.shape}, is not in the published history."
            )
        return history[place]

    return Replay(answer)


def published(parts: Sequence[Part]) -> list[Any]:
    """What a run published, part by part."""
    return [part.published for part in parts]
