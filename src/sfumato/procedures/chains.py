"""What the procedures of Gibbs models share: the price of exact draws, rounding errors of steps, the gradient field of a
chain, its projection and its public start.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.engines.protocol import UNIT_ROUNDOFF, Array, GradientEngine, gradient_error
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.procedures.outlook import OF_A_DRAW, Expected
from sfumato.theorems import asymptotics, sharp

# The dimension that is assumed for the error of a step where the model states none: more than any data set has.
_WIDEST = 1 << 20


def sharp_price(model: Gibbs, n: int, power: float, draws: int) -> Guarantee:
    """Price of `draws` exact draws from the Gibbs posterior at `power`: mu = G sqrt(draws/m), by the sharp theorem."""
    return sharp.gibbs_draw(
        difference=model.difference(power),
        strong_convexity=model.strong_convexity(n, power),
        convex=model.constants.convex,
        convex_domain=model.prior.convex_domain,
        draws=draws,
    )


def steepest(model: Gibbs, within: float) -> float:
    """Largest norm of one record's gradient where |theta| <= `within`: the Lipschitz constant, or r + within for a mean."""
    known = model.constants.lipschitz
    return known if math.isfinite(known) else model.loss.constants(model.dimension, within).lipschitz


def summation_error(model: Gibbs, n: int, within: float = math.inf) -> float:
    """Bound on the rounding error of a gradient sum over n records at parameters of norm at most `within`."""
    return gradient_error(n, steepest(model, within))


def noisy_mean_error(model: Gibbs, n: int, noise: float) -> float:
    """Bound on the rounding error of a mean gradient over n records with this noise added to it."""
    d = model.dimension or _WIDEST
    size = model.constants.lipschitz + 12 * noise * math.sqrt(d + 100)
    return summation_error(model, n) / n + 16 * UNIT_ROUNDOFF * size


def projection_radius(model: Gibbs, n: int, power: float) -> float:
    """Radius of the public ball about the prior's mean onto which chains are projected.

    The mode lies within power n L/m of the prior's mean, and a draw a few deviations 1/sqrt(m) from it; the ball has four
    times the radius that holds both.
    """
    m = model.strong_convexity(n, power)
    if math.isfinite(model.prior.domain_radius):
        return 2 * model.prior.domain_radius
    d = model.dimension or _WIDEST
    steep = steepest(model, math.hypot(*(model.prior.start or (0.0,))))
    return 4 * (power * n * steep / m + 12 * math.sqrt((d + 100) / m))


def step_error(model: Gibbs, n: int, power: float, step: float) -> float:
    """Bound on the rounding error of one Langevin step inside the ball of `projection_radius`, in norm.

    Scores are off by at most (d+4) u r |theta|, and the slope at a score by a few u times its curvature, so gradients by
    n M_l u ((d+4) |theta| + 8/r); then the sum's own error, the prior's gradient, and the update with its noise, whose norm
    exceeds 12 sqrt(d + 100) deviations with a probability below e^-5000.
    """
    untruncated = getattr(model.prior, "prior", model.prior)
    centres = (model.prior.start or (0.0,), getattr(untruncated, "mean", None) or (0.0,))
    far = projection_radius(model, n, power) + sum(math.hypot(*centre) for centre in centres)
    d = model.dimension or _WIDEST
    radius: float = model.loss.radius
    scores = n * model.constants.smoothness * UNIT_ROUNDOFF * ((d + 4) * far + 8 / radius)
    # The entries of a precision matrix in absolute value have a norm of up to sqrt(d) times its own.
    prior = max(8.0, math.sqrt(d)) * (d + 4) * UNIT_ROUNDOFF * model.prior.smoothness * far
    gradients = power * (scores + summation_error(model, n, far)) + prior
    moved = far + step * power * n * steepest(model, far) + 12 * math.sqrt(2 * step * (d + 100))
    return step * gradients * (1 + 1e-9) + 32 * UNIT_ROUNDOFF * moved


def field(model: Gibbs, engine: GradientEngine, power: float) -> Callable[[Array], Array]:
    """The gradient of U_D at every chain's parameter."""

    def gradient(theta: Array) -> Array:
        return power * engine.gradient(theta) + model.prior.gradient(theta)

    return gradient


def projection(model: Gibbs, radius: float) -> Callable[[Array], Array]:
    """The projection onto the domain of a truncated prior; else onto the public ball of this radius about the prior's mean."""
    return model.prior.project if model.prior.truncated else ball(np.array(model.prior.start or (0.0,)), radius)


def ball(centre: Array, radius: float) -> Callable[[Array], Array]:
    """The projection onto the ball of this radius about `centre`."""

    def project(theta: Array) -> Array:
        away = theta - centre
        norm = np.linalg.norm(away, axis=-1, keepdims=True)
        return np.where(norm > radius, centre + away * (radius / np.maximum(norm, radius)), theta)

    return project


def public_start(model: Gibbs, chains: int, dimension: int) -> Array:
    """The prior's mean, moved into its domain, for every chain."""
    start = np.zeros(dimension) if model.prior.start is None else np.array(model.prior.start)
    return np.tile(start, (chains, 1))


def expected_of_power(power: float) -> Expected:
    """Asymptotic variance of one draw over data and draw, in units of the estimator without privacy (Theorem 16)."""
    factor = 1.0 + asymptotics.inflation(power=power)
    return Expected(OF_A_DRAW, factor, 2.0)
