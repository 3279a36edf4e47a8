"""The reference engine: plain NumPy, block by block, for any loss; what the compiled engines are held against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dataset import Dataset
from sfumato.engines.design import coordinates, feature_blocks
from sfumato.models.losses.protocol import LABEL, ROW
from sfumato.models.losses.softmax import Softmax

Array = NDArray[np.float64]
_ROWS = 2048


class ReferenceEngine:
    """Gradient sums of a loss over the rows, as two products per part of a block; a user's own loss runs here."""

    def __init__(self, dataset: Dataset, model: Any) -> None:
        """Hold the blocks; the rows are read when a gradient is asked for."""
        self._model = model
        self._blocks = list(feature_blocks(dataset, model))
        self.n: int = dataset.n
        self.labels, self.dimension = coordinates(dataset, model)
        if model.loss.record == ROW:
            self._part = self._mean_part
        elif isinstance(model.loss, Softmax):
            self._part = self._softmax_part
        else:
            self._part = self._link_part
            # What the price rests on: no slope leaves it, whatever a user's function returns.
            self._steepest = model.loss.constants().lipschitz / model.loss.radius

    def gradient(self, theta: Array) -> Array:
        """Sum over the records of the loss's gradient at each of (chains, d) parameters."""
        total = np.zeros_like(theta)
        # A warning would tell that some record overflowed.
        with np.errstate(all="ignore"):
            for rows, labels in self._blocks:
                inside = np.zeros_like(theta)
                for start in range(0, rows.shape[0], _ROWS):
                    inside += self._part(rows[start : start + _ROWS], labels[start : start + _ROWS], theta)
                total += inside
        return total

    def _mean_part(self, rows: Any, labels: Array, theta: Array) -> Array:
        """The gradient of |theta - x|^2/2 is theta - x."""
        return np.asarray(rows.shape[0] * theta - np.asarray(rows.sum(axis=0)).ravel(), dtype=np.float64)

    def _link_part(self, rows: Any, labels: Array, theta: Array) -> Array:
        loss, intercept = self._model.loss, self._model.intercept
        if loss.record == LABEL:
            scores = np.broadcast_to(theta[:, 0], (len(labels), len(theta)))
            return np.asarray(self._slopes(scores, labels).sum(axis=0)[:, None], dtype=np.float64)
        width = rows.shape[1]
        scores = rows @ theta[:, :width].T
        if intercept:
            scores = scores + theta[:, width] * intercept
        slopes = self._slopes(scores, labels)
        inner = np.asarray((rows.T @ slopes).T)
        return np.column_stack([inner, slopes.sum(axis=0) * intercept]) if intercept else inner

    def _slopes(self, scores: Array, labels: Array) -> Array:
        found = self._model.loss.derivative(scores, labels[:, None])
        return np.asarray(np.clip(np.nan_to_num(found, nan=0.0), -self._steepest, self._steepest), dtype=np.float64)

    def _softmax_part(self, rows: Any, labels: Array, theta: Array) -> Array:
        loss, intercept = self._model.loss, self._model.intercept
        width = rows.shape[1]
        found = np.empty_like(theta)
        for chain, flat in enumerate(theta):
            matrix = flat.reshape(loss.classes, -1)
            scores = np.asarray(rows @ matrix[:, :width].T)
            if intercept:
                scores = scores + matrix[:, width] * intercept
            # As for a slope: no record may show by a score that overflowed. A residual's norm is at most sqrt(2) in any case.
            residual = np.nan_to_num(loss.residual(scores, labels), nan=0.0)
            residual /= np.maximum(1.0, np.linalg.norm(residual, axis=1, keepdims=True) / math.sqrt(2))
            inner = np.asarray((rows.T @ residual).T)
            if intercept:
                inner = np.column_stack([inner, residual.sum(axis=0) * intercept])
            found[chain] = inner.ravel()
        return found
