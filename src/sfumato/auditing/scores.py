"""Scores by which releases on two neighbouring data sets are told apart: larger where the second is more likely.

Where all noisy numbers are released, the score is the log likelihood ratio of the noise. Elsewhere a test is trained on pilot
runs: logistic regression on the released numbers, which is the likelihood ratio itself where that is linear in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.auditing.error_rates import Array

# Penalty of the trained coefficients, in standardised numbers: with a hundred runs and a few dozen numbers it keeps the test
# from following the noise of the pilot.
_RIDGE = 1.0
_NEWTON_STEPS = 25


@dataclass(frozen=True, eq=False)
class Score:
    """A statistic and how it was chosen."""

    name: str
    of: Callable[[Array], Array]


def trained(first: Array, second: Array) -> Score:
    """Logistic regression between the released numbers (runs, numbers) of pilot runs on the two data sets."""
    both = np.concatenate([first, second])
    centre, scale = np.median(both, axis=0), both.std(axis=0)
    kept = scale > 1e-12 * (1 + np.abs(centre))
    labels = np.repeat([0.0, 1.0], [len(first), len(second)])

    def standard(numbers: Array) -> Array:
        # Runs far in a tail must not decide the fit.
        return np.asarray(np.clip((numbers[:, kept] - centre[kept]) / scale[kept], -10, 10))

    rows = np.column_stack([standard(both), np.ones(len(both))])
    weights = _fitted(rows, labels)
    return Score("trained test", lambda numbers: np.asarray(standard(numbers) @ weights[:-1]))


def _fitted(rows: Array, labels: Array) -> Array:
    """Coefficients of a ridge logistic regression, by Newton's method with halved steps."""
    from scipy.special import expit

    weights = np.zeros(rows.shape[1])
    penalty = np.append(np.full(rows.shape[1] - 1, _RIDGE), 1e-9)

    def loss(at: Array) -> float:
        scores = rows @ at
        return float(np.logaddexp(0, scores).sum() - labels @ scores + 0.5 * (penalty * at * at).sum())

    for _ in range(_NEWTON_STEPS):
        chance = expit(rows @ weights)
        slope = rows.T @ (chance - labels) + penalty * weights
        curve = (rows * (chance * (1 - chance) + 1e-9)[:, None]).T @ rows + np.diag(penalty)
        move, size = np.linalg.solve(curve, slope), 1.0
        while size > 1e-6 and loss(weights - size * move) > loss(weights):
            size /= 2
        weights = weights - size * move
        if np.abs(size * move).max() < 1e-6:
            break
    return np.asarray(weights)


def separation(first: Array, second: Array) -> float:
    """How far two samples of scores are apart: the difference of their means in pooled deviations, an estimate of mu."""
    spread = np.sqrt(0.5 * (first.var() + second.var()))
    return float(abs(second.mean() - first.mean()) / spread) if spread > 0 else 0.0
