"""The mean of normal records of known variance, within declared bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models._rounding import up
from sfumato.models.families._columns import number_within
from sfumato.models.families._fixed_point import RESOLUTION, steps_between
from sfumato.models.families._normal import Location, exact_sums, moderate, moderate_or_zero
from sfumato.models.families.family import Array
from sfumato.schema import Schema


@dataclass(frozen=True, repr=False)
class NormalMean(Location):
    """theta ~ N(mean, 1/precision); each record x ~ N(theta, variance), clipped to [lower, upper].

    A draw is mu-GDP with mu = r (upper - lower)/(variance sqrt(P)), P = s precision + r n/variance: an equality. The prior
    mean is the middle of the bounds where none is given, and its precision 16/(upper - lower)^2: the bounds then lie two
    prior standard deviations from the middle.
    """

    variance: float
    lower: float
    upper: float
    mean: float
    precision: float
    name = "NormalMean"

    def __init__(
        self, variance: float, lower: float, upper: float, mean: float | None = None, precision: float | None = None
    ) -> None:
        low, high = moderate_or_zero("lower", lower), moderate_or_zero("upper", upper)
        if not low < high:
            raise ArgumentError(f"upper must be greater than lower; got lower={low!r} and upper={high!r}.")
        width = moderate("upper - lower", high - low)
        vars(self).update(
            variance=moderate("variance", variance),
            lower=low,
            upper=high,
            mean=low + 0.5 * width if mean is None else moderate_or_zero("mean", mean),
            precision=moderate("precision", 16.0 / width / width if precision is None else precision),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """One number, the mean."""
        return ("mean",)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column whose mean is drawn: the target, or the only one there is."""
        bounds = f"lower={self.lower:g}, upper={self.upper:g}"
        return (number_within(schema, self.lower, self.upper, self.name, bounds),)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum of whole numbers in [0, 2^40], the records' places between the bounds."""
        return exact_sums(steps_between(block[columns[0]], self.lower, self.upper)[:, None])

    @property
    def _width(self) -> Fraction:
        return Fraction(self.upper) - Fraction(self.lower)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """The range in 2^40 steps: the total is the sum of (x - lower)."""
        return (self._width / RESOLUTION,)

    @property
    def sensitivity(self) -> float:
        """One record moves the total by at most the range."""
        return up(self._width)

    @property
    def spans(self) -> tuple[int, ...]:
        """The range."""
        return (RESOLUTION,)

    def feasible(self, totals: Array, n: int) -> Array:
        """Between all records at the lower bound and all at the upper."""
        return np.clip(totals, 0.0, n * float(self._width))

    @property
    def curvatures(self) -> tuple[float, ...]:
        """1/variance; this float is the precision of a record, wherever it is used."""
        return (1.0 / self.variance,)

    @property
    def precisions(self) -> tuple[float, ...]:
        """Of the prior."""
        return (self.precision,)

    @property
    def start(self) -> tuple[float, ...]:
        """The prior mean."""
        return (self.mean,)

    def sums(self, totals: Sequence[Fraction], n: int) -> list[Fraction]:
        """Sum of (x - mean) from the sum of (x - lower)."""
        return [n * (Fraction(self.lower) - Fraction(self.mean)) + totals[0]]

    def _float_sums(self, totals: Array, n: int) -> Array:
        return totals + n * (self.lower - self.mean)

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Means from the prior at equal steps of probability; totals normal with the moments of a clipped record."""
        from scipy.special import ndtri

        truth = self.mean + ndtri((np.arange(size) + 0.5) / size) / np.sqrt(self.precision)
        centre, spread = _clipped_moments(truth - self.lower, np.sqrt(self.variance), self.upper - self.lower)
        totals = n * centre + np.sqrt(n * spread) * rng.standard_normal(size)
        return truth[:, None], self.feasible(totals, n)[:, None]

    def updated(self, totals: Sequence[Fraction], n: int) -> NormalMean:
        """The posterior of the public records as the prior."""
        mean = float(self.law(totals, n).mean[0])
        return replace(self, mean=mean, precision=self.precision + n * self.curvatures[0])


def _clipped_moments(centre: Array, deviation: float, width: float) -> tuple[Array, Array]:
    """Mean and variance of N(centre, deviation^2) clipped to [0, width]."""
    from scipy.special import ndtr

    low, high = -centre / deviation, (width - centre) / deviation
    inside, above = ndtr(high) - ndtr(low), ndtr(-high)
    peak_low, peak_high = (np.exp(-0.5 * edge * edge) / np.sqrt(2 * np.pi) for edge in (low, high))
    first = width * above + centre * inside + deviation * (peak_low - peak_high)
    second = width * width * above + (centre**2 + deviation**2) * inside
    second += deviation * (2 * centre * (peak_low - peak_high) + deviation * (low * peak_low - high * peak_high))
    return np.clip(first, 0.0, width), np.maximum(second - first * first, 0.0)
