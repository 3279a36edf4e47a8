"""Shares that sum to 1, drawn by stick-breaking: share i is the rest of the stick times a rate of the grid of rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato._quadrature import Array
from sfumato.grids.points import ROUNDING
from sfumato.grids.rates import RateGrid

# After many breaks the rest of the stick may underflow; below this its parts have lost their digits and are not compared.
_TINY = 1e-280


@dataclass(frozen=True)
class StickGrid:
    """`shares` shares that sum to 1; `single` keeps the first of two alone."""

    rates: RateGrid
    shares: int
    single: bool = False

    @property
    def coordinates(self) -> int:
        """Number of shares that are released."""
        return 1 if self.single else self.shares

    @property
    def size(self) -> int:
        """Number of cells of the grid of rates."""
        return self.rates.size

    def ends(self, draws: Array) -> list[tuple[Array, Array]]:
        """For each share the ends between which it is known, from draws (N, shares).

        The part broken off is known up to its cell, and the share is the rest of the stick before it times that cell. A part in
        an outer cell bounds the share, or the rest behind it, from one side only.
        """
        left = np.ones(len(draws))
        empty = np.zeros(len(draws), dtype=bool)
        known = []
        low = high = np.zeros(0)
        for share in draws.T[:-1]:
            part = np.clip(share / np.maximum(left, 1e-300), 0.0, 1.0)
            low, high = self.rates.ends(part)
            known.append((np.where(empty, 0.0, left * low), np.maximum(left * high, 1e-300)))
            rest = (np.where(empty, 0.0, left * (1 - high)), np.maximum(left * (1 - low), 1e-300))
            empty = empty | (high >= 1)
            left = left * (1 - part)
        return [*known, rest]

    def holds(self, values: Array) -> bool:
        """Whether each share is a rate of the grid times the sum of it and the shares behind it."""
        if self.shares == 2:
            rest = self.single or bool((values[:, 1] == 1 - values[:, 0]).all())
            return rest and self.rates.holds(values[:, 0])
        left = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
        if not (np.abs(left[:, 0] - 1) <= ROUNDING * values.shape[1]).all() or not (values >= 0).all():
            return False
        large = left[:, :-1] > _TINY
        return self.rates.holds(values[:, :-1][large] / left[:, :-1][large])
