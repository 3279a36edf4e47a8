"""Gamma families for the tests, records drawn from each model, and the posterior by the textbook formula."""

from __future__ import annotations

import numpy as np
from scipy import stats

import sfumato as sf

F = sf.families
FREE = {
    "counts": F.GammaPoisson(40.0, 20.0, 9),
    "durations": F.ExponentialRate(40.0, 20.0, 4.0),
    "precision": F.NormalPrecision(40.0, 20.0, 1.0, 3.0),
}
TRIMMED = {
    "trimmed durations": F.ExponentialRate(20.0, 10.0, 4.0, 1.4, 3.0),
    "Laplace scale": F.LaplaceScale(1.0, 1.0, 1.8, 6.0, centre=-2.0),
    "trimmed precision": F.NormalPrecision(20.0, 10.0, 1.0, 3.0, 1.2, 3.0),
}
ALL = {**FREE, **TRIMMED}
BOUNDS = {
    "counts": (0.0, 9.0),
    "durations": (0.0, 4.0),
    "trimmed durations": (0.0, 4.0),
    "precision": (-2.0, 4.0),
    "trimmed precision": (-2.0, 4.0),
    "Laplace scale": (-8.0, 4.0),
}


def records(name: str, theta: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Records of the model itself, not clipped."""
    if name == "counts":
        return rng.poisson(theta, n).astype(float)
    if "durations" in name:
        return rng.exponential(1 / theta, n)
    return rng.laplace(-2.0, 1 / theta, n) if name == "Laplace scale" else rng.normal(1.0, theta**-0.5, n)


def dataset(name: str, values: np.ndarray) -> sf.Dataset:
    """The records as a table, clipped as it is made."""
    return sf.Dataset.from_table({"x": values}, schema=sf.Schema({"x": sf.Number(*BOUNDS[name])}, name="t"))


def statistic(name: str, values: np.ndarray) -> float:
    """The sum of the clipped records' statistics, by the formula of the model."""
    x = np.clip(values, *BOUNDS[name])
    if "precision" in name:
        return float(((x - 1.0) ** 2 / 2).sum())
    return float((np.abs(x + 2.0) if name == "Laplace scale" else x).sum())


def parameters(name: str, values: np.ndarray, power: float = 1.0) -> tuple[float, float]:
    """Shape and rate of the posterior."""
    model, n, total = ALL[name], len(values), statistic(name, values)
    if name == "counts":
        return model.shape + power * total, model.rate + power * n
    return model.shape + power * n * (0.5 if "precision" in name else 1.0), model.rate + power * total


def level(name: str, theta: np.ndarray, shape: float, rate: float) -> np.ndarray:
    """The distribution function of the posterior, renormalised where it is trimmed."""
    model = ALL[name]
    cdf = lambda x: stats.gamma.cdf(x, shape, scale=1 / rate)
    low, high = (cdf(model.lower), cdf(model.upper)) if name in TRIMMED else (0.0, 1.0)
    return (cdf(theta) - low) / (high - low)
