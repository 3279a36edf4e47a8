"""The reference engine: plain NumPy, part by part, for any loss; the compiled engines are tested against it.

With scores s_i = Theta x_i and slopes g_i = dl/ds at them, the gradient sum is sum_i g_i x_i': two matrix products a part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.engines.protocol import IN_A_PART, PART_ROWS
from sfumato.engines.shapes import Shaped
from sfumato.engines.threads import additions
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.gaussian_mean import GaussianMean
from sfumato.models.losses.protocol import Loss
from sfumato.models.regression import scores_of

Array = NDArray[np.float64]
# Rows of a part: a quarter of what prices assume, so that the scores of a few chains stay in the cache.
_ROWS = PART_ROWS // 4


class ReferenceEngine(Shaped):
    """Sums of a loss over the rows; losses without a compiled slope run here."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Keep the blocks; their rows are read when a gradient is computed."""
        self._model = model
        self._blocks = list(feature_blocks(dataset, model))
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        counts = [math.ceil(rows.shape[0] / _ROWS) for rows, _ in self._blocks]
        # Gradients are summed within each block, then over the blocks; matrices in runs of parts.
        gradients = float(_ROWS + IN_A_PART + max(counts, default=0) + len(self._blocks))
        self.additions = max(gradients, additions(_ROWS, sum(counts)))

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, None)

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Sequence[Array] | None) -> Array:
        """The same sum of another loss, its records weighted: one array of weights for each part, or None for ones."""
        total, held = np.zeros_like(theta), None if weights is None else iter(weights)
        # A warning would reveal that some record overflowed.
        with np.errstate(all="ignore"):
            for rows, labels in self._blocks:
                inside = np.zeros_like(theta)
                for start in range(0, rows.shape[0], _ROWS):
                    weight = None if held is None else next(held)
                    inside += self._part(
                        rows[start : start + _ROWS], labels[start : start + _ROWS], theta, loss, weight
                    )
                total += inside
        return total

    def pieces(self) -> Iterator[tuple[Any, Array]]:
        """Rows and labels of each part."""
        for rows, labels in self._blocks:
            for start in range(0, rows.shape[0], _ROWS):
                yield rows[start : start + _ROWS], labels[start : start + _ROWS]

    def _part(self, rows: Any, labels: Array, theta: Array, loss: Loss, weights: Array | None) -> Array:
        intercept = self._model.intercept
        if isinstance(loss, GaussianMean):
            return loss.gradient_sum(rows, theta)
        slopes = _slopes(loss, scores_of(self._model, rows, theta), labels).reshape(rows.shape[0], -1)
        if weights is not None:
            slopes = weights[:, None] * slopes
        inner = np.asarray((rows.T @ slopes).T)
        if intercept:
            inner = np.column_stack([inner, slopes.sum(axis=0) * intercept])
        return inner.reshape(theta.shape)


def _slopes(loss: Loss, scores: Array, labels: Array) -> Array:
    """Slopes (rows, chains, outputs), clipped to the bound that prices assume; 0 for a score that is not a number."""
    steepest = loss.constants().lipschitz / loss.radius
    slopes = np.nan_to_num(loss.slope_at(scores, labels[:, None]), nan=0.0)
    if scores.shape[-1] == 1:
        return np.asarray(np.clip(slopes, -steepest, steepest), dtype=np.float64)
    lengths = np.linalg.norm(slopes, axis=-1, keepdims=True)
    return np.asarray(slopes / np.maximum(1.0, lengths / steepest), dtype=np.float64)
