"""The inverse scale of Laplace data with a known centre, trimmed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato import _validate
from sfumato.models.families._columns import number_within
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families.exponential_rate import clipped_exponential_moments
from sfumato.models.families.family import Array
from sfumato.schema import Schema


@dataclass(frozen=True, repr=False)
class LaplaceScale(GammaRate):
    """theta = 1/scale ~ Exp(rate) trimmed to [lower, upper]; records x ~ (theta/2) exp(-theta |x - centre|).

    Records lie within `bound` of the centre, others are clipped. The posterior is Gamma(1 + n, rate + sum |x - centre|) on
    [lower, upper], and pure. `shape` is 1 for the exponential prior; public records raise it. Source: Dimitrakakis et al.
    2017, Lemma 20, read with theta = 1/s in [c1, c2], at the exact supremum.
    """

    rate: float
    lower: float
    upper: float
    bound: float
    centre: float = 0.0
    shape: float = 1.0
    name = "LaplaceScale"
    quantity = "inverse scale"

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _validate.finite("centre", self.centre))
        self._check()

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column, declared within `bound` of the centre."""
        low, high = self.centre - self.bound, self.centre + self.bound
        return (number_within(schema, low, high, self.name, f"centre={self.centre:g}, bound={self.bound:g}"),)

    def statistic(self, values: Array) -> Array:
        """|x - centre|/bound."""
        return np.clip(np.abs(values - self.centre), 0.0, self.bound) / self.bound

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """Distances from the centre are exponential."""
        return clipped_exponential_moments(theta, self.bound)
