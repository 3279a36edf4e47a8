"""Beta posteriors of the synthetic experiments, and divergences by quadrature that use none of the library's formulas."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln

import sfumato as sf

# Section 5.1: eta_0 = (6, 18), which is Beta(6, 12), 100 trials, 38 of them successful.
ALPHA, BETA, N, ONES = 6.0, 12.0, 100, 38
MODEL = sf.families.BetaBernoulli(ALPHA, BETA)
# Values of r and m in Figure 1.
SCALES = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def renyi(p: tuple[float, float], q: tuple[float, float], order: float) -> float:
    """D_order of Beta(p) from Beta(q): the integral of P^a Q^(1-a) in log odds, by adaptive quadrature; infinite outside."""
    first, second = (order * x + (1 - order) * y for x, y in zip(p, q, strict=True))
    if min(first, second, *p, *q) <= 0:
        return math.inf
    mode = math.log(first / second)

    def log_integrand(x: float) -> float:
        return float(-first * np.logaddexp(0, -x) - second * np.logaddexp(0, x))

    top = log_integrand(mode)
    # The integrand falls like a normal near its mode and like an exponential in its tails.
    reach = 12 / math.sqrt(first * second / (first + second)) + 45 / min(first, second)
    value = quad(
        lambda x: math.exp(log_integrand(x) - top), mode - reach, mode + reach,
        points=[mode], limit=400, epsabs=0, epsrel=1e-12,
    )[0]  # fmt: skip
    return float((math.log(value) + top - order * betaln(*p) - (1 - order) * betaln(*q)) / (order - 1))


def worst(order: float, r: float = 1.0, s: float = 1.0, n: int = N, a: float = ALPHA, b: float = BETA) -> float:
    """Largest divergence over neighbouring data sets whose other records agree or are evenly mixed; both directions."""
    kept = sorted({0, 1, (n - 1) // 2, n - 2, n - 1} & set(range(n)))
    pairs = [[(s * a + r * (k + up), s * b + r * (n - k - up)) for up in (0, 1)] for k in kept]
    return max(renyi(p, q, order) for pair in pairs for p, q in permutations(pair))
