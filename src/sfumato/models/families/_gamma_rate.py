"""Base class of durations, Laplace scales and precisions: the shape of the Gamma posterior is public, its rate private.

Each record adds a public q to the shape and a statistic t in [0, B] to the rate. Trimmed to [lower, upper] the log ratio
of neighbours is bounded by r B (upper - lower), and a draw is pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models._rounding import up
from sfumato.models.families import _gamma
from sfumato.models.families._fixed_point import RESOLUTION, steps_between
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Gamma


class GammaRate(Family):
    """theta ~ Gamma(shape, rate), perhaps trimmed; the posterior is Gamma(shape + q n, rate + sum t)."""

    groupable = True

    shape: float
    rate: float
    bound: float
    lower: float | None
    upper: float | None
    shape_per_record = 1.0

    def _check(self) -> None:
        object.__setattr__(self, "shape", _gamma.checked_shape(self.shape))
        for key in ("rate", "bound"):
            object.__setattr__(self, key, _validate.positive(key, getattr(self, key)))
        if (self.lower is None) != (self.upper is None):
            raise ArgumentError("give lower and upper together to trim the parameter, or neither.")
        if self.lower is not None and self.upper is not None:
            low, high = _validate.positive("lower", self.lower), _validate.positive("upper", self.upper)
            if not high >= 1.000001 * low:
                raise ArgumentError(
                    f"upper must exceed lower by at least a millionth of it; got lower={low!r} and upper={high!r}."
                )
            object.__setattr__(self, "lower", low)
            object.__setattr__(self, "upper", high)
        object.__setattr__(self, "bounded", self.lower is not None)

    # --- the statistic of a record -----------------------------------------------------------------------------------

    @property
    def largest(self) -> Fraction:
        """B, the largest statistic of one record, exactly."""
        return Fraction(self.bound)

    @property
    def possible(self) -> tuple[float, float]:
        """Positive numbers, between the ends where it is trimmed."""
        return self.lower or 0.0, self.upper or math.inf

    def statistic(self, values: Array) -> Array:
        """Statistics of records as shares of the largest; NaN for a record that has none."""
        raise NotImplementedError

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """Mean and variance of the statistic of one clipped record, given theta."""
        raise NotImplementedError

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Sum of whole numbers in [0, 2^40], one per record."""
        shares = self.statistic(np.asarray(block[columns[0]], dtype=np.float64))
        return np.array([steps_between(shares, 0.0, 1.0).sum()], dtype=np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """The largest statistic is 2^40 steps."""
        return (self.largest / RESOLUTION,)

    @property
    def sensitivity(self) -> float:
        """One record moves the sum by at most the largest statistic."""
        return up(self.largest)

    @property
    def spans(self) -> tuple[int, ...]:
        """The largest statistic of one record."""
        return (RESOLUTION,)

    def feasible(self, totals: Array, n: int) -> Array:
        """Between 0 and n times the largest statistic."""
        return np.clip(totals, 0.0, n * self.sensitivity)

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """The exact profile of two Gamma laws of the same shape, or the exact supremum of the log ratio where trimmed."""
        facts: dict[str, Any] = {"shape": self.shape, "rate": self.rate, "n": n, "bound": self.sensitivity}
        facts["shape_per_record"] = self.shape_per_record
        if self.bounded:
            return Claim("truncated-gamma", {**facts, "lower": self.lower, "upper": self.upper})
        return Claim("gamma-rate", facts)

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Shape and rate: strength shape + power n q, strength rate + power sum t."""
        rate = strength * self.rate + power * np.asarray(totals, dtype=np.float64)[..., 0]
        return np.stack([np.full_like(rate, self._shape_after(n, power, strength)), rate], axis=-1)

    def _shape_after(self, n: int, power: float, strength: float) -> float:
        return strength * self.shape + power * n * self.shape_per_record

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Gamma:
        """Gamma on the grid of logarithms, whose range covers the posteriors of every possible sum of statistics."""
        shape, rate = self.natural(np.array([float(totals[0])]), n, power, strength).tolist()
        least = strength * self.rate
        most = least + power * n * self.sensitivity
        if self.lower is not None and self.upper is not None:
            return Gamma(shape, rate, self.lower, self.upper, "log", closed=True, largest_rate=most)
        low, high = _gamma.log_range(shape, least, most)
        return Gamma(shape, rate, math.exp(low), math.exp(high), "log")

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        return _gamma.strongest(lambda strength: self.law([Fraction(0)], n, 1.0, strength))

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Parameters from the prior at equal steps of probability, and sums with the moments of clipped records."""
        levels = (np.arange(size) + 0.5) / size
        theta = self._prior_quantiles(levels)
        return theta[:, None], self.feasible(_gamma.matched_total(rng, n, *self.moments(theta)), n)[:, None]

    def _prior_quantiles(self, levels: Array) -> Array:
        if self.lower is None or self.upper is None:
            return _gamma.quantiles(levels, self.shape, self.rate)
        return _gamma.trimmed_quantiles(levels, self.shape, self.rate, self.lower, self.upper)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        if self.lower is None or self.upper is None:
            return _gamma.sketch(rng, natural)[..., None]
        return _gamma.trimmed_sketch(rng.random(natural.shape[:-1]), natural, self.lower, self.upper)[..., None]

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two Gamma posteriors, trimmed or not."""
        if self.lower is None or self.upper is None:
            return _gamma.divergence(first, second)
        return _gamma.trimmed_divergence(first, second, self.lower, self.upper)

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """The number and the statistics of public records, added to shape and rate."""
        return replace(  # type: ignore[type-var]
            self, shape=self.shape + n * self.shape_per_record, rate=self.rate + float(totals[0])
        )
