"""Truncated posteriors: the exact supremum of the log ratio, against 40 digits."""

from __future__ import annotations

import itertools
import math

import pytest
from mpmath import mp, mpf, quad

from sfumato.errors import AssumptionError
from sfumato.theorems import truncated


def exact_epsilon(alpha, beta, n, power, floor):
    """Supremum over all k and both directions, each normaliser by quadrature in logit coordinates."""
    mp.dps = 40
    half = mp.log((1 - mpf(floor)) / mpf(floor))

    def log_z(k):
        a, b = mpf(alpha) + mpf(power) * k, mpf(beta) + mpf(power) * (n - k)
        mode = min(max(mp.log(a / b), -half), half)
        log_f = lambda x: -a * mp.log1p(mp.exp(-x)) - b * mp.log1p(mp.exp(x))
        top = log_f(mode)
        cuts = sorted({-half, half, mode, *(max(-half, min(half, mode + s)) for s in (-1, -0.2, 0.2, 1))})
        return mp.log(quad(lambda x: mp.exp(log_f(x) - top), cuts)) + top

    values = {k: log_z(k) for k in {0, 1, n // 2, n - 1, n}}
    best = mpf(0)
    for k, m in itertools.pairwise(sorted(values)):
        if m != k + 1:
            continue
        rise = values[m] - values[k]
        best = max(best, power * half - rise, power * half + rise)
    return best


GOLDEN = [((1, 1, 100, 1, 0.1), 4.299138975), ((1, 1, 5, 1, 0.1), 3.295897), ((6, 12, 100, 1, 0.05), 5.560035)]


@pytest.mark.parametrize(("case", "golden"), GOLDEN)
def test_golden_values(case, golden):
    alpha, beta, n, power, floor = case
    found = truncated.beta(alpha=alpha, beta=beta, n=n, power=power, floor=floor).curve.epsilon_value
    assert found == pytest.approx(golden, abs=5e-7 if golden < 4 or golden > 5 else 5e-10)
    exact = exact_epsilon(*case)
    assert mpf(found) >= exact
    assert found == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(
    "case", [(0.2, 3.0, 7, 0.4, 0.02), (30.0, 4.0, 2000, 1.0, 0.2), (1.0, 1.0, 1_000_000, 1.0, 0.01)]
)
def test_between_one_and_two_lambda(case):
    alpha, beta, n, power, floor = case
    found = truncated.beta(alpha=alpha, beta=beta, n=n, power=power, floor=floor).curve.epsilon_value
    half = math.log((1 - floor) / floor)
    assert power * half < found <= 2 * power * half
    if n < 10_000:
        assert found == pytest.approx(float(exact_epsilon(*case)), rel=1e-9)


@pytest.mark.parametrize("case", [(1, 1, 3, 100, 0.01), (1, 1, 4, 300, 0.01), (2, 5, 7, 40, 0.1)])
def test_large_powers_are_not_below_the_supremum(case):
    alpha, beta, n, power, floor = case
    found = truncated.beta(alpha=alpha, beta=beta, n=n, power=power, floor=floor).curve.epsilon_value
    exact = exact_epsilon(*case)
    assert mpf(found) >= exact
    assert found == pytest.approx(float(exact), rel=1e-9)


def test_bounded_range_form_composes_better_over_many_draws():
    arguments = {"alpha": 1.0, "beta": 1.0, "n": 100, "floor": 0.1, "power": 0.05, "draws": 60}
    pure = truncated.beta(**arguments).epsilon(1e-6)
    ranged = truncated.beta(**arguments, form="bounded range").epsilon(1e-6)
    assert ranged < pure


def test_dirichlet_bounds_brute_force_of_log_ratios():
    """The largest and smallest of r (log theta_i - log theta_j) over the restricted simplex are 2 r log(...) apart."""
    size, floor, power = 4, 0.05, 0.7
    guarantee = truncated.dirichlet(categories=size, floor=floor, power=power)
    top = 1 - (size - 1) * floor
    assert guarantee.curve.epsilon_value == pytest.approx(2 * power * math.log(top / floor), rel=1e-12)


DROPPED = [
    ("beta", {"alpha": 0}, "prior cell"),
    ("beta", {"beta": 0}, "prior cell"),
    ("beta", {"n": 0}, "number of records"),
    ("beta", {"power": 0}, "power"),
    ("beta", {"floor": 0.0}, "truncation"),
    ("beta", {"floor": 0.5}, "truncation"),
    ("beta", {"form": "approximate"}, "form"),
    ("beta", {"draws": 0}, "draws"),
    ("dirichlet", {"categories": 1}, "categories"),
    ("dirichlet", {"floor": 0.34}, "truncation"),
    ("dirichlet", {"floor": 0.0}, "truncation"),
    ("dirichlet", {"power": math.nan}, "power"),
    ("dirichlet", {"draws": 0}, "draws"),
]


@pytest.mark.parametrize(("name", "change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(name, change, named):
    good = {"beta": {"alpha": 1.0, "beta": 1.0, "n": 5, "floor": 0.1}, "dirichlet": {"categories": 3, "floor": 0.1}}
    with pytest.raises(AssumptionError, match=named):
        getattr(truncated, name)(**{**good[name], **change})
