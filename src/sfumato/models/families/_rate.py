"""Base class of rates, for records of one bit or several trials: a Beta posterior, truncated where a floor is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato._quadrature import gauss_legendre
from sfumato.errors import ArgumentError
from sfumato.grids.rates import cells_for
from sfumato.models.families import _cells
from sfumato.models.families._cells import strongest_cells
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Dirichlet


class Rate(Family):
    """theta ~ Beta(alpha, beta), each record `trials` trials with chance theta; the total is the number of successes."""

    groupable = True

    quantity = "rate"
    alpha: float
    beta: float
    floor: float

    proportion = True

    @property
    def possible(self) -> tuple[float, float]:
        """Chances above the floor."""
        return self.floor, 1.0 - self.floor

    @property
    def trials(self) -> int:
        """Trials per record, public."""
        raise NotImplementedError

    def _check(self) -> None:
        for key in ("alpha", "beta"):
            object.__setattr__(self, key, _validate.positive(key, getattr(self, key)))
        floor = _validate.non_negative("floor", self.floor)
        if not floor < 0.5:
            raise ArgumentError(f"floor must be below 1/2: theta is kept in [floor, 1 - floor]; got {floor!r}.")
        object.__setattr__(self, "floor", floor)
        object.__setattr__(self, "bounded", floor > 0)

    @property
    def reference(self) -> bool:
        """Whether no prior was declared: all its numbers are those by default. Intervals then use Beta(1/2, 1/2).

        The posterior that is drawn, and so the price, keeps alpha = beta = 1.
        """
        return self.alpha == self.beta == 1 and self.floor == 0

    @property
    def sensitivity(self) -> float:
        """One record holds at most `trials` successes."""
        return float(self.trials)

    @property
    def spans(self) -> tuple[int, ...]:
        """Successes of one record."""
        return (self.trials,)

    def feasible(self, totals: Array, n: int) -> Array:
        """Between no success and all."""
        return np.clip(totals, 0.0, float(n * self.trials))

    def claim(self, n: int) -> Claim:
        """The exact profile of Beta posteriors, or the exact supremum of the log ratio where they are truncated."""
        facts: dict[str, Any] = {"alpha": self.alpha, "beta": self.beta, "n": n, "trials": self.trials}
        if self.floor > 0:
            return Claim("truncated-beta", {**facts, "floor": self.floor})
        return Claim("beta-bernoulli", facts)

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """The two cells: strength alpha + power k, strength beta + power (n trials - k)."""
        ones = np.asarray(totals, dtype=np.float64)[..., 0]
        first, second = strength * self.alpha + power * ones, strength * self.beta + power * (n * self.trials - ones)
        return np.stack([first, second], axis=-1)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Dirichlet:
        """Beta on the arcsine grid, restricted where a floor is given."""
        cells = self.natural(np.array([float(totals[0])]), n, power, strength)
        weight = power * n * self.trials + strength * (self.alpha + self.beta)
        smallest = strength * min(self.alpha, self.beta)
        return Dirichlet((float(cells[0]), float(cells[1])), weight, smallest, self.floor, True, cells_for(weight))

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        return strongest_cells(self.alpha + self.beta, n * self.trials)

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Rates from the prior at equal steps of probability, and binomial counts."""
        levels = (np.arange(size) + 0.5) / size
        rates = np.clip(self._quantile(levels, np.array([self.alpha, self.beta])), 1e-12, 1 - 1e-12)
        return rates[:, None], rng.binomial(n * self.trials, rates).astype(np.float64)[:, None]

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        if self.floor == 0:
            return _cells.sketch(rng, natural)[..., :1]
        return self._quantile(rng.random(natural.shape[:-1]), natural)[..., None]

    def _quantile(self, levels: Array, cells: Array) -> Array:
        from scipy.stats import beta

        a, b = cells[..., 0], cells[..., 1]
        if self.floor == 0:
            return np.asarray(beta.ppf(levels, a, b), dtype=np.float64)
        low, high = beta.cdf(self.floor, a, b), beta.cdf(1 - self.floor, a, b)
        inner = beta.ppf(low + levels * (high - low), a, b)
        return np.asarray(np.clip(np.nan_to_num(inner, nan=0.5), self.floor, 1 - self.floor), dtype=np.float64)

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two Beta posteriors; truncated ones by quadrature in logit coordinates."""
        if self.floor == 0:
            return _cells.divergence(first, second)
        edge = math.log1p(-self.floor) - math.log(self.floor)
        points, weights = gauss_legendre(600)
        x = edge * points
        logs = []
        for cells in (first, second):
            raw = -cells[..., :1] * np.logaddexp(0.0, -x) - cells[..., 1:] * np.logaddexp(0.0, x)
            top = raw.max(axis=-1, keepdims=True)
            logs.append(raw - top - np.log((np.exp(raw - top) * weights).sum(axis=-1, keepdims=True)))
        gap = (np.exp(logs[0]) * weights * (logs[0] - logs[1])).sum(axis=-1)
        return np.asarray(np.maximum(0.0, gap), dtype=np.float64)

    def updated(self, totals: Sequence[Fraction], n: int) -> Any:
        """The successes and failures of public records, added to the cells."""
        ones = float(totals[0])
        return replace(self, alpha=self.alpha + ones, beta=self.beta + n * self.trials - ones)  # type: ignore[type-var]
