"""Statistical tests with one suite-wide false-alarm rate: what passes, passes by derivation and not by a tuned tolerance.

The whole suite may raise a false alarm about once in a thousand runs with fresh seeds (seeds are fixed, so in practice
never); it holds fewer than 500 such checks, so each is judged at 2e-6. A check is only worth having if it also rejects a
wrong law, which the tests show beside each use.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

LEVEL = 1e-3 / 500


def chi_square_p(observed: np.ndarray, expected: np.ndarray) -> float:
    """p-value of observed counts against expected ones; cells expecting fewer than 8 are pooled."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    rare = expected < 8
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 8:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def uniform_p(values: np.ndarray) -> float:
    """p-value of a sample that should be uniform on (0, 1) (Kolmogorov-Smirnov)."""
    return float(stats.kstest(values, "uniform").pvalue)
