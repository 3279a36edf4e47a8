"""Rows drawn from a mixture, then moved to agree with its shares of pairs.

Rows drawn independently carry sampling noise: with 30,000 rows as much as the noise of a release at epsilon 1. So components get
their rows in proportion, levels are drawn within each, and then single cells are changed wherever that brings the counts of all
pairs closer to those of the mixture in squares. A few cells in a hundred change; dependences of three columns stay as drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArgumentError
from sfumato.mixtures.balancing import sweep
from sfumato.mixtures.mixture import Array, Mixture, firsts

Codes = NDArray[np.int64]
# How often every row is visited, and the most level comparisons in all: some seconds.
_SWEEPS, _MOST_WORK = 2, 2_000_000_000
# Counts by which an impossible combination seems too frequent: no change can gain more.
_FORBIDDEN = 1e12
# Orders of the columns that rows are visited in, by turns.
_ORDERS = 64


def drawn_rows(mixture: Mixture, rows: int, rng: np.random.Generator, empty: Sequence[tuple[int, int]] = ()) -> Codes:
    """Positions of levels, (rows, columns), in random order; no row has one of the `empty` pairs of levels."""
    codes = _independent(mixture, rows, rng)
    edges = np.array(firsts(mixture.sizes), dtype=np.int64)
    gaps = _counts(codes, edges) - rows * mixture.pairs()
    forbidden = np.zeros(gaps.shape, dtype=bool)
    for a, b in empty:
        forbidden[a, b] = forbidden[b, a] = True
    gaps[forbidden] = _FORBIDDEN
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        gaps[first:last, first:last] = 0.0
    moved = _balanced(codes + edges[:-1], gaps, edges, rng)
    return _without(moved, forbidden, rng) - edges[:-1]


def _independent(mixture: Mixture, rows: int, rng: np.random.Generator) -> Codes:
    """Rows of each component in proportion to its weight, levels drawn independently within it; shuffled."""
    reached = np.cumsum(mixture.weights) * (rows / mixture.weights.sum())
    places = np.searchsorted(reached, np.arange(rows) + rng.random(), side="right")
    components = rng.permutation(np.minimum(places, len(reached) - 1))
    codes = np.empty((rows, len(mixture.sizes)), dtype=np.int64)
    for column in range(len(mixture.sizes)):
        law = mixture.law(column)
        steps = np.cumsum(law, axis=1) + np.arange(len(law))[:, None]
        # One search over all components: the steps of component k lie between k and k + 1.
        uniform = components + rng.random(rows) * (1 - 1e-12)
        levels = np.searchsorted(steps.ravel(), uniform, side="right") - components * law.shape[1]
        # Rounded sums may put the end of one component's steps a little beyond the next one's begin.
        codes[:, column] = np.clip(levels, 0, law.shape[1] - 1)
    return codes


def _counts(codes: Codes, edges: Codes) -> Array:
    """How many rows have each pair of levels."""
    counts = np.zeros((edges[-1], edges[-1]))
    columns = codes.shape[1]
    for a in range(columns):
        for b in range(a + 1, columns):
            size, other = int(edges[a + 1] - edges[a]), int(edges[b + 1] - edges[b])
            table = np.bincount(codes[:, a] * other + codes[:, b], minlength=size * other).reshape(size, other)
            counts[edges[a] : edges[a + 1], edges[b] : edges[b + 1]] = table
            counts[edges[b] : edges[b + 1], edges[a] : edges[a + 1]] = table.T
    return counts


def _balanced(levels: Codes, gaps: Array, edges: Codes, rng: np.random.Generator) -> Codes:
    """Visit the rows in random order and change single levels while that lowers the squared gaps."""
    rows, columns = levels.shape
    visits = min(_SWEEPS * rows, _MOST_WORK // max(1, columns * int(edges[-1])))
    order = np.concatenate([rng.permutation(rows) for _ in range(-(-max(visits, 1) // rows))])[:visits]
    turns = np.stack([rng.permutation(columns) for _ in range(_ORDERS)])
    moved = np.ascontiguousarray(levels)
    sweep()(moved, gaps, edges, order, turns)
    return moved


def _without(levels: Codes, forbidden: NDArray[np.bool_], rng: np.random.Generator) -> Codes:
    """Rows that still hold an impossible combination become copies of rows that hold none."""
    if not forbidden.any():
        return levels
    bad = np.zeros(len(levels), dtype=bool)
    for a in range(levels.shape[1]):
        for b in range(a + 1, levels.shape[1]):
            bad |= forbidden[levels[:, a], levels[:, b]]
    good = np.flatnonzero(~bad)
    if bad.any():
        if not len(good):
            raise ArgumentError("every row that was drawn breaks a rule of impossible: ask for more rows.")
        levels[bad] = levels[rng.choice(good, int(bad.sum()))]
    return levels
