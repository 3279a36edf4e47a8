"""How far a released parameter lies from the true one, on invented public data of the same shape.

A parameter is drawn from the prior; features are uniform on the sphere of the loss's radius; labels follow the model at that
parameter, with probabilities proportional to exp(-loss) unless the loss overrides `simulate`. The streams are seeded, no
ledger is charged and no private record is read: the errors are those to expect from the plan if the model is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.dataset import Dataset
from sfumato.engines.opening import open_engine
from sfumato.errors import ArgumentError
from sfumato.mechanisms import task_of
from sfumato.mechanisms.plan import Plan
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.labels import LabelSet
from sfumato.models.losses.protocol import LABEL, ROW, Loss
from sfumato.models.priors import Ball, Box, Gaussian
from sfumato.models.regression import scores_of
from sfumato.randomness import seeded
from sfumato.schema import Category, Number, Schema

Array = NDArray[np.float64]
# Fresh rows on which classifiers are compared: enough that an error rate is known to about one percent.
_JUDGED = 2_000


@dataclass(frozen=True)
class Rehearsal:
    """Mean distance of a draw from the true parameter, its mean square, and the distance of the public start, which costs nothing.

    `excess` is for classifiers: how much more often a released classifier errs than the best one. `error_spread` and
    `excess_spread` are the standard errors of the means over `runs`.
    """

    runs: int
    error: float
    error_spread: float
    start_error: float
    excess: float | None
    excess_spread: float | None
    squared_error: float
    squared_spread: float

    def __str__(self) -> str:
        lines = [
            f"rehearsal of {self.runs} runs on invented public data",
            f"distance to the true parameter {self.error:.4g} +- {self.error_spread:.2g} (start: {self.start_error:.4g})",
            f"squared distance {self.squared_error:.4g} +- {self.squared_spread:.2g}",
        ]
        if self.excess is not None:
            lines.append(f"errors beyond the best classifier {self.excess:.4g} +- {self.excess_spread:.2g}")
        return "\n".join(lines)


def parameter_errors(plan: Plan, runs: int = 20, *, dimension: int | None = None, seed: int = 0) -> Rehearsal:
    """Run the plan `runs` times on simulated data; `dimension` is the parameter's, if the model does not fix it."""
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must come from sf.plan(...); got {type(plan).__name__}.")
    if not isinstance(plan.model, Gibbs):
        raise ArgumentError("rehearse serves sf.Gibbs models; what a family's plan brings is in plan.expected.")
    count, first = _validate.whole("runs", runs), _validate.whole("seed", seed, minimum=0)
    given = plan.model.dimension if dimension is None else _validate.whole("dimension", dimension)
    if given is None:
        raise ArgumentError("the model leaves its dimension open: give rehearse(plan, dimension=...).")
    if plan.model.dimension not in (None, given):
        raise ArgumentError(f"dimension must be the model's, {plan.model.dimension}; got {given}.")
    results = [_one(plan, given, [first, run]) for run in range(count)]
    errors, starts, extra, squares = (np.array(column, dtype=np.float64) for column in zip(*results, strict=True))
    judged = not np.isnan(extra).any()
    return Rehearsal(
        count,
        float(errors.mean()),
        _spread(errors),
        float(starts.mean()),
        float(extra.mean()) if judged else None,
        _spread(extra) if judged else None,
        float(squares.mean()),
        _spread(squares),
    )


def _spread(values: Array) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def _one(plan: Plan, dimension: int, seed: list[int]) -> tuple[float, float, float, float]:
    """Of one run: distance of draws and of the start, excess errors (NaN where nothing is classified), squared distance."""
    rng, model = np.random.default_rng(seed), plan.task.model
    # The truth follows the prior as it was given, not the one that a target made stronger.
    given = model.prior.scaled(1 / dict(plan.parameters).get("strength", 1.0))
    truth = _parameter(model.with_prior(given), dimension, rng)
    data, excess_of = _invent(model, truth, plan.n, rng)
    plan.model.columns(data.schema)  # refuses rows that the loss was not made for
    procedure, task = task_of(plan)
    engine = open_engine(data, plan.model, procedure.NEEDS)
    released = procedure.carry_out(task, engine, seeded(int(rng.integers(1 << 62))))
    draws = released.pooled().reshape(-1, dimension)
    start = np.zeros(dimension) if model.prior.start is None else np.array(model.prior.start)
    distances = np.linalg.norm(draws - truth, axis=1)
    excess = math.nan if excess_of is None else float(np.mean([excess_of(theta) for theta in draws[:50]]))
    return float(distances.mean()), float(np.linalg.norm(start - truth)), excess, float(np.mean(distances**2))


