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
from sfumato.engines.design import coordinates, feature_blocks, kernel_arguments, most_rows
from sfumato.engines.parts import Part, Piece, part_additions
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.shapes import Shaped
from sfumato.engines.threads import add_up, additions, sum_in_order
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
        step, most = part_rows(self.dimension), most_rows(dataset)
        self._parts = [part for block in feature_blocks(dataset, model) for part in block.parts(step, most)]
        self._ones = np.ones(max((len(piece.rows) for part in self._parts for piece in part), default=0))
        self.additions = additions(part_additions(step, most), len(self._parts))
        # One thread per core, and none for a table that fits in one part; made on first use, so that a fork is harmless.
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, None)

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Sequence[Sequence[Array]] | None) -> Array:
        """The same sum of another loss with compiled slopes; with weights for the rows of each piece, their shares included."""
        points, slope = np.ascontiguousarray(theta, dtype=np.float64), kernel_arguments(loss)
        held = [[self._shares(piece) for piece in part] for part in self._parts] if weights is None else weights
        parts = list(zip(self._parts, held, strict=True))
        return sum_in_order(lambda part: self._sum(*part, points, slope), parts, self._threads, points.shape)

    def _shares(self, piece: Piece) -> Array:
        return self._ones if piece.shares is None else piece.shares

    def parts(self) -> Iterator[Part]:
        """The rows and labels of each part."""
        return iter(self._parts)

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
