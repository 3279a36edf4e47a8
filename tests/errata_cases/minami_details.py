"""Minami et al. 2016, the supplement: the proof for losses that are not smooth (D.1)."""

from __future__ import annotations

import math

from scipy import integrate

from .case import NOTATION, Case, Evidence, Reading


def _bump(t: float) -> float:
    """(D.2) without its normalisation."""
    return math.exp(-1 / (1 - t**2)) if abs(t) < 1 else 0.0


def convolution() -> Evidence:
    """(D.3) at x = 0.8, a = 0.4 for the hinge max(0, 1 - t)."""
    x, a = 0.8, 0.4
    whole = integrate.quad(_bump, -1, 1)[0]
    hinge = lambda t: max(0.0, 1 - t)
    value = lambda g, low, high: integrate.quad(g, low, high, points=[x - 1], limit=200)[0] / (a * whole)
    first = value(lambda y: _bump((x - y) / a) * hinge(y), x - a, x + a)
    printed = value(lambda y: _bump(x / a) * hinge(x - y), -a, a)
    meant = value(lambda y: _bump(y / a) * hinge(x - y), -a, a)
    shows = f"hinge, x = 0.8, a = 0.4: first form {first:.4f}, second {printed:.4f} as printed, {meant:.4f} with φ(y/a)"
    return Reading(shows, printed=[printed], meant=[meant], truth=[first])


def potential() -> Evidence:
    """Log ratio of (D.4) at theta = 0 and 2, one hinge far from its kink, prior N(0, 1), power 0.5."""
    power, total = 0.5, lambda t: 0.5 * max(0.0, 3 - t)  # the smoothed sum of losses, with beta in it
    density = lambda t: math.exp(-total(t) - t**2 / 2)
    gap = lambda u: u(2.0) - u(0.0)
    truth = -math.log(density(2.0) / density(0.0))
    printed, meant = gap(lambda t: power * total(t) + t**2 / 2), gap(lambda t: total(t) + t**2 / 2)
    shows = f"one hinge, β = 0.5: −log of (D.4) changes by {truth:.3f} from 0 to 2, U_a as printed by {printed:.3f}"
    return Reading(shows, printed=[printed], meant=[meant], truth=[truth])


CASES = (
    Case("M", "(D.3), second form", NOTATION, "φ(x/a) f(x − y)", "φ(y/a) f(x − y); may be the text's extraction", convolution),
    Case("M", "before (D.6)", NOTATION, "U_a = β Φ_a(𝓛) − log π", "Φ_a(𝓛) − log π, as (D.4): 𝓛 has β in it", potential),
)  # fmt: skip
