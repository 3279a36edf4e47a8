"""How strongly two columns depend on each other, from noisy counts: Cramér's V without what noise and sampling add."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A level counts by itself where its records are at least this many (Cochran's rule for chi-squared) and at least this many
# standard deviations of the noise of their sum; smaller ones are pooled, since each cell is divided by the share of its level.
_RECORDS, _DEVIATIONS = 5.0, 3.0
# The probability that a report of independent columns lists any dependence.
FAMILY = 0.05
LISTED = f"Were all columns independent, any would be listed here in {100 * FAMILY:g} of 100 such tables at most."


@dataclass(frozen=True)
class Dependence:
    """Cramér's V, from 0 (independent) to 1 (one column determines the other), and whether noise alone rarely gives as much."""

    strength: float
    clear: bool


def dependence(counts: Array, variance: float, tests: int) -> Dependence:
    """The dependence of rows and columns of noisy counts, one of `tests` pairs, each cell with independent noise of this variance.

    With shares p_ij, margins p_i and q_j, V^2 = sum_ij (p_ij - p_i q_j)^2 / (p_i q_j) / (min(rows, columns) - 1). Noise adds to
    the sum even where the columns are independent. The expectation of what it adds is subtracted, and the dependence is
    `clear` where the sum exceeds the quantile 1 - FAMILY/tests of its law under independence: if all pairs are independent, one of
    them is called clear with a probability of at most FAMILY (Bonferroni).
    """
    cells, rows, columns = _pooled(np.asarray(counts, dtype=np.float64), variance)
    if min(cells.shape) < 2:
        return Dependence(0.0, clear=False)
    total = cells.sum()
    p, q = cells.sum(axis=1) / total, cells.sum(axis=0) / total
    expected = np.outer(p, q)
    inertia = float(((cells / total - expected) ** 2 / expected).sum())
    mean, spread = _under_independence(p, q, rows, columns, variance, total)
    most = min(cells.shape) - 1
    strength = float(np.sqrt(min(max(inertia - mean, 0.0) / most, 1.0)))
    return Dependence(strength, clear=inertia > _quantile(mean, spread, 1 - FAMILY / tests))


def strength_of(counts: Array, variance: float) -> float:
    """Cramér's V of counts without noise, small levels pooled as in noisy counts of this variance: the two can be compared."""
    cells, _, _ = _pooled(np.asarray(counts, dtype=np.float64), variance)
    if min(cells.shape) < 2:
        return 0.0
    shares = cells / cells.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    return float(np.sqrt(min(((shares - expected) ** 2 / expected).sum() / (min(cells.shape) - 1), 1.0)))


def _under_independence(
    p: Array, q: Array, rows: Array, columns: Array, variance: float, total: float
) -> tuple[float, float]:
    """Mean and variance of the sum in V^2 for independent columns; `rows` and `columns` are how many levels each one pools.

    To first order the standardised residuals are A Z B with A = I - sqrt(p) sqrt(p)', B = I - sqrt(q) sqrt(q)', the projections
    that estimated margins leave. Z has the covariance I x I / total from sampling, and from the noise
    D_p x D_q variance / total^2 with D_p = diag(rows / p), D_q = diag(columns / q). The sum is a quadratic form in normal
    residuals with covariance C = A x B / total + A D_p A x B D_q B variance / total^2: mean tr C, variance 2 tr C^2.
    """
    first, second = (np.eye(len(each)) - np.sqrt(np.outer(each, each)) for each in (p, q))
    noisy_first = first @ np.diag(rows / p) @ first
    noisy_second = second @ np.diag(columns / q) @ second
    sampling, noise = 1 / total, variance / total**2
    freedom = (len(p) - 1) * (len(q) - 1)
    traces = np.trace(noisy_first) * np.trace(noisy_second)
    squares = np.sum(noisy_first**2) * np.sum(noisy_second**2)
    mean = sampling * freedom + noise * traces
    return float(mean), float(2 * (sampling**2 * freedom + 2 * sampling * noise * traces + noise**2 * squares))


def _quantile(mean: float, spread: float, level: float) -> float:
    """The quantile of the Gamma law with this mean and variance, by which Satterthwaite approximates a quadratic form."""
    from scipy.special import gammaincinv

    return float(gammaincinv(mean**2 / spread, level) * spread / mean)


def _pooled(counts: Array, variance: float) -> tuple[Array, Array, Array]:
    """Counts with small levels added to the next larger one, and how many levels each row and column pools."""
    rows, columns = (np.ones(size) for size in counts.shape)
    while True:
        counts, rows, less_rows = _one_pooled(counts, rows, columns, variance)
        flipped, columns, less_columns = _one_pooled(counts.T, columns, rows, variance)
        counts = flipped.T
        if not less_rows and not less_columns:
            return counts, rows, columns


def _one_pooled(counts: Array, rows: Array, columns: Array, variance: float) -> tuple[Array, Array, bool]:
    """Add the smallest row to the next larger one where it is too small; the last value says whether it was."""
    sums = counts.sum(axis=1)
    least = np.maximum(_RECORDS, _DEVIATIONS * np.sqrt(variance * rows * columns.sum()))
    if len(rows) < 2 or np.all(sums >= least):
        return counts, rows, False
    # The smallest against its own noise, then the smallest of the others.
    small = int(np.argmin(sums / least))
    other = min((k for k in range(len(rows)) if k != small), key=lambda k: sums[k])
    counts, rows = counts.copy(), rows.copy()
    counts[other] += counts[small]
    rows[other] += rows[small]
    return np.delete(counts, small, axis=0), np.delete(rows, small), True
