"""Totals of whole numbers over the columns of a table: exact, so that no order of the rows and no block size changes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset, rows_of

Tally = Callable[[Mapping[str, Any], Sequence[str]], NDArray[np.int64]]


class CodesEngine:
    """Some columns of a data set, answering totals of bounded whole-number statistics and nothing else."""

    def __init__(self, dataset: Dataset, columns: Sequence[str]) -> None:
        """Hold the rows; they are read when totals are asked for."""
        self._rows = rows_of(dataset)
        self._columns = tuple(columns)
        self.n: int = self._rows.n

    def totals(self, tally: Tally) -> list[int]:
        """Sum over all records of whole numbers per record, in integers that cannot overflow or round."""
        found: list[int] | None = None
        for block in self._rows.blocks():
            part = [int(value) for value in tally(block, self._columns)]
            found = part if found is None else [a + b for a, b in zip(found, part, strict=True)]
        return found or []

    def __repr__(self) -> str:
        return f"CodesEngine(n={self.n})"
