"""Trimmed Gamma posteriors: the exact supremum of the log ratio, against 40 digits and against all neighbours."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from effort import sized
from sfumato.errors import AssumptionError
from sfumato.theorems import truncated


def log_normaliser(shape, rate, lower, upper):
    """Log of the integral of theta^(shape-1) exp(-rate theta) over [lower, upper], by quadrature in theta, cut at its peak."""
    shape, rate, lower, upper = map(mpf, (shape, rate, lower, upper))
    log_f = lambda t: (shape - 1) * mp.log(t) - rate * t
    peak = min(max((shape - 1) / rate, lower), upper)
    slope = abs((shape - 1) / peak - rate)
    width = 1 / (slope + mp.sqrt(abs(shape - 1) + 1) / peak)
    spread = [peak + sign * width * mpf(2) ** k for sign in (-1, 1) for k in range(-4, 11)]
    cuts = sorted({lower, upper, peak, *(min(max(x, lower), upper) for x in spread)})
    return mp.log(mp.quad(lambda t: mp.exp(log_f(t) - log_f(peak)), cuts)) + log_f(peak)


def exact_epsilon(shape, rate, n, bound, lower, upper, q, power, strength=1.0):
    """The two ends of the range of totals, each normaliser by quadrature."""
    mp.dps = 40
    after = mpf(strength) * mpf(shape) + mpf(power) * n * mpf(q)
    least, move = mpf(strength) * mpf(rate), mpf(power) * mpf(bound)
    z = [log_normaliser(after, least + move * k, lower, upper) for k in (0, 1, n - 1, n)]
    return max(-move * mpf(lower) - (z[1] - z[0]), (z[3] - z[2]) + move * mpf(upper))


def epsilon(shape, rate, n, bound, lower, upper, q, power, strength=1.0):
    return truncated.gamma(
        shape=shape, rate=rate, n=n, bound=bound, lower=lower, upper=upper,
        shape_per_record=q, power=power, strength=strength,
    ).curve.epsilon_value  # fmt: skip


CASES = [
    (1.0, 1.0, 5, 1.0, 0.1, 2.0, 1.0, 1.0),
    (1.0, 1.0, 100, 1.0, 0.1, 2.0, 1.0, 1.0),
    (0.05, 0.2, 1, 3.0, 0.01, 50.0, 1.0, 0.01),
    (2.0, 1.0, 400, 10.0, 0.1, 5.0, 0.5, 0.02),
    (2.0, 1.0, 1_000_000, 10.0, 0.1, 5.0, 1.0, 0.5),  # both modes outside the range
    (2.0, 50.0, 3, 0.01, 0.5, 0.6, 0.5, 1.0),
    (4000.0, 4000.0, 7, 5.0, 0.9, 1.2, 1.0, 1.0),
    (1.0, 1e-3, 30, 0.001, 1.0, 1e4, 1.0, 1.0),
]


@pytest.mark.planted
@pytest.mark.parametrize("case", CASES)
def test_it_is_the_exact_supremum_and_never_below_it(case):
    found, exact = epsilon(*case), exact_epsilon(*case)
    assert mpf(found) >= exact
    assert found == pytest.approx(float(exact), rel=1e-9, abs=2e-10)
    lower, upper, bound, power = case[4], case[5], case[3], case[7]
    assert found <= power * bound * (upper - lower) * (1 + 1e-12)
    # The planted fault: ends of the range of totals mistaken for each other.
    assert abs(mpf(found) - swapped(*case)) > 1e-6 * exact


def swapped(shape, rate, n, bound, lower, upper, q, power):
    mp.dps = 40
    after, move = mpf(shape) + mpf(power) * n * mpf(q), mpf(power) * mpf(bound)
    z = [log_normaliser(after, mpf(rate) + move * k, lower, upper) for k in (0, 1)]
    return (z[1] - z[0]) + move * mpf(lower)


@settings(max_examples=sized(5, 12))
@given(
    shape=st.floats(0.05, 30),
    rate=st.floats(0.05, 30),
    n=st.integers(1, 300),
    bound=st.floats(0.01, 20),
    lower=st.floats(0.01, 2),
    width=st.floats(1.05, 60),
    q=st.sampled_from([0.5, 1.0]),
    power=st.floats(0.01, 1),
    strength=st.sampled_from([1.0, 7.5]),
)
def test_random_parameters(shape, rate, n, bound, lower, width, q, power, strength):
    case = (shape, rate, n, bound, lower, lower * width, q, power, strength)
    found, exact = epsilon(*case), exact_epsilon(*case)
    assert mpf(found) >= exact
    assert found == pytest.approx(float(exact), rel=1e-9, abs=2e-10)


@pytest.mark.parametrize("q", sized([0.5], [0.5, 1.0]))
def test_never_below_brute_force_over_all_neighbours(q):
    """Every pair of totals that one record separates, whole and partial moves, and every theta of a grid."""
    shape, rate, n, bound, lower, upper, power = 0.4, 0.7, 4, 2.0, 0.2, 3.0, 0.6
    thetas = np.linspace(lower, upper, 60)
    totals = [rate + power * bound * k / 4 for k in range(4 * n + 1)]
    mp.dps = 30
    logs = {t: float(log_normaliser(shape + power * n * q, t, lower, upper)) for t in totals}
    worst = 0.0
    for first, second in itertools.permutations(totals, 2):
        if abs(first - second) <= power * bound * (1 + 1e-12):
            ratio = -(first - second) * thetas - logs[first] + logs[second]
            worst = max(worst, float(ratio.max()))
            assert ratio.max() - ratio.min() <= power * bound * (upper - lower) * (1 + 1e-12)
    found = epsilon(shape, rate, n, bound, lower, upper, q, power)
    assert found >= worst
    assert found == pytest.approx(worst, rel=1e-9)


def test_between_half_and_the_whole_of_the_bounded_range():
    for n in (1, 10, 1000, 10**7):
        found = epsilon(1.0, 1.0, n, 1.0, 0.1, 2.0, 1.0, 1.0)
        assert 0.5 * 1.9 < found <= 1.9 * (1 + 1e-12)


def test_bounded_range_form_composes_better_over_many_draws():
    facts = {"shape": 1.0, "rate": 1.0, "n": 100, "bound": 1.0, "lower": 0.1, "upper": 2.0, "power": 0.05, "draws": 60}
    ranged = truncated.gamma(**facts, form="bounded range")
    assert ranged.epsilon(1e-6) < truncated.gamma(**facts).epsilon(1e-6)
    assert ranged.curve.renyi(math.inf) == pytest.approx(60 * 0.05 * 1.9, rel=1e-12)


def test_the_error_of_drawn_masses_is_charged():
    facts = {"shape": 1.0, "rate": 1.0, "n": 100, "bound": 1.0, "lower": 0.1, "upper": 2.0}
    bare, off = truncated.gamma(**facts), truncated.gamma(**facts, log_error=1e-4)
    assert off.curve.epsilon_value - bare.curve.epsilon_value == pytest.approx(2e-4, rel=1e-6)
    ranges = [truncated.gamma(**facts, form="bounded range", log_error=e).curve.epsilon_value for e in (0.0, 1e-4)]
    assert ranges[1] - ranges[0] == pytest.approx(4e-4, rel=1e-6)


DROPPED = [
    ({"shape": 0}, "prior shape"),
    ({"rate": 0}, "prior rate"),
    ({"n": 0}, "number of records"),
    ({"bound": 0}, "bound"),
    ({"bound": math.inf}, "bound"),
    ({"lower": 0}, "truncation"),
    ({"upper": math.inf}, "truncation"),
    ({"lower": 2.0}, "truncation"),
    ({"shape_per_record": 0}, "shape per record"),
    ({"power": 0}, "power"),
    ({"strength": math.nan}, "strength"),
    ({"draws": 0}, "draws"),
    ({"form": "approximate"}, "form"),
    ({"log_error": -1e-9}, "error"),
]


@pytest.mark.parametrize(("change", "named"), DROPPED)
def test_each_hypothesis_is_asked_for(change, named):
    good = {"shape": 1.0, "rate": 1.0, "n": 5, "bound": 1.0, "lower": 0.1, "upper": 2.0}
    truncated.gamma(**good)
    with pytest.raises(AssumptionError, match=named):
        truncated.gamma(**{**good, **change})
