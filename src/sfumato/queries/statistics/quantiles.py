"""Intervals of quantiles from noisy counts of a tree of cells, by inverting a test at every edge.

The quantile at level q lies in one cell. The share of the population below any edge at or under it is at most q, and the
share below any edge over it at least q. At an edge with the noisy count c of records below it, the two hypotheses are tested by

    P(B + s Z <= c)  and  P(B + s Z >= c),    B ~ Binomial(n, q),   Z standard normal,   s the noise of c,

each at half of the error. The interval starts at the edge before the first one whose count is not too small, and ends at the
edge after the last one whose count is not too large: each end is wrong only if one given edge is rejected wrongly, so that the
interval holds the quantile at least as often as it says, whatever the law of the records.

Where the noise is larger than the counts of the cells, edges of larger nodes are tested, of as many cells as public numbers
say: of many edges with nearly the same count some have an extreme noise, which would only make the interval wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato._quadrature import Array
from sfumato.errors import ArgumentError
from sfumato.models.families.quantiles import Quantiles
from sfumato.queries.statistics.protocol import Ends, Released

# Skewness of B + s Z up to which it is taken as normal: by the first term of the Edgeworth series a tail of 5 % is then off by
# less than 0.002.
_SKEWED = 0.05
# Deviations within which a count is tested exactly; beyond, each tail is below 1e-9.
_WINDOW = 6.0
# Level of the interval that holds a released estimate unless noise put it where no quantile is.
_LIKELY = 0.5
# Binomial probabilities below this are left out.
_NOTHING = 1e-15


def read(model: Quantiles, prior: Quantiles, released: Released) -> Ends:
    """Intervals of the planned quantiles; there is no prior. The estimate is the released one, inside likely intervals."""

    def ends(level: float, sampling: bool) -> Array:
        found = interval_ends(model, model.levels, released, level or _LIKELY, sampling)
        return found if level > 0 else np.tile(np.clip(released.draws[0], *found), (2, 1))

    return ends


def interval_ends(model: Quantiles, levels: Sequence[float], released: Released, level: float, sampling: bool) -> Array:
    """Lower and upper ends (2, levels) of intervals of the quantiles at these levels; without sampling, those of the rows."""
    if released.totals is None:
        raise ArgumentError("this release of quantiles holds no noisy counts: it was edited.")
    n, tail, deviation = released.n, 0.5 * (1 - level), released.numbers.noise * model.sensitivity
    kept = edges_to_test(model, n, deviation)
    counts, noise = model.cumulative(released.totals, n)[kept], model.edge_deviations(deviation)[kept]
    edges = np.array(model.cells)[kept]
    return np.array([_ends(model, edges, counts, noise, n, q, tail, sampling) for q in levels]).T


def edges_to_test(model: Quantiles, n: int, deviation: float) -> NDArray[np.int64]:
    """Places of the edges that are tested: of the largest nodes that are expected to hold no more records than the noise.

    Public numbers alone decide: n, the noise, and the cells over which records are taken to spread (`Quantiles.spread`).
    """
    cells, noise = len(model.cells) - 1, model.estimate_error(n, deviation)
    stride = 1
    for children in reversed(model.radices[1:]):
        if n * stride * children > noise * model.spread:
            break
        stride *= children
    return np.append(np.arange(0, cells, stride), cells)


def _ends(
    model: Quantiles, edges: Array, counts: Array, noise: Array, n: int, q: float, tail: float, sampling: bool
) -> tuple[float, float]:
    """The interval of one quantile, from the counts at the tested edges."""
    below, above = tail_probabilities(counts[1:-1], noise[1:-1], n, q if sampling else None, q * n)
    # The first edge has no record below it and the last has all of them: neither is noisy.
    possible = np.concatenate([[False], below >= tail, [True]])
    first = int(np.argmax(possible))
    possible = np.concatenate([[True], above >= tail, [False]])
    last = len(possible) - 1 - int(np.argmax(possible[::-1]))
    low, high = float(edges[first - 1]), float(edges[last + 1])
    if model.integer:  # the edges lie between whole numbers
        low, high = float(math.ceil(low)), float(math.floor(high))
    return max(low, model.lower), min(high, model.upper)


def tail_probabilities(counts: Array, noise: Array, n: int, q: float | None, rank: float) -> tuple[Array, Array]:
    """P(B + s Z <= c) and P(B + s Z >= c) of every count; B is Binomial(n, q), or `rank` itself where q is None."""
    from scipy.special import ndtr
    from scipy.stats import binom

    sampling = 0.0 if q is None else n * q * (1 - q)
    score = (counts - rank) / np.sqrt(noise**2 + sampling)
    below, above = np.asarray(ndtr(score)), np.asarray(ndtr(-score))
    if q is None:
        return below, above
    skewness = sampling * abs(1 - 2 * q) / (noise**2 + sampling) ** 1.5
    near = np.flatnonzero((np.abs(score) <= _WINDOW) & (skewness > _SKEWED))
    if not len(near):
        return below, above
    numbers = np.arange(*_span(n, q))
    masses = binom.pmf(numbers, n, q)
    kept = masses > _NOTHING
    each = ndtr((counts[near][:, None] - numbers[kept]) / noise[near][:, None])
    below[near] = each @ masses[kept]
    above[near] = (1 - each) @ masses[kept]
    return below, above


def _span(n: int, q: float) -> tuple[int, int]:
    """Counts that hold all but a negligible part of a binomial law; a skewed one has a variance below 1/_SKEWED^2."""
    middle, wide = n * q, 10 * math.sqrt(n * q * (1 - q)) + 50
    return max(0, math.floor(middle - wide)), min(n, math.ceil(middle + wide)) + 1
