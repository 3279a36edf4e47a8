"""Sums of whole numbers over one column: exact, so that no order of the rows and no block size can change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset, rows_of


class CodesEngine:
    """One column of a data set, answering totals of bounded whole-number statistics and nothing else."""

    def __init__(self, dataset: Dataset, column: str) -> None:
        """Hold the rows; they are read when a total is asked for."""
        self._rows = rows_of(dataset)
        self._column = column
        self.n: int = self._rows.n

    def total(self, statistic: Callable[[Any], NDArray[np.int64]]) -> int:
        """Sum over all records of a whole number per record, in integers that cannot overflow or round."""
        return sum(int(statistic(block[self._column]).sum(dtype=np.int64)) for block in self._rows.blocks())

    def __repr__(self) -> str:
        return f"CodesEngine(n={self.n})"
