"""Sums of loss values at public points, in whole numbers: exact, so that no order of the rows changes them.

A record adds l(theta, x) - l(0, x) at each point, clipped to a public bound and rounded to a multiple of a public unit.
Labels beyond the loss's `label_limit` are moved to it first, which changes no difference and avoids the cancellation of two
huge losses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.engines.parts import Piece
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
            for block in self._passes:
                for piece in (piece for part in block.parts(_ROWS, self._passes.most) for piece in part):
                    self._add(totals, replace(piece, labels=np.clip(piece.labels, -limit, limit)), points, unit, bound)
        return totals

    def _label_limit(self, farthest: float) -> float:
        """Labels beyond this size add the same as at it where |theta| <= farthest; infinite if the loss states no limit."""
        # A little more than the largest score, so that its own rounding cannot matter.
        largest = self._model.loss.radius * farthest * (1 + 1e-9)
        limit = self._model.loss.label_limit(largest)
        return np.inf if limit is None else limit

    def _add(self, totals: list[int], piece: Piece, points: Array, unit: float, bound: float) -> None:
        step = max(1, _HELD // piece.rows.shape[0])
        for first in range(0, len(points), step):
            gap = np.nan_to_num(self._gap(piece, points[first : first + step]), nan=0.0)
            gap = _of_records(gap, piece)
            whole = np.rint(np.clip(gap, -bound, bound) / unit).astype(np.int64).sum(axis=0)
            for place, value in enumerate(whole.tolist(), first):
                totals[place] += value

    def _gap(self, piece: Piece, points: Array) -> Array:
        """l(theta, x) - l(0, x), shaped (rows, points); the part |theta|^2/2 of a mean's loss is public and left out."""
        loss, labels = self._model.loss, piece.labels[:, None]
        if isinstance(loss, GaussianMean):
            return loss.row_values(piece.rows, points, piece.steady)
        scores = scores_of(self._model, piece.rows, points, piece.steady)
        at_zero = loss.value_at(np.zeros((1, 1, loss.outputs)), labels)
        return np.asarray(loss.value_at(scores, labels) - at_zero)

    def __repr__(self) -> str:
        return f"ValuesEngine(n={self.n})"


def _of_records(values: Array, piece: Piece) -> Array:
    """What each record adds: the values of the rows or, of a person with several, their average, which is rounded as one."""
    shared = values if piece.shares is None else piece.shares[:, None] * values
    return shared if piece.starts is None else np.asarray(np.add.reduceat(shared, piece.starts, axis=0))
