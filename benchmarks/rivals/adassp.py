"""AdaSSP: linear regression from noisy sums, with a ridge chosen privately.

Wang (2018), "Revisiting differentially private linear regression: optimal and adaptive prediction and estimation in
unbounded domain", Algorithm 2. With rows |x| <= 1 and |y| <= 1 it releases three things in equal parts: the smallest
eigenvalue of X'X, X'X itself and X'y, and returns (X'X + ridge I)^-1 X'y of the noisy ones. The ridge rises where the
smallest eigenvalue is below the noise.

The paper calibrates each part to (epsilon/3, delta/3) when a record is added or removed. Here each part is a Gaussian
mechanism with mu/sqrt(3), together mu (tighter than the paper's sum), when one record is replaced:
  - the smallest eigenvalue moves by at most |xx' - zz'|_2 <= 1, as in the paper;
  - X'X, diagonal and upper triangle, by at most |xx' - zz'|_F <= sqrt(2) (1 in the paper);
  - X'y by at most 2 (1 in the paper).
The paper's ridge is a high-probability bound on the noise of X'X, scale sqrt(d log(2 d^2/rho)), minus a lower bound on the
smallest eigenvalue: the same formulas with the scales above. Nothing is chosen by peeking.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rivals.calibration import largest_mu

# The probability with which the paper's bound on the noise may fail; its experiments use this value.
FAILURE = 0.05


def fit(rows: Any, labels: Any, epsilon: float, delta: float, seed: int) -> Any:
    """The ridge solution of the noisy sums."""
    d = rows.shape[1]
    mu = largest_mu(epsilon, delta) / math.sqrt(3)
    draws = np.random.default_rng([seed, 3])
    moments = rows.T @ rows
    smallest = np.linalg.eigvalsh(moments)[0] + draws.normal(scale=1 / mu) - math.sqrt(math.log(6 / delta)) / mu
    upper = np.triu(draws.normal(scale=math.sqrt(2) / mu, size=(d, d)))
    noise = upper + np.triu(upper, 1).T
    ridge = max(0.0, math.sqrt(2) / mu * math.sqrt(d * math.log(2 * d**2 / FAILURE)) - max(0.0, smallest))
    products = rows.T @ labels + draws.normal(scale=2 / mu, size=d)
    return np.linalg.solve(moments + noise + ridge * np.eye(d), products)
