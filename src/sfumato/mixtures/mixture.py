"""A mixture of product distributions over the levels of some columns: a network whose one root is hidden.

    p(x) = sum_k weights[k] prod_c laws[k, first of column c + x_c].

The laws of all columns lie side by side in one matrix, so that the shares of all pairs are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mixture:
    """`weights` (components,) sum to 1; `laws` (components, all levels) sum to 1 within each column's levels."""

    sizes: tuple[int, ...]
    weights: Array
    laws: Array

    def law(self, column: int) -> Array:
        """The laws of one column, (components, levels)."""
        first = sum(self.sizes[:column])
        return self.laws[:, first : first + self.sizes[column]]

    def singles(self) -> Array:
        """The shares of every level of every column, side by side."""
        return self.weights @ self.laws

    def pairs(self) -> Array:
        """The shares of all pairs of levels, (all levels, all levels); within one column's block they mean nothing."""
        return self.laws.T @ (self.weights[:, None] * self.laws)

    def joint(self, columns: Sequence[int]) -> Array:
        """Joint shares of some columns, one axis each."""
        # Two halves first, so that no more is held than their laws and the joint table itself.
        half = len(columns) // 2
        left, right = self._together(columns[:half]), self._together(columns[half:])
        shape = [self.sizes[column] for column in columns]
        return np.asarray(((self.weights[:, None] * left).T @ right).reshape(shape), dtype=np.float64)

    def _together(self, columns: Sequence[int]) -> Array:
        """The laws of the combinations of some columns, (components, combinations)."""
        laws = np.ones((len(self.weights), 1))
        for column in columns:
            laws = (laws[:, :, None] * self.law(column)[:, None, :]).reshape(len(laws), -1)
        return laws


def firsts(sizes: Sequence[int]) -> list[int]:
    """Where each column's levels begin among all of them, and where the last one's end."""
    return [0, *np.cumsum(sizes).tolist()]


def pooled(parts: Sequence[Mixture]) -> Mixture:
    """The mixture of several mixtures, all with the same weight."""
    weights = np.concatenate([part.weights for part in parts]) / len(parts)
    return Mixture(parts[0].sizes, weights, np.concatenate([part.laws for part in parts]))
