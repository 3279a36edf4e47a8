"""A rate of events: counts with a Gamma prior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.models.families import _gamma
from sfumato.models.families._columns import number_within
from sfumato.models.families._fixed_point import whole_bound, whole_numbers
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Gamma
from sfumato.schema import Schema

# Bits of a distance from the middle of the counts: the squares of a block then fit into 64.
_BITS = 23


@dataclass(frozen=True, repr=False)
class GammaPoisson(Family):
    """theta ~ Gamma(shape, rate); each record is a count from 0 to `bound`, x ~ Poisson(theta), larger ones clipped.

    The posterior is Gamma(shape + sum x, rate + n); at power r the data count r times, at strength s the prior s times.
    The sum is private and n is not: the posterior's rate is public, and its shape is what the data determine. A second total,
    of (2 x - bound)^2/(2 bound), is the squares of the distances from the middle; noisy statistics release it at no more noise
    than the sum has alone (docs/proofs/groups.md), and intervals take the spread of the counts from it. Draws do not use it.
    """

    groupable = True
    shows_spread = True

    shape: float
    rate: float
    bound: int
    name = "GammaPoisson"
    quantity = "rate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _gamma.checked_shape(self.shape))
        object.__setattr__(self, "rate", _validate.positive("rate", self.rate))
        object.__setattr__(self, "bound", whole_bound("bound", self.bound))

    @property
    def possible(self) -> tuple[float, float]:
        """Means of clipped counts."""
        return 0.0, float(self.bound)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column of counts, declared within [0, bound]."""
        return (number_within(schema, 0.0, float(self.bound), self.name, f"bound={self.bound}"),)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The sum of the counts, each a whole number from 0 to `bound` whatever the record holds, and that of the squares."""
        counts = whole_numbers(block[columns[0]], self.bound)
        # Rounded as distances from the nearer end, so that both ends have the same square.
        away = self._farthest - (2 * np.minimum(counts, self.bound - counts) >> self._coarse)
        return np.array([counts.sum(), (away * away).sum()], dtype=np.int64)

    @property
    def _coarse(self) -> int:
        """Low bits of a distance from the middle that are dropped: none for a bound below 2^23."""
        return max(0, self.bound.bit_length() - _BITS)

    @property
    def _farthest(self) -> int:
        """The distance of both ends from the middle."""
        return self.bound >> self._coarse

    @property
    def units(self) -> tuple[Fraction, ...]:
        """One event, and a square of whole half events over twice the bound."""
        return (Fraction(1), Fraction(4**self._coarse, 2 * self.bound))

    @property
    def sensitivity(self) -> float:
        """One record moves the sum by at most `bound`, and both totals together by no more."""
        return float(self.bound)

    @property
    def spans(self) -> tuple[int, ...]:
        """Events of one record, and its largest square."""
        return (self.bound, self._farthest**2)

    @property
    def reach(self) -> Fraction:
        """At an end both totals are farthest from their middles: bound sqrt(1/4 + 1/16) < 9/16 bound."""
        return Fraction(9 * self.bound, 16)

    @property
    def presence(self) -> Fraction:
        """The most 256ths of the bound with 2 (presence^2 + reach^2) <= bound^2."""
        return Fraction(109 * self.bound, 256)

    def feasible(self, totals: Array, n: int) -> Array:
        """Between no event and `bound` of them in every record, and no square larger than that of an end."""
        most = [n * float(unit * span) for unit, span in zip(self.units, self.spans, strict=True)]
        return np.clip(totals, 0.0, most[: np.shape(totals)[-1]])

    def claim(self, n: int) -> Claim:
        """The exact profile of two Gamma laws of the same rate, whatever n."""
        return Claim("gamma-poisson", {"shape": self.shape, "bound": float(self.bound)})

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Shape and rate: strength shape + power sum, strength rate + power n."""
        events = np.asarray(totals, dtype=np.float64)[..., 0]
        shape = strength * self.shape + power * events
        return np.stack([shape, np.full_like(shape, strength * self.rate + power * n)], axis=-1)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Gamma:
        """Gamma on the grid of square roots, up to what n records of `bound` events would give."""
        shape, rate = self.natural(np.array([float(totals[0])]), n, power, strength).tolist()
        largest = strength * self.shape + power * n * self.bound
        return Gamma(shape, rate, 0.0, math.exp(_gamma.log_range(largest, rate, rate)[1]), "root")

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        return _gamma.strongest(lambda strength: self.law([Fraction(0)], n, 1.0, strength))

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Rates from the prior at equal steps of probability, sums of clipped counts, and squares with the spread of these."""
        rates = _gamma.quantiles((np.arange(size) + 0.5) / size, self.shape, self.rate)
        mean, variance = self._moments(rates)
        # Where hardly a count is clipped the sum is Poisson; elsewhere it has many terms of spread, and is nearly normal.
        whole = variance >= 0.99 * mean
        sums = rng.poisson(np.where(whole, n * mean, 0.0)).astype(np.float64)
        normal = n * mean + np.sqrt(n * variance) * rng.standard_normal(size)
        sums = np.clip(np.where(whole, sums, np.rint(normal)), 0.0, float(n * self.bound))
        # Given their sum, the squares of Poisson counts about their mean are that mean times a chi-squared number.
        spread = sums / n * np.minimum(variance / np.maximum(mean, 1e-300), 1.0) * rng.chisquare(max(n - 1, 1), size)
        squares = 2 / self.bound * (spread + n * (sums / n - 0.5 * self.bound) ** 2)
        return rates[:, None], self.feasible(np.column_stack([sums, squares]), n)

    def _moments(self, rates: Array) -> tuple[Array, Array]:
        """Mean and variance of min(X, bound), X ~ Poisson: E[X; X < B] = theta P(X < B - 1), and so on."""
        from scipy.special import pdtr

        top = float(self.bound)
        below = [pdtr(top - k, rates) if top >= k else np.zeros_like(rates) for k in (1, 2, 3)]
        mean = rates * below[1] + top * (1 - below[0])
        square = rates * rates * below[2] + rates * below[1] + top * top * (1 - below[0])
        return np.asarray(mean, dtype=np.float64), np.asarray(np.maximum(square - mean * mean, 0.0), dtype=np.float64)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        return _gamma.sketch(rng, natural)[..., None]

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two Gamma posteriors."""
        return _gamma.divergence(first, second)

    def updated(self, totals: Sequence[Fraction], n: int) -> GammaPoisson:
        """The events and the number of public records, added to shape and rate."""
        return replace(self, shape=self.shape + float(totals[0]), rate=self.rate + n)
