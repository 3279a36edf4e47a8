"""Raking: the tables of a network brought in line with the shares of single columns, which all its noisy counts give together.

A column of a network is counted in its own table and in those of its children. Each of these tables gives the column's counts
with noise of its own; weighted by their precisions they are closer to the truth than any one of them. The conditional table of
each column is then moved as little as possible (in relative entropy) to a law with these shares. Post-processing: noisy counts,
their variances and n are released or public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.models.families import _cells
from sfumato.models.networks._elimination import TooLarge, joint
from sfumato.models.networks._tables import Factor
from sfumato.queries.statistics.cell_counts import Counted

Array = NDArray[np.float64]

# Sweeps over a table at most. On eight columns of Adult twenty bring all shares within 1e-9 of their target but one, that of a
# column which its parent all but determines: it takes two hundred for 1e-4. Zero cells can make the shares unreachable; then
# the table after the last sweep is used.
_SWEEPS = 200
# Gap in a share at which sweeps end: far below any noise.
_CLOSE = 1e-10


def raked(factors: Sequence[Factor], tables: Sequence[Counted], n: int) -> tuple[Factor, ...]:
    """The factors, parents before children as given, with the shares of every column raked to `pooled_shares`.

    A column whose parents' joint law is too large to compute keeps its table.
    """
    moved: list[Factor] = []
    for factor in factors:
        try:
            weights = joint(moved, factor.parents).ravel()
        except TooLarge:
            moved.append(factor)
            continue
        rows = factor.values.reshape(len(weights), -1)
        target = pooled_shares(tables, factor.column, n)
        moved.append(replace(factor, values=raked_rows(rows, weights, target).reshape(factor.values.shape)))
    return tuple(moved)


def pooled_shares(tables: Sequence[Counted], column: str, n: int) -> Array:
    """Shares of one column among n records: least squares over all tables that count it, at least 0, of sum 1.

    The count of a level is in each table a sum of noisy cells; its variance is that of a cell times their number. All levels of
    the mean have the same variance, so the nearest point of the simplex is the least-squares estimate there.
    """
    mean, precision = np.zeros(1), 0.0
    for table in tables:
        if column in table.columns:
            axis = table.columns.index(column)
            others = tuple(k for k in range(table.counts.ndim) if k != axis)
            weight = 1 / (table.variance * math.prod(table.counts.shape[k] for k in others))
            mean = mean + weight * table.counts.sum(axis=others)
            precision += weight
    return _cells.nearest_counts(mean / (precision * n), 1)


def raked_rows(rows: Array, weights: Array, target: Array) -> Array:
    """Conditional laws (configurations, levels) whose mean under `weights` is `target`: iterative proportional fitting.

    A sweep multiplies each level by the ratio of its target to its present share, and divides each row by its sum; the weights
    of the rows stay. Cells of 0 stay 0. A row that would lose all its cells keeps them: its weight must go somewhere.
    """
    moved = rows
    for _ in range(_SWEEPS):
        share = weights @ moved
        if np.abs(share - target).max() <= _CLOSE:
            break
        scaled = moved * np.divide(target, share, out=np.ones_like(share), where=share > 0)
        sums = scaled.sum(axis=1, keepdims=True)
        moved = np.where(sums > 0, scaled / np.where(sums > 0, sums, 1.0), moved)
    return moved
