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
from sfumato.engines.design import coordinates, kernel_arguments
from sfumato.engines.parts import Part
from sfumato.engines.passes import Passes
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.shapes import Shaped, Weigh
from sfumato.engines.threads import add_up, sum_in_order, sums_few_at_a_time
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.protocol import Loss

Array = NDArray[np.float64]
# Entries of a part: 4 MB, enough that a kernel call costs little beside them and few enough that threads share the work
# evenly. Fewest rows of a part, and the rows of a tile of the kernel for many chains, of which a part holds whole ones.
_ENTRIES, _FEWEST, _TILE = 1 << 19, 256, 32


class DenseEngine(Shaped):
    """Sums over dense rows for the losses that have a compiled slope. Rows that are not in memory are read on every pass."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Hold views of the rows in memory, cut into parts; nothing is copied."""
        self._model = model
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        step = part_rows(self.dimension)
        self._passes = Passes(dataset, model, step, self.dimension)
        self._parts = list(self._passes.parts()) if self._passes.held else None
        # Rows of persons have shares; of others no piece is longer than a part.
        self._ones = np.ones(step)
        self.additions = self._passes.additions
        # One thread per core, and none for a table that fits in one part; made on first use, so that a fork is harmless.
        self._threads = min(self._passes.count, os.cpu_count() or 1)

    @property
    def held(self) -> bool:
        """Whether the rows are in memory."""
        return self._passes.held

    def kept_parts(self) -> int:
        """Parts whose weights are kept, of rows that are read on every pass."""
        return self._passes.count if self._passes.keeps else 0

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, None)

    def weighted_gradient(self, theta: Array, loss: Loss, weigh: Weigh | None) -> Array:
        """The same sum of another loss with compiled slopes; with weights for the rows of each piece, their shares included."""
        points, slope = np.ascontiguousarray(theta, dtype=np.float64), kernel_arguments(loss)
        weights = self._shares if weigh is None else weigh

        def work(numbered: tuple[int, Part]) -> Array:
            """The sum over one part."""
            place, part = numbered
            return self._sum(part, weights(place, part), points, slope)

        if self._parts is not None:
            return sum_in_order(work, list(enumerate(self._parts)), self._threads, points.shape)
        # The same additions in the same order, a few parts in memory at a time.
        return sums_few_at_a_time(lambda part: [work(part)], enumerate(self.parts()), [points.shape])[0]

    def _shares(self, place: int, part: Part) -> list[Array]:
        return [self._ones if piece.shares is None else piece.shares for piece in part]

    def parts(self) -> Iterator[Part]:
        """The rows and labels of each part."""
        return self._passes.parts() if self._parts is None else iter(self._parts)

    def _sum(
        self, part: Part, weights: Sequence[Array], points: Array, slope: tuple[int, float, float] | None
    ) -> Array:
        intercept, (code, first, second) = float(self._model.intercept), slope  # type: ignore[misc]
        sums = []
        for piece, held in zip(part, weights, strict=True):
            out = np.zeros_like(points)
            if piece.steady:
                kernels.steady_gradients(piece.rows, piece.labels, held, points, intercept, code, first, second, out)
            elif len(points) == 1:
                kernels.dense_gradient(
                    piece.rows, piece.labels, held, points[0], intercept, code, first, second, out[0]
                )
            else:
                kernels.dense_gradients(piece.rows, piece.labels, held, points, intercept, code, first, second, out)
            sums.append(out)
        return add_up(sums)


def part_rows(dimension: int) -> int:
    """Records of a part, from the public number of columns alone; at most `PART_ROWS`, which prices assume."""
    return min(PART_ROWS, max(_FEWEST, _ENTRIES // max(1, dimension) // _TILE * _TILE))
