"""Exact power posteriors of Bernoulli rows in logit form (Example 17), shared by two scripts."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special, stats


def posterior(ones: Any, n: int, power: float, variance: float = 1.0, points: int = 2001) -> tuple[Any, Any]:
    """Grids and cell probabilities of the posterior after `ones` ones among n rows, prior N(0, variance).

    `ones` may be an array: the answers then have one line for each entry.
    """
    count = np.atleast_1d(np.asarray(ones, dtype=float))
    centre = special.logit((count + 0.5) / (n + 1))
    share = special.expit(centre)
    spread = 9 / np.sqrt(n * power * share * (1 - share) + 1 / variance)
    grid = centre[:, None] + spread[:, None] * np.linspace(-1, 1, points)
    log_density = power * (count[:, None] * grid - n * np.logaddexp(0, grid)) - 0.5 * grid**2 / variance
    return grid, special.softmax(log_density, axis=1)


def likely(n: int, theta: float) -> tuple[Any, Any]:
    """Counts of ones that have a probability above 1e-12 under the truth, and their probabilities."""
    mass = stats.binom.pmf(np.arange(n + 1), n, special.expit(theta))
    counts = np.flatnonzero(mass > 1e-12)
    return counts[(counts > 0) & (counts < n)], mass[counts[(counts > 0) & (counts < n)]]


def pair_delta(n: int, power: float, epsilon: float, variance: float = 1.0) -> float:
    """Exact delta over all neighbours (k and k + 1 ones), both directions, by quadrature on one grid."""
    half = 14 * math.sqrt(variance)
    grid = np.linspace(-half, half, 20_001)
    laws = [
        special.softmax(power * (k * grid - n * np.logaddexp(0, grid)) - 0.5 * grid**2 / variance) for k in range(n + 1)
    ]
    worst = 0.0
    for p, q in pairwise(laws):
        for one, two in ((p, q), (q, p)):
            worst = max(worst, float(np.maximum(one - math.exp(epsilon) * two, 0).sum()))
    return worst
