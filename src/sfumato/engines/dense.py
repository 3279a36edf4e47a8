"""The dense engine: one fused, compiled pass over the rows, for one chain or many. Threads change no bit of the sum.

Rows are cut into fixed parts; each part's sum is computed by one kernel call, and the parts are added in their order. The
parts are run by a thread pool of the package (`threads`): numba's own parallel loops hang after a fork and abort when two
threads start them, and a BLAS library's threads compete with the pool for the cores and may change the order of a sum.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines import kernels
from sfumato.engines.design import coordinates, feature_blocks, kernel_arguments
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.threads import additions, sum_in_order
from sfumato.models.gibbs import Gibbs

Array = NDArray[np.float64]
# Entries of a part: 4 MB, enough that a kernel call costs little beside them and few enough that threads share the work
# evenly. Fewest rows of a part, and the rows of a tile of the kernel for many chains, of which a part holds whole ones.
_ENTRIES, _FEWEST, _TILE = 1 << 19, 256, 32


class DenseEngine:
    """Gradient sums over dense rows for the losses that have a compiled slope."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._loss = kernel_arguments(model.loss)
        self._intercept = float(model.intercept)
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        step = part_rows(self.dimension)
        self._parts = [
            (rows[start : start + step], labels[start : start + step])
            for rows, labels in feature_blocks(dataset, model)
            for start in range(0, len(rows), step)
        ]
        self.additions = additions(step, len(self._parts))
        # One thread per core, and none for a table that fits in one part; made on first use, so that a fork is harmless.
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        points = np.ascontiguousarray(theta, dtype=np.float64)
        return sum_in_order(lambda part: self._sum(part, points), self._parts, self._threads, points.shape)

    def _sum(self, part: tuple[Array, Array], points: Array) -> Array:
        code, first, second = self._loss  # type: ignore[misc]
        rows, labels = part
        out = np.zeros_like(points)
        if len(points) == 1:
            kernels.dense_gradient(rows, labels, points[0], self._intercept, code, first, second, out[0])
        else:
            kernels.dense_gradients(rows, labels, points, self._intercept, code, first, second, out)
        return out


def part_rows(dimension: int) -> int:
    """Rows of a part, from the public number of columns alone; at most `PART_ROWS`, which prices assume."""
    return min(PART_ROWS, max(_FEWEST, _ENTRIES // max(1, dimension) // _TILE * _TILE))
