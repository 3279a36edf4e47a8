"""The sparse engine: the fused pass over CSR rows, which reads the stored entries alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines import kernels
from sfumato.engines.design import coordinates, feature_blocks, kernel_arguments, most_rows
from sfumato.engines.parts import Features, Part, part_additions, ranges
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.shapes import Shaped, Weigh
from sfumato.engines.threads import add_up, additions, sum_in_order
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]
# Records of a part, the same for all data: a number chosen by the entries of the rows would reveal them. Half of what prices
# assume, so that threads share the work of a block evenly.
_PART = PART_ROWS // 2


# Data, columns, where rows begin, labels, and the shares of rows or None.
_Entries = tuple[Array, Any, Any, Array, Array | None]


class SparseEngine(Shaped):
    """Sums over CSR rows for the losses that have a compiled slope."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._model = model
        self._blocks, self._most = list(feature_blocks(dataset, model)), most_rows(dataset)
        self._parts = [
            [_entries(block, first, last) for first, last in part]
            for block in self._blocks
            for part in ranges(block.rows.shape[0], block.counts, _PART, self._most)
        ]
        self._ones = np.ones(max((len(piece[3]) for part in self._parts for piece in part), default=0))
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self.additions = additions(part_additions(_PART, self._most), len(self._parts))
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, None)

    def weighted_gradient(self, theta: Array, loss: Loss, weigh: Weigh | None) -> Array:
        """The same sum of another loss with compiled slopes; with weights for the rows of each piece, their shares included."""
        points = np.ascontiguousarray(theta[0] if len(theta) == 1 else theta.T, dtype=np.float64)
        slope = kernel_arguments(loss)
        weights = [
            [self._ones if piece[4] is None else piece[4] for piece in part] if weigh is None else weigh(place, ())
            for place, part in enumerate(self._parts)
        ]
        parts = list(zip(self._parts, weights, strict=True))
        total = sum_in_order(lambda part: self._sum(*part, points, slope), parts, self._threads, points.shape)
        return np.ascontiguousarray(total.T).reshape(theta.shape)

    def parts(self) -> Iterator[Part]:
        """The rows and labels of each part; the entries of one part's rows are copied at a time."""
        for block in self._blocks:
            yield from block.parts(_PART, self._most)

    def _sum(
        self, part: list[_Entries], weights: Sequence[Array], points: Array, slope: tuple[int, float, float] | None
    ) -> Array:
        code, first, second = slope  # type: ignore[misc]
        kernel = kernels.sparse_gradient if points.ndim == 1 else kernels.sparse_gradients
        sums = []
        for piece, held in zip(part, weights, strict=True):
            out = np.zeros_like(points)
            kernel(*piece[:4], held, points, float(self._model.intercept), code, first, second, out)
            sums.append(out)
        return add_up(sums)


def _entries(block: Features, first: int, last: int) -> _Entries:
    """The entries of some rows as the kernels take them: views of the block's arrays."""
    rows, shares = block.rows, None if block.shares is None else block.shares[first:last]
    return rows.data, _unsigned(rows.indices), rows.indptr[first : last + 1], block.labels[first:last], shares


def _unsigned(columns: Any) -> Any:
    """The same column numbers as unsigned integers, so that a kernel need not handle negative indices."""
    return columns.view(np.uint32 if columns.itemsize == 4 else np.uint64)
