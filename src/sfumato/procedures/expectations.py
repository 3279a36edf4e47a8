"""What a reader of a family's draws may expect: simulated from the prior with fixed seeds, never from a record."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sfumato.models.families.family import Array, Family
from sfumato.procedures.outlook import Expected

# Simulated data sets behind a half-width, and behind a divergence (which needs special functions of each).
_SIMULATED, _COMPARED = 8192, 256


@lru_cache(maxsize=64)
def _simulated(model: Family, n: int, size: int) -> tuple[Array, Array]:
    """True parameters and totals, simulated from the prior with a fixed seed: public numbers, the same for every data set."""
    return model.simulate(np.random.default_rng(20_170_117), size, n)


def expected(model: Family, n: int, power: float, strength: float, noise: float = 0.0) -> Expected:
    """How far one draw lies from the true parameter 9 times in 10, data and parameter drawn from the prior."""
    own = model.expectation(n, power)
    if own is not None:
        return Expected(**own)
    value, bare = (_half_width(model, n, *case) for case in ((power, strength, noise), (1.0, 1.0, 0.0)))
    # Simulated errors, and records that are clipped at a bound, can make the noisy draw look closer. Without privacy one could add
    # the noise too, so the draw is expected no closer than that.
    return Expected("half-width", max(value, bare), bare, model.quantity)


# A price list asks for the half-width without privacy once for each price.
@lru_cache(maxsize=64)
def _half_width(model: Family, n: int, power: float, strength: float, noise: float) -> float:
    size = max(256, _SIMULATED // len(model.labels))
    truth, totals = _simulated(model, n, size)
    rng = np.random.default_rng(1)
    if noise > 0:
        totals = model.feasible(totals + noise * rng.standard_normal(totals.shape), n)
    draws = model.sketch(rng, model.natural(totals, n, power, strength))
    return float(np.quantile(model.distance(draws, truth), 0.9))


def divergence(model: Family, n: int, power: float, strength: float, noise: float = 0.0) -> float:
    """KL of the true posterior from the released law, averaged over data from the prior: what "auto" minimises.

    With noisy totals the released law is the mixture over the noise; it is compared coordinate by coordinate through means
    and variances, as normal laws are.
    """
    if noise > 0:
        return _mixture_divergence(model, n, noise)
    _, totals = _simulated(model, n, _COMPARED)
    gap = model.divergence(model.natural(totals, n), model.natural(totals, n, power, strength))
    return float(np.mean(gap))


def _mixture_divergence(model: Family, n: int, noise: float) -> float:
    sets, repeats = 32, max(32, 256 // max(1, len(model.labels) // 16))
    _, totals = _simulated(model, n, sets)
    rng = np.random.default_rng(2)
    many = np.repeat(totals, repeats, axis=0)
    seen = model.feasible(many + noise * rng.standard_normal(many.shape), n)
    exact, released = (model.sketch(rng, model.natural(values, n)) for values in (many, seen))
    moments = []
    for draws in (exact, released):
        each = draws.reshape(sets, repeats, -1)
        moments.append((each.mean(axis=1), each.var(axis=1) + 1e-300))
    (mean, spread), (moved, wider) = moments
    gap = 0.5 * (spread / wider + (mean - moved) ** 2 / wider - 1 + np.log(wider / spread))
    return float(gap.sum(axis=-1).mean())
