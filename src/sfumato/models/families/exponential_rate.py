"""The rate of exponential durations, with a Gamma prior, trimmed or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.models.families._columns import number_within
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families.family import Array
from sfumato.schema import Schema


@dataclass(frozen=True, repr=False)
class ExponentialRate(GammaRate):
    """theta ~ Gamma(shape, rate); each record is a duration in [0, bound], x ~ theta exp(-theta x), longer ones clipped.

    The posterior is Gamma(shape + n, rate + sum x). `lower` and `upper` trim theta: then the log ratio of neighbours is
    bounded and a draw is pure. Source: Dimitrakakis et al. 2017, Lemma 19 (shape 1), at the exact supremum.
    """

    shape: float
    rate: float
    bound: float
    lower: float | None = None
    upper: float | None = None
    name = "ExponentialRate"
    quantity = "rate"

    def __post_init__(self) -> None:
        self._check()

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column of durations, declared within [0, bound]."""
        return (number_within(schema, 0.0, self.bound, self.name, f"bound={self.bound:g}"),)

    def statistic(self, values: Array) -> Array:
        """x/bound."""
        return np.clip(values, 0.0, self.bound) / self.bound

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """Moments of min(X, bound), X exponential."""
        return clipped_exponential_moments(theta, self.bound)


def clipped_exponential_moments(theta: Array, bound: float) -> tuple[Array, Array]:
    """Mean (1 - e^-z)/theta and variance (1 - e^-2z - 2 z e^-z)/theta^2 of min(X, bound), z = theta bound."""
    z = theta * bound
    # In units of the bound, so that a tiny theta does not overflow; for small z by the first terms of the series.
    safe = np.maximum(z, 1e-3)
    mean = np.where(z < 1e-3, 1 - z / 2, -np.expm1(-safe) / safe)
    variance = np.where(z < 1e-3, z / 3, (-np.expm1(-2 * safe) - 2 * safe * np.exp(-safe)) / safe**2)
    return bound * mean, bound * bound * variance
