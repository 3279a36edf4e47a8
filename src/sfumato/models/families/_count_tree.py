"""Counts of a tree over cells: which counts are released, and cumulative counts from noisy ones with their exact variance.

The cells are the leaves of a tree with `radices` children at its levels, from the root down. The counts of all nodes but the root
are released (the root's is n, which is public), level by level. A record is in one node of each level, so replacing it moves at
most one unit out of a node and one into another, at each of h levels: the counts move by sqrt(2 h) at most in Euclidean norm.

All counts have independent noise of the same variance s^2. The generalised least squares estimate that sums to n goes up
the tree, then down (Hay et al. 2010). With V the variance of the estimate of a node from its own subtree,

    1/V(leaf) = 1/s^2,    1/V(node) = 1/s^2 + 1/(b V(child)),

and a child's final estimate is its own plus 1/b of what its siblings' lack of the parent's final estimate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Children of a node. With 2 to 16 of them the noise of cumulative counts is least, within 2 %, at four (64 to 10,000 cells): more
# levels mean more noise for each count, and fewer levels sums of more counts. Two are as good and have half as many counts again.
BRANCHING = 4


def radices_for(cells: int) -> tuple[int, ...]:
    """Children of a node at each level, from the root down: four, and at the last level as few as hold all cells."""
    levels = 1
    while BRANCHING**levels < cells:
        levels += 1
    above = BRANCHING ** (levels - 1)
    return (*(BRANCHING,) * (levels - 1), max(2, math.ceil(cells / above)))


def tree_counts(leaves: NDArray[np.int64], radices: tuple[int, ...]) -> NDArray[np.int64]:
    """The counts of all nodes but the root, the largest nodes first; cells that are not there count 0."""
    padded = np.zeros(math.prod(radices), dtype=np.int64)
    padded[: len(leaves)] = leaves
    sizes = np.cumprod(radices)
    return np.concatenate([padded.reshape(size, -1).sum(axis=1) for size in sizes])


def tree_size(radices: tuple[int, ...]) -> int:
    """How many counts `tree_counts` has."""
    return int(np.cumprod(radices).sum())


def sensitivity_of(radices: tuple[int, ...]) -> float:
    """sqrt(2 h), rounded up."""
    return math.sqrt(2 * len(radices)) * (1 + 1e-15)


def _subtree_variances(radices: tuple[int, ...]) -> list[float]:
    """V of a node of each level, from the level below the root down to the leaves, in units of s^2."""
    variances = [1.0]
    for children in reversed(radices[1:]):
        variances.insert(0, 1.0 / (1.0 + 1.0 / (children * variances[0])))
    return variances


def cumulative_counts(totals: Array, radices: tuple[int, ...], n: int) -> Array:
    """Least squares counts below every edge, the first 0 and the last n, from noisy counts of `tree_counts`' order."""
    sizes = np.cumprod(radices)
    levels = np.split(np.asarray(totals, dtype=np.float64), np.cumsum(sizes)[:-1])
    variances = _subtree_variances(radices)
    own = [levels[-1]]  # estimates from each node's own subtree, from the leaves up
    for level in range(len(radices) - 2, -1, -1):
        below = own[0].reshape(sizes[level], -1).sum(axis=1)
        spread = radices[level + 1] * variances[level + 1]
        own.insert(0, (levels[level] * spread + below) / (1.0 + spread))
    final = np.array([float(n)])
    for level, children in enumerate(radices):
        parts = own[level].reshape(-1, children)
        final = (parts + (final - parts.sum(axis=1))[:, None] / children).ravel()
    sums = np.concatenate([[0.0], np.cumsum(final)])
    sums[-1] = float(n)
    return sums


def edge_variances(radices: tuple[int, ...]) -> Array:
    """Variance of the cumulative count at every edge, in units of s^2; 0 at the first and the last.

    Within a node whose final count is u, the count below an edge of its child j (from 0) is alpha u + noise: alpha = (j +
    alpha')/b, and with a_i = 1 for i < j, alpha' for j and 0 beyond, the noise has the variance
    V(child) sum (a_i - alpha)^2 + that within the child. At the root u = n is known.
    """
    variances = _subtree_variances(radices)
    alpha, spread = np.zeros(1), np.zeros(1)
    for level in range(len(radices) - 1, -1, -1):
        children, before = radices[level], np.arange(radices[level])[:, None]
        above = (before + alpha) / children
        squares = before + alpha**2 - children * above**2
        spread = (variances[level] * squares + spread).ravel()
        alpha = above.ravel()
    return np.concatenate([spread, [0.0]])
