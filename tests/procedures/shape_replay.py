"""Replay of shape-first releases: what two neighbouring data sets would publish, given the same published history.

`Replay` stands in for the randomness of a procedure. Where the procedure adds noise to the numbers of a part, it sees the numbers
and the deviation, and answers with what is published: any numbers at all. A second run on a neighbour is given the
answers of the first, so that every part is compared after the same history, as the adaptive composition of the prices demands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import sfumato as sf
from sfumato.engines.opening import open_engine
from sfumato.procedures import shaped_path
from sfumato.procedures.protocol import Task

Array = np.ndarray


@dataclass(frozen=True)
class Part:
    """Numbers before noise, the deviation of the noise, and what was published."""

    values: Array
    noise: float
    published: Array


class Replay:
    """The stand-in; `answer(place, values, noise)` gives what the part at that place publishes."""

    private = False

    def __init__(self, answer: Callable[[int, Array, float], Array]) -> None:
        self.answer, self.parts = answer, []

    def normal(self, shape: Any) -> _Noise:
        return _Noise(self, shape)


class _Noise:
    """noise * this is remembered, and values + noise * this is the answer."""

    __array_ufunc__ = None

    def __init__(self, replay: Replay, shape: Any) -> None:
        self.replay, self.shape, self.deviation = replay, shape, 0.0

    def __rmul__(self, deviation: float) -> _Noise:
        self.deviation = deviation
        return self

    def __radd__(self, values: Array) -> Array:
        assert values.shape == self.shape
        replay = self.replay
        published = replay.answer(len(replay.parts), values, self.deviation)
        replay.parts.append(Part(np.array(values), self.deviation, published))
        return published


def live(seed: int, size: float = 1.0) -> Replay:
    """Normal noise, `size` times as large as it should be: noise of size 0 publishes the numbers, of size 100 hides them."""
    rng = np.random.default_rng(seed)
    return Replay(lambda place, values, noise: values + size * noise * rng.normal(size=values.shape))


def after(parts: list[Part]) -> Replay:
    """The published history of an earlier run."""
    return Replay(lambda place, values, noise: parts[place].published)


# --- models and rows ---------------------------------------------------------------------------------------------------------

NORM, BOUNDS = 3.0, (-4.0, 6.0)
# Loss of rows within a radius, the labels that records may have, and the declared target.
LOSSES: dict[str, tuple[Callable[[float], Any], list[float], Any]] = {
    "logistic": (sf.losses.Logistic, [0, 1], sf.Category([0, 1])),
    "huber": (lambda radius: sf.losses.Huber(radius, 2.0, *BOUNDS), [-4.0, 0.3, 1.0, 6.0], sf.Number(*BOUNDS)),
    "poisson": (lambda radius: sf.losses.ClippedPoisson(radius, 3.0, 8.0), [0, 1, 8], sf.Number(0, 8)),
    "smoothed hinge": (lambda radius: sf.losses.SmoothedHinge(radius, 0.5), [0, 1], sf.Category([0, 1])),
}


def model_of(name: str, d: int, intercept: float = 0.0, prior: Any = None) -> sf.Gibbs:
    """The model of a loss with d coefficients, that of the constant feature included."""
    loss = LOSSES[name][0](math.hypot(NORM, intercept))
    return sf.Gibbs(loss, prior or sf.priors.Gaussian(0.5), d, intercept)


def engine_of(model: sf.Gibbs, name: str, rows: Array, labels: Array, csr: bool = False) -> Any:
    """The engine of these records."""
    schema = sf.Schema.vector(rows.shape[1], data_norm=NORM, target=LOSSES[name][2])
    stored = sparse.csr_array(rows) if csr else rows
    return open_engine(sf.Dataset.from_arrays(stored, labels, schema=schema), model, shaped_path.NEEDS)


def hostile_rows(rng: np.random.Generator, width: int) -> Array:
    """Rows that a person may choose against the bounds: none, longest, along an axis, nearly none, and random ones."""
    unit = rng.normal(size=(4, width))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    axes = np.eye(width)[[0, -1]]
    longest = NORM * np.vstack([unit, -unit[:1], axes, -axes])
    return np.vstack([np.zeros((1, width)), longest, 1e-9 * unit[:1], 0.3 * unit])


def replayed(task: Task, engines: list[Any], first: Replay, run: Any = shaped_path) -> list[list[Part]]:
    """The parts of every engine's run, each after the history of the first one."""
    run.carry_out(task, engines[0], first)
    found = [first.parts]
    for engine in engines[1:]:
        again = after(first.parts)
        run.carry_out(task, engine, again)
        found.append(again.parts)
    return found


def spent(one: list[Part], other: list[Part]) -> dict[str, float]:
    """mu that each kind of part took: its shift over its noise, and all gradients together."""
    shifts = [float(np.linalg.norm(a.values - b.values)) / a.noise for a, b in zip(one, other, strict=True)]
    return {
        "moments": shifts[0],
        "path": math.hypot(*shifts[1:-2]),
        "curvature": shifts[-2],
        "scores": shifts[-1],
        "all": math.hypot(*shifts),
    }


def by_hand(model: sf.Gibbs, n: int, numbers: shaped_path.Parameters, label: float) -> dict[str, float]:
    """mu of each kind by hand, without rounding errors; `label` is the declared size of the label's column."""
    radius, k = model.loss.radius, model.loss.largest_curvature()
    matrix = numbers.score_matrix_noise is not None
    found = {
        "moments": math.sqrt(2) * (radius**2 + label**2) / n / numbers.moments_noise,
        "path": 2 * math.sqrt(numbers.steps) / n / numbers.noise,
        "curvature": math.sqrt(2) * 3 * k / n / numbers.curvature_noise,
        "scores": (math.sqrt(2) if matrix else 1) / n / (numbers.score_matrix_noise or numbers.score_noise),
    }
    if isinstance(model.loss, sf.losses.Logistic) and model.dimension == 1:
        found["path"] *= 0.75  # the factor 1.5 for 2 of a line
    return {**found, "all": math.hypot(*found.values())}
