"""Exact profiles of posterior draws: Beta-Bernoulli with its certificate, one Beta pair, Gamma shapes and rates.

Each profile is the maximum over ordered neighbouring pairs. With `draws` > 1 every pair is composed with itself first
and the maximum taken afterwards, which is tighter than composing the maximum. Proofs: docs/proofs/conjugate.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from sfumato._validate import positive, whole
from sfumato.privacy.gamma_profiles import GAMMA
from sfumato.privacy.gaussian_profiles import PERTURBED
from sfumato.privacy.inflation import tolerant
from sfumato.privacy.loss_distribution import ComposedLoss
from sfumato.privacy.pair_losses import COARSE, FINE, Array, composed_pair, one, safe_order
from sfumato.privacy.pairs import RATIO_ERROR, beta_delta, log_gamma_ratio
from sfumato.privacy.profiles import Parameters, Registered, number, takes

# --- one Beta pair: Beta(a + power, b) against Beta(a, b + power), both directions -----------------------------------


@lru_cache(maxsize=512)
def _beta_pair_loss(a: float, b: float, power: float, draws: int, dots: int) -> tuple[ComposedLoss, ComposedLoss]:
    def forward(eps: Array) -> Array:
        return beta_delta(one(a), one(b), one(power), eps)

    def backward(eps: Array) -> Array:
        return beta_delta(one(b), one(a), one(power), eps)

    return composed_pair(forward, forward if a == b else backward, draws, dots)


def beta_pair_delta(a: float, b: float, power: float, draws: int, epsilon: float, dots: int = FINE) -> float:
    """Delta of `draws` draws from one Beta pair, the larger of both directions."""
    if draws == 1:
        both = beta_delta(np.array([a, b]), np.array([b, a]), one(power), one(epsilon))
        return float(both.max())
    # The pair with its cells exchanged has the same two directions.
    return max(loss.delta(epsilon) for loss in _beta_pair_loss(min(a, b), max(a, b), power, draws, dots))


def beta_renyi(a: float, b: float, power: float, order: float) -> float:
    """Renyi divergence of Beta(a + power, b) from Beta(a, b + power); infinite from order 1 + b/power on.

    D = [C(alpha eta_P + (1 - alpha) eta_Q) - alpha C(eta_P)]/(alpha - 1) + C(eta_Q), C the log-partition function;
    the total a + b + power is common, so only the two cells enter.
    """
    if order == 1:
        from scipy.special import digamma

        up, down = (float(log_gamma_ratio(one(x), one(power))[0]) for x in (a, b))
        parts = (power * float(digamma(a + power)), -power * float(digamma(b)), down, -up)
        return max(0.0, math.fsum(parts) + 2.0**-48 * (power + sum(map(abs, parts))) + 2 * RATIO_ERROR)
    order = safe_order(order, power, b)
    if order == math.inf:
        return math.inf
    rise = log_gamma_ratio(np.array([a + power, a]), np.array([(order - 1) * power, power]))
    fall = log_gamma_ratio(np.array([b, b]), np.array([-(order - 1) * power, power]))
    # C(mixed) - C(P) in each cell over (alpha - 1), plus C(Q) - C(P).
    terms = np.array([rise[0] / (order - 1), fall[0] / (order - 1), -rise[1], fall[1]])
    # The two ratios that are divided by alpha - 1 have their absolute error covered by the term 1/(alpha - 1).
    error = 2.0**-48 * (np.abs(terms).sum() + 1.0 / (order - 1)) + 2 * RATIO_ERROR
    return max(0.0, float(terms.sum() + error))


def _pair_values(parameters: Parameters) -> tuple[float, float, float, int]:
    p = {key: number(value) for key, value in parameters.items()}
    return p["a"], p["b"], p["power"], int(p["draws"])


def _pair_delta(parameters: Parameters, epsilon: float) -> float:
    a, b, power, draws = _pair_values(parameters)
    return beta_pair_delta(a, b, power, draws, epsilon)


def _pair_deltas(parameters: Parameters, epsilons: Array) -> Array:
    a, b, power, draws = _pair_values(parameters)
    if draws > 1:
        return np.array([_pair_delta(parameters, float(e)) for e in epsilons])
    forward, backward = (beta_delta(one(x), one(y), one(power), epsilons) for x, y in ((a, b), (b, a)))
    return np.maximum(forward, backward)


def _pair_renyi(parameters: Parameters, order: float) -> float:
    a, b, power, draws = _pair_values(parameters)
    return draws * max(beta_renyi(a, b, power, order), beta_renyi(b, a, power, order))


# --- Beta-Bernoulli: every neighbouring pair of n bits ---------------------------------------------------------------


def beta_endpoints(alpha: float, beta: float, n: int, power: float, trials: int = 1) -> tuple[tuple[float, float], ...]:
    """Cells (a, b) that the other n - 1 records leave when they are all zeros or all ones."""
    hidden = power * (n - 1) * trials
    return tuple(dict.fromkeys([(alpha, beta + hidden), (alpha + hidden, beta)]))


def beta_bernoulli_delta(
    alpha: float,
    beta: float,
    n: int,
    power: float,
    draws: int,
    epsilon: float,
    certified: bool = True,
    trials: int = 1,
) -> float:
    """Largest delta over all neighbouring data sets of n records of `trials` bits each.

    The other records hold k ones and h - k zeros, h = (n - 1) trials, and the replaced one moves all its bits: a smaller
    move is dominated (threshold tests gain power with the distance). The claim is the larger of k = 0 and k = h; the
    certificate covers 0..h by blocks [i, j], each dominated by the pair with i ones and h - j zeros (adding an independent
    Gamma to a cell is post-processing), and halves a block until its bound is below the claim or it is one k. What a
    block still has above the claim is added to it, so the answer is an upper bound whatever the shape of the maximum.
    """
    ends = beta_endpoints(alpha, beta, n, power, trials)
    claim = max(_block_bounds([(k, k) for k in range(len(ends))], np.array(ends), power * trials, draws, epsilon))
    hidden = (n - 1) * trials
    if not certified or hidden < 2:
        return claim
    blocks = [(1, hidden - 1)]
    while blocks:
        cells = np.array([(alpha + power * i, beta + power * (hidden - j)) for i, j in blocks])
        bounds = _block_bounds(blocks, cells, power * trials, draws, epsilon)
        above = [(i, j, bound) for (i, j), bound in zip(blocks, bounds, strict=True) if bound > claim]
        settled = [bound for i, j, bound in above if i == j or len(above) > 4096]
        claim = max([claim, *settled])
        blocks = [half for i, j, bound in above if i < j and bound > claim for half in _halves(i, j, hidden + 1)]
    return claim


def _halves(i: int, j: int, n: int) -> list[tuple[int, int]]:
    """Split a block where it is widest relative to its distance from the nearer end."""
    left, right = i + 1, n - j
    if left < right:
        middle = min(j - 1, max(i, i + left - 1)) if j - i > 2 * left else (i + j) // 2
    else:
        middle = max(i, min(j - 1, j - right)) if j - i > 2 * right else (i + j) // 2
    return [(i, middle), (middle + 1, j)]


def _block_bounds(blocks: list[tuple[int, int]], cells: Array, power: float, draws: int, epsilon: float) -> list[float]:
    if draws == 1:
        a, b = cells[:, 0], cells[:, 1]
        both = beta_delta(np.stack([a, b]), np.stack([b, a]), one(power), one(epsilon))
        return [float(v) for v in both.max(axis=0)]
    # A single k is judged as finely as the claim; a wider block only has to stay below it.
    dots = [FINE if i == j else COARSE for i, j in blocks]
    return [
        beta_pair_delta(float(a), float(b), power, draws, epsilon, d) for (a, b), d in zip(cells, dots, strict=True)
    ]


def _bernoulli_values(parameters: Parameters) -> tuple[float, float, int, float, int, int]:
    p = {key: number(value) for key, value in parameters.items()}
    return p["alpha"], p["beta"], int(p["n"]), p["power"], int(p["draws"]), int(p.get("trials", 1))


def _bernoulli_delta(parameters: Parameters, epsilon: float) -> float:
    alpha, beta, n, power, draws, trials = _bernoulli_values(parameters)
    return beta_bernoulli_delta(alpha, beta, n, power, draws, epsilon, trials=trials)


def _bernoulli_renyi(parameters: Parameters, order: float) -> float:
    alpha, beta, n, power, draws, trials = _bernoulli_values(parameters)
    # Proved for Renyi (convexity, Geumlek Theorem 15): the maximum is at an end.
    ends = beta_endpoints(alpha, beta, n, power, trials)
    exact = max(beta_renyi(x, y, power * trials, order) for a, b in ends for x, y in ((a, b), (b, a)))
    return draws * exact


_CHECK_BITS = takes(
    "beta-bernoulli", ("trials",), alpha=positive, beta=positive, n=whole, power=positive, draws=whole, trials=whole
)

_EXACT: dict[str, Registered] = {
    "beta-pair": Registered(
        takes("beta-pair", a=positive, b=positive, power=positive, draws=whole),
        _pair_delta,
        _pair_renyi,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of Beta({number(p['a']):g}+{number(p['power']):g}, {number(p['b']):g})"
            f" against Beta({number(p['a']):g}, {number(p['b']):g}+{number(p['power']):g})"
        ),
        _pair_deltas,
    ),
    "beta-bernoulli": Registered(
        _CHECK_BITS,
        _bernoulli_delta,
        _bernoulli_renyi,
        lambda p: (
            f"{int(number(p['draws']))} draw(s) of the Beta({number(p['alpha']):g}, {number(p['beta']):g}) posterior of"
            f" {int(number(p['n'])):,} bits at power {number(p['power']):.6g}"
        ),
    ),
    **GAMMA,
}

REGISTERED: dict[str, Registered] = {**{name: tolerant(profile) for name, profile in _EXACT.items()}, **PERTURBED}
