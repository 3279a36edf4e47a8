"""The sparse engine: the fused pass over CSR rows, which reads the stored entries alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines import kernels
from sfumato.engines.design import coordinates, feature_blocks, kernel_arguments
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.shapes import Shaped
from sfumato.engines.threads import additions, sum_in_order
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]
# Rows of a part, the same for all data: a number chosen by the entries of the rows would reveal them. Half of what prices
# assume, so that threads share the work of a block evenly.
_PART = PART_ROWS // 2


class SparseEngine(Shaped):
    """Sums over CSR rows for the losses that have a compiled slope."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._model = model
        self._blocks = list(feature_blocks(dataset, model))
        self._parts = [
            (rows.data, _unsigned(rows.indices), rows.indptr[start : start + _PART + 1], labels[start : start + _PART])
            for rows, labels in self._blocks
            for start in range(0, rows.shape[0], _PART)
        ]
        self._ones = np.ones(_PART)
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self.additions = additions(_PART, len(self._parts))
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, [self._ones] * len(self._parts))

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Sequence[Array]) -> Array:
        """The same sum of another loss with compiled slopes, its records weighted; one array of weights for each part."""
        points = np.ascontiguousarray(theta[0] if len(theta) == 1 else theta.T, dtype=np.float64)
        slope, parts = kernel_arguments(loss), [(*part, v) for part, v in zip(self._parts, weights, strict=True)]
        total = sum_in_order(lambda part: self._sum(part, points, slope), parts, self._threads, points.shape)
        return np.ascontiguousarray(total.T).reshape(theta.shape)

    def pieces(self) -> Iterator[tuple[Any, Array]]:
        """Rows and labels of each part; the entries of one part's rows are copied at a time."""
        for rows, labels in self._blocks:
            for start in range(0, rows.shape[0], _PART):
                yield rows[start : start + _PART], labels[start : start + _PART]

    def _sum(
        self, part: tuple[Array, Any, Any, Array, Array], points: Array, slope: tuple[int, float, float] | None
    ) -> Array:
        code, first, second = slope  # type: ignore[misc]
        kernel = kernels.sparse_gradient if points.ndim == 1 else kernels.sparse_gradients
        out = np.zeros_like(points)
        kernel(*part, points, float(self._model.intercept), code, first, second, out)
        return out


def _unsigned(columns: Any) -> Any:
    """The same column numbers as unsigned integers, so that a kernel need not handle negative indices."""
    return columns.view(np.uint32 if columns.itemsize == 4 else np.uint64)
