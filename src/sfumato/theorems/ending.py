"""Endings on a public grid g Z^d: how the last step of a chain leaves the computer without a float in it.

(a) Exact discrete Gaussian of parameter sqrt(2h) around the mean rounded to the grid. Rounding moves two neighbouring
means apart by at most g sqrt(d) more. Between centres on the grid the discrete Gaussian has Renyi(alpha) at most that
of the continuous one and nothing else of it: at sigma = 1, shift 1, delta(0) is 0.3989, a 1-GDP law has 0.3829. So
only the Renyi curve alpha mu'^2/2 is claimed, and a ledger that counts in mu refuses it.

(b) Exact sample of round_g(mean + sqrt(2h) xi), the continuous normal rounded afterwards: post-processing, no charge.

Source: Canonne, Kamath and Steinke 2020 (discrete Gaussian); Bok, Su and Altschuler 2024 (the chain before it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sfumato.privacy.gaussian_tail import UNIT
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.renyi import Renyi
from sfumato.theorems._hypotheses import Hypotheses
from sfumato.theorems.finite_step import contraction_factor, last_iterate
from sfumato.theorems.path import whole_path

SOURCE = "Canonne, Kamath and Steinke 2020, discrete Gaussian"
# Orders 1 + 2^(k/4), up to a million, and the powers of two; the best listed one costs about half a percent of epsilon.
ORDERS = tuple(sorted({1.0 + 2.0 ** (k / 4.0) for k in range(-20, 81)} | {2.0**k for k in range(1, 21)}))


def discrete_last_iterate(
    *,
    spacing: float,
    dimension: int,
    difference: float,
    strong_convexity: float,
    smoothness: float,
    step: float,
    steps: int,
    convex: bool,
    public_start: bool,
    full_batch: bool,
    exact_sampler: bool,
    momentum: float,
    chains: int = 1,
    states: int = 1,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Ending (a) for the last iterate: Renyi(alpha) = alpha mu'^2/2, every hypothesis of `last_iterate` included.

    With s = h G + 2e, w = g sqrt(d), c = 1 - h m, V_t = 2h (1 - c^(2t))/(1 - c^2):
    mu' = mu_t + w/sqrt(V_t) where w <= s (1 - c^t)/(c + c^t), else mu'^2 = mu_{t-1}^2 + (s + w)^2/(2h).
    The second form is always sound; the first is false for coarse grids (docs/proofs/ending.md has the witness).
    """
    base = last_iterate(
        difference=difference,
        strong_convexity=strong_convexity,
        smoothness=smoothness,
        step=step,
        steps=steps,
        convex=convex,
        chains=chains,
        states=states,
        momentum=momentum,
        public_start=public_start,
        full_batch=full_batch,
        float_error=float_error,
        adjacency=adjacency,
        unit=unit,
    )
    h = _grid("finite-step theorem ending in a discrete Gaussian", base, spacing, dimension, exact_sampler)
    shift = step * difference + 2 * float_error
    square = _last_iterate_square(shift, spacing * math.sqrt(dimension), step, strong_convexity, steps)
    return _renyi(base, h, 0.5 * square * chains * states)


def discrete_path(
    *,
    spacing: float,
    dimension: int,
    difference: float,
    step: float | Sequence[float],
    steps: int,
    public_start: bool,
    public_schedule: bool,
    full_batch: bool,
    exact_sampler: bool,
    chains: int = 1,
    momentum: float = 0.0,
    float_error: float = 0.0,
    adjacency: str = "replace-one",
    unit: str = "row",
) -> Guarantee:
    """Ending (a) for the whole path: Renyi(alpha) = alpha rho, with s_k = h_k G + 2e and w = g sqrt(d),

    rho = 1/2 [ sum_{k<T} s_k^2/(2 h_k) + (s_T + w)^2/(2 h_T) ]; every hypothesis of `whole_path` included.
    """
    base = whole_path(
        difference=difference,
        step=step,
        steps=steps,
        chains=chains,
        momentum=momentum,
        public_start=public_start,
        public_schedule=public_schedule,
        full_batch=full_batch,
        float_error=float_error,
        adjacency=adjacency,
        unit=unit,
    )
    h = _grid("path composition ending in a discrete Gaussian", base, spacing, dimension, exact_sampler)
    width = spacing * math.sqrt(dimension)
    last = float(step[-1]) if isinstance(step, Sequence) else float(step)
    shift = last * difference + 2 * float_error
    # The last step's own charge is replaced: (s + w)^2 - s^2 = w (2 s + w).
    extra = width * (2 * shift + width) / (2 * last)
    mu = base.curve.mu or 0.0
    return _renyi(base, h, 0.5 * (mu * mu + chains * extra))


