"""A histogram: one category per record with a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.errors import ArgumentError
from sfumato.grids.rates import cells_for
from sfumato.models.families import _cells
from sfumato.models.families._columns import column_of_levels
from sfumato.models.families._counts import Counted
from sfumato.models.families._finite_table import read_levels
from sfumato.models.families.family import Array, Claim
from sfumato.models.laws import Dirichlet
from sfumato.schema import Schema

# Prior cells of draws where none are declared: Jeffreys' prior of shares.
_JEFFREYS = 0.5


def read_alpha(alpha: float | Sequence[float] | None, size: int) -> tuple[float, ...]:
    """One prior cell per level, from one number for all or one for each; 1/2 where none is given."""
    if isinstance(alpha, str | bool):
        raise ArgumentError(f"alpha must be a number or one per level; got {alpha!r}.")
    given = [alpha] * size if isinstance(alpha, int | float) else [_JEFFREYS] * size if alpha is None else list(alpha)
    if len(given) != size:
        raise ArgumentError(f"alpha must be one number or one per level ({size}); got {len(given)}.")
    return tuple(_validate.positive("alpha", value) for value in given)


@dataclass(frozen=True, repr=False)
class DirichletCategorical(Counted):
    """theta ~ Dirichlet(alpha) over the levels of a Category column; each record is one of them.

    `alpha` is one number for every level or one per level. Give the levels as they stand in the schema.
    """

    levels: tuple[Any, ...]
    alpha: tuple[float, ...]
    name = "DirichletCategorical"
    quantity = "shares"
    proportion = True
    # Whether no prior was declared: intervals then use the reference prior of a single share, Beta(1/2, 1/2).
    reference = False

    def __init__(self, levels: Sequence[Any], alpha: float | Sequence[float] = 1.0) -> None:
        named = read_levels(range(levels) if isinstance(levels, int) else levels)
        object.__setattr__(self, "levels", named)
        object.__setattr__(self, "alpha", read_alpha(alpha, len(named)))

    @property
    def possible(self) -> tuple[float, float]:
        """Shares."""
        return 0.0, 1.0

    @property
    def labels(self) -> tuple[str, ...]:
        """The levels."""
        return tuple(str(level) for level in self.levels)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Category column, whose levels must be the model's, in the same order."""
        return (column_of_levels(schema, self.levels, self.name, "DirichletCategorical({})"),)

    def codes(self, values: Any) -> NDArray[np.int64]:
        """The position of each record's level."""
        return np.asarray(values).astype(np.int64)

    def record_in(self, place: int, columns: Sequence[str]) -> dict[str, Any]:
        """A record of the level at this place, as a table writes it."""
        return {columns[0]: self.levels[place]}

    @property
    def cells(self) -> int:
        """One count per level."""
        return len(self.levels)

    def claim(self, n: int) -> Claim:
        """The price depends on the two smallest prior cells, not on n; two levels are a Beta, whose price also uses n."""
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
