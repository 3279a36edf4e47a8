"""The sparse engine: the fused pass over CSR rows, which reads the stored entries alone."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines import kernels
from sfumato.engines.design import coordinates, feature_blocks, kernel_arguments
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.threads import additions, sum_in_order
from sfumato.models.gibbs import Gibbs

Array = NDArray[np.float64]
# Rows of a part, the same for all data: a number chosen by the entries of the rows would reveal them. Half of what prices
# assume, so that threads share the work of a block evenly.
_PART = PART_ROWS // 2


class SparseEngine:
    """Gradient sums over CSR rows for the losses that have a compiled slope."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._loss = kernel_arguments(model.loss)
        self._intercept = float(model.intercept)
        self._parts = [
            (rows.data, _unsigned(rows.indices), rows.indptr[start : start + _PART + 1], labels[start : start + _PART])
            for rows, labels in feature_blocks(dataset, model)
            for start in range(0, rows.shape[0], _PART)
        ]
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self.additions = additions(_PART, len(self._parts))
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        points = np.ascontiguousarray(theta[0] if len(theta) == 1 else theta.T, dtype=np.float64)
        total = sum_in_order(lambda part: self._sum(part, points), self._parts, self._threads, points.shape)
        return np.ascontiguousarray(total.T).reshape(theta.shape)

    def _sum(self, part: tuple[Array, Any, Any, Array], points: Array) -> Array:
        code, first, second = self._loss  # type: ignore[misc]
        kernel = kernels.sparse_gradient if points.ndim == 1 else kernels.sparse_gradients
        out = np.zeros_like(points)
        kernel(*part, points, self._intercept, code, first, second, out)
        return out


def _unsigned(columns: Any) -> Any:
    """The same column numbers as unsigned integers, so that a kernel need not handle negative indices."""
    return columns.view(np.uint32 if columns.itemsize == 4 else np.uint64)
