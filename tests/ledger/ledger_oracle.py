"""What the ledger's promises are checked against: Gaussian profiles in 40 digits, finite mechanisms in exact trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import mpmath as mp

Pair = Mapping[str, tuple[float, float]]  # outcome -> (probability under P, under Q)


def gaussian_delta(epsilon: float, mu: float) -> mp.mpf:
    """Phi(-eps/mu + mu/2) - exp(eps) Phi(-eps/mu - mu/2) in 40 digits."""
    with mp.workdps(40):
        e, m = mp.mpf(epsilon), mp.mpf(mu)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


def revealing_delta(epsilon: float, mu: float, reveal: float) -> mp.mpf:
    """Delta of: with probability `reveal` tell all, else a mu-Gaussian."""
    with mp.workdps(40):
        r = mp.mpf(reveal)
        return r + (1 - r) * (gaussian_delta(epsilon, mu) if mu else 0)


def renyi(pair: Pair, order: float) -> float:
    """Renyi divergence of a finite pair, the larger of both directions."""

    def one(flip: bool) -> float:
        terms = []
        for both in pair.values():
            p, q = both[::-1] if flip else both
            if p > 0:
                terms.append(order * math.log(p) + (1 - order) * math.log(q) if q > 0 else math.inf)
        top = max(terms)
        return (top + math.log(math.fsum(math.exp(t - top) for t in terms))) / (order - 1)

    return max(one(False), one(True))


def randomised_response(epsilon: float) -> Pair:
    yes, no = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    return {"+": (yes, no), "-": (no, yes)}


def revealing(chance: float) -> Pair:
    """Tell everything with this chance, else nothing."""
    return {"P": (chance, 0.0), "Q": (0.0, chance), "": (1 - chance, 1 - chance)}


def mixture(chance: float, inner: Pair) -> Pair:
    """Tell everything with this chance, else run `inner`."""
    rest = {key: ((1 - chance) * p, (1 - chance) * q) for key, (p, q) in inner.items()}
    return {"P": (chance, 0.0), "Q": (0.0, chance), **rest}


def best_adaptive_delta(
    epsilon: float, menu: Mapping[str, Pair], allowed: Callable[[tuple[str, ...]], bool], most: int
) -> float:
    """Largest delta(epsilon) of an adversary who picks each mechanism after seeing every outcome so far.

    Exact: the tree of choices and outcomes is walked to the end. `allowed` is the filter: it sees the mechanisms picked
    so far with the next one last.
    """

    def value(p: float, q: float, picked: tuple[str, ...]) -> float:
        best = max(0.0, p - math.exp(epsilon) * q)
        if p == 0 or len(picked) == most:
            return best
        for name, pair in menu.items():
            after = (*picked, name)
            if allowed(after):
                best = max(best, math.fsum(value(p * a, q * b, after) for a, b in pair.values()))
        return best

    return value(1.0, 1.0, ())
