"""A family of weighted records: rates, shares, counts and means of a population that a survey's weights stand for.

A record with weight w in [0, upper] counts v = w/upper of one. The weighted size, the sum of v, is one more private total, and
every contribution lies between 0 and that of a whole record (docs/proofs/persons.md, point 6). Only noisy statistics are offered:
a posterior drawn from weighted counts has a size that nobody knows. Intervals take the weighted size for the number of records,
which is at most the effective one (Kish): (sum v)^2 / sum v^2 >= sum v.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.models import _centred
from sfumato.models.families._counts import ONE_MOVED
from sfumato.models.families.cross_table import CrossTable
from sfumato.models.families.family import Claim, Family
from sfumato.models.families.histogram import Histogram
from sfumato.models.gibbs import Gibbs
from sfumato.models.grouped import Grouped
from sfumato.models.hidden_sizes import HiddenSizes
from sfumato.models.reading import FamilyOrGibbs
from sfumato.schema import Schema

# The name of the only group: all records, by their weights.
_ALL = ("all",)


@dataclass(frozen=True, repr=False)
class Weighted(HiddenSizes):
    """The family of weighted records; its totals are the weighted counts of cells, or the weighted size and weighted totals."""

    model: Family
    name = "Weighted"
    weighted = True
    levels = _ALL

    def __post_init__(self) -> None:
        if not isinstance(self.model, Family) or self.model.utility or not self.model.groupable:
            raise ArgumentError(f"{_SERVED} {_named(self.model)} is none of them.")
        if isinstance(self.model, HiddenSizes | CrossTable | Histogram):
            raise ArgumentError(f"{_SERVED} {_named(self.model)} is none of them.")
        self._adopt()

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """Name of the quantity that is drawn."""
        return f"weighted {self.model.quantity}"

    @property
    def labels(self) -> tuple[str, ...]:
        """As in the family itself."""
        return self.model.labels

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """As in the family itself."""
        return self.model.draw_shape

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """As in the family itself."""
        return self.model.columns(schema)

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """Whole numbers of one group; weights multiply them afterwards."""
        rows = np.asarray(block[columns[0]]).shape[0]
        return self._totals(np.zeros(rows, dtype=np.int64), block, columns)

    @property
    def presence(self) -> Fraction:
        """What a record of the largest weight adds to the weighted size; more than by group, since nobody changes a group."""
        return _centred.weighted_presence(self.model)

    @property
    def sensitivity(self) -> float:
        """Between two values of a whole record, or between 0 and one of them."""
        return ONE_MOVED if self.counted else _centred.weighted_sensitivity(self.model, self.presence)

    def claim(self, n: int) -> Claim:
        """Refuse: no theorem here prices draws of a posterior of weighted counts."""
        raise ArgumentError("draws of weighted records are made from noisy statistics alone.")

    def updated(self, totals: Sequence[Fraction], n: int) -> Weighted:
        """Refuse: the weights of public records are not read."""
        raise ArgumentError("give the public records to the family before it is weighted.")

    def to_json(self) -> dict[str, Any]:
        """The family's document."""
        return {"family": self.name, "model": self.model.to_json()}

    def __repr__(self) -> str:
        return f"{self.model!r} of weighted records"


_SERVED = (
    "survey weights are served for rates, shares of a category, counts, durations, log odds and means, by group too, and for "
    "regressions;"
)


def _named(model: Any) -> str:
    return str(getattr(model, "name", type(model).__name__))


def weighted_form(model: FamilyOrGibbs) -> FamilyOrGibbs:
    """The model of weighted records: a regression as it is, since weights multiply its terms; other models with a private size."""
    if isinstance(model, Gibbs | Weighted):
        return model
    if isinstance(model, Grouped):
        return model if model.weighted else Grouped(Weighted(model.model).model, model.by, model.levels, weighted=True)
    return Weighted(model)
