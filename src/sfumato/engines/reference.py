"""The reference engine: plain NumPy, part by part, for any loss; the compiled engines are tested against it.

With scores s_i = Theta x_i and slopes g_i = dl/ds at them, the gradient sum is sum_i g_i x_i': two matrix products a part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates, feature_blocks, most_rows
from sfumato.engines.parts import Part, Piece, part_additions
from sfumato.engines.protocol import IN_A_PART, PART_ROWS
from sfumato.engines.shapes import Shaped
from sfumato.engines.threads import add_up, additions
from sfumato.models.gibbs import Gibbs
from sfumato.models.losses.gaussian_mean import GaussianMean
from sfumato.models.losses.protocol import Loss
from sfumato.models.regression import scores_of

Array = NDArray[np.float64]
# Records of a part: a quarter of what prices assume, so that the scores of a few chains stay in the cache.
_ROWS = PART_ROWS // 4


class ReferenceEngine(Shaped):
    """Sums of a loss over the rows; losses without a compiled slope run here."""

    def __init__(self, dataset: Dataset, model: Gibbs) -> None:
        """Keep the blocks; their rows are read when a gradient is computed."""
        self._model = model
        self._blocks, self._most = list(feature_blocks(dataset, model)), most_rows(dataset)
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        sizes = [block.rows.shape[0] if block.counts is None else len(block.counts) for block in self._blocks]
        counts = [math.ceil(size / _ROWS) for size in sizes]
        # Gradients are summed within each block, then over the blocks; matrices in runs of parts.
        within = part_additions(_ROWS, self._most)
        gradients = float(within + IN_A_PART + max(counts, default=0) + len(self._blocks))
        self.additions = max(gradients, additions(within, sum(counts)))

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        return self.weighted_gradient(theta, self._model.loss, None)

    def weighted_gradient(self, theta: Array, loss: Loss, weights: Sequence[Sequence[Array]] | None) -> Array:
        """The same sum of another loss; with weights for the rows of each piece, their shares included."""
        total, held = np.zeros_like(theta), None if weights is None else iter(weights)
        # A warning would reveal that some record overflowed.
        with np.errstate(all="ignore"):
            for block in self._blocks:
                inside = np.zeros_like(theta)
                for part in block.parts(_ROWS, self._most):
                    given = [piece.shares for piece in part] if held is None else next(held)
                    inside += add_up([self._part(each, theta, loss, w) for each, w in zip(part, given, strict=True)])
                total += inside
        return total

    def parts(self) -> Iterator[Part]:
        """The rows and labels of each part."""
        for block in self._blocks:
            yield from block.parts(_ROWS, self._most)

    def _part(self, piece: Piece, theta: Array, loss: Loss, weights: Array | None) -> Array:
        rows, labels, intercept = piece.rows, piece.labels, self._model.intercept
        if isinstance(loss, GaussianMean):
            return loss.gradient_sum(rows, theta)
        scores = scores_of(self._model, rows, theta, piece.steady)
        slopes = _slopes(loss, scores, labels).reshape(rows.shape[0], -1)
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
