"""What a posterior says of the path that it was read from: whether the path has arrived, and what to do where it has not.

A path that ended far from the posterior mean, by more than the posterior's own deviations, was too short. Its average is then a
poor estimate, and the mean is one Newton step away over a distance on which the curvature of the loss may change.
"""

from __future__ import annotations

import numpy as np

from sfumato.shapes.published import Array

# Mean over directions of the squared distance of average and posterior mean over the variance that a path which has arrived
# would explain: up to the first number it has arrived, from the second on it has not. In twelve regressions of
# tests/regression_cells.py, three runs each, the mean over known directions is at most .15.
ARRIVED, LOST = 0.7, 2.0
# Variance along the distance that a Newton step over it adds, as a share of its square. Chosen by simulation among 0 to 1. Paths
# of 20 steps at epsilon 3 to 30 cover .83 to .90 of .90 with it (five cells, ten runs each).
STEP_ERROR = 0.5
# Posterior over prior variance from which on a direction counts as unknown: there the mean is the prior's more than the rows', and
# no better than the average.
UNKNOWN = 0.1
# Share of the way from start to optimum below which a direction counts as not reached.
SHORT = 0.8


def missing(mean: Array, average: Array, explained: Array, known: Array) -> float:
    """0 where the path has arrived, 1 where it has not, a smooth rise in between.

    `explained` has a variance for each direction, `known` a weight: a direction of which little is known says nothing.
    """
    if not known.any():
        return 0.0
    squares = (average - mean) ** 2 / np.maximum(explained, np.finfo(float).tiny)
    quotient = float(known @ squares / known.sum())
    share = min(max((quotient - ARRIVED) / (LOST - ARRIVED), 0.0), 1.0)
    return share * share * (3.0 - 2.0 * share)


def known_share(variance: Array, precision: Array) -> Array:
    """1 for a direction whose posterior variance is far below the prior's, 0 from UNKNOWN of it on."""
    return np.clip(1.0 - variance * precision / UNKNOWN, 0.0, 1.0)


def short_share(reached: Array) -> Array:
    """1 for a direction of which the path covered SHORT of the way or less, by its own filter, 0 where it covered all."""
    return np.clip((1.0 - reached) / (1.0 - SHORT), 0.0, 1.0)


def widened(mean: Array, average: Array, covariance: Array, weight: Array) -> Array:
    """The covariance with the error of a Newton step from the average to the mean, along directions with these weights."""
    away = np.sqrt(weight) * (average - mean)
    wide: Array = covariance + STEP_ERROR * np.outer(away, away)
    return wide
