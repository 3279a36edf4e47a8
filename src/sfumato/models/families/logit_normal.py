"""A rate in logit form: bits with a normal prior on the log odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models import laws
from sfumato.models.families import _logit
from sfumato.models.families._columns import only_column
from sfumato.models.families.family import Array, Claim, Family
from sfumato.schema import Boolean, Schema

# Limits up to which the grid keeps its stated error: the largest total of counts or precision, the smallest precision and
# the farthest centre.
LARGEST_WEIGHT, SMALLEST_PRECISION, FARTHEST_CENTRE = 1e9, 1e-4, 20.0
# Beyond this many prior deviations from every mode the grid's two outer cells begin.
_ROOM = 9.0


@dataclass(frozen=True, repr=False)
class LogitNormal(Family):
    """t ~ N(centre, 1/precision), the log odds of a rate; each record is one bit, x ~ Bernoulli(1/(1 + e^-t)).

    With k ones among n the density at power r and prior strength s is

        exp(r (k t - n log(1 + e^t)) + s (ones t - (ones + zeros) log(1 + e^t)) - s precision (t - centre)^2/2),

    where `ones` and `zeros` are public bits folded into the prior. A draw is mu-GDP with mu = r/sqrt(s precision), whatever
    n is. Source: Minami et al. 2016, Example 17, priced by the sharp theorem.
    """

    groupable = True

    precision: float
    centre: float = 0.0
    ones: float = 0.0
    zeros: float = 0.0
    name = "LogitNormal"
    quantity = "log odds"

    def __post_init__(self) -> None:
        precision = _validate.positive("precision", self.precision)
        if not SMALLEST_PRECISION <= precision <= LARGEST_WEIGHT:
            raise ArgumentError(
                f"precision must lie between {SMALLEST_PRECISION:g} and {LARGEST_WEIGHT:g}; got {precision!r}."
            )
        centre = _validate.finite("centre", self.centre)
        if not abs(centre) <= FARTHEST_CENTRE:
            raise ArgumentError(f"centre is a log odds and must lie between -20 and 20; got {centre!r}.")
        object.__setattr__(self, "precision", precision)
        object.__setattr__(self, "centre", centre)
        for key in ("ones", "zeros"):
            object.__setattr__(self, key, _validate.non_negative(key, getattr(self, key)))

    @property
    def labels(self) -> tuple[str, ...]:
        """One number, the log odds."""
        return ("log odds",)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Boolean column that holds the bits: the target, or the only one there is."""
        return (only_column(schema, Boolean, self.name),)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of ones, which one replaced record moves by at most 1."""
        return np.array([np.count_nonzero(block[columns[0]])], dtype=np.int64)

    @property
    def sensitivity(self) -> float:
        """One record is one bit."""
        return 1.0

    @property
    def spans(self) -> tuple[int, ...]:
        """One bit."""
        return (1,)

    def feasible(self, totals: Array, n: int) -> Array:
        """Between no one and all."""
        return np.clip(totals, 0.0, float(n))

    def claim(self, n: int) -> Claim:
        """The sharp theorem: the price depends on the prior's precision, not on n."""
        return Claim("logit-draw", {"precision": self.precision})

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Ones, zeros, precision, and precision times centre."""
        count = np.asarray(totals, dtype=np.float64)[..., 0]
        held = np.full_like(count, strength * self.precision)
        ones, zeros = strength * self.ones + power * count, strength * self.zeros + power * (n - count)
        return np.stack([ones, zeros, held, held * self.centre], axis=-1)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> laws.Law:
        """The law with each count rounded once; the range of the grid depends on public numbers alone."""
        r, s = Fraction(power), Fraction(strength)
        ones = float(s * Fraction(self.ones) + r * totals[0])
        zeros = float(s * Fraction(self.zeros) + r * (n - totals[0]))
        total = float(s * (Fraction(self.ones) + Fraction(self.zeros)) + r * n)
        precision = strength * self.precision
        lower, upper = _logit.span(total, precision, self.centre, _ROOM)
        return laws.LogitNormal(ones, zeros, total, precision, self.centre, lower, upper)

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        counts = self.ones + self.zeros
        # The factor 1 - 1e-9 below keeps the rounding of the weight within the limit.
        room = (LARGEST_WEIGHT - n) / counts if counts > 0 else LARGEST_WEIGHT / self.precision
        return max(1.0, min(room, LARGEST_WEIGHT / self.precision) * (1 - 1e-9))

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Log odds from the prior at equal steps of probability, and binomial counts."""
        prior = np.tile(self.natural(np.zeros(1), 0), (size, 1))
        truth = _logit.quantiles(prior, (np.arange(size) + 0.5) / size)
        counts = rng.binomial(n, 1 / (1 + np.exp(-truth)))
        return truth[:, None], counts.astype(np.float64)[:, None]

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        return _logit.quantiles(natural, rng.random(len(natural)))[:, None]

    def divergence(self, first: Array, second: Array) -> Array:
        """KL by the trapezoid rule on the nodes of the first law."""
        t, logs = _logit.nodes(first)
        points, own = _logit.nodes(second)
        # The log of the second law's integral, from its own nodes.
        integral = (_logit.log_density(second, points) - own)[:, :1]
        gap = logs - (_logit.log_density(second, t) - integral)
        return np.asarray(np.maximum(0.0, (np.exp(logs) * _logit.widths(t) * gap).sum(axis=1)), dtype=np.float64)

    def updated(self, totals: Sequence[Fraction], n: int) -> LogitNormal:
        """The bits of public records, added to the prior's."""
        count = float(totals[0])
        return replace(self, ones=self.ones + count, zeros=self.zeros + n - count)
