"""The sparse engine: the fused pass over CSR rows, reading their entries alone."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines import kernels
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.engines.links import compiled
from sfumato.engines.threads import in_order

Array = NDArray[np.float64]
_PART = 8192


class SparseEngine:
    """Gradient sums over CSR rows for the losses that the kernels know."""

    def __init__(self, dataset: Dataset, model: Any) -> None:
        """Hold the blocks and the row ranges of their parts."""
        self._loss = compiled(model.loss)
        self._intercept = float(model.intercept)
        self._parts = [
            (rows, labels, start, min(start + _PART, rows.shape[0]))
            for rows, labels in feature_blocks(dataset, model)
            for start in range(0, rows.shape[0], _PART)
        ]
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        points = np.ascontiguousarray(theta, dtype=np.float64)
        sums = in_order(lambda part: self._sum(part, points), self._parts, self._threads)
        total = np.zeros_like(points)
        for part_sum in sums:
            total += part_sum
        return total

    def _sum(self, part: tuple[Any, Array, int, int], points: Array) -> Array:
        code, first, second = self._loss  # type: ignore[misc]
        rows, labels, start, stop = part
        out = np.zeros_like(points)
        kernels.sparse_gradient(
            rows.data, rows.indices, rows.indptr, start, stop, labels, points, self._intercept, code, first, second, out
        )
        return out
