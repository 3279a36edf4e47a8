"""The reference engine: plain NumPy, part by part, for any loss; the compiled engines are tested against it.

With scores s_i = Theta x_i and slopes g_i = dl/ds at them, the gradient sum is sum_i g_i x_i': two matrix products a part.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates
from sfumato.engines.parts import Part, Piece
from sfumato.engines.passes import Passes
from sfumato.engines.protocol import PART_ROWS
from sfumato.engines.shapes import Shaped, Weigh
from sfumato.engines.threads import add_up, added_in_runs
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
        """Keep views of the rows in memory; others are read on every pass."""
        self._model = model
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        self._passes = Passes(dataset, model, _ROWS, self.dimension)
        self.additions = self._passes.additions

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
        """The same sum of another loss; with weights for the rows of each piece, their shares included."""

        def part_sum(place: int, part: Part) -> Array:
            """The sum over one part."""
            weights = [piece.shares for piece in part] if weigh is None else weigh(place, part)
            return add_up([self._part(each, theta, loss, w) for each, w in zip(part, weights, strict=True)])

        # A warning would reveal that some record overflowed.
        with np.errstate(all="ignore"):
            sums = (part_sum(place, part) for place, part in enumerate(self.parts()))
            return added_in_runs(sums, np.zeros_like(theta))

    def parts(self) -> Iterator[Part]:
        """The rows and labels of each part."""
        return self._passes.parts()

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
    steepest = loss.largest_slope()
    slopes = np.nan_to_num(loss.slope_at(scores, labels[:, None]), nan=0.0)
    if scores.shape[-1] == 1:
        return np.asarray(np.clip(slopes, -steepest, steepest), dtype=np.float64)
    lengths = np.linalg.norm(slopes, axis=-1, keepdims=True)
    return np.asarray(slopes / np.maximum(1.0, lengths / steepest), dtype=np.float64)
