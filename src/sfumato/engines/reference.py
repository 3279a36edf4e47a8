"""The reference engine: plain NumPy, part by part, for any loss; the compiled engines are tested against it.

With scores s_i = Theta x_i and slopes g_i = dl/ds at them, the gradient sum is sum_i g_i x_i': two matrix products a part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.engines.protocol import IN_A_PART, PART_ROWS
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.gaussian_mean import GaussianMean
from sfumato.models.regression import scores_of

Array = NDArray[np.float64]
# Rows of a part: a quarter of what prices assume, so that the scores of a few chains stay in the cache.
_ROWS = PART_ROWS // 4


class ReferenceEngine:
    """Gradient sums of a loss over the rows; losses without a compiled slope run here."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Keep the blocks; their rows are read when a gradient is computed."""
        self._model = model
        self._blocks = list(feature_blocks(dataset, model))
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        longest = max((math.ceil(rows.shape[0] / _ROWS) for rows, _ in self._blocks), default=0)
        self.additions = float(_ROWS + IN_A_PART + longest + len(self._blocks))
        # Prices assume this bound on a record's slopes; slopes are clipped to it whatever the loss returns.
        self._steepest = model.loss.constants().lipschitz / model.loss.radius

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        total = np.zeros_like(theta)
        # A warning would reveal that some record overflowed.
        with np.errstate(all="ignore"):
            for rows, labels in self._blocks:
                inside = np.zeros_like(theta)
                for start in range(0, rows.shape[0], _ROWS):
                    inside += self._part(rows[start : start + _ROWS], labels[start : start + _ROWS], theta)
                total += inside
        return total

    def _part(self, rows: Any, labels: Array, theta: Array) -> Array:
        loss, intercept = self._model.loss, self._model.intercept
        if isinstance(loss, GaussianMean):
            return loss.gradient_sum(rows, theta)
        slopes = self._slopes(scores_of(self._model, rows, theta), labels).reshape(rows.shape[0], -1)
        inner = np.asarray((rows.T @ slopes).T)
        if intercept:
            inner = np.column_stack([inner, slopes.sum(axis=0) * intercept])
        return inner.reshape(theta.shape)

    def _slopes(self, scores: Array, labels: Array) -> Array:
        """Slopes (rows, chains, outputs) of norm at most `_steepest`; 0 for a score that is no number."""
        slopes = np.nan_to_num(self._model.loss.slope_at(scores, labels[:, None]), nan=0.0)
        if scores.shape[-1] == 1:
            return np.asarray(np.clip(slopes, -self._steepest, self._steepest), dtype=np.float64)
        lengths = np.linalg.norm(slopes, axis=-1, keepdims=True)
        return np.asarray(slopes / np.maximum(1.0, lengths / self._steepest), dtype=np.float64)
