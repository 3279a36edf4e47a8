"""Sums of loss values at public points, in whole numbers: exact, so that no order of the rows changes them.

A record adds l(theta, x) - l(0, x) at each point, clipped to a public bound and rounded to a multiple of a public unit.
Labels beyond the loss's `label_limit` are moved to it first, which changes no difference and avoids the cancellation of two
huge losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.reference import ReferenceEngine
from sfumato.models.losses.gaussian_mean import GaussianMean
from sfumato.models.regression import scores_of

Array = NDArray[np.float64]
# Values held at a time (2 MB: 8 MB, which leave a core's cache, take 1.4 times as long), and rows of a part: whole numbers are
# added exactly, so parts may be longer than those of gradient sums.
_HELD, _ROWS = 1 << 18, 2 * PART_ROWS


class ValuesEngine(ReferenceEngine):
    """The reference engine, which also sums bounded whole numbers per record and point."""

    def values(self, points: Array, unit: float, bound: float, reach: float | None = None) -> list[int]:
        """Sum over the records of round(clip(l(theta, x) - l(0, x), -bound, bound)/unit) at each of (points, d).

        Labels are limited by the public `reach`, a bound on |theta| at all points, or else by the farthest of these points.
        """
        farthest = float(np.linalg.norm(points, axis=1).max(initial=0.0)) if reach is None else reach
        totals, limit = [0] * len(points), self._label_limit(farthest)
        with np.errstate(all="ignore"):
            for rows, labels in self._blocks:
                for start in range(0, rows.shape[0], _ROWS):
                    near = np.clip(labels[start : start + _ROWS], -limit, limit)
                    self._add(totals, rows[start : start + _ROWS], near, points, unit, bound)
        return totals

    def _label_limit(self, farthest: float) -> float:
        """Labels beyond this size add the same as at it where |theta| <= farthest; infinite if the loss states no limit."""
        # A little more than the largest score, so that its own rounding cannot matter.
        largest = self._model.loss.radius * farthest * (1 + 1e-9)
        limit = self._model.loss.label_limit(largest)
        return np.inf if limit is None else limit

    def _add(self, totals: list[int], rows: Any, labels: Array, points: Array, unit: float, bound: float) -> None:
        step = max(1, _HELD // rows.shape[0])
        for first in range(0, len(points), step):
            gap = np.nan_to_num(self._gap(rows, labels, points[first : first + step]), nan=0.0)
            whole = np.rint(np.clip(gap, -bound, bound) / unit).astype(np.int64).sum(axis=0)
            for place, value in enumerate(whole.tolist(), first):
                totals[place] += value

    def _gap(self, rows: Any, labels: Array, points: Array) -> Array:
        """l(theta, x) - l(0, x), shaped (rows, points); the part |theta|^2/2 of a mean's loss is public and left out."""
        loss = self._model.loss
        if isinstance(loss, GaussianMean):
            return loss.row_values(rows, points)
        scores = scores_of(self._model, rows, points)
        at_zero = loss.value_at(np.zeros((1, 1, loss.outputs)), labels[:, None])
        return np.asarray(loss.value_at(scores, labels[:, None]) - at_zero)

    def __repr__(self) -> str:
        return f"ValuesEngine(n={self.n})"
