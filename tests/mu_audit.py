"""Measuring mu of running code: where both laws are normal with one variance, mu is their distance in deviations."""

from __future__ import annotations

import math

import numpy as np


def measured_mu(first: np.ndarray, second: np.ndarray) -> float:
    """(difference of the means)/(pooled deviation) of two samples of equal size."""
    pooled = math.sqrt(0.5 * (first.var(ddof=1) + second.var(ddof=1)))
    return float(first.mean() - second.mean()) / pooled


def standard_error(mu: float, runs: int) -> float:
    """Standard error of `measured_mu` with `runs` a side: that of the means, and that of the deviation."""
    return math.sqrt(2 / runs + mu * mu / (4 * (runs - 1)))


def agrees(claimed: float, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the claim lies within 3.5 standard errors of what is measured."""
    found = measured_mu(first, second)
    return abs(found - claimed) <= 3.5 * standard_error(claimed, len(first))
