"""The map to coordinates in which the rows are round, from their published noisy second moments.

With S~ = S + noise of deviation a (see `shapes.symmetric`), the noise alone has spectral norm close to e = a sqrt(2d). For an
eigenvalue w of S~ with eigenvector q:

- w > e is resolved: S has the eigenvalue l = (w + sqrt(w^2 - e^2))/2 nearby, and along q, which is off its eigenvector, the
  rows have the moment q'Sq = sqrt(w^2 - e^2) (the spiked law of random matrices);
- otherwise l = 0; the moments of all unresolved directions together are what is left of the trace.

With rho = kappa e and m the expected squared length of (L + rho)^(-1/2) x, the map is

    B = Q diag(l + rho)^(-1/2) Q' / (c sqrt(m)),    mapped row Bx, parameter theta = B theta_t.

Mapped rows have a mean square length of 1/c^2. B is a function of published numbers alone, so every reader can compute it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.shapes.symmetric import even

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MapRule:
    """c (`radius`), b (`bend`) and kappa (`ridge`): public numbers that are fixed before the moments are released.

    Rows longer than `radius` root mean square lengths count for less, those longer than `bend` times that for less still. With
    survey weights c is larger, by as much as the moments say (`procedures.shape_first.learnt`).
    """

    radius: float
    bend: float
    ridge: float


# Floor of m, the expected squared length of a row before it is scaled: it bounds |B| before any row is read, and matters only
# where the noise hides all moments, the trace included.
_LEAST_SIZE = 1.0
# Covers the rounding of the eigendecomposition in the bound on |B|.
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Shape:
    """The map and the published moments behind it, in the basis of the noisy eigenvectors."""

    matrix: Array  # B (d, d), symmetric
    inverse: Array
    values: Array  # noisy eigenvalues w, ascending
    vectors: Array  # their eigenvectors, as columns
    shrunk: Array  # estimated eigenvalues l of S
    own: Array  # the rows' moment along each noisy eigenvector
    resolved: NDArray[np.bool_]
    size: float  # m
    noise: float  # a
    rule: MapRule


def edge(noise: float, dimension: int) -> float:
    """e: the spectral norm that the noise of a symmetric matrix has by itself."""
    return noise * math.sqrt(2 * dimension)


def largest_norm(noise: float, dimension: int, rule: MapRule) -> float:
    """Bound on |B| that is known before the moments are: 1/(c sqrt(rho m)) with m at its floor."""
    return _ROUNDING / (rule.radius * math.sqrt(rule.ridge * edge(noise, dimension) * _LEAST_SIZE))


def shape_of(moments: Array, noise: float, rule: MapRule, longest: float) -> Shape:
    """The map for noisy moments (d, d) of rows of norm at most `longest`."""
    d = len(moments)
    e = edge(noise, d)
    values, vectors = np.linalg.eigh(moments)
    resolved = values > e
    own = np.sqrt(np.where(resolved, values**2 - e**2, 0.0))
    shrunk = np.where(resolved, (values + own) / 2, 0.0)
    rho = rule.ridge * e
    # One deviation is added to the noisy trace: too large a trace shortens the steps, too small a one lengthens the rows.
    trace = min(max(float(np.trace(moments)) + noise * math.sqrt(d), 0.0), longest**2)
    hidden = int((~resolved).sum())
    rest = max(0.0, trace - float(own.sum())) if hidden else 0.0
    size = max(_LEAST_SIZE, float((own / (shrunk + rho)).sum()) + rest / rho)
    factors = 1 / (np.sqrt(shrunk + rho) * rule.radius * math.sqrt(size))
    own = np.where(resolved, own, rest / max(1, hidden))
    matrix, inverse = ((vectors * each) @ vectors.T for each in (factors, 1 / factors))
    return Shape(even(matrix), even(inverse), values, vectors, shrunk, own, resolved, size, noise, rule)
