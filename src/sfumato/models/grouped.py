"""The same family in every group: rates by region, histograms by year, means by department.

The sizes of the groups are NOT public: a replaced record leaves one group and enters another, so it changes two groups'
posteriors, whatever their number. For bits and categories the cells are independent Gammas before each group is
normalised, and taking a count from one cell and giving it to another, in whatever group, is the one pair that prices a
single histogram (docs/proofs/conjugate.md, point 6): the price does not grow with the number of groups. For other families
the posterior of a group depends on its private size as well; no theorem here prices such a draw, so only noisy statistics
are offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.grids.rates import cells_for
from sfumato.models import _centred
from sfumato.models.families import _cells
from sfumato.models.families._counts import ONE_MOVED
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.dirichlet_categorical import DirichletCategorical
from sfumato.models.families.family import Array, Claim, Family
from sfumato.models.laws import Dirichlet, Product
from sfumato.schema import Schema


def grouped(model: Family, by: str, levels: Sequence[Any]) -> Grouped:
    """The model in each of the groups that the column `by` names; `levels` are public, as they stand in the schema."""
    if not isinstance(by, str) or isinstance(levels, str):
        raise ArgumentError(f"by must name a column and levels list its levels; got by={by!r} and levels={levels!r}.")
    return Grouped(model, by, tuple(levels))


@dataclass(frozen=True, repr=False)
class Grouped(Family):
    """One posterior per level of the column `by`; a record belongs to one group, and group sizes are private.

    Totals are one row per group: the counts of the cells (bits and categories), or the group's size and its totals.
    """

    model: Family
    by: str
    levels: tuple[Any, ...]
    name = "Grouped"

    def __post_init__(self) -> None:
        if (
            not isinstance(self.model, Family)
            or isinstance(self.model, Grouped)
            or self.model.utility
            or not self.model.groupable
        ):
            raise ArgumentError(f"model must be one of sf.families with totals to group; got {self.model!r}.")
        if isinstance(self.model, CrossTable):
            raise ArgumentError(
                f"a cross table is not grouped: add {self.by!r} to its columns, and ask for the shares within each group."
            )
        if len(self.levels) < 2 or len(set(self.levels)) != len(self.levels):
            raise ArgumentError(f"levels must be at least two different groups; got {self.levels!r}.")
        object.__setattr__(self, "drawn", self.model.drawn)
        object.__setattr__(self, "bounded", self.model.bounded)
        object.__setattr__(self, "priced", self._cells is not None)
        # Group sizes are private: without the noisy counts a reader would not know how many records a share is based on.
        object.__setattr__(self, "releases_totals", self._cells is not None)

    @property
    def counted(self) -> bool:
        """Whether a group's totals are the counts of its cells: of bits or categories."""
        return self._cells is not None

    @property
    def _cells(self) -> tuple[float, ...] | None:
        """Prior cells where the family is one of bits or categories, else None."""
        if isinstance(self.model, BetaBernoulli):
            return (self.model.alpha, self.model.beta)
        return self.model.alpha if isinstance(self.model, DirichletCategorical) else None

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """Name of the quantity that is drawn in one group."""
        return f"{self.model.quantity} of a group of average size"

    @property
    def labels(self) -> tuple[str, ...]:
        """Group and coordinate."""
        inner = self.model.labels
        if len(inner) == 1:
            return tuple(f"{self.by}={level}" for level in self.levels)
        return tuple(f"{self.by}={level}: {label}" for level in self.levels for label in inner)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """Groups first."""
        return (len(self.levels), *self.model.draw_shape)

    # --- what is read ------------------------------------------------------------------------------------------------

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The column of groups, then the family's columns, chosen among the others."""
        column = schema.columns.get(self.by)
        known: tuple[Any, ...] | None = None if column is None else column.levels
        if known is None:
            kind = "no column" if column is None else f"a {type(column).__name__}"
            fit = [name for name, column in schema.columns.items() if column.levels is not None]
            raise ArgumentError(
                f"by must name a Category or Boolean column of schema {schema.name!r} ({', '.join(fit) or 'it has none'}); "
                f"{self.by!r} is {kind}."
            )
        if known != self.levels:
            strange = [level for level in self.levels if level not in known]
            why = f"{strange[0]!r} is not among them" if strange else "they are not all there in the same order"
            raise ArgumentError(
                f"the model's groups are not the levels of column {self.by!r} in the schema: {why}. "
                f"Use levels=schema.columns[{self.by!r}].levels."
            )
        rest = {name: column for name, column in schema.columns.items() if name != self.by}
        target = schema.target if schema.target in rest else None
        return (self.by, *self.model.columns(Schema(rest, target=target, name=schema.name, unit=schema.unit)))

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """One row of whole numbers per group."""
        groups = np.asarray(block[columns[0]]).astype(np.int64)
        if self._cells is not None:
            size = len(self._cells)
            if isinstance(self.model, DirichletCategorical):
                codes = self.model.codes(block[columns[1]])
            else:
                codes = 1 - (np.asarray(block[columns[1]]).astype(np.int64) != 0)  # ones are the first cell
            return np.bincount(groups * size + codes, minlength=len(self.levels) * size).astype(np.int64)
        rows = []
        for group in range(len(self.levels)):
            inside = groups == group
            part = {name: block[name][inside] for name in columns[1:]}
            rows.append(_centred.centred(self.model, self.model.tally(part, columns[1:]).tolist(), int(inside.sum())))
        return np.array(rows, dtype=np.int64).ravel()

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts, or the group's size and its totals, counted from the middle of what a record can hold."""
        if self._cells is not None:
            return (Fraction(1),) * (len(self._cells) * len(self.levels))
        return _centred.units(self.model) * len(self.levels)

    @property
    def sensitivity(self) -> float:
        """A replaced record changes two orthogonal blocks: the row of the group it leaves, and that of the one it enters."""
        return ONE_MOVED if self._cells is not None else _centred.sensitivity(self.model)

    def feasible(self, totals: Array, n: int) -> Array:
        """Counts of at least 0, which sum to n if all groups are given; totals within the range of so many records."""
        if self._cells is not None:
            return _cells.nearest_counts(totals, n) if totals.ndim == 1 else np.maximum(totals, 0.0)
        rows = self._rows(totals)
        sizes = np.maximum(_centred.sizes(self.model, rows), 0.0)
        if totals.ndim == 1:
            sizes = _cells.nearest_counts(sizes, n)
        sizes = np.maximum(np.rint(sizes), 1.0)
        plain = _centred.plain(self.model, rows, sizes)
        inner = [self.model.feasible(row, int(size)) for row, size in zip(plain, sizes, strict=True)]
        return _centred.joined(self.model, sizes, np.array(inner)).reshape(totals.shape)

    def estimate(self, totals: Sequence[Fraction], n: int) -> list[float]:
        """The family's estimate in each group, at the group's noisy size; the sizes are made to sum to n."""
        rows = self._rows(np.array([float(total) for total in totals]))
        sizes = np.maximum(np.rint(_centred.sizes(self.model, rows, n)), 1.0)
        # Noise may lift a total beyond what so many records could have.
        most = sizes[:, None] * 2 * _centred.middles(self.model)
        possible = np.clip(_centred.plain(self.model, rows, sizes), 0.0, most)
        inner = (
            self.model.estimate(list(map(Fraction, row)), int(size))
            for row, size in zip(possible.tolist(), sizes, strict=True)
        )
        return [value for estimate in inner for value in estimate]

    def widest(self, n: int) -> Array:
        """Those of a group of average size."""
        members = max(1.0, n // len(self.levels))
        return _centred.joined(self.model, np.array([members]), self.model.widest(int(members))[None, :]).ravel()

    def estimate_error(self, n: int, deviation: float) -> float:
        """Error from the noise of the total, in an average group whose mean is the middle of the bounds."""
        return self.model.estimate_error(max(1, n // len(self.levels)), deviation)

    def _rows(self, totals: Array) -> Array:
        width = len(self._cells) if self._cells is not None else 1 + len(self.model.units)
        return np.asarray(totals, dtype=np.float64).reshape(-1, width)

    # --- what is drawn, and at what price ----------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """One node of a network: the group is its parent."""
        cells = self._cells or ()
        if isinstance(self.model, BetaBernoulli) and self.model.floor > 0:
            return Claim("truncated-dirichlet", {"categories": 2, "floor": self.model.floor})
        return Claim("network", {"smallest_cells": (min(cells),)})

    def natural(self, totals: Array, n: int, power: float = 1.0, strength: float = 1.0) -> Array:
        """Natural parameters of one group after each row of totals."""
        rows = self._rows(totals)
        if self._cells is not None:
            return strength * np.array(self._cells) + power * rows
        sizes = self._members(rows)
        inner = zip(_centred.plain(self.model, rows, sizes), sizes.astype(int).tolist(), strict=True)
        return np.stack([self.model.natural(row, size, power, strength) for row, size in inner])

    def _members(self, rows: Array) -> Array:
        """The sizes of groups from their rows of totals: whole numbers, at least 1."""
        return np.maximum(np.rint(_centred.sizes(self.model, rows)), 1.0)

    def law(self, totals: Sequence[Fraction], n: int, power: float = 1.0, strength: float = 1.0) -> Product:
        """A product over groups, of which a replaced record changes two; the grids depend on n alone, which is public."""
        rows = self._rows(np.array([float(total) for total in totals]))
        if self._cells is None:
            sizes = self._members(rows)
            inner = zip(_centred.plain(self.model, rows, sizes).tolist(), sizes.astype(int).tolist(), strict=True)
            parts = [self.model.law(list(map(Fraction, row)), size, power, strength) for row, size in inner]
            return Product(tuple(parts), touched=2)
        prior = self._cells
        weight, smallest = power * n + strength * sum(prior), strength * min(prior)
        single = isinstance(self.model, BetaBernoulli)
        floor = self.model.floor if isinstance(self.model, BetaBernoulli) else 0.0
        shared = (weight, smallest, floor, single, cells_for(weight))
        cells = self.natural(rows, n, power, strength)
        return Product(tuple(Dirichlet(tuple(map(float, row)), *shared) for row in cells), touched=2)

    def strongest(self, n: int) -> float:
        """Largest strength that the grid of one group can draw if the group holds all records."""
        return self.model.strongest(n)

    # --- what a reader may expect, in a group of average size --------------------------------------------------------

    def simulate(self, rng: np.random.Generator, size: int, n: int) -> tuple[Array, Array]:
        """True parameters and totals of one group of n/groups records."""
        members = max(1, n // len(self.levels))
        truth, totals = self.model.simulate(rng, size, members)
        if isinstance(self.model, BetaBernoulli):
            return truth, np.concatenate([totals, members - totals], axis=1)
        if self._cells is not None:
            return truth, totals
        return truth, _centred.joined(self.model, np.full(size, float(members)), totals)

    def sketch(self, rng: np.random.Generator, natural: Array) -> Array:
        """As in the family itself."""
        return self.model.sketch(rng, natural)

    def divergence(self, first: Array, second: Array) -> Array:
        """As in the family itself."""
        return self.model.divergence(first, second)

    def distance(self, draws: Array, truth: Array) -> Array:
        """As in the family itself."""
        return self.model.distance(draws, truth)

    # --- documents ---------------------------------------------------------------------------------------------------

    def updated(self, totals: Sequence[Fraction], n: int) -> Grouped:
        """Refuse: public records of each group would give each its own prior."""
        raise ArgumentError("give the public records to the family before it is grouped: its prior serves every group.")

    def to_json(self) -> dict[str, Any]:
        """The family's document, the column and its levels."""
        return {"family": self.name, "model": self.model.to_json(), "by": self.by, "levels": list(self.levels)}

    def __repr__(self) -> str:
        return f"{self.model!r} by {self.by} ({len(self.levels)} groups)"
