"""Totals of whole numbers over the columns of a table: exact, so that no order of the rows and no block size changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sfumato.dataset import Dataset, rows_of
from sfumato.engines.protocol import Tally
from sfumato.schema import Schema


class CodesEngine:
    """Some columns of a data set, answering totals of bounded whole-number statistics and nothing else."""

    def __init__(self, dataset: Dataset, columns: Sequence[str] | Callable[[Schema], Sequence[str]]) -> None:
        """Hold the rows; they are read when totals are asked for. `columns` are names, or a function of the schema."""
        self._rows = rows_of(dataset)
        self._columns = columns
        self.n: int = self._rows.n
        self.additions = 0.0  # whole numbers are added exactly

    def totals(self, tally: Tally) -> list[int]:
        """Sum over all records of whole numbers per record, in integers that cannot overflow or round."""
        blocks = self._rows.blocks()
        columns = self._columns(self._rows.schema) if callable(self._columns) else self._columns
        totals: list[int] | None = None
        for block in blocks:
            part = tally(block, columns).tolist()
            totals = part if totals is None else [a + b for a, b in zip(totals, part, strict=True)]
        return totals or []

    def __repr__(self) -> str:
        return f"CodesEngine(n={self.n})"
