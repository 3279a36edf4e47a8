"""What the Gibbs mechanisms share: pricing, the error of a step in floats, the field of a chain and its public start."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.calibrate import Target
from sfumato.engines.protocol import UNIT_ROUNDOFF, gradient_error
from sfumato.errors import MechanismRefused
from sfumato.mechanisms.plan import Expected
from sfumato.models.gibbs import Gibbs
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import asymptotics, sharp

# The powers that are searched: 1 is the posterior itself, and below 1e-12 the prior is all that is left.
LOWEST_POWER, HIGHEST_POWER = 1e-12, 1.0
# What a dimension that was not stated is taken to be, in the error of a step.
_WIDEST = 1 << 20


def sharp_price(model: Gibbs, n: int, power: float, draws: int) -> Guarantee:
    """Price of `draws` exact draws from the Gibbs posterior at `power`."""
    return sharp.gibbs_draw(
        difference=model.difference(power),
        strong_convexity=model.strong_convexity(n, power),
        convex=model.constants.convex,
        convex_domain=model.prior.convex_domain,
        draws=draws,
    )


def steepest(model: Gibbs, within: float) -> float:
    """Largest norm of one record's gradient at parameters of norm at most `within`: L, or for a mean r + within."""
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
    """Radius of a public ball, about the prior's mean, onto which chains are projected: it holds the mode many times over."""
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


def field(model: Gibbs, engine: Any, power: float) -> Callable[[Any], Any]:
    """The gradient of U_D at every chain's parameter."""

    def gradient(theta: Any) -> Any:
        return power * engine.gradient(theta) + model.prior.gradient(theta)

    return gradient


def projection(model: Gibbs, radius: float) -> Callable[[Any], Any]:
    """The prior's own projection where it is truncated; else onto the public ball about its mean."""
    if model.prior.truncated:
        return model.prior.project
    centre = np.array(model.prior.start or (0.0,))

    def project(theta: Any) -> Any:
        away = theta - centre
        norm = np.linalg.norm(away, axis=-1, keepdims=True)
        return np.where(norm > radius, centre + away * (radius / np.maximum(norm, radius)), theta)

    return project


def public_start(model: Gibbs, chains: int, dimension: int) -> Any:
    """The prior's mean, moved into its domain, for every chain."""
    start = np.zeros(dimension) if model.prior.start is None else np.array(model.prior.start)
    return np.tile(start, (chains, 1))


def needs_target(target: Target | None, name: str) -> Target:
    """Return the target, or refuse: a calibrated mechanism cannot be planned without one."""
    if target is None:
        raise MechanismRefused(
            f"mechanism {name!r} is calibrated to a target: give epsilon and delta, or target=<a curve>."
        )
    return target


def expected_of_power(power: float) -> Expected:
    """Asymptotic variance of one draw over data and draw, in units of the estimator without privacy (Theorem 16)."""
    factor = 1.0 + asymptotics.inflation(power=power)
    return Expected("variance of one draw", factor, "times that of the MLE", "large-sample limit", without_privacy=2.0)


def not_gibbs(model: object) -> str | None:
    """Return a reason if the model is no Gibbs model."""
    return None if isinstance(model, Gibbs) else f"it serves sf.Gibbs models; got {model!r}"
