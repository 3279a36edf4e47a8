"""The parts of a shape-first path, each attacked by itself: moments, shares of residuals, path, curvature and scores.

Each part is priced by itself, whatever was published before it. So a history is fixed first, by one release on the first data
set; then the part is drawn many times on both, by the code of the procedure, and its likelihood ratio is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.auditing.attack import RATIO, Attack
from sfumato.auditing.error_rates import Array, pilot_thresholds
from sfumato.auditing.pairs import Neighbours
from sfumato.auditing.ratios import WithoutNoise
from sfumato.draws import Draws
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError
from sfumato.mechanisms.plan import Plan
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures import shape_first, shaped_path
from sfumato.procedures.shape_first import label_column
from sfumato.randomness import Randomness
from sfumato.samplers.langevin import noisy_path

PARTS = ("moments", "shares", "path", "curvature", "scores")


@dataclass(frozen=True, eq=False)
class Side:
    """One data set after the fixed history: its engine, and what follows from the published moments."""

    engine: Any
    weighed: Any
    gradient: Callable[[Array], Array]


Drawer = Callable[[Side, int, Randomness], Array]


def part_prices(plan: Plan) -> dict[str, Guarantee]:
    """The price of every part of a shape-first path; "shares" is one of a linear regression alone."""
    if plan.procedure != shaped_path.NAME:
        raise ArgumentError(f"parts are those of procedure 'shaped-path'; the plan is drawn by {plan.procedure!r}.")
    model, n, numbers = plan.model, plan.n, plan.parameters
    names = [name for name in PARTS if name != "shares" or numbers.shares_noise is not None]  # type: ignore[attr-defined]
    return dict(zip(names, shaped_path.part_prices(model, n, numbers), strict=True))  # type: ignore[arg-type]


def attack_part(plan: Plan, pair: Neighbours, part: str, runs: int, source: Randomness, pilot: int = 500) -> Attack:
    """Draw one part `runs` times on each of two data sets after the same history; `pilot` runs more choose the thresholds."""
    sides, draw = _prepared(plan, pair, part, source)
    scores = [draw(side, pilot + runs, source) for side in sides]
    thresholds = pilot_thresholds(scores[0][:pilot], scores[1][:pilot])
    return Attack(replace(pair, name=f"{part} on {pair.name}"), RATIO, scores[0][pilot:], scores[1][pilot:], thresholds)


def part_shift(plan: Plan, pair: Neighbours, part: str, source: Randomness, runs: int = 50) -> float:
    """How far a part is moved, as mu: the mean log likelihood ratios of normals at distance mu differ by mu squared."""
    sides, draw = _prepared(plan, pair, part, source)
    first, second = (draw(side, runs, source).mean() for side in sides)
    return math.sqrt(max(0.0, float(second - first)))


def _prepared(plan: Plan, pair: Neighbours, part: str, source: Randomness) -> tuple[list[Side], Drawer]:
    """Both data sets after one history, published from the first of them, and how the part is drawn and scored."""
    task = plan.task
    engines = [open_engine(data, plan.model, shaped_path.NEEDS) for data in (pair.first, pair.second)]
    history = shaped_path.carry_out(task, engines[0], source.spawn())
    learnt = shaped_path.learnt_from(task, history.published)
    sides = []
    for engine in engines:
        weighed = engine.weighed(learnt.shape.matrix, learnt.shape.rule.bend, learnt.loss)
        gradient = shaped_path.mean_gradient(task, learnt, weighed)
        sides.append(Side(_Remembered(engine), _Remembered(weighed), gradient))
    drawer = {"moments": _moments, "shares": _shares, "path": _path}.get(part, _second)
    return sides, drawer(task, learnt, sides, history, part)


class _Remembered:
    """An engine whose sums are computed once: between the runs of a part only the noise differs."""

    def __init__(self, engine: Any) -> None:
        self.n, self.dimension, self.labels = engine.n, engine.dimension, engine.labels
        self.moments, self.residual_shares, self.second_sums = (
            _first_answer(getattr(engine, name, None)) for name in ("moments", "residual_shares", "second_sums")
        )


def _first_answer(method: Any) -> Callable[..., Any]:
    kept: list[Any] = []

    def answer(*arguments: Any) -> Any:
        if not kept:
            kept.append(method(*arguments))
        return kept[0]

    return answer


def _ratios(drawn: Array, first: Array, second: Array, noise: float) -> Array:
    """Log likelihood ratios of vectors (runs, numbers) with normal noise about two centres."""
    return np.asarray((((drawn - first) ** 2).sum(axis=-1) - ((drawn - second) ** 2).sum(axis=-1)) / (2 * noise**2))


def _moments(task: Any, learnt: Any, sides: list[Side], history: Draws, part: str) -> Drawer:
    noise, label = task.parameters.moments_noise, label_column(task.model)
    return _vectors(
        sides, noise, lambda side, source: shape_first.publish_moments(task.model, side.engine, noise, label, source)
    )


def _shares(task: Any, learnt: Any, sides: list[Side], history: Draws, part: str) -> Drawer:
    noise = task.parameters.shares_noise
    around = shaped_path.learnt_from(task, {"moments": history.published["moments"]})
    return _vectors(sides, noise, lambda side, source: shape_first.noisy(around.shares(side.engine), noise, source))


def _vectors(sides: list[Side], noise: float, once: Callable[[Side, Any], Array]) -> Drawer:
    """Ratios of vectors that are published once."""
    first, second = (once(side, WithoutNoise()) for side in sides)
    return lambda side, runs, source: _ratios(np.stack([once(side, source) for _ in range(runs)]), first, second, noise)


def _path(task: Any, learnt: Any, sides: list[Side], history: Draws, part: str) -> Drawer:
    noise, recursion = task.parameters.noise, shaped_path.recursion_of(task, learnt)

    def draw(side: Side, runs: int, source: Randomness) -> Array:
        """Ratios of `runs` paths on one data set, all in one pass."""
        many = replace(recursion, start=np.zeros((runs, len(learnt.start))))
        transcript = np.asarray(noisy_path(side.gradient, many, noise, source, True).transcript)
        total = np.zeros(runs)

        def add(theta: Array, done: int) -> Array:
            published = np.asarray(transcript[:, done - 1])
            total[:] += _ratios(published, sides[0].gradient(theta), sides[1].gradient(theta), noise)
            return published

        many.run(add)
        return total

    return draw


def _second(task: Any, learnt: Any, sides: list[Side], history: Draws, part: str) -> Drawer:
    numbers, transcript = task.parameters, np.asarray(history.transcript)
    scores_noise = float(numbers.score_matrix_noise or numbers.score_noise or 0.0)
    noise = numbers.curvature_noise if part == "curvature" else scores_noise

    def once(side: Side, source: Any) -> Array:
        return shaped_path.second_order(task, learnt, side.weighed, transcript, source)[part]

    first, second = (once(side, WithoutNoise()) for side in sides)
    return lambda side, runs, source: _ratios(np.stack([once(side, source) for _ in range(runs)]), first, second, noise)
