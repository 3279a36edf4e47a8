"""Exact samplers under replay: what meets the randomness there is a centre, the weights of a law, or a potential.

While `watched()` is open, each function of `_PLACES` that is called with a `Recorder` as its source hands its arguments to the
recorder, which writes them down and answers with frozen outputs. Called with any other source it is the function itself, so a
release that is made meanwhile is not touched. No source text of a sampler or a procedure knows of this.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.auditing.replay_engine import RecordedEngine
from sfumato.auditing.replay_noise import Array, Part, Replay
from sfumato.models import laws
from sfumato.procedures.loss_values import LOG_UNITS
from sfumato.samplers.rejection import BITS

# Proposals of a rejection sampler at which two data sets are compared, and points at which two potentials are.
_PROPOSALS, _POINTS = 48, 12


class Diverged(Exception):
    """A run asked for randomness that the run before it did not ask for."""


class Recorder(Replay):
    """The stand-in for a run: `history` are the answers of an earlier run, None for the first one, which gets normal noise.

    `size` multiplies the noise of a first run. `asked` lists the bits that were asked for directly; they come from a stream that
    is the same in every run with this seed. `lowest` is the least exponent of an acceptance: below 0 it would not be one.
    """

    def __init__(self, seed: int, engine: RecordedEngine, history: list[Any] | None = None, size: float = 1.0) -> None:
        """Nothing was asked for yet."""
        super().__init__(self._answer)
        self.engine, self.history, self.size = engine, history, size
        self.asked: list[int] = []
        self.lowest = 0.0
        self._noise, self._stream, self._places = (np.random.default_rng([seed, k]) for k in range(3))
        self._shares: Array = np.zeros(0)

    # --- floats and bits ---------------------------------------------------------------------------------------------

    def _answer(self, place: int, values: Array, noise: float) -> Array:
        answer: Array = self._frozen(
            lambda: values + self.size * noise * self._noise.normal(size=values.shape), values.shape
        )
        return answer

    def _frozen(self, compute: Callable[[], Any], shape: tuple[int, ...]) -> Any:
        if self.history is None:
            return compute()
        place = len(self.parts)
        if place >= len(self.history) or np.shape(self.history[place]) != shape:
            raise Diverged(f"part {place + 1}, shaped {shape}, is not in the history")
        return self.history[place]

    def bits(self, count: int) -> int:
        """Bits of a stream that is the same in every run."""
        self.asked.append(count)
        return int.from_bytes(self._stream.bytes((count + 7) // 8), "little") >> (-count % 8)

    def integers_below(self, bound: int) -> int:
        """A whole number below `bound` from that stream."""
        return self.bits(bound.bit_length() + 64) % bound

    def _record(
        self, kind: str, values: Any, published: Any, facts: tuple[Any, ...] = (), points: Array | None = None
    ) -> None:
        self.parts.append(Part(np.array(values, dtype=np.float64), 0.0, published, kind, facts, points))

    # --- samplers ----------------------------------------------------------------------------------------------------

    def rounded_normals(self, source: Any, centres: Any, deviation: Any, grid: Any) -> list[Fraction]:
        """Totals with exact noise."""
        values = np.array([float(each) for each in centres])
        answer = self._answer(0, values, float(deviation))
        self.parts.append(Part(values, float(deviation), answer, "totals", (deviation, grid)))
        return [round(Fraction(float(each)) / grid) * grid for each in answer]

    def rounded_normal(self, source: Any, mean: Any, deviation: Any, spacing: Any) -> int:
        """One coordinate of the last step of a chain."""
        values = np.array([float(mean)])
        answer = self._answer(0, values, float(deviation))
        self.parts.append(Part(values, float(deviation), answer, "last", (spacing,)))
        return round(Fraction(float(answer[0])) / Fraction(spacing))

    def law(self, law: laws.Law, draws: int, source: Any) -> Array:
        """A posterior in closed form: its private fields are the values, its public ones must agree."""
        private, public = fields_of(law)
        answer = self._frozen(lambda: np.zeros((draws, law.geometry.coordinates)), (draws, law.geometry.coordinates))
        self._record("law", private, answer, (draws, *public))
        return np.asarray(answer)

    def finite(self, law: laws.Finite, draws: int, source: Any) -> Array:
        """Finitely many public points: the values are the logarithms of their weights."""
        points = np.array(law.points, dtype=np.float64).reshape(len(law.points), -1)
        answer = self._frozen(lambda: np.tile(points[0], (draws, 1)), (draws, points.shape[1]))
        self._record("weights", [log / LOG_UNITS for log in law.logs], answer, (draws,), points)
        return np.asarray(answer)

    def cells(self, weights: Any, source: Any, draws: int) -> Any:
        """Coarse cells that are proposed: the values are the logarithms of their shares, their centres the points."""
        ends = [0, *weights.cumulative]
        logs = np.array([math.log(b - a) for a, b in pairwise(ends)]) - math.log(ends[-1])
        answer = self._frozen(lambda: self._places.integers(0, len(logs), draws), (draws,))
        self._record("weights", logs, answer, (draws, weights.first, weights.cells), self.engine.points)
        self._shares = self._shares + logs[answer]
        return answer

    def places(self, table: Any, count: int, source: Any) -> Any:
        """Places of one coordinate that are proposed: half by their shares, a quarter anywhere, a quarter at the ends."""
        ends = [0, *table.ends]

        def choose() -> Any:
            """The places, from the stream of this recorder."""
            whole = [int.from_bytes(self._places.bytes(BITS // 8), "little") for _ in range(count)]
            drawn = np.array([bisect_right(table.ends, each) for each in whole])
            other = self._places.integers(0, len(table.ends), count)
            other[1::4] = self._places.choice([0, len(table.ends) - 1], len(other[1::4]))
            likely = np.array([ends[k + 1] > ends[k] for k in other.tolist()]) & (np.arange(count) % 2 == 1)
            return np.where(likely, other, drawn)

        answer = self._frozen(choose, (count,))
        self._record("places", [], answer, (count, len(table.ends)))
        shares = [ends[k + 1] - ends[k] for k in answer.tolist()]
        logs = [math.log(share) - BITS * math.log(2) if share else -math.inf for share in shares]
        self._shares = self._shares + np.array(logs)
        return answer

    def first_kept(self, propose: Any, exponent: Any, trials: int, draws: int, otherwise: Any, *_: Any) -> Any:
        """Trials: the values are log share - exponent at proposals, the log density there but for a constant."""
        size = min(trials * draws, _PROPOSALS)
        self._shares = np.zeros(size)
        exponents = exponent(propose(size))
        inside = np.isfinite(exponents)
        self.lowest = min(self.lowest, float(exponents.min()))
        values = np.where(inside, self._shares - np.where(inside, exponents, 0.0), -math.inf)
        facts = (trials, draws, tuple(otherwise.tolist()), tuple(inside.tolist()))
        answer = self._frozen(lambda: np.tile(otherwise, (draws, 1)), (draws, len(otherwise)))
        self._record("trials", values, answer, facts, self.engine.points)
        return answer

    def mixed(self, drawn: Any, share: float, sizes: Any, source: Any) -> Any:
        """A share of uniform draws, which is public."""
        self._record("share", [], self._frozen(lambda: np.array(drawn), np.shape(drawn)), (share, tuple(sizes)))
        return self.parts[-1].published

    def last_states(
        self, value: Any, gradient: Any, start: Array, scale: float, warmup: int, length: int, source: Any
    ) -> Array:
        """A chain that is assumed to have converged: its potential and its gradients at points of the domain."""
        points = self._frozen(lambda: self._inside(value, start[0], scale), (_POINTS, start.shape[1]))
        facts = (start.tobytes(), scale, warmup, length, gradient is None)
        self._record("potential", [value(point) for point in points], points, facts, points)
        if gradient is not None:
            slopes = np.array([gradient(point) for point in points])
            self._record("slopes", slopes, self._frozen(lambda: slopes, slopes.shape), (), points)
        return start.copy()

    def _inside(self, value: Any, start: Array, scale: float) -> Array:
        """Random points at one to a hundred scales from the start, moved towards it until they lie in the domain."""
        away = (
            self._places.normal(size=(_POINTS, len(start))) * scale * 10.0 ** self._places.uniform(0, 2, (_POINTS, 1))
        )
        before = len(self.engine.calls)
        for k in range(_POINTS):
            while not math.isfinite(value(start + away[k])):
                away[k] /= 2
        del self.engine.calls[before:]  # these are no calls of the procedure
        return np.asarray(start + away)


def fields_of(law: laws.Law) -> tuple[list[float], tuple[Any, ...]]:
    """What the data determine of a law, as numbers, and what is public (`models.laws` says which is which)."""
    if isinstance(law, laws.Product):
        pairs = [fields_of(part) for part in law.parts]
        return [each for private, _ in pairs for each in private], (law.touched, *(public for _, public in pairs))
    if isinstance(law, laws.Gamma):
        names: tuple[str, ...] = ("shape" if law.spacing == "root" else "rate",)
    else:
        names = _PRIVATE[type(law)]
    values = [getattr(law, name) for name in names]
    public = tuple((name, value) for name, value in vars(law).items() if name not in names)
    unit = LOG_UNITS if isinstance(law, laws.Finite) else 1
    return [float(each) / unit for value in values for each in np.ravel(np.array(value, dtype=object))], public


_PRIVATE: dict[type, tuple[str, ...]] = {
    laws.Dirichlet: ("cells",),
    laws.Normal: ("mean",),
    laws.Finite: ("logs",),
    laws.Lattice: ("cells",),
    laws.LogitNormal: ("ones", "zeros"),
}

# Where procedures meet exact samplers: module, name, place of the source among the arguments, and the recorder's method.
_PLACES = (
    ("procedures.noisy_totals", "rounded_normals", 0, "rounded_normals"),
    ("procedures.noisy_tables", "rounded_normals", 0, "rounded_normals"),
    ("procedures.choosing_pairs", "draw_finite", 2, "finite"),
    ("samplers.langevin", "rounded_normal", 0, "rounded_normal"),
    ("samplers.laws", "draw", 2, "law"),
    ("procedures.lattice", "draw_finite", 2, "finite"),
    ("procedures.kinked_grid", "draw_finite", 2, "finite"),
    ("procedures.kinked_grid", "draw_cells", 1, "cells"),
    ("samplers.rejection", "places", 2, "places"),
    ("samplers.rejection", "first_kept", 5, "first_kept"),
    ("samplers.rejection", "mixed", 3, "mixed"),
    ("samplers.reference", "last_states", 6, "last_states"),
)
_ONE_AT_A_TIME = threading.RLock()


@contextmanager
def watched() -> Iterator[None]:
    """Within it, samplers that are called with a `Recorder` hand their arguments to it."""
    with _ONE_AT_A_TIME:
        before = []
        try:
            for module_name, name, place, method in _PLACES:
                module = import_module(f"sfumato.{module_name}")
                before.append((module, name, getattr(module, name)))
                setattr(module, name, _handing_over(getattr(module, name), place, method))
            yield
        finally:
            for module, name, function in reversed(before):
                setattr(module, name, function)


def _handing_over(function: Callable[..., Any], place: int, method: str) -> Callable[..., Any]:
    def called(*given: Any) -> Any:
        source = getattr(given[place], "source", given[place])  # the bits of a chain's last step are buffered
        return getattr(source, method)(*given) if isinstance(source, Recorder) else function(*given)

    return called
