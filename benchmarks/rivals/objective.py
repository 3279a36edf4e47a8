"""Objective perturbation with Gaussian noise, for logistic regression.

    theta = argmin  sum_i log(1 + exp(-y_i x_i.theta)) + (strength/2) |theta|^2 + b.theta,    b ~ N(0, sigma^2 I)

Kifer, Smith and Thakurta (2012), "Private convex empirical risk minimization and high-dimensional regression". Redberg,
Koskela and Wang (2023), "Improving the privacy and practicality of objective perturbation", bound its curve by that of a
Gaussian mechanism. The bound here is derived in their way, for the logistic loss when one record is replaced.

Let v = y x, |v| <= 1. The density of theta is that of b = -(gradient) times the determinant of the Hessian.
  - Determinants: the Hessians of neighbours differ by two matrices of rank one and norm at most 1/4 on top of a common
    matrix >= strength. Their log ratio lies within log(1 + 1/(4 strength)).
  - Noise: the gradients at theta differ by w = -a v + a' v' with a, a' in [0, 1], which may depend on b. The log ratio
    (2 b.w + |w|^2)/(2 sigma^2) is convex in w, so it is at most the largest of its values at 0, -v, v' and v' - v. If
    v' = -v, |v| = 1, these are at most max(0, 2t/sigma + 2/sigma^2) with t standard normal: for epsilon >= 0 exactly the
    curve of a Gaussian mechanism with mu = 2/sigma. Quadrature over b and over the angle of v and v' (delta = 1e-5, epsilon
    from 0.02 to 8) found that delta falls as v' turns away from -v, so this pair is the worst.
Hence delta(epsilon) <= delta of Gaussian(mu = 2/sigma) at epsilon - log(1 + 1/(4 strength)), wherever that is >= 0.

The strength is not chosen privately. `utility.py` takes the one that does best on held-out rows, which flatters the
method: in practice the choice would cost something.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from rivals.calibration import largest_mu

# Shares of epsilon that the determinants may use. The strength follows from the share: 1/(4 (e^(share epsilon) - 1)).
SHARES = (0.5, 0.3, 0.15, 0.07, 0.03, 0.01)
SETTINGS: tuple[dict[str, Any], ...] = tuple({"share": share} for share in SHARES)


def fit(rows: Any, labels: Any, epsilon: float, delta: float, seed: int, share: float = 0.3) -> Any:
    """The minimiser of the perturbed objective; `share` of epsilon pays for the determinants."""
    strength = 1 / (4 * math.expm1(share * epsilon))
    sigma = 2 / largest_mu((1 - share) * epsilon, delta)
    noise = np.random.default_rng([seed, 1]).normal(scale=sigma, size=rows.shape[1])
    return minimiser(rows, labels, strength, noise)


def minimiser(rows: Any, labels: Any, strength: float, noise: Any) -> Any:
    """Minimise by L-BFGS, in coordinates in which the loss is about as curved in every direction.

    With C the Cholesky factor of X'X/8 + strength I, theta = C'^-1 phi. The gradient in phi ends below 1e-5; in theta the
    rest is then far below the noise, whose deviation is above 0.5 for epsilon up to 8.
    """
    signed = rows * labels[:, None]
    factor = cholesky(signed.T @ signed / 8 + strength * np.eye(rows.shape[1]), lower=True)

    def value_and_gradient(phi: Any) -> tuple[float, Any]:
        theta = solve_triangular(factor, phi, lower=True, trans="T")
        margins = signed @ theta
        value = np.logaddexp(0, -margins).sum() + strength / 2 * theta @ theta + noise @ theta
        gradient = -(signed.T @ expit(-margins)) + strength * theta + noise
        return float(value), solve_triangular(factor, gradient, lower=True)

    options = {"maxiter": 1000, "gtol": 1e-5, "ftol": 0.0, "maxcor": 20}
    found = minimize(value_and_gradient, np.zeros(len(noise)), jac=True, method="L-BFGS-B", options=options)
    return solve_triangular(factor, found.x, lower=True, trans="T")
