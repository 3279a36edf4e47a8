"""A histogram: one category per record with a Dirichlet prior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.grids.rates import cells_for
from sfumato.models.families import _cells
from sfumato.models.families._columns import only_column
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Dirichlet
from sfumato.schema import Category, Schema


@dataclass(frozen=True, repr=False)
class DirichletCategorical(Family):
    """theta ~ Dirichlet(alpha) over the levels of a Category column; each record is one of them.

    `alpha` is one number for every level or one per level. Give the levels as they stand in the schema.
    """

    levels: tuple[Any, ...]
    alpha: tuple[float, ...]
    name = "DirichletCategorical"
    quantity = "shares"

    def __init__(self, levels: Sequence[Any], alpha: float | Sequence[float] = 1.0) -> None:
        named = tuple(levels) if not isinstance(levels, int) else tuple(range(levels))
        if len(named) < 2 or len(set(named)) != len(named):
            raise ArgumentError(f"levels must be at least two different categories; got {levels!r}.")
        given = [alpha] * len(named) if isinstance(alpha, (int, float)) else list(alpha)
        if len(given) != len(named):
            raise ArgumentError(f"alpha must be one number or one per level ({len(named)}); got {len(given)}.")
        object.__setattr__(self, "levels", named)
        object.__setattr__(self, "alpha", tuple(_validate.positive("alpha", value) for value in given))

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels."""
        return tuple(str(level) for level in self.levels)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Category column, whose levels must be the model's, in the same order."""
        name = only_column(schema, Category, self.name)
        declared = schema.columns[name]
        if isinstance(declared, Category) and tuple(declared.levels) != self.levels:
            raise ArgumentError(
                f"the levels of column {name!r} in the schema are not the model's, in the same order. "
                f"Use DirichletCategorical(schema.columns[{name!r}].levels)."
            )
        return (name,)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of records of each level."""
        return np.bincount(block[columns[0]], minlength=len(self.levels)).astype(np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts."""
        return (Fraction(1),) * len(self.levels)

    @property
    def sensitivity(self) -> float:
        """One count falls by 1 and one rises by 1."""
        return math.sqrt(2) * (1 + 1e-15)

    def feasible(self, totals: Array, n: int) -> Array:
        """Counts of at least 0 that sum to n."""
        return _cells.nearest_counts(totals, n)

    def claim(self, n: int) -> Claim:
        """The two smallest prior cells decide, whatever n is; two levels are a Beta, which has more to say."""
        if len(self.levels) == 2:
            return Claim("beta-bernoulli", {"alpha": self.alpha[0], "beta": self.alpha[1], "n": n, "trials": 1})
        return Claim("dirichlet", {"cells": self.alpha})

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Cells strength alpha + power counts."""
        return strength * np.array(self.alpha) + power * np.asarray(totals, dtype=np.float64)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Dirichlet:
        """Dirichlet, broken stick by stick."""
        cells = self.natural(np.array([float(total) for total in totals]), n, power, strength)
        weight = power * n + strength * sum(self.alpha)
        return Dirichlet(tuple(map(float, cells)), weight, strength * min(self.alpha), grid=cells_for(weight))

    def strongest(self, n: int) -> float:
        """Largest strength that the grid can still draw."""
        return _cells.strongest_cells(sum(self.alpha), n)

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """Shares from the prior and multinomial counts."""
        shares = _cells.sketch(rng, np.tile(np.array(self.alpha), (size, 1)))
        return shares, rng.multinomial(n, shares).astype(np.float64)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """One float draw of each."""
        return _cells.sketch(rng, natural)

    def divergence(self, first: Array, second: Array) -> Array:
        """KL of two Dirichlets."""
        return _cells.divergence(first, second)

    def updated(self, totals: Sequence[Fraction], n: int) -> DirichletCategorical:
        """The counts of public records, added to the cells."""
        return replace(self, alpha=tuple(a + float(t) for a, t in zip(self.alpha, totals, strict=True)))
