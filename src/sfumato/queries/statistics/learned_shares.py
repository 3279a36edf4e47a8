"""Learnt tables: the shares of every level of every column, from all noisy tables that hold the column."""

from __future__ import annotations

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.models.networks.learned import LearnedNetwork
from sfumato.procedures import task_of
from sfumato.procedures.noisy_tables import published_as
from sfumato.queries.statistics import cell_counts
from sfumato.queries.statistics.cell_counts import Counted
from sfumato.queries.statistics.protocol import Ends, Released


def read(model: LearnedNetwork, prior: LearnedNetwork, released: Released) -> Ends:
    """Intervals of every share of one column; a share has the reference prior."""
    if prior is not model:
        raise ArgumentError("a learnt table has no prior: leave prior out.")
    if released.record is None:
        raise ArgumentError("the intervals of a learnt table are read from its release.")
    draws, plan, _ = released.record
    learnt = published_as(draws, task_of(plan)[1])
    tables = tuple(
        Counted(tuple(str(place) for place in table.columns), table.counts, table.deviation**2)
        for table in learnt.tables
    )
    laws = [
        cell_counts.share(tables, released.n, {str(place): level})
        for place, size in enumerate(model.sizes.values())
        for level in range(size)
    ]
    return lambda level, sampling: (
        np.array([law.share_ends(level) if sampling else law.rows_ends(level) for law in laws]).T
    )
