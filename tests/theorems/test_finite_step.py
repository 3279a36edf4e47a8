"""The finite-step theorem against chains propagated on a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from grid_oracle import hockey_stick, last_iterate
from sfumato.errors import AssumptionError
from sfumato.privacy.curves import Gaussian
from sfumato.theorems import finite_step

# What whoever runs the chain declares.
RUN = {"public_start": True, "full_batch": True, "momentum": 0.0}
GOOD = {"difference": 1.3, "strong_convexity": 2.0, "smoothness": 6.0, "step": 0.1, "steps": 5, "convex": True, **RUN}


@pytest.mark.parametrize(
    ("steps", "golden"), [(1, 0.290689), (2, 0.408582), (5, 0.620570), (20, 0.862070), (200, 0.872067)]
)
def test_golden_values(steps, golden):
    mu = finite_step.last_iterate(**{**GOOD, "steps": steps}).curve.mu
    assert f"{mu:.6f}" == f"{golden:.6f}"
    mp.dps = 40
    c = 1 - mpf(0.1) * 2
    exact = mpf(1.3) * mp.sqrt(mpf(0.1) / 2) * mp.sqrt((1 - c**steps) / (1 + c**steps) * (1 + c) / (1 - c))
    assert mpf(mu) >= exact
    assert mpf(mu) == pytest.approx(exact, rel=1e-9)


def test_golden_contraction():
    # c = 0.95, t = 160, L/(n sigma) = 0.1: 0.624329 against 1.264911 for the whole path.
    assert 0.1 * math.sqrt(finite_step.contraction_factor(0.05, 1.0, 160)) == pytest.approx(0.624329, abs=5e-7)
    assert 0.1 * math.sqrt(finite_step.contraction_factor(0.05, 0.0, 160)) == pytest.approx(1.264911, abs=5e-7)


def test_the_chain_costs_no_more_than_an_exact_draw():
    for steps in (1, 10, 1000, 10**6):
        for step in (0.25, 0.1, 1e-4):
            mu = finite_step.last_iterate(**{**GOOD, "step": step, "steps": steps}).curve.mu
            assert mu <= GOOD["difference"] / math.sqrt(GOOD["strong_convexity"])


def logistic_case(rng: np.random.Generator):
    """A smooth convex potential with a neighbour, its constants derived here, and a schedule."""
    n, power, radius, precision = (
        int(rng.integers(1, 10)),
        10 ** rng.uniform(-1, 0.5),
        rng.uniform(0.3, 2),
        rng.uniform(0.2, 3),
    )
    rows, labels = rng.uniform(-radius, radius, n), rng.choice([-1.0, 1.0], n)
    rows2, labels2 = rows.copy(), labels.copy()
    rows[0], labels[0], rows2[0], labels2[0] = radius, 1.0, radius, -1.0

    def gradient(r, y):
        return lambda t: (
            precision * t
            - power * sum(row * label / (1 + np.exp(row * label * t)) for row, label in zip(r, y, strict=True))
        )

    smooth = precision + power * n * radius**2 / 4
    step = rng.uniform(0.2, 1.0) * 2 / (precision + smooth)
    return gradient(rows, labels), gradient(rows2, labels2), 2 * power * radius, precision, smooth, step


def worst_ratio(scale: float, seed: int, cases: int) -> float:
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(cases):
        first, second, difference, precision, smooth, step = logistic_case(rng)
        steps, start = int(rng.choice([1, 2, 5, 20, 60])), rng.normal()
        claim = finite_step.last_iterate(
            difference=difference,
            strong_convexity=precision,
            smoothness=smooth,
            step=step,
            steps=steps,
            convex=True,
            **RUN,
        )
        spread = 8 * math.sqrt(1 / precision + 2 * step) + difference / precision * 5 + abs(start)
        x = np.linspace(-spread, spread, 900)
        wall = 0.2 * rng.normal() if rng.random() < 0.3 else None
        p, q = (last_iterate(g, x, step, steps, start, wall) for g in (first, second))
        mu = claim.curve.mu * scale
        for epsilon in (0.0, 0.5 * mu, 1.5 * mu):
            worst = max(worst, (hockey_stick(p, q, x, epsilon) - 1e-7) / Gaussian(mu).delta(epsilon))
    return worst


def test_50_propagated_chains_never_exceed_the_claim():
    assert worst_ratio(1.0, seed=3, cases=50) <= 1.0


@pytest.mark.planted
def test_the_same_check_catches_too_low_a_price():
    # In one dimension the logistic difference is half the general 2r, so half the price is just still true; 0.45 is not.
    assert worst_ratio(0.45, seed=3, cases=15) > 1.05


@pytest.mark.parametrize("steps", [1, 2, 5, 20, 60])
def test_quadratics_reach_the_claim(steps):
    m, g, step = 1.7, 0.9, 0.2
    x = np.linspace(-9, 9, 2001)
    p, q = (last_iterate(lambda t, s=s: m * t + s * g / 2, x, step, steps, 0.0) for s in (1, -1))
    claim = finite_step.last_iterate(
        difference=g, strong_convexity=m, smoothness=m, step=step, steps=steps, convex=True, **RUN
    )
    for epsilon in (0.0, 0.5, 1.0):
        assert claim.delta(epsilon) == pytest.approx(hockey_stick(p, q, x, epsilon), abs=1e-6)


@pytest.mark.planted
def test_it_is_false_without_convexity():
    """U = (x^2 - 1)^2 +- x/2: the formula with the wells' curvature is far below the truth, so the flag is refused."""
    x = np.linspace(-3.2, 3.2, 1601)
    p, q = (last_iterate(lambda t, s=s: 4 * t * (t * t - 1) + 0.5 * s, x, 0.02, 200, 0.0) for s in (1, -1))
    truth = hockey_stick(p, q, x, 0.5)
    formula = Gaussian(1.0 * math.sqrt(0.01) * math.sqrt(finite_step.contraction_factor(0.02, 8.0, 200))).delta(0.5)
    assert truth == pytest.approx(0.202, abs=2e-3)
    assert formula == pytest.approx(0.0134, abs=2e-4)
    assert truth > 10 * formula


