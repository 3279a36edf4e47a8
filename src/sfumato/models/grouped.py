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
from sfumato.models.families.beta_bernoulli import BetaBernoulli
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.family import Claim, Family
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.schema import Schema


def grouped(model: Family, by: str, levels: Sequence[Any]) -> Grouped:
    """The model in each of the groups that the column `by` names; `levels` are public, as they stand in the schema."""
    if not isinstance(by, str) or isinstance(levels, str):
        raise ArgumentError(f"by must name a column and levels list its levels; got by={by!r} and levels={levels!r}.")
    return Grouped(model, by, tuple(levels))


@dataclass(frozen=True, repr=False)
class Grouped(HiddenSizes):
    """One posterior per level of the column `by`; a record belongs to one group, and group sizes are private.

    Totals are one row per group: the counts of the cells (bits and categories), or the group's size and its totals. `weighted`:
    records have survey weights.
    """

    model: Family
    by: str
    levels: tuple[Any, ...]
    weighted: bool = False
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
        self._adopt()

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
        return self._totals(np.asarray(block[columns[0]]).astype(np.int64), block, columns[1:])

    # --- at what price -----------------------------------------------------------------------------------------------

    def claim(self, n: int) -> Claim:
        """One node of a network: the group is its parent."""
        cells = self._cells or ()
        if isinstance(self.model, BetaBernoulli) and self.model.floor > 0:
            return Claim("truncated-dirichlet", {"categories": 2, "floor": self.model.floor})
        return Claim("network", {"smallest_cells": (min(cells),)})

    # --- documents ---------------------------------------------------------------------------------------------------

    def updated(self, totals: Sequence[Fraction], n: int) -> Grouped:
        """Refuse: public records of each group would give each its own prior."""
        raise ArgumentError("give the public records to the family before it is grouped: its prior serves every group.")

    def to_json(self) -> dict[str, Any]:
        """The family's document, the column and its levels; whether records are weighted, where they are."""
        document = {"family": self.name, "model": self.model.to_json(), "by": self.by, "levels": list(self.levels)}
        return {**document, "weighted": True} if self.weighted else document

    def __repr__(self) -> str:
        weighted = ", weighted" if self.weighted else ""
        return f"{self.model!r} by {self.by} ({len(self.levels)} groups{weighted})"
