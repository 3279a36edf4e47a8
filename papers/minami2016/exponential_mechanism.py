"""The exponential mechanism: Theorems 3 and 4 and the Lipschitz maps of supplement A, over every pair of small data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import special

from papers import drawing
from papers.minami2016 import _exact
from papers.reporting import REPRODUCED, TIGHTER, Output
from sfumato.theorems import exponential

PLACE = "Theorems 3 and 4; supplement A, (A.1), (A.2)"


def gibbs(losses: np.ndarray, prior: np.ndarray, power: float) -> np.ndarray:
    """The Gibbs map on finitely many parameters."""
    return special.softmax(-power * losses + np.log(prior))


def brute_distance(p: np.ndarray, q: np.ndarray) -> float:
    """(A.1) over every event."""
    events = [list(e) for k in range(1, len(p) + 1) for e in itertools.combinations(range(len(p)), k)]
    return max(abs(math.log(p[e].sum() / q[e].sum())) for e in events)


def run(out: Output) -> None:
    """Random tables of losses, every pair of neighbours, and the pair that attains the bound."""
    shares, errors, deltas = _tables(out.sized(40, 400))
    out.claim("Theorem 3", "β <= ε/(2Δ) gives (ε, 0)", paper="d_DP at most ε = 2βΔ",
              here=f"largest share of it {max(shares):.3f} in {len(shares)} pairs; δ(ε) at most {max(deltas):.0e}",
              verdict=REPRODUCED, shown=0 < max(shares) <= 1 + 1e-12 and max(deltas) <= 1e-15)  # fmt: skip
    out.claim("(A.1)", "d_DP is the supremum over events of |log μ1(A) - log μ2(A)|", paper="supremum over events",
              here=f"attained at single points; over all events the same within {max(errors):.0e}", verdict=REPRODUCED,
              shown=max(errors) < 1e-9)  # fmt: skip
    tilts = 10.0 ** -np.arange(1, 9)
    attained = [_two_points(t) for t in tilts]
    out.claim("supplement A, (A.2)", "the Gibbs map is 2β-Lipschitz", paper="at most 1 (times 2βΔ)",
              here=f"two parameters: {attained[0]:.3f} to {attained[-1]:.7f} as the prior tilts to one of them",
              verdict=REPRODUCED, shown=0.9999 < attained[-1] <= 1)  # fmt: skip
    _theorem_4(out)
    _unbounded(out)
    out.table(("prior weight of the first parameter", "d_DP over 2 beta Delta"), zip(tilts, attained, strict=True))
    _draw(out, shares, tilts, attained)


def _tables(count: int) -> tuple[list[float], list[float], list[float]]:
    rng = np.random.default_rng(3)
    shares, errors, deltas = [], [], []
    for _ in range(count):
        table, prior, power = rng.uniform(-1, 1, (4, 6)), rng.dirichlet(np.ones(6)), 10 ** rng.uniform(-1.5, 0.5)
        sensitivity = max(float(np.abs(a - b).max()) for a, b in itertools.product(table, table))
        bound = exponential.lipschitz_composition(sensitivity=sensitivity, power=power)
        for kept, (one, two) in itertools.product(range(4), itertools.permutations(range(4), 2)):
            p, q = (gibbs(table[kept] + table[k], prior, power) for k in (one, two))
            shares.append(exponential.dp_distance(p, q) / bound)
            deltas.append(_exact.hockey_stick(p, q, bound))
        errors.append(abs(brute_distance(p, q) - exponential.dp_distance(p, q)))
    return shares, errors, deltas


def _two_points(tilt: float, power: float = 0.5, sensitivity: float = 2.0) -> float:
    """Share of 2 beta Delta that two parameters with losses (Delta, 0) and (0, Delta) reach."""
    losses, prior = np.array([[sensitivity, 0.0], [0.0, sensitivity]]), np.array([tilt, 1 - tilt])
    distance = brute_distance(gibbs(losses[0], prior, power), gibbs(losses[1], prior, power))
    return distance / (2 * power * sensitivity)


def _theorem_4(out: Output) -> None:
    power, bound = 0.5, 1.0
    tilt = np.array([1e-9, 1 - 1e-9])
    # |l| <= A: the losses of two records are (A, -A) and (-A, A); a loss in [0, A] has (A, 0) and (0, A).
    both = [brute_distance(gibbs(np.array(a), tilt, power), gibbs(np.array(b), tilt, power))
            for a, b in (((bound, -bound), (-bound, bound)), ((bound, 0.0), (0.0, bound)))]  # fmt: skip
    claims = [exponential.exponential_mechanism(
        power=power, sensitivity=exponential.bounded_loss_sensitivity(lower=low, upper=bound)).epsilon(0.0)
        for low in (-bound, 0.0)]  # fmt: skip
    out.claim("Theorem 4(a)", "|l| <= A gives (4βA, 0)", paper=f"{4 * power * bound:g} at β = 0.5, A = 1",
              here=f"{both[0]:.6f}, attained in the limit of a tilted prior", verdict=REPRODUCED,
              shown=1.9999 < both[0] <= 2 and abs(claims[0] - 2) < 1e-9)  # fmt: skip
    out.claim("Theorem 4(a)", "the same for a loss in [0, A]", paper=f"{4 * power * bound:g}",
              here=f"{claims[1]:.6f}: its difference is at most A", verdict=TIGHTER,
              shown=0.9999 < both[1] <= 1 and abs(claims[1] - 1) < 1e-9)  # fmt: skip
    out.claim("Theorem 4(b)", "a difference of at most L gives (2βL, 0)", paper=f"{2 * power * bound:g} at β = 0.5, L = 1",
              here=f"{both[1]:.6f}, attained in the limit", verdict=REPRODUCED, shown=0.9999 < both[1] <= 1)  # fmt: skip


def _unbounded(out: Output) -> None:
    p = 10.0 ** -np.array([2.0, 4.0, 8.0])
    bernoulli = np.abs(np.log(p) - np.log1p(-p))
    theta = np.array([1e2, 1e4, 1e8])
    normal = np.abs(0.5 * (theta - 1.0) ** 2 - 0.5 * theta**2)
    out.claim("section 2.2", "the sensitivity of the Bernoulli and of the Gaussian mean is infinite", paper="unbounded",
              here=f"|l(p,0) - l(p,1)| = {bernoulli[0]:.1f}, {bernoulli[1]:.1f}, {bernoulli[2]:.1f} at p = 1e-2, 1e-4, "
              f"1e-8; Gaussian, records 0 and 1: {normal[0]:.0f}, {normal[2]:.0e} at θ = 1e2, 1e8", verdict=REPRODUCED,
              shown=bool(np.allclose(np.diff(bernoulli) / np.diff(-np.log(p)), 1, rtol=0.01) and normal[2] > 1e7))  # fmt: skip


def _draw(out: Output, shares: list[float], tilts: np.ndarray, attained: list[float]) -> None:
    figure, axes = drawing.panels("Exponential mechanism: d_DP as a share of 2βΔ", 1, 2)
    left, right = axes[0]
    left.hist(shares, bins=40, color=drawing.COLOURS[0])
    left.axvline(1.0, color=drawing.COLOURS[1], linestyle="--", label="the bound")
    drawing.label(left, f"random tables, {len(shares)} pairs", "d_DP / (2βΔ)", "number of pairs")
    drawing.legend(left)
    right.semilogx(tilts, attained, marker="o", markersize=4, **drawing.style(0))
    right.axhline(1.0, color=drawing.COLOURS[1], linestyle="--", label="the bound")
    drawing.label(right, "two parameters, βΔ = 1", "prior weight of the first parameter", "d_DP / (2βΔ)")
    drawing.legend(right, loc="lower left")
    out.figure(
        figure, "Distances of neighbouring Gibbs posteriors as a share of their bound, and a pair that attains it."
    )
