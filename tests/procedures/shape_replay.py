"""Replay of shape-first releases: what two neighbouring data sets would publish, given the same published history.

`sfumato.auditing.replay_noise` stands in for the randomness of a procedure; here are the models, the records that a person may
choose against the bounds, and the prices by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import sfumato as sf
from sfumato.auditing.replay_noise import Part, Replay, after, published
from sfumato.engines.opening import open_engine
from sfumato.procedures import shaped_path
from sfumato.procedures.protocol import Task

Array = np.ndarray


# --- models and rows ---------------------------------------------------------------------------------------------------------

NORM, BOUNDS = 3.0, (-4.0, 6.0)
# Loss of rows within a radius, the labels that records may have, and the declared target.
LOSSES: dict[str, tuple[Callable[[float], Any], list[float], Any]] = {
    "logistic": (sf.losses.Logistic, [0, 1], sf.Category([0, 1], missing=0)),
    "huber": (lambda radius: sf.losses.Huber(radius, 2.0, *BOUNDS), [-4.0, 0.3, 1.0, 6.0], sf.Number(*BOUNDS)),
    "poisson": (lambda radius: sf.losses.ClippedPoisson(radius, 3.0, 8.0), [0, 1, 8], sf.Number(0, 8)),
    "smoothed hinge": (lambda radius: sf.losses.SmoothedHinge(radius, 0.5), [0, 1], sf.Category([0, 1], missing=0)),
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
        again = after(published(first.parts))
        run.carry_out(task, engine, again)
        found.append(again.parts)
    return found


def spent(one: list[Part], other: list[Part], shares: bool = False) -> dict[str, float]:
    """mu that each kind of part took: its shift over its noise, and all gradients together; `shares` of residuals come second."""
    shifts = [float(np.linalg.norm(a.values - b.values)) / a.noise for a, b in zip(one, other, strict=True)]
    return {
        "moments": shifts[0],
        **({"shares": shifts[1]} if shares else {}),
        "path": math.hypot(*shifts[1 + shares : -2]),
        "curvature": shifts[-2],
        "scores": shifts[-1],
        "all": math.hypot(*shifts),
    }


def bend_of(x: float) -> float:
    """B by hand, from the radius of the map."""
    radius = max(0.4, (x / 1100) ** (0.7 if x < 1100 else 0.35))
    return float(np.clip(1.2 / radius, 1.5, 3.0))


def by_hand(model: sf.Gibbs, n: int, numbers: shaped_path.Parameters, label: float) -> dict[str, float]:
    """mu of each kind by hand, without rounding errors; `label` is the declared size of the label's column."""
    radius, k = model.loss.radius, model.loss.largest_curvature()
    matrix = numbers.score_matrix_noise is not None
    found = {
        "moments": math.sqrt(2) * (radius**2 + label**2) / n / numbers.moments_noise,
        **({} if numbers.shares_noise is None else {"shares": math.sqrt(2) / n / numbers.shares_noise}),
        "path": 2 * math.sqrt(numbers.steps) / n / numbers.noise,
        "curvature": math.sqrt(2) * bend_of(numbers.resolution) * k / n / numbers.curvature_noise,
        "scores": (math.sqrt(2) if matrix else 1) / n / (numbers.score_matrix_noise or numbers.score_noise),
    }
    if isinstance(model.loss, sf.losses.Logistic) and model.dimension == 1:
        found["path"] *= 0.75  # the factor 1.5 for 2 of a line
    return {**found, "all": math.hypot(*found.values())}