def rounded_normal(guarantee: Guarantee, *, spacing: float, exact_sampler: bool) -> Guarantee:
    """Ending (b): the released point is round_g(mean + sqrt(2h) xi), sampled exactly; the guarantee is unchanged.

    Rounding to a public grid is post-processing of the continuous normal, in every currency. `exact_sampler` declares
    that the rounded normal itself is sampled (bit by bit, Karney 2016) and not a float rounded afterwards.
    """
    h = Hypotheses("rounding to a public grid", "post-processing")
    h.number(spacing, "grid spacing", "g", "finite and greater than 0", "Choose a public positive spacing.")
    h.flag(
        exact_sampler,
        "exact rounded normal",
        "round_g(mean + noise)",
        "True",
        "Sample the rounded normal exactly; a float normal rounded afterwards has holes that identify its mean.",
        origin="sampler",
    )
    return replace(guarantee, assumptions=guarantee.assumptions + tuple(h.checked))


def _grid(theorem: str, base: Guarantee, spacing: float, dimension: int, exact_sampler: bool) -> Hypotheses:
    """Check the grid and the sampler, on top of what the chain's own theorem has checked."""
    h = Hypotheses(theorem, f"{base.source}; {SOURCE}")
    h.checked.extend(base.assumptions)
    h.number(spacing, "grid spacing", "g", "finite and greater than 0", "Choose a public positive spacing.")
    h.count(dimension, "dimension", "d", 1, "State the number of coordinates.")
    h.flag(
        exact_sampler,
        "exact discrete Gaussian",
        "N_Z(mean, 2h)",
        "True",
        "Sample with integer arithmetic only (Canonne, Kamath and Steinke 2020).",
        origin="sampler",
    )
    return h


def _last_iterate_square(shift: float, width: float, step: float, strong_convexity: float, steps: int) -> float:
    """mu'^2 of one chain: the cheapest way to hand the shift of all steps to their noises, in order.

    Handing more to an early noise than has accumulated is impossible, so the extra width of the last step can be spread
    over earlier noises only as far as the shift of those steps reaches.
    """
    unit_noise = 2.0 * step
    # Only this sum: the first t-1 steps as before, the whole of the last shift to the last noise.
    before = contraction_factor(step, strong_convexity, steps - 1) if steps > 1 else 0.0
    separate = (shift * shift * before + (shift + width) ** 2) / unit_noise
    contraction = step * strong_convexity
    if contraction == 0:
        return separate
    x = -math.log1p(-contraction) if contraction < 1 else math.inf
    fade, factor = math.exp(-steps * x), math.exp(-x)
    if width * (factor + fade) > shift * -math.expm1(-steps * x):
        return separate
    spread = math.expm1(-2 * steps * x) / math.expm1(-2 * x)
    total = math.sqrt(shift * shift * contraction_factor(step, strong_convexity, steps)) + width / math.sqrt(spread)
    return total * total / unit_noise


def _renyi(base: Guarantee, h: Hypotheses, rho: float) -> Guarantee:
    """Return the guarantee with Renyi(alpha) = alpha rho at the listed orders."""
    curve = Renyi(ORDERS, [order * rho * (1 + 64 * UNIT) for order in ORDERS])
    return h.guarantee(curve, base.adjacency, base.unit, draws=base.draws)
