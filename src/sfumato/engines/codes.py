"""Totals of whole numbers over the columns of a table: exact, so that no order of the rows and no block size changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sfumato.dataset import Dataset, rows_of
from sfumato.engines.protocol import Tally
from sfumato.models.families.family import Family


class CodesEngine:
    """Some columns of a data set, answering totals of bounded whole-number statistics and nothing else."""

    additions: ClassVar[float] = 0.0  # whole numbers are added exactly

    def __init__(self, dataset: Dataset, columns: Sequence[str]) -> None:
        """Hold the rows; they are read when totals are asked for."""
        self._rows = rows_of(dataset)
        self._columns = tuple(columns)
        self.n: int = self._rows.n

    def totals(self, tally: Tally) -> list[int]:
        """Sum over all records of whole numbers per record, in integers that cannot overflow or round."""
        totals: list[int] | None = None
        for block in self._rows.blocks():
            part = tally(block, self._columns).tolist()
            totals = part if totals is None else [a + b for a, b in zip(totals, part, strict=True)]
        return totals or []

    def __repr__(self) -> str:
        return f"CodesEngine(n={self.n})"


def open_codes(dataset: Dataset, model: Family) -> CodesEngine:
    """The engine of the columns that a family reads."""
    return CodesEngine(dataset, model.columns(dataset.schema))
