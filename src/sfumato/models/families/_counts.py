"""Base class of the families whose totals are counts of levels: histograms, finite families, quantiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families._cells import nearest_counts
from sfumato.models.families.family import Array, Family

# Distance between the counts of two data sets that differ in one record, one count less and one more: sqrt(2), rounded up.
ONE_MOVED = math.sqrt(2) * (1 + 1e-15)


class Counted(Family):
    """A family whose totals are numbers of records, each record adding 1 to one of them."""

    groupable = True

    @property
    def cells(self) -> int:
        """How many counts there are."""
        raise NotImplementedError

    def tally(self, block: Mapping[str, Any], columns: Sequence[str]) -> NDArray[np.int64]:
        """The number of records of each level."""
        return np.bincount(block[columns[0]], minlength=self.cells).astype(np.int64)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """Counts."""
        return (Fraction(1),) * self.cells

    @property
    def sensitivity(self) -> float:
        """One count falls by 1 and one rises by 1."""
        return ONE_MOVED

    def feasible(self, totals: Array, n: int) -> Array:
        """Counts of at least 0 that sum to n."""
        return nearest_counts(totals, n)
