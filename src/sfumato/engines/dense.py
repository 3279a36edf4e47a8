"""The dense engine: one fused, compiled pass over the rows, for one chain or many. Threads change no bit of the sum.

Rows are cut into fixed parts; each part's sum is computed by one kernel call, and the parts are added in their order. The
parts are run by a thread pool of the package (`threads`): numba's own parallel loops hang after a fork and abort when two
threads start them, and a BLAS library's threads compete with the pool for the cores and may change the order of a sum.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

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
# Entries of a part: 4 MB, enough that a kernel call costs little beside them and few enough that threads share the work
# evenly. Fewest rows of a part, and the rows of a tile of the kernel for many chains, of which a part holds whole ones.
_ENTRIES, _FEWEST, _TILE = 1 << 19, 256, 32


class DenseEngine(Shaped):
    """Sums over dense rows for the losses that have a compiled slope."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._model = model
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        step = part_rows(self.dimension)
        self._parts = [
            (rows[start : start + step], labels[start : start + step])
            for rows, labels in feature_blocks(dataset, model)
            for start in range(0, len(rows), step)
        ]
        self._ones = np.ones(step)
        self.additions = additions(step, len(self._parts))
        # One thread per core, and none for a table that fits in one part; made on first use, so that a fork is harmless.
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, [self._ones] * len(self._parts))

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Sequence[Array]) -> Array:
        """The same sum of another loss with compiled slopes, its records weighted; one array of weights for each part."""
        points, slope = np.ascontiguousarray(theta, dtype=np.float64), kernel_arguments(loss)
        parts = [(*part, held) for part, held in zip(self._parts, weights, strict=True)]
        return sum_in_order(lambda part: self._sum(part, points, slope), parts, self._threads, points.shape)

    def pieces(self) -> Iterator[tuple[Array, Array]]:
        """Rows and labels of each part."""
        return iter(self._parts)

    def _sum(self, part: tuple[Array, Array, Array], points: Array, slope: tuple[int, float, float] | None) -> Array:
        intercept, (code, first, second) = float(self._model.intercept), slope  # type: ignore[misc]
        out = np.zeros_like(points)
        if len(points) == 1:
            kernels.dense_gradient(*part, points[0], intercept, code, first, second, out[0])
        else:
            kernels.dense_gradients(*part, points, intercept, code, first, second, out)
        return out


def part_rows(dimension: int) -> int:
    """Rows of a part, from the public number of columns alone; at most `PART_ROWS`, which prices assume."""
    return min(PART_ROWS, max(_FEWEST, _ENTRIES // max(1, dimension) // _TILE * _TILE))
