"""Exact profiles of posterior draws: Beta-Bernoulli with its certificate, one Beta pair, Gamma shapes and rates.

Each profile is the maximum over ordered neighbouring pairs. With `draws` > 1 every pair is composed with itself first
and the maximum taken afterwards, which is tighter than composing the maximum. Proofs: docs/proofs/conjugate.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from sfumato import _validate
from sfumato.privacy.loss_distribution import ComposedLoss, from_profile, loss_limit
from sfumato.privacy.pairs import beta_delta, gamma_rate_delta, gamma_shape_delta, log_gamma_ratio
from sfumato.privacy.profiles import Parameters, Registered, number, require_keys

Array = NDArray[np.float64]
Direction = Callable[[Array], Array]

# Dots on each side of 0 for a composed pair: the claim itself, and the blocks that only have to stay below it.
FINE, COARSE = 700, 200


def _one(value: float) -> Array:
    return np.array([value], dtype=np.float64)


def composed_pair(forward: Direction, backward: Direction, draws: int, dots: int) -> tuple[ComposedLoss, ComposedLoss]:
    """Losses of `draws` independent draws from the same pair, in both directions."""
    limit = loss_limit(lambda eps: float(max(forward(_one(eps))[0], backward(_one(eps))[0])), 0.0)
    interval = limit / dots
    grid = interval * np.arange(dots + 1, dtype=np.float64)
    first, second = forward(grid), backward(grid)
    return (
        ComposedLoss([(from_profile(first, second, interval), draws)]),
        ComposedLoss([(from_profile(second, first, interval), draws)]),
    )


# --- one Beta pair: Beta(a + power, b) against Beta(a, b + power), both directions -----------------------------------


@lru_cache(maxsize=512)
def _beta_pair_loss(a: float, b: float, power: float, draws: int, dots: int) -> tuple[ComposedLoss, ComposedLoss]:
    def forward(eps: Array) -> Array:
        return beta_delta(_one(a), _one(b), _one(power), eps)

    def backward(eps: Array) -> Array:
        return beta_delta(_one(b), _one(a), _one(power), eps)

    return composed_pair(forward, backward, draws, dots)


def beta_pair_delta(a: float, b: float, power: float, draws: int, epsilon: float, dots: int = FINE) -> float:
    """Delta of `draws` draws from one Beta pair, the larger of both directions."""
    if draws == 1:
        both = beta_delta(np.array([a, b]), np.array([b, a]), _one(power), _one(epsilon))
        return float(both.max())
    return max(loss.delta(epsilon) for loss in _beta_pair_loss(a, b, power, draws, dots))


def beta_renyi(a: float, b: float, power: float, order: float) -> float:
    """Renyi divergence of Beta(a + power, b) from Beta(a, b + power); infinite from order 1 + b/power on.

    D = [C(alpha eta_P + (1 - alpha) eta_Q) - alpha C(eta_P)]/(alpha - 1) + C(eta_Q), C the log-partition function;
    the total a + b + power is common, so only the two cells enter.
    """
    if order == 1:
        from scipy.special import digamma

        shift = float(digamma(a + power) - digamma(b)) * power
        return max(
            0.0, shift + float(log_gamma_ratio(_one(b), _one(power))[0] - log_gamma_ratio(_one(a), _one(power))[0])
        )
    if order == math.inf or (order - 1.0) * power >= b:
        return math.inf
    rise = log_gamma_ratio(np.array([a + power, a]), np.array([(order - 1) * power, power]))
    fall = log_gamma_ratio(np.array([b, b]), np.array([-(order - 1) * power, power]))
    # C(mixed) - C(P) in each cell over (alpha - 1), plus C(Q) - C(P).
    terms = np.array([rise[0] / (order - 1), fall[0] / (order - 1), -rise[1], fall[1]])
    error = 2.0**-48 * (np.abs(terms).sum() + 1.0 / (order - 1))
    return max(0.0, float(terms.sum() + error))


def _check_beta_pair(parameters: Parameters) -> None:
    require_keys("beta-pair", parameters, ("a", "b", "power", "draws"))
    for key in ("a", "b", "power"):
        _validate.positive(key, parameters[key])
    _validate.whole("draws", parameters["draws"])


def _pair_values(parameters: Parameters) -> tuple[float, float, float, int]:
    return (
        number(parameters["a"]),
        number(parameters["b"]),
        number(parameters["power"]),
        int(number(parameters["draws"])),
    )


def _pair_delta(parameters: Parameters, epsilon: float) -> float:
    a, b, power, draws = _pair_values(parameters)
    return beta_pair_delta(a, b, power, draws, epsilon)


def _pair_deltas(parameters: Parameters, epsilons: Array) -> Array:
    a, b, power, draws = _pair_values(parameters)
    if draws > 1:
        return np.array([_pair_delta(parameters, float(e)) for e in epsilons])
    forward, backward = (beta_delta(_one(x), _one(y), _one(power), epsilons) for x, y in ((a, b), (b, a)))
    return np.maximum(forward, backward)


def _pair_renyi(parameters: Parameters, order: float) -> float:
    a, b, power, draws = _pair_values(parameters)
    return draws * max(beta_renyi(a, b, power, order), beta_renyi(b, a, power, order))


# --- Beta-Bernoulli: every neighbouring pair of n bits ---------------------------------------------------------------


def beta_endpoints(alpha: float, beta: float, n: int, power: float) -> tuple[tuple[float, float], ...]:
    """Cells (a, b) that the other n - 1 records leave when they are all zeros or all ones."""
    hidden = power * (n - 1)
    return tuple(dict.fromkeys([(alpha, beta + hidden), (alpha + hidden, beta)]))


def beta_bernoulli_delta(
    alpha: float, beta: float, n: int, power: float, draws: int, epsilon: float, certified: bool = True
) -> float:
    """Largest delta over all neighbouring data sets of n bits.

    The other records hold k ones and n - 1 - k zeros. The claim is the larger of k = 0 and k = n - 1; the certificate
    covers 0..n-1 by blocks [i, j], each dominated by the pair with i ones and n - 1 - j zeros (adding an independent
    Gamma to a cell is post-processing), and halves a block until its bound is below the claim or it is one k. What a
    block still has above the claim is added to it, so the answer is an upper bound whatever the shape of the maximum.
    """
    claim = max(beta_pair_delta(a, b, power, draws, epsilon) for a, b in beta_endpoints(alpha, beta, n, power))
    if not certified or n < 3:
        return claim
    blocks = [(1, n - 2)]
    while blocks:
        bounds = _block_bounds(blocks, alpha, beta, n, power, draws, epsilon)
        above = [(i, j, bound) for (i, j), bound in zip(blocks, bounds, strict=True) if bound > claim]
        settled = [bound for i, j, bound in above if i == j or len(above) > 4096]
        claim = max([claim, *settled])
        blocks = [half for i, j, bound in above if i < j and bound > claim for half in _halves(i, j, n)]
    return claim


def _halves(i: int, j: int, n: int) -> list[tuple[int, int]]:
    """Split a block where it is widest relative to its distance from the nearer end."""
    left, right = i + 1, n - j
    if left < right:
        middle = min(j - 1, max(i, i + left - 1)) if j - i > 2 * left else (i + j) // 2
    else:
        middle = max(i, min(j - 1, j - right)) if j - i > 2 * right else (i + j) // 2
    return [(i, middle), (middle + 1, j)]


def _block_bounds(
    blocks: list[tuple[int, int]], alpha: float, beta: float, n: int, power: float, draws: int, epsilon: float
) -> list[float]:
    cells = np.array([(alpha + power * i, beta + power * (n - 1 - j)) for i, j in blocks])
    if draws == 1:
        a, b = cells[:, 0], cells[:, 1]
        forward, backward = (beta_delta(x, y, _one(power), _one(epsilon)) for x, y in ((a, b), (b, a)))
        return [float(v) for v in np.maximum(forward, backward)]
    return [beta_pair_delta(float(a), float(b), power, draws, epsilon, dots=COARSE) for a, b in cells]


def _check_beta_bernoulli(parameters: Parameters) -> None:
    require_keys("beta-bernoulli", parameters, ("alpha", "beta", "n", "power", "draws"))
    for key in ("alpha", "beta", "power"):
        _validate.positive(key, parameters[key])
    _validate.whole("n", parameters["n"])
    _validate.whole("draws", parameters["draws"])


def _bernoulli_values(parameters: Parameters) -> tuple[float, float, int, float, int]:
    p = {key: number(value) for key, value in parameters.items()}
    return p["alpha"], p["beta"], int(p["n"]), p["power"], int(p["draws"])


def _bernoulli_delta(parameters: Parameters, epsilon: float) -> float:
    return beta_bernoulli_delta(*_bernoulli_values(parameters), epsilon)


def _bernoulli_renyi(parameters: Parameters, order: float) -> float:
    alpha, beta, n, power, draws = _bernoulli_values(parameters)
    # Proved for Renyi (convexity, Geumlek Theorem 15): the maximum is at an end.
    ends = beta_endpoints(alpha, beta, n, power)
    return draws * max(beta_renyi(x, y, power, order) for a, b in ends for x, y in ((a, b), (b, a)))


# --- Gamma shapes and rates ------------------------------------------------------------------------------------------


def _check_gamma(name: str, keys: tuple[str, ...], parameters: Parameters) -> None:
    require_keys(name, parameters, (*keys, "draws"))
    for key in keys:
        _validate.positive(key, parameters[key])
    _validate.whole("draws", parameters["draws"])


def _gamma_directions(parameters: Parameters) -> tuple[Direction, Direction]:
    shape, shift = _one(number(parameters["shape"])), _one(number(parameters["shift"]))
    if "rate" in parameters:
        rate = _one(number(parameters["rate"]))
        return (
            lambda eps: gamma_rate_delta(shape, rate, shift, eps, slower=True),
            lambda eps: gamma_rate_delta(shape, rate, shift, eps, slower=False),
        )
    return (
        lambda eps: gamma_shape_delta(shape, shift, eps, upward=True),
        lambda eps: gamma_shape_delta(shape, shift, eps, upward=False),
    )


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
    return float(_gamma_deltas(parameters, _one(epsilon))[0])


def gamma_shape_renyi(shape: float, shift: float, order: float) -> float:
    """Larger Renyi divergence of Gamma(shape + shift) and Gamma(shape) over both directions."""
    if order == math.inf or (order - 1) * shift >= shape:
        return math.inf
    if order == 1:
        from scipy.special import digamma

        ratio = float(log_gamma_ratio(_one(shape), _one(shift))[0])
        return max(0.0, shift * float(digamma(shape + shift)) - ratio, ratio - shift * float(digamma(shape)))
    ratios = log_gamma_ratio(
        np.array([shape + shift, shape, shape]), np.array([(order - 1) * shift, shift, -(order - 1) * shift])
    )
    up = ratios[0] / (order - 1) - ratios[1]
    down = ratios[2] / (order - 1) + ratios[1]
    return max(0.0, float(max(up, down) + 2.0**-48 * (np.abs(ratios).sum() * (1 + 1 / (order - 1)))))


def gamma_rate_renyi(shape: float, rate: float, shift: float, order: float) -> float:
    """Larger Renyi divergence of Gamma(shape, rate) and Gamma(shape, rate + shift) over both directions."""
    x = shift / rate
    if order == math.inf or (order - 1) * x >= 1:
        return math.inf
    if order == 1:
        return shape * max(x - math.log1p(x), math.log1p(x) - x / (1 + x))
    slow = shape * (-math.log1p(-(order - 1) * x) / (order - 1) - math.log1p(x))
    fast = shape * (math.log1p(x) * order - math.log1p(order * x)) / (order - 1)
    return max(0.0, max(slow, fast) + 2.0**-48 * shape * order * x / (order - 1))


REGISTERED: dict[str, Registered] = {
    "beta-pair": Registered(
        _check_beta_pair,
        _pair_delta,
        _pair_deltas,
        _pair_renyi,
        lambda p: 0.0,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Beta({number(p['a']):g}+{number(p['power']):g}, {number(p['b']):g})"
            f" against Beta({number(p['a']):g}, {number(p['b']):g}+{number(p['power']):g})"
        ),
    ),
    "beta-bernoulli": Registered(
        _check_beta_bernoulli,
        _bernoulli_delta,
        None,
        _bernoulli_renyi,
        lambda p: 0.0,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of the Beta({number(p['alpha']):g}, {number(p['beta']):g}) posterior of"
            f" {int(number(p['n'])):,} bits at power {number(p['power']):.6g}"
        ),
    ),
    "gamma-shape": Registered(
        partial(_check_gamma, "gamma-shape", ("shape", "shift")),
        _gamma_delta,
        _gamma_deltas,
        lambda p, order: number(p["draws"]) * gamma_shape_renyi(number(p["shape"]), number(p["shift"]), order),
        lambda p: 0.0,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Gamma({number(p['shape']):g}+{number(p['shift']):g}) against"
            f" Gamma({number(p['shape']):g})"
        ),
    ),
    "gamma-rate": Registered(
        partial(_check_gamma, "gamma-rate", ("shape", "rate", "shift")),
        _gamma_delta,
        _gamma_deltas,
        lambda p, order: (
            number(p["draws"]) * gamma_rate_renyi(number(p["shape"]), number(p["rate"]), number(p["shift"]), order)
        ),
        lambda p: 0.0,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Gamma({number(p['shape']):g}, rate {number(p['rate']):g}) against"
            f" rate {number(p['rate']):g}+{number(p['shift']):g}"
        ),
    ),
}
