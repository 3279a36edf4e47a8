"""A user's own finite family: a table of log likelihoods, a prior, and Lipschitz constants that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.models.families._columns import column_of_levels, only_column
from sfumato.models.families._counts import Counted
from sfumato.models.families._finite_table import (
    Table,
    read_levels,
    read_names,
    read_points,
    read_prior,
    read_table,
    shown,
)
from sfumato.models.families._log_weights import UNITS, from_units, tempered, to_units
from sfumato.models.families.family import Array, Claim
from sfumato.models.laws import Finite as FiniteLaw
from sfumato.models.laws import Law
from sfumato.schema import Boolean, Schema

# Largest change of a Lipschitz constant when a table is rounded to multiples of 2^-48.
_ROUNDING = 4 / UNITS
# Smallest prior of a parameter after public records, relative to the largest: only impossible parameters get 0.
_FAINTEST = 1e-300


@dataclass(frozen=True, repr=False)
class Finite(Counted):
    """theta is one of m points with `prior` probabilities; a record is one of v levels, x ~ p_theta.

    `log_likelihood` is the table (m, v) of log p_theta(x), or a function of (theta, x) that is called once for every entry.
    The levels are those of a Category column; without `levels` there are two, no (0) and yes (1) of a Boolean column. The
    table is kept in multiples of 2^-48, which makes the log posterior of any data set exact.

    l(theta) = max_{x,y} |log p_theta(x) - log p_theta(y)| is in `lipschitz_constants`. `lipschitz=L` restricts the prior to
    Theta_L = {l <= L}; `weighted=w` multiplies it by exp(-w l(theta)) (Dimitrakakis et al. 2017, Examples 1 and 2). A
    parameter under which a level is impossible must be excluded by one of the two, or by a prior of 0. `name` is what the
    released coordinates are called.
    """

    log_likelihood: Table
    grid: Table
    prior: tuple[float, ...]
    levels: tuple[Any, ...] | None
    lipschitz: float | None
    weighted: float | None
    parameter: tuple[str, ...]
    name = "Finite"
    quantity = "parameter"
    bounded = True
    strengthens = False

    def __init__(
        self,
        log_likelihood: Sequence[Sequence[float | None]] | Callable[[Any, Any], float],
        grid: Sequence[float] | Sequence[Sequence[float]],
        prior: Sequence[float] | None = None,
        levels: Sequence[Any] | None = None,
        lipschitz: float | None = None,
        weighted: float | None = None,
        name: str | Sequence[str] = "theta",
    ) -> None:
        points = read_points(grid)
        named = None if levels is None else read_levels(levels)
        vars(self).update(
            grid=points,
            levels=named,
            log_likelihood=read_table(log_likelihood, points, (0, 1) if named is None else named),
            prior=read_prior(prior, len(points)),
            lipschitz=None if lipschitz is None else _validate.non_negative("lipschitz", lipschitz),
            weighted=None if weighted is None else _validate.non_negative("weighted", weighted),
            parameter=read_names(name, len(points[0])),
        )
        self._refuse_impossible()

    @classmethod
    def bernoulli(cls, step: float, **options: Any) -> Finite:
        """Example 1: rates at the multiples of `step` strictly between 0 and 1, for a Boolean column.

        At 0 and 1 one bit is impossible and l is infinite, so they are left out: L = ln((1 - step)/step) if 1/step is whole.
        """
        width = _validate.between("step", step, 0.0, 1.0)
        # k/parts is closer to the multiples than k * step where 1/step is whole.
        parts = round(1 / width)
        if parts > 1 and abs(parts * width - 1) < 1e-9:
            rates = [k / parts for k in range(1, parts)]
        else:
            rates = [width * k for k in range(1, math.floor(1 / width) + 1)]
        return cls([[math.log1p(-rate), math.log(rate)] for rate in rates], rates, **options)

    def _refuse_impossible(self) -> None:
        if not self.kept:
            smallest = min(self.lipschitz_constants)
            raise ArgumentError(
                f"lipschitz={self.lipschitz!r} leaves no parameter with prior mass: the smallest Lipschitz constant is "
                f"{smallest:.6g}. Give a larger one."
            )
        endless = [self.grid[j] for j in self.kept if math.isinf(self.lipschitz_constants[j])]
        if endless:
            raise ArgumentError(
                f"log_likelihood is minus infinity for some level at {len(endless)} point(s), the first being "
                f"{shown(endless[0])}: one record could rule it out, which no price covers. Exclude such points with "
                "lipschitz=<a bound on their Lipschitz constants>, with weighted=<a positive weight>, or by a prior of 0."
            )

    # --- what follows from the table ---------------------------------------------------------------------------------

    @cached_property
    def lipschitz_constants(self) -> tuple[float, ...]:
        """l(theta) of every point of the grid; infinite where some level is impossible."""
        return tuple(max(row) - min(row) for row in self.log_likelihood)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Positions of the points that have prior mass, those outside Theta_L left out."""
        bound = math.inf if self.lipschitz is None else self.lipschitz + _ROUNDING
        usable = [l <= bound and not (self.weighted and math.isinf(l)) for l in self.lipschitz_constants]
        return tuple(j for j, chance in enumerate(self.prior) if chance > 0 and usable[j])

    @cached_property
    def log_prior(self) -> tuple[float, ...]:
        """Log prior of the points that are kept, relative to the largest: whole multiples of 2^-48."""
        slope = self.weighted or 0.0
        logs = [math.log(self.prior[j]) - (slope * self.lipschitz_constants[j] if slope else 0.0) for j in self.kept]
        top = max(logs)
        return tuple(from_units(to_units(log - top)) for log in logs)

    @cached_property
    def kept_log_likelihood(self) -> Table:
        """The rows of the table that are kept."""
        return tuple(self.log_likelihood[j] for j in self.kept)

    @cached_property
    def _units(self) -> tuple[list[int], list[list[int]]]:
        prior = [to_units(log) for log in self.log_prior]
        return prior, [[to_units(log) for log in row] for row in self.kept_log_likelihood]

    @cached_property
    def _points(self) -> Array:
        return np.array([self.grid[j] for j in self.kept])

    # --- what is released and what is read ---------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for every coordinate of a point."""
        return self.parameter

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Boolean column, or the Category column whose levels are the model's, in the same order."""
        if self.levels is None:
            return (only_column(schema, Boolean, self.name),)
        return (column_of_levels(schema, self.levels, self.name, "Finite(..., levels={})"),)

    @property
    def cells(self) -> int:
        """One count per level."""
        return len(self.log_likelihood[0])

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """The range of the log ratio, or its exact supremum over all data sets of n records."""
        facts = {"log_likelihood": self.kept_log_likelihood, "log_prior": self.log_prior, "n": n}
        return Claim("finite-family", facts)

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Tempered counts; the prior is the base measure, so no strength enters."""
        return power * np.asarray(totals, dtype=np.float64)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Law:
        """The posterior: log prior plus power times the log likelihood, exact and then rounded to a multiple of 2^-48."""
        prior, rows = self._units
        logs = tuple(a + b for a, b in zip(prior, tempered(power, rows, totals), strict=True))
        return FiniteLaw(logs, tuple(self.grid[j] for j in self.kept))

    # --- what a reader may expect ------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Points from the prior at equal steps of probability, and multinomial counts."""
        chances = np.exp(np.array(self.log_prior))
        places = np.searchsorted(np.cumsum(chances), (np.arange(size) + 0.5) / size * chances.sum())
        chosen = np.minimum(places, len(chances) - 1)
        laws = np.exp(np.array(self.kept_log_likelihood))
        laws /= laws.sum(axis=1, keepdims=True)
        return self._points[chosen], rng.multinomial(n, laws[chosen]).astype(np.float64)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        drawn = []
        for (logs,) in self._log_weights(natural):
            running = np.cumsum(np.exp(logs, out=logs), axis=1, out=logs)
            places = (running < rng.random((len(running), 1)) * running[:, -1:]).sum(axis=1)
            drawn.append(self._points[places])
        return np.concatenate(drawn)

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two posteriors, summed over the points."""
        gaps = []
        for pair in self._log_weights(first, second):
            p, q = (logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)) for logs in pair)
            gaps.append((np.exp(p) * (p - q)).sum(axis=1))
        return np.asarray(np.maximum(0.0, np.concatenate(gaps)), dtype=np.float64)

    def _log_weights(self, *naturals: Array) -> Iterator[tuple[Array, ...]]:
        """Log posteriors relative to their largest, some rows at a time: no table of all rows and points is held."""
        table, prior = np.array(self.kept_log_likelihood), np.array(self.log_prior)
        # About 2^20 numbers, 8 MB, at a time.
        step = max(1, (1 << 20) // len(prior))
        for start in range(0, len(naturals[0]), step):
            parts = [prior + natural[start : start + step] @ table.T for natural in naturals]
            yield tuple(logs - logs.max(axis=1, keepdims=True) for logs in parts)

    def updated(self, totals: Sequence[Fraction], n: int) -> Finite:
        """The prior times the likelihood of public records."""
        counts = np.array([float(total) for total in totals])
        table = np.where(counts > 0, np.array(self.log_likelihood), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(np.array(self.prior)) + (table * counts).sum(axis=1)
        if np.isneginf(logs).all():
            raise ArgumentError("no parameter with prior mass could have produced these public records.")
        chances = np.where(np.isneginf(logs), 0.0, np.maximum(np.exp(logs - logs.max()), _FAINTEST))
        prior = tuple(map(float, chances / chances.sum()))
        return Finite(self.log_likelihood, self.grid, prior, self.levels, self.lipschitz, self.weighted, self.parameter)

    # --- documents ---------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Everything that was given; what is impossible is written as null."""
        rows = [[None if math.isinf(log) else log for log in row] for row in self.log_likelihood]
        return {
            "family": self.name,
            "log_likelihood": rows,
            "grid": [list(point) for point in self.grid],
            "prior": list(self.prior),
            "levels": None if self.levels is None else list(self.levels),
            "lipschitz": self.lipschitz,
            "weighted": self.weighted,
            "name": list(self.parameter),
        }

    def __repr__(self) -> str:
        chosen = {"lipschitz": self.lipschitz, "weighted": self.weighted}
        options = "".join(f", {key}={value:g}" for key, value in chosen.items() if value is not None)
        return f"Finite({len(self.kept)} of {len(self.grid)} points, {self.cells} levels{options})"
