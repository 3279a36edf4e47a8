"""A table of ill and healthy patients and the Bernoulli grid of step 0.05: data, exact posteriors, Theta_L."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import sfumato as sf

STEP = 0.05
RATES = np.arange(1, 20) / 20
# Theta_L of the restricted prior: rates from 0.1 to 0.9.
LEVEL = math.log(9) + 1e-9
KEPT = RATES * (1 - RATES) >= 0.09 - 1e-12
SCHEMA = sf.Schema({"ill": sf.Boolean(missing=False)}, name="clinic", unit="patient")


def table(ones: int, n: int) -> sf.Dataset:
    """A data set of n patients of whom `ones` are ill."""
    return sf.Dataset.from_table({"ill": np.arange(n) < ones}, schema=SCHEMA)


def posterior(ones: int, n: int) -> NDArray[np.float64]:
    """Exact posterior on the grid under the uniform prior."""
    weights = RATES**ones * (1 - RATES) ** (n - ones)
    return np.asarray(weights / weights.sum())
