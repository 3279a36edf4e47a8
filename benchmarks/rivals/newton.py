"""Newton's method with double noise, for logistic regression.

Ganesh, Haghifam, Steinke and Thakurta (2023), "Faster differentially private convex optimization via second-order methods":
each of T iterations adds noise to the mean gradient, and then to the step, in proportion to the step's noisy gradient:

    g = gradient + N(0, s_1^2 I),    theta <- theta - P g + N(0, (s_2 |g|)^2 I),    P the inverse of a modified curvature.

The curvature is H = (1/n) sum k_i x_i x_i', with k_i = p(1 - p) of the Hessian, or k_i = tanh(u/2)/(2u) of the quadratic
that lies above the loss everywhere; both are at most 1/4. "add" takes P = (H + floor I)^-1; "clip" raises the eigenvalues of
H below the floor to the floor.

Noise when one record is replaced, rows of norm at most 1:
  - Gradients differ by at most 2/n: s_1 = 2/(n mu_1).
  - "add": by Sherman and Morrison P = A^-1 - R, with A of the n - 1 common records and R positive semi-definite of norm
    at most 1/(floor (4 n floor + 1)). Two such R differ by no more than that: s_2 = 1/(floor (4 n floor + 1) mu_2).
  - "clip": the H differ by at most sqrt(2)/(4n) in Frobenius norm, and u -> 1/max(u, floor) has Lipschitz constant
    floor^-2, which carries over to matrices in Frobenius norm: s_2 = sqrt(2)/(4 n floor^2 mu_2).
T iterations cost sqrt(T (mu_1^2 + mu_2^2)) (Gaussian composition, also adaptively). The paper states its costs in zCDP and
for neighbours that add a record; these are its constants for a replaced one.

Iterations, split and floor are not chosen privately. `utility.py` takes those that do best on held-out rows,
which flatters the method. The paper's own rule for the floor needs a private trace.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from rivals.calibration import largest_mu

# The floor is this multiple of (d / (n mu)^2)^(1/3)/4, where both kinds of noise weigh alike up to constants. On wider grids
# for Abalone and Adult, smaller floors, "clip" and the Hessian gave about the same test error or a larger one.
SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"iterations": iterations, "share": share, "multiple": multiple}
    for iterations, share, multiple in product((8, 24, 64), (0.2, 0.6), (1.0, 2.0, 4.0))
)


def fit(
    rows: Any,
    labels: Any,
    epsilon: float,
    delta: float,
    seed: int,
    iterations: int = 8,
    share: float = 0.5,
    curvature: str = "above",
    modify: str = "add",
    multiple: float = 2.0,
) -> Any:
    """The last iterate from 0; `share` of each iteration's mu^2 pays for the noise on the step."""
    n, d = rows.shape
    mu = largest_mu(epsilon, delta) / math.sqrt(iterations)
    gradient_scale = 2 / (n * mu * math.sqrt(1 - share))
    floor = multiple * (d / (n * mu) ** 2) ** (1 / 3) / 4
    step_scale = _step_sensitivity(n, floor, modify) / (mu * math.sqrt(share))
    draws = np.random.default_rng([seed, 2])
    theta = np.zeros(d)
    for _ in range(iterations):
        scores = rows @ theta
        slopes = -labels * expit(-labels * scores)
        gradient = rows.T @ slopes / n + draws.normal(scale=gradient_scale, size=d)
        step = _solved(_curvature(rows, scores, curvature), gradient, floor, modify)
        theta = theta - step + draws.normal(scale=step_scale * np.linalg.norm(gradient), size=d)
    return theta


def _step_sensitivity(n: int, floor: float, modify: str) -> float:
    """How far P g may move for a unit g when one record is replaced."""
    if modify == "add":
        return 1 / (floor * (4 * n * floor + 1))
    return math.sqrt(2) / (4 * n * floor**2)


def _curvature(rows: Any, scores: Any, curvature: str) -> Any:
    """The mean of k_i x_i x_i'."""
    if curvature == "hessian":
        weights = expit(scores) * expit(-scores)
    else:
        half = np.maximum(np.abs(scores) / 2, 1e-6)  # tanh(u/2)/(2u) tends to 1/4 at 0
        weights = np.tanh(half) / (4 * half)
    weighted = rows * np.sqrt(weights / len(rows))[:, None]
    return weighted.T @ weighted


def _solved(matrix: Any, gradient: Any, floor: float, modify: str) -> Any:
    """P g."""
    if modify == "add":
        return np.linalg.solve(matrix + floor * np.eye(len(matrix)), gradient)
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ ((vectors.T @ gradient) / np.maximum(values, floor))
