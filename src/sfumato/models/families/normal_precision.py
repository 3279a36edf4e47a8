"""The precision of normal data with a known mean, trimmed or not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato import _validate
from sfumato.models.families._columns import number_within
from sfumato.models.families._gamma_rate import GammaRate
from sfumato.models.families.family import Array
from sfumato.schema import Schema


@dataclass(frozen=True, repr=False)
class NormalPrecision(GammaRate):
    """theta = 1/variance ~ Gamma(shape, rate); records x ~ N(centre, 1/theta), clipped to within `bound` of the centre.

    The posterior is Gamma(shape + n/2, rate + sum (x - centre)^2/2); a record's statistic is at most bound^2/2. `lower`
    and `upper` trim theta: then a draw is pure. Source: Dimitrakakis et al. 2017, Lemma 22 (shape 1), at the exact supremum.
    """

    shape: float
    rate: float
    centre: float
    bound: float
    lower: float | None = None
    upper: float | None = None
    name = "NormalPrecision"
    quantity = "precision"
    shape_per_record = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "centre", _validate.finite("centre", self.centre))
        self._check()

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column, declared within `bound` of the centre."""
        low, high = self.centre - self.bound, self.centre + self.bound
        return (number_within(schema, low, high, self.name, f"centre={self.centre:g}, bound={self.bound:g}"),)

    @property
    def largest(self) -> Fraction:
        """Half the squared bound."""
        return Fraction(self.bound) ** 2 / 2

    def statistic(self, values: Array) -> Array:
        """((x - centre)/bound)^2."""
        return np.asarray((np.clip(np.abs(values - self.centre), 0.0, self.bound) / self.bound) ** 2)

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """Moments of min(z^2, a^2)/(2 theta), z standard normal, a = bound sqrt(theta)."""
        from scipy.special import erf, erfc

        a = self.bound * np.sqrt(theta)
        inside, edge = erf(a / math.sqrt(2)), math.sqrt(2 / math.pi) * np.exp(-a * a / 2)
        second, fourth = inside - a * edge, 3 * inside - (3 + a * a) * a * edge
        outside = erfc(a / math.sqrt(2))
        mean = second + a**2 * outside
        variance = np.maximum(fourth + a**4 * outside - mean**2, 0.0)
        return np.asarray(mean / (2 * theta)), np.asarray(variance / (4 * theta**2))
