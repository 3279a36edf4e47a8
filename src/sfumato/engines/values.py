"""Sums of loss values at public points, in whole numbers: exact, so that no order of the rows changes them.

What a record adds at a point is l(theta, x) - l(0, x), clipped to a public bound and rounded to a multiple of a public unit.
Labels so far out that they act like nearer ones are moved there first: a difference of two huge losses has no digits left.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.engines.reference import ReferenceEngine
from sfumato.models.losses.protocol import LABEL, ROW
from sfumato.models.losses.softmax import Softmax

Array = NDArray[np.float64]
# Values held at a time: rows of a part times points.
_HELD, _ROWS = 1 << 20, 1 << 14


class ValuesEngine:
    """Totals over the rows of bounded whole numbers per record and point; gradient sums as the reference engine has them."""

    def __init__(self, dataset: Dataset, model: Any) -> None:
        """Hold the blocks; the rows are read when totals are asked for."""
        self._model = model
        self._dataset = dataset
        self._blocks = list(feature_blocks(dataset, model))
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)

    def values(self, points: Array, unit: float, bound: float) -> list[int]:
        """Sum over the records of round(clip(l(theta, x) - l(0, x), -bound, bound)/unit) at each of (points, d)."""
        found = [0] * len(points)
        labelled = self._near(points)
        with np.errstate(all="ignore"):
            for rows, labels in self._blocks:
                size = max(rows.shape[0], len(labels))
                for start in range(0, size, _ROWS):
                    near = labelled(labels[start : start + _ROWS])
                    self._add(found, rows[start : start + _ROWS], near, points, unit, bound)
        return found

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self._reference.gradient(theta)

    @cached_property
    def _reference(self) -> ReferenceEngine:
        """Made when a gradient is first asked for: a table's features are encoded again for it."""
        return ReferenceEngine(self._dataset, self._model)

    def _near(self, points: Array) -> Callable[[Array], Array]:
        """Labels moved to where they act the same at every one of these points, for losses that settle beyond some label."""
        reach = getattr(self._model.loss, "label_reach", None)
        if reach is None:
            return lambda labels: labels
        # A little more than the largest score, so that its own rounding cannot matter.
        far = reach(self._model.loss.radius * float(np.linalg.norm(points, axis=1).max(initial=0.0)) * (1 + 1e-9))
        return lambda labels: np.clip(labels, -far, far)

    def _add(self, found: list[int], rows: Any, labels: Array, points: Array, unit: float, bound: float) -> None:
        step = max(1, _HELD // max(rows.shape[0], len(labels)))
        for first in range(0, len(points), step):
            gap = np.nan_to_num(self._gap(rows, labels, points[first : first + step]), nan=0.0)
            whole = np.rint(np.clip(gap, -bound, bound) / unit).astype(np.int64).sum(axis=0)
            for place, value in enumerate(whole.tolist(), first):
                found[place] += value

    def _gap(self, rows: Any, labels: Array, points: Array) -> Array:
        """l(theta, x) - l(0, x), shaped (rows, points); the part |theta|^2/2 of a mean's loss is public and left out."""
        loss, intercept = self._model.loss, self._model.intercept
        if loss.record == LABEL:
            scores = np.broadcast_to(points[:, 0], (len(labels), len(points)))
            return self._difference(scores, labels[:, None])
        if loss.record == ROW:
            return -np.asarray(rows @ points.T)
        width = rows.shape[1]
        if isinstance(loss, Softmax):
            matrices = points.reshape(len(points), loss.classes, -1)
            scores = np.stack([np.asarray(rows @ matrix[:, :width].T) for matrix in matrices], axis=1)
            if intercept:
                scores = scores + matrices[:, :, width] * intercept
            return np.asarray(loss.value_at(scores, labels[:, None]) - np.log(loss.classes))
        scores = np.asarray(rows @ points[:, :width].T)
        if intercept:
            scores = scores + points[:, width] * intercept
        return self._difference(scores, labels[:, None])

    def _difference(self, scores: Array, labels: Array) -> Array:
        loss = self._model.loss
        return np.asarray(loss.value(scores, labels) - loss.value(np.zeros_like(labels), labels))

    def __repr__(self) -> str:
        return f"ValuesEngine(n={self.n})"
