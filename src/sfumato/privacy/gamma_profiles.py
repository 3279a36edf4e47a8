"""Exact profiles of Gamma posteriors: two shapes (counts), or two rates (durations, precisions)."""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from sfumato._validate import positive, whole
from sfumato.privacy.loss_distribution import ComposedLoss
from sfumato.privacy.pair_losses import FINE, Array, Direction, composed_pair, one, safe_order
from sfumato.privacy.pairs import RATIO_ERROR, gamma_rate_delta, gamma_shape_delta, log_gamma_ratio
from sfumato.privacy.profiles import Parameters, Registered, number, takes


def _gamma_directions(parameters: Parameters) -> tuple[Direction, Direction]:
    shape, shift = one(number(parameters["shape"])), one(number(parameters["shift"]))
    if "rate" in parameters:
        by_rate = partial(gamma_rate_delta, shape, one(number(parameters["rate"])), shift)
        return partial(by_rate, slower=True), partial(by_rate, slower=False)
    by_shape = partial(gamma_shape_delta, shape, shift)
    return partial(by_shape, upward=True), partial(by_shape, upward=False)


@lru_cache(maxsize=64)
def _gamma_loss(items: tuple[tuple[str, float], ...]) -> tuple[ComposedLoss, ComposedLoss]:
    parameters = dict(items)
    forward, backward = _gamma_directions(parameters)
    return composed_pair(forward, backward, int(parameters["draws"]), FINE)


def _gamma_deltas(parameters: Parameters, epsilons: Array) -> Array:
    if number(parameters["draws"]) > 1:
        losses = _gamma_loss(tuple(sorted((key, number(value)) for key, value in parameters.items())))
        return np.array([max(loss.delta(float(e)) for loss in losses) for e in epsilons])
    forward, backward = _gamma_directions(parameters)
    return np.maximum(forward(epsilons), backward(epsilons))


def _gamma_delta(parameters: Parameters, epsilon: float) -> float:
    return float(_gamma_deltas(parameters, one(epsilon))[0])


def gamma_shape_renyi(shape: float, shift: float, order: float) -> float:
    """Larger Renyi divergence of Gamma(shape + shift) and Gamma(shape) over both directions."""
    if order == 1:
        from scipy.special import digamma

        ratio = float(log_gamma_ratio(one(shape), one(shift))[0])
        above, below = shift * float(digamma(shape + shift)), shift * float(digamma(shape))
        error = 2.0**-48 * (shift + abs(ratio) + abs(above) + abs(below)) + 2 * RATIO_ERROR
        return max(0.0, above - ratio, ratio - below) + error
    order = safe_order(order, shift, shape)
    if order == math.inf:
        return math.inf
    ratios = log_gamma_ratio(
        np.array([shape + shift, shape, shape]), np.array([(order - 1) * shift, shift, -(order - 1) * shift])
    )
    up = ratios[0] / (order - 1) - ratios[1]
    down = ratios[2] / (order - 1) + ratios[1]
    return max(0.0, float(max(up, down) + 2.0**-48 * (np.abs(ratios).sum() + 1) * (1 + 1 / (order - 1))))


def gamma_rate_renyi(shape: float, rate: float, shift: float, order: float) -> float:
    """Larger Renyi divergence of Gamma(shape, rate) and Gamma(shape, rate + shift) over both directions."""
    x = shift / rate
    if x == math.inf:
        return math.inf
    if order == 1:
        return shape * (max(x - math.log1p(x), math.log1p(x) - x / (1 + x)) + 2.0**-50 * x)
    order = safe_order(order, x, 1.0)
    if order == math.inf:
        return math.inf
    slow = shape * (-math.log1p(-(order - 1) * x) / (order - 1) - math.log1p(x))
    fast = shape * (math.log1p(x) * order - math.log1p(order * x)) / (order - 1)
    return max(0.0, max(slow, fast) + 2.0**-48 * shape * order * (x + abs(slow / shape)) / (order - 1))


GAMMA: dict[str, Registered] = {
    "gamma-shape": Registered(
        takes("gamma-shape", shape=positive, shift=positive, draws=whole),
        _gamma_delta,
        lambda p, order: number(p["draws"]) * gamma_shape_renyi(number(p["shape"]), number(p["shift"]), order),
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Gamma({number(p['shape']):g}+{number(p['shift']):g}) against"
            f" Gamma({number(p['shape']):g})"
        ),
        _gamma_deltas,
    ),
    "gamma-rate": Registered(
        takes("gamma-rate", shape=positive, rate=positive, shift=positive, draws=whole),
        _gamma_delta,
        lambda p, order: (
            number(p["draws"]) * gamma_rate_renyi(number(p["shape"]), number(p["rate"]), number(p["shift"]), order)
        ),
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Gamma({number(p['shape']):g}, rate {number(p['rate']):g}) against"
            f" rate {number(p['rate']):g}+{number(p['shift']):g}"
        ),
        _gamma_deltas,
    ),
}
