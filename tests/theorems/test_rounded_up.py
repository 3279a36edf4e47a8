"""Closed forms against 50 digits: the price that a theorem returns is never below its formula, and hardly above."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from sfumato.models._rounding import inverse_up, line_down, line_up, norm_up, product_up
from sfumato.theorems import conjugate, exponential, finite_step, location, path, sharp
from sfumato.theorems.gaussian import gaussian_mechanism

CASES = 300
CONVEX = {"convex": True, "convex_domain": True}
RUN = {"public_start": True, "full_batch": True}


def contraction(step, strong, steps):
    c = 1 - step * strong
    return (1 - c**steps) / (1 + c**steps) * (1 + c) / (1 - c)


def last_iterate(g, m, h, t, k, e):
    claim = finite_step.last_iterate(
        difference=g, strong_convexity=m, smoothness=m, step=h, steps=t, float_error=e, chains=k, momentum=0.0,
        convex=True, **RUN,
    )  # fmt: skip
    g, m, h, e = map(mpf, (g, m, h, e))
    return claim.curve.mu, (h * g + 2 * e) / mp.sqrt(2 * h) * mp.sqrt(k * contraction(h, m, t))


def whole_path(g, m, h, t, k, e):
    claim = path.whole_path(
        difference=g, step=h, steps=t, chains=k, float_error=e, public_schedule=True, **RUN
    )  # fmt: skip
    g, h, e = map(mpf, (g, h, e))
    return claim.curve.mu, mp.sqrt(k * t) * (h * g + 2 * e) / mp.sqrt(2 * h)


def gibbs_draw(g, m, h, t, k, e):
    claim = sharp.gibbs_draw(difference=g, strong_convexity=m, draws=k, **CONVEX)
    return claim.curve.mu, mpf(g) / mp.sqrt(mpf(m)) * mp.sqrt(k)


def gaussian_mean(g, m, h, t, k, e):
    claim = sharp.gaussian_mean(power=h, radius=g, n=t, precision=m, draws=k)
    return claim.curve.mu, 2 * mpf(h) * mpf(g) / mp.sqrt(t * mpf(h) + mpf(m)) * mp.sqrt(k)


def normal_location(g, m, h, t, k, e):
    claim = location.gaussian_location(
        curvatures=[0.5 * g, g], precisions=[m, 0.3 * m], n=t, sensitivity=h, power=0.7, strength=1.3, draws=k
    )
    steep = max(
        mpf(a) / mp.sqrt(mpf(1.3) * mpf(p) + mpf(0.7) * t * mpf(a)) for a, p in ((0.5 * g, m), (g, 0.3 * m))
    )  # fmt: skip
    return claim.curve.mu, mpf(0.7) * mpf(h) * steep * mp.sqrt(k)


def log_odds(g, m, h, t, k, e):
    claim = location.logit_draw(precision=m, power=h, strength=1.3, draws=k)
    return claim.curve.mu, mpf(h) / mp.sqrt(mpf(1.3) * mpf(m)) * mp.sqrt(k)


def exponential_range(g, m, h, t, k, e):
    claim = exponential.exponential_mechanism(power=h, sensitivity=g)
    return claim.curve.epsilon_value, 2 * mpf(h) * mpf(g)


def lipschitz(g, m, h, t, k, e):
    return exponential.lipschitz_composition(sensitivity=g, power=h, distance=k), k * mpf(g) * 2 * mpf(h)


def bounded_loss(g, m, h, t, k, e):
    return exponential.bounded_loss_sensitivity(lower=-g, upper=h), mpf(h) + mpf(g)


def noise(g, m, h, t, k, e):
    return gaussian_mechanism(noise=m, sensitivity=g).curve.mu, mpf(g) / mpf(m)


FORMULAS = [
    last_iterate, whole_path, gibbs_draw, gaussian_mean, normal_location, log_odds, exponential_range, lipschitz,
    bounded_loss, noise,
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=[formula.__name__ for formula in FORMULAS])
def test_a_price_is_never_below_its_formula(formula):
    rng = np.random.default_rng(11)
    with mp.workdps(50):
        for _ in range(CASES):
            g, m = (float(10 ** rng.uniform(-3, 3)) for _ in range(2))
            h = float(10 ** rng.uniform(-4, -0.1)) / m
            t, k = int(10 ** rng.uniform(0, 5)), int(rng.integers(1, 9))
            e = float(rng.choice([0.0, 1e-12, 1e-3])) * h * g
            found, exact = formula(g, m, h, t, k, e)
            assert exact <= found <= exact * (1 + mpf(1e-12)), (g, m, h, t, k, e)


def test_sums_and_products_of_constants_are_rounded_to_the_side_asked_for():
    from fractions import Fraction

    rng = np.random.default_rng(12)
    for _ in range(CASES):
        a, b, c = (float(10 ** rng.uniform(-5, 5)) for _ in range(3))
        n = int(rng.integers(1, 10**6))
        exact = Fraction(a) * Fraction(b) * Fraction(c)
        line = n * Fraction(a) * Fraction(b) + Fraction(c)
        tiny = 1 + Fraction(1, 1 << 51)
        assert exact <= Fraction(product_up(a, b, c)) <= exact * tiny
        assert line <= Fraction(line_up(n, a, b, c)) <= line * tiny
        assert line / tiny <= Fraction(line_down(n, a, b, c)) <= line
        assert 1 <= Fraction(inverse_up(a)) * Fraction(a) <= tiny
        square = Fraction(a) ** 2 + Fraction(b) ** 2
        assert square <= Fraction(norm_up(a, b)) ** 2 <= square * tiny**2


def test_a_dirichlet_is_priced_by_its_two_smallest_cells_wherever_they_stand():
    """The order in which categories are listed is no part of the price."""
    one = conjugate.dirichlet(cells=[1.0, 2.0, 7.0, 9.0], power=0.6)
    for cells in ([9.0, 7.0, 2.0, 1.0], [7.0, 1.0, 9.0, 2.0], [2.0, 9.0, 1.0, 7.0]):
        assert conjugate.dirichlet(cells=cells, power=0.6).curve == one.curve
    assert dict(one.curve.parameters)["a"] == 1.0
    assert dict(one.curve.parameters)["b"] == 2.0
