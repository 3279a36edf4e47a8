"""What a shape-first regression publishes, in the coordinates in which its path ran."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Published:
    """The published numbers from which a posterior is computed; lengths are measured from the start of the path.

    The path ran in coordinates y, theta = start + `matrix` y, with gradients of the mean weighted loss, noise of deviation
    `noise` on each coordinate, and the prior's own gradient divided by n.
    """

    n: int
    steps: int
    tail: int
    momentum: float
    rate: float
    noise: float
    matrix: Array  # symmetric, with the eigenvectors of the moments
    values: Array  # eigenvalues of the noisy moments
    vectors: Array  # their eigenvectors, in columns
    own: Array  # the rows' second moment along each eigenvector, the noise's share removed
    resolved: NDArray[np.bool_]  # which eigenvalues exceed the edge of the noise
    moments_noise: float  # deviation of a diagonal entry of the moments
    average: Array  # mean position over the tail
    gradient: Array  # mean noisy gradient of the loss at those positions, without the prior's
    curvature: Array  # noisy mean of v phi'' y y' at the average
    curvature_noise: float  # deviation of its diagonal entries
    largest_curvature: float  # a bound on the mean of phi'' over the rows
    score_scale: float  # noisy mean of |v phi' y|^2
    score_matrix: Array | None  # noisy mean of v^2 phi'^2 y y', where it was published
    score_noise: float  # deviation of its diagonal entries
    precision: Array  # of the prior, for theta
    centre: Array  # of the prior, minus the start
    least_curvature: float | None = None  # what this mean is not below; None: a share of the bound
    moved: float = 0.0  # deviation of each coordinate of the mean gradient that clipping takes away