def _parameter(model: Gibbs, dimension: int, rng: np.random.Generator) -> Array:
    """A draw from the prior, moved into its domain; a flat prior is uniform there."""
    prior: Any = model.prior
    inner = prior.prior if isinstance(prior, Ball | Box) else prior
    if isinstance(inner, Gaussian):
        precision = np.asarray(inner.precision)
        whole = precision if precision.ndim == 2 else np.eye(dimension) * precision
        theta = np.linalg.solve(np.linalg.cholesky(whole).T, rng.normal(size=dimension))
        theta = theta + (0.0 if inner.mean is None else np.array(inner.mean))
    elif isinstance(prior, Box):
        theta = rng.uniform(prior.lower, prior.upper)
    else:
        radius = prior.radius if isinstance(prior, Ball) else model.loss.radius
        theta = on_sphere(1, dimension, radius, rng)[0] * rng.random() ** (1 / dimension)
        theta = theta + np.array(getattr(prior, "centre", None) or [0.0])
    theta = prior.project(theta)
    if model.loss.record == ROW:
        theta = theta * min(1.0, model.loss.radius / 2 / max(float(np.linalg.norm(theta)), 1e-300))
    return np.asarray(theta, dtype=np.float64)


def on_sphere(count: int, dimension: int, radius: float, rng: np.random.Generator) -> Array:
    """Rows uniform on the sphere of this radius."""
    rows = rng.normal(size=(count, dimension))
    return np.asarray(rows * (radius * (1 - 1e-12) / np.linalg.norm(rows, axis=1, keepdims=True)))


def _invent(
    model: Gibbs, truth: Array, n: int, rng: np.random.Generator
) -> tuple[Dataset, Callable[[Array], float] | None]:
    """A public data set of n records that follow the model at `truth`, and for classes the excess error of a parameter."""
    loss = model.loss
    if loss.record == LABEL:
        labels = loss.simulate(np.full((n, 1), truth[0]), rng)
        schema = Schema({"y": Number(*_bounds(loss, labels))}, target="y")
        return Dataset.from_table({"y": labels}, schema=schema), None
    if loss.record == ROW:
        # Rows whose mean is the parameter: it lies within half the radius, and the noise keeps within the rest.
        rows = truth + on_sphere(n, len(truth), min(math.sqrt(len(truth)), loss.radius / 2), rng)
        return Dataset.from_arrays(rows, schema=Schema.vector(len(truth), data_norm=loss.radius)), None
    width = len(truth) // loss.outputs - (1 if model.intercept else 0)
    square = loss.radius**2 - model.intercept**2
    if width < 1 or square <= 0:
        raise ArgumentError(f"{model} leaves no room for a feature beside its intercept; nothing can be rehearsed.")
    norm = math.sqrt(square) * (1 - 1e-12)
    rows, fresh = on_sphere(n, width, norm, rng), on_sphere(_JUDGED, width, norm, rng)
    labels = loss.simulate(_scores(model, rows, truth), rng)
    if not isinstance(loss.label_domain, LabelSet):
        column = Number(*_bounds(loss, labels))
        return Dataset.from_arrays(rows, labels, schema=Schema.vector(width, data_norm=norm, target=column)), None
    values = np.array(loss.label_domain.values)
    schema = Schema.vector(width, data_norm=norm, target=Category(list(range(len(values))), missing=0))
    best = loss.label_shares(_scores(model, fresh, truth), values)

    def excess(theta: Array) -> float:
        chosen = loss.label_shares(_scores(model, fresh, theta), values).argmax(axis=1)
        return float((best.max(axis=1) - best[np.arange(_JUDGED), chosen]).mean())

    return Dataset.from_arrays(rows, np.searchsorted(values, labels), schema=schema), excess


def _scores(model: Gibbs, rows: Array, theta: Array) -> Array:
    """Scores (rows, outputs) of rows at one parameter."""
    return scores_of(model, rows, theta[None])[:, 0]


def _bounds(loss: Loss, labels: Array) -> tuple[float, float]:
    """Bounds of invented labels: the loss's own where it has them, else wide enough for all."""
    domain: Any = loss.label_domain
    lower = domain.lower if math.isfinite(domain.lower) else float(labels.min()) - 1
    return lower, domain.upper if math.isfinite(domain.upper) else float(labels.max()) + 1
