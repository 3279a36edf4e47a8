"""Totals of whole numbers over the columns of a table: exact, so that no order of the rows and no block size changes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction

from sfumato.dataset import Dataset, rows_of
from sfumato.engines.protocol import Tally
from sfumato.engines.reading_ahead import ahead
from sfumato.engines.shares import shared
from sfumato.schema import Schema

_ALL = Fraction(1)


class CodesEngine:
    """Some columns of a data set, answering totals of bounded whole-number statistics and nothing else."""

    def __init__(
        self, dataset: Dataset, columns: Sequence[str] | Callable[[Schema], Sequence[str]], means: bool = False
    ) -> None:
        """Hold the rows; they are read when totals are asked for. `columns` are names, or a function of the schema.

        `means`: where persons have several rows, a person's statistic is that of the mean of their values, and not the mean of
        the statistics of their rows.
        """
        self._rows = rows_of(dataset)
        self._columns = columns
        self._means = means
        self.n: int = self._rows.n
        self.additions = 0.0  # whole numbers are added exactly

    def totals(self, tally: Tally) -> list[int] | list[Fraction]:
        """Sum over all records of whole numbers per record, in numbers that cannot overflow or round.

        Whole numbers; fractions where a record is the average of a person's rows, or has a weight.
        """
        columns = self._columns(self._rows.schema) if callable(self._columns) else self._columns
        blocks = self._rows.blocks(columns)
        # Whole numbers for each share, multiplied by it once at the end.
        sums: dict[Fraction, list[int]] = {}
        for block in blocks if self._rows.held else ahead(blocks):
            whole = block.counts is None and block.weights is None
            for share, rows in [(_ALL, block)] if whole else shared(block, self._means):
                part, before = tally(rows, columns).tolist(), sums.get(share)
                sums[share] = part if before is None else [a + b for a, b in zip(before, part, strict=True)]
        if set(sums) <= {_ALL}:
            return sums.get(_ALL, [])
        return [sum(map(operator.mul, sums, counts), Fraction(0)) for counts in zip(*sums.values(), strict=True)]

    def __repr__(self) -> str:
        return f"CodesEngine(n={self.n})"
