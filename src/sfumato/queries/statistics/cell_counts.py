"""Noisy counts of tables that share their columns: from them the law of any share, margin or conditional share.

A table has one axis per column. The columns that are asked for may stand in several tables of a network; each such table
counted the same records with noise of its own, and the counts are weighted by their precisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.queries.statistics import count_laws
from sfumato.queries.statistics.count_laws import Noisy, ShareLaw
from sfumato.queries.statistics.protocol import REFERENCE

# Tables that a refusal lists; a learnt table may have hundreds.
_LISTED = 12


@dataclass(frozen=True, eq=False)
class Counted:
    """Noisy counts of the combinations of some columns, one axis each; every cell has noise of this variance."""

    columns: tuple[str, ...]
    counts: Array
    variance: float

    def set(self, levels: Mapping[str, int]) -> Noisy:
        """The noisy count of the records that have these levels of some columns."""
        return count_laws.summed(self.counts, self._chosen(levels), self.variance)

    def apart(self, levels: Mapping[str, int], within: Mapping[str, int]) -> Noisy:
        """The noisy count of the records within `within` that do not have these levels too."""
        return count_laws.summed(self.counts, self._chosen(within) & ~self._chosen(levels), self.variance)

    def outside(self, levels: Mapping[str, int]) -> Noisy:
        """The noisy count of all records that do not have these levels."""
        return count_laws.summed(self.counts, ~self._chosen(levels), self.variance)

    def _chosen(self, levels: Mapping[str, int]) -> NDArray[np.bool_]:
        chosen = np.ones(self.counts.shape, dtype=bool)
        for axis, name in enumerate(self.columns):
            if name in levels:
                shape = [1] * self.counts.ndim
                shape[axis] = -1
                chosen &= (np.arange(self.counts.shape[axis]) == levels[name]).reshape(shape)
        return chosen


def holding(tables: Sequence[Counted], names: Sequence[str]) -> list[Counted]:
    """The tables that hold all of these columns; refused where there is none."""
    fitting = [table for table in tables if set(names) <= set(table.columns)]
    if not fitting:
        # A table whose columns another one holds adds no combination.
        largest = [one for one in tables if not any(set(one.columns) < set(other.columns) for other in tables)]
        groups = "; ".join(", ".join(table.columns) for table in largest[:_LISTED])
        groups += f" and {len(largest) - _LISTED} more" if len(largest) > _LISTED else ""
        raise ArgumentError(
            f"no interval: no single table counts {', '.join(names)} together, and a share that is computed through other columns "
            f"has no interval here. Tables: {groups}. Leave out interval= for the share alone."
        )
    return fitting


def share(
    tables: Sequence[Counted], n: int, levels: Mapping[str, int], prior: tuple[float, float] = REFERENCE
) -> ShareLaw:
    """The law of the share of the records that have these levels, among all n."""
    fitting = holding(tables, list(levels))
    own = count_laws.joined([table.set(levels) for table in fitting])
    others = count_laws.joined([table.outside(levels) for table in fitting])
    return count_laws.share_law(own, others, n, prior)


def conditional(
    tables: Sequence[Counted],
    n: int,
    levels: Mapping[str, int],
    given: Mapping[str, int],
    prior: tuple[float, float] = REFERENCE,
    counted: bool = True,
) -> ShareLaw:
    """The law of the share of these levels among the records that have the levels `given`.

    `counted` is false where a record may add fewer counts than n stands for: all others are then unknown.
    """
    both = {**given, **levels}
    fitting = holding(tables, list(both))
    own = count_laws.joined([table.set(both) for table in fitting])
    rest = count_laws.joined([table.apart(both, given) for table in fitting])
    others = count_laws.joined([table.outside(given) for table in fitting]) if counted else count_laws.nothing()
    return count_laws.row_law(own, rest, others, n, prior)
