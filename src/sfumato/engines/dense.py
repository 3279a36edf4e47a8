"""The dense engine: one fused, compiled pass for one chain; block products for many. Threads change no bit of the sum.

Rows are cut into fixed parts; each part's sum is computed by one kernel call, and the parts are added in their order. A
thread pool of our own runs the parts: compilers' own parallel loops die after a fork and abort under threads.
"""

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
# Rows of a part: large enough that a call costs nothing, small enough that two threads share the work evenly.
_PART = 8192
# Rows of a product for many chains: the part of the matrix that stays in the cache between its two products.
_SLICE = 512


class DenseEngine:
    """Gradient sums over dense rows for the losses that the kernels know."""

    def __init__(self, dataset: Dataset, model: Any) -> None:
        """Hold views of the rows, cut into parts; nothing is copied."""
        self._loss = compiled(model.loss)
        self._intercept = float(model.intercept)
        self._parts = [
            (rows[start : start + _PART], labels[start : start + _PART])
            for rows, labels in feature_blocks(dataset, model)
            for start in range(0, len(rows), _PART)
        ]
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        # One thread per core, and none for a table that fits in one part; made on first use, so that a fork is harmless.
        self._threads = min(len(self._parts), os.cpu_count() or 1)

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        points = np.ascontiguousarray(theta, dtype=np.float64)
        work = self._one if len(points) == 1 else self._many
        sums = in_order(lambda part: work(part, points), self._parts, self._threads)
        total = np.zeros_like(points)
        for part_sum in sums:
            total += part_sum
        return total

    def _one(self, part: tuple[Array, Array], points: Array) -> Array:
        code, first, second = self._loss  # type: ignore[misc]
        out = np.zeros(points.shape[1])
        kernels.dense_gradient(part[0], part[1], points[0], self._intercept, code, first, second, out)
        return out[None, :]

    def _many(self, part: tuple[Array, Array], points: Array) -> Array:
        code, first, second = self._loss  # type: ignore[misc]
        rows, labels = part
        width = rows.shape[1]
        inner = np.ascontiguousarray(points[:, :width].T)
        out = np.zeros_like(points)
        for start in range(0, len(rows), _SLICE):
            piece = rows[start : start + _SLICE]
            scores = piece @ inner
            if self._intercept:
                scores += points[:, width] * self._intercept
            kernels.slopes(scores, labels[start : start + _SLICE], code, first, second)
            out[:, :width] += scores.T @ piece
            if self._intercept:
                out[:, width] += scores.sum(axis=0) * self._intercept
        return out
