"""A histogram of a number: the share of the records in each of public bins, with a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families import _bins
from sfumato.models.families._columns import number_within
from sfumato.models.families.dirichlet_categorical import DirichletCategorical, read_alpha
from sfumato.schema import Number, Schema


@dataclass(frozen=True, repr=False, init=False)
class Histogram(DirichletCategorical):
    """theta ~ Dirichlet(alpha) over public bins of a Number column; each record lies in one bin.

    lower, upper: the declared bounds of the column. bins: a number of equal bins (by default 10), or the list of edges from
    lower to upper; or width: bins between multiples of it, the first and last cut at the bounds. integer: the column holds whole
    numbers, and so do the edges. Bins are [a, b), the last one closed.
    alpha: one number for every bin or one per bin. Left out, draws are made with 1/2, and intervals take for each share the
    reference prior of a single share, Beta(1/2, 1/2), whatever the number of bins.
    """

    edges: tuple[float, ...]
    integer: bool
    reference: bool
    name = "Histogram"
    quantity = "shares"
    releases_totals = True

    def __init__(
        self,
        lower: float | None = None,
        upper: float | None = None,
        bins: int | Sequence[float] | None = None,
        *,
        width: float | None = None,
        edges: Sequence[float] | None = None,
        alpha: float | Sequence[float] | None = None,
        integer: bool = False,
    ) -> None:
        """Check that the bins are rising and fill the bounds; none of them may come from the records."""
        read = _bins.read_edges(lower, upper, bins, width, edges, integer)
        object.__setattr__(self, "edges", read)
        object.__setattr__(self, "integer", integer)
        object.__setattr__(self, "levels", _bins.labels_of(read, integer))
        object.__setattr__(self, "alpha", read_alpha(alpha, len(read) - 1))
        object.__setattr__(self, "reference", alpha is None)

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The Number column, whose bounds must lie within the bins."""
        name = number_within(schema, self.edges[0], self.edges[-1], self.name, "of Histogram(...)")
        column = schema.columns[name]
        if isinstance(column, Number):
            _bins.check_whole_column(name, column, self.edges, self.integer)
        return (name,)

    def codes(self, values: Any) -> NDArray[np.int64]:
        """The bin of each value."""
        return _bins.codes_of(values, self.edges)

    def record_in(self, place: int, columns: Sequence[str]) -> dict[str, Any]:
        """A record in the bin at this place: its lower edge."""
        return {columns[0]: self.edges[place]}

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of records in each bin."""
        return np.bincount(self.codes(block[columns[0]]), minlength=self.cells).astype(np.int64)

    def updated(self, totals: Sequence[Fraction], n: int) -> Histogram:
        """The counts of public records, added to the prior cells."""
        cells = [a + float(t) for a, t in zip(self.alpha, totals, strict=True)]
        return Histogram(edges=self.edges, alpha=cells, integer=self.integer)

    def to_json(self) -> dict[str, Any]:
        """Edges and prior; a prior that was left out stays out."""
        alpha = None if self.reference else list(self.alpha)
        return {"family": self.name, "edges": list(self.edges), "alpha": alpha, "integer": self.integer}

    def __repr__(self) -> str:
        return f"Histogram({self.cells} bins from {self.edges[0]:g} to {self.edges[-1]:g})"
