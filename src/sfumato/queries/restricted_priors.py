"""Prices and losses of answers from draws under a prior that is restricted to parameters with small Lipschitz constants."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.theorems.sampling_error import restricted_prior_release


def restricted_prior_curve(
    lipschitz: Callable[[Array], Array],
    prior: Array,
    points: Array,
    draws: int,
    responses: int,
    queries: int,
    risk: float,
) -> list[tuple[float, float]]:
    """Theorem 17's trade-off: (epsilon, mean loss of answers) as the prior on `points` is restricted to Theta_L, L rising.

    `lipschitz` gives the Lipschitz constant of each point, `prior` their probabilities. The price is 2 L N, the loss
    2 (1 - prior mass of Theta_L) plus the sampling error of N draws; both are public.
    """
    constants = np.asarray(lipschitz(points), dtype=np.float64)
    weights = np.asarray(prior, dtype=np.float64)
    if constants.shape != weights.shape or not math.isclose(float(weights.sum()), 1.0, rel_tol=1e-9):
        raise ArgumentError(
            "give one Lipschitz constant and one probability per point; the probabilities must sum to 1."
        )
    curve = []
    possible = np.unique(constants[np.isfinite(constants) & (constants > 0)])
    # Constants that differ by a rounding error are one step of the curve: the largest of them.
    steps = possible[np.append(np.diff(possible) > 1e-9 * possible[:-1], True)]
    for bound in steps:
        mass = min(1.0, float(weights[constants <= bound].sum()))
        if mass <= 0:
            continue
        release = restricted_prior_release(
            lipschitz=float(bound), mass=mass, prior_restricted=True, distance="hamming", draws=draws,
            responses=responses, queries=queries, delta=risk,
        )  # fmt: skip
        curve.append((2 * float(bound) * draws, release.mean_loss))
    return curve