def test_states_of_one_chain_and_chains_compose():
    one = finite_step.last_iterate(**GOOD).curve.mu
    assert finite_step.last_iterate(**GOOD, states=4).curve.mu == pytest.approx(2 * one, rel=1e-12)
    assert finite_step.last_iterate(**GOOD, chains=9).curve.mu == pytest.approx(3 * one, rel=1e-12)


def test_rounding_error_is_charged():
    step, error = GOOD["step"], 1e-3
    charged = finite_step.last_iterate(**GOOD, float_error=error).curve.mu
    bigger = finite_step.last_iterate(**{**GOOD, "difference": 1.3 + 2 * error / step}).curve.mu
    assert charged == pytest.approx(bigger, rel=1e-12)


DROPPED = [
    ({"convex": False}, "convexity"),
    ({"public_start": False}, "public start"),
    ({"full_batch": False}, "full batch"),
    ({"momentum": 0.9}, "momentum"),
    ({"strong_convexity": -1.0}, "strong convexity"),
    ({"smoothness": math.inf}, "smoothness"),
    ({"smoothness": 1.0}, "smoothness at least"),
    ({"difference": math.inf}, "gradient difference"),
    ({"step": 0.0}, "step size"),
    ({"step": 0.2500001}, "contracting step"),
    ({"steps": 0}, "number of steps"),
    ({"steps": 2.5}, "number of steps"),
    ({"chains": 0}, "number of chains"),
    ({"states": 0}, "states kept"),
    ({"float_error": -1e-9}, "rounding error"),
]


@pytest.mark.parametrize(("change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(change, named):
    with pytest.raises(AssumptionError, match=named) as caught:
        finite_step.last_iterate(**{**GOOD, **change})
    assert caught.value.remedy
