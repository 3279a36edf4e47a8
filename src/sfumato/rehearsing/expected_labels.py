"""Labels of the expected rows: those of the model at declared effects, with the declared share or mean.

Effects are in the columns' own units and 0 where none is declared. One constant is added to all scores so that the share of the
second class, or the mean of a number, is the declared one over these rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.clipped_poisson import ClippedPoisson
from sfumato.models.losses.labels import LabelSet
from sfumato.rehearsing.declared_laws import law_of, mean_and_sd, shares_of, strata
from sfumato.schema import Category, Number, Schema

Array = NDArray[np.float64]
# A normal law whose six deviations fill the bounds has nearly all its labels within them.
_DEVIATIONS = 6.0
# Halvings of the search for the constant: the range shrinks to 1e-13.
_HALVINGS = 50
# Scores beyond this give shares of 0 and 1.
_FARTHEST = 60.0


def label_sentence(schema: Schema, fact: object, effects: Mapping[str, float], model: Gibbs | None = None) -> str:
    """What is assumed about the label; refuses facts that no label can have."""
    name = str(schema.target)
    column = schema.columns[name]
    said = ", ".join(f"{key} {value:g}" for key, value in effects.items())
    rest = f"; effects on it: {said}" if said else "; no column has an effect on it"
    if isinstance(column, Number):
        mean, sd = _mean_and_sd(name, column, fact)
        poisson = model is not None and isinstance(model.loss, ClippedPoisson)
        spread = "counts of a Poisson law" if poisson else f"deviation {sd:g} about the model"
        return f"{name}: mean {mean:g}, {spread}{rest}"
    levels = column.levels or ()
    if isinstance(column, Category) and len(levels) == 2:
        rest = f"; the regression is of the level {levels[1]} against {levels[0]}{rest}"
    return law_of(name, column, fact).sentence + (rest if len(levels) == 2 else "")


def _mean_and_sd(name: str, column: Number, fact: object) -> tuple[float, float]:
    """Mean and residual deviation of a number; in the middle of the bounds and a sixth of their width by default."""
    width = column.upper - column.lower
    if fact is None:
        return (column.lower + column.upper) / 2, width / _DEVIATIONS
    mean, sd = mean_and_sd(name, column, fact, width / _DEVIATIONS)
    if sd >= width / 2:
        raise ArgumentError(
            f"rows: sd of the target {name!r} is the deviation of its labels about the model, and must be below half the width of "
            f"its bounds, {width / 2:g}; got {sd:g}."
        )
    return mean, sd


def labels_of(
    model: Gibbs, schema: Schema, fact: object, scores: Array, rng: np.random.Generator, skewed: bool = False
) -> NDArray[Any]:
    """Labels in the target's stored form for rows with these sums of effects; a number's errors are normal, or log-normal."""
    name = str(schema.target)
    column, loss = schema.columns[name], model.loss
    if isinstance(column, Number):
        mean, sd = _mean_and_sd(name, column, fact)
        if isinstance(loss, ClippedPoisson):
            top = float(scores.max())
            constant = math.log(mean) - top - math.log(float(np.exp(scores - top).mean()))
            return loss.simulate((scores + constant)[:, None], rng)
        errors = _normals(len(scores), rng)
        if skewed:  # exp of a standard normal has mean e^(1/2) and variance (e - 1) e
            errors = (np.exp(errors) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
        return np.asarray(np.clip(scores + mean - scores.mean() + sd * errors, column.lower, column.upper))
    shares = shares_of(name, column, fact)
    if len(shares) != 2 or not isinstance(loss.label_domain, LabelSet):
        return law_of(name, column, fact).draw(len(scores), rng)
    values = np.array(loss.label_domain.values)
    constant = _constant(lambda moved: float(loss.label_shares(moved[:, None], values)[:, 1].mean()), scores, shares[1])
    return _systematic(loss.label_shares((scores + constant)[:, None], values)[:, 1], rng)


def _constant(share_at: Any, scores: Array, share: float) -> float:
    """The constant at which the mean probability of the second class is `share`, by bisection: it grows with the score."""
    low, high = -_FARTHEST - float(scores.max()), _FARTHEST - float(scores.min())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if share_at(scores + middle) < share else (low, middle)
    return (low + high) / 2


def _systematic(chances: Array, rng: np.random.Generator) -> NDArray[Any]:
    """1 with these chances, in all as many as their sum, rounded: one uniform number for all rows in random order."""
    order = rng.permutation(len(chances))
    reached = np.floor(np.cumsum(chances[order]) + rng.random())
    ones = np.empty(len(chances), dtype=np.int64)
    ones[order] = np.diff(reached, prepend=0.0) > 0
    return ones


def _normals(m: int, rng: np.random.Generator) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(strata(m, rng)))
