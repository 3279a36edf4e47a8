"""Pure and bounded-range curves against randomised response and brute force over laws on two and three points."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import sfumato as sf
from sfumato.privacy.curves import Curve

TIGHT = 1e-9
BOUNDS = st.one_of(st.floats(1e-6, 1.0), st.floats(1.0, 60.0))
# Where in (0, bound) to ask: anywhere, and a hair below the bound.
SHARES = st.one_of(st.floats(0, 1), st.integers(1, 50).map(lambda k: 1 - 2.0**-k))
ORDERS = st.one_of(st.just(1.0), st.floats(1.000001, 3), st.floats(3, 1e4))


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def pure_delta(bound: float, epsilon: float) -> mp.mpf:
    return oracles.composed_responses([bound], epsilon)


def pure_renyi(bound: float, order: float) -> mp.mpf:
    with mp.workdps(120):
        return min(mp.mpf(bound), oracles.finite_renyi(*oracles.randomised_response(bound), order))


def range_delta(bound: float, epsilon: float) -> mp.mpf:
    """Largest hockey-stick divergence over the two-point laws, by search over where the interval lies."""
    with mp.workdps(60):
        half = mp.mpf(bound) / 2
        best = half + mp.mpf(epsilon) / 2  # the stationary point; the test below checks that no other place is worse
        return oracles.hockey_stick(*oracles.bounded_range_laws(bound, best), epsilon)


def range_renyi(bound: float, order: float) -> mp.mpf:
    """Largest Renyi divergence over the two-point laws, at the stationary place of the interval (checked below)."""
    with mp.workdps(80):
        e, a = mp.exp(mp.mpf(bound)), mp.mpf(order)
        if a == 1:
            best = (e - 1) / mp.mpf(bound)
        else:
            best = (a - 1) / a * (e - e ** (1 - a)) / (1 - e ** (1 - a))
        return oracles.finite_renyi(*oracles.bounded_range_laws(bound, mp.log(best)), order)


def covers(value: float, truth: mp.mpf, slack: float = TIGHT) -> bool:
    """True where the value is not below the truth and not above it by more than `slack`."""
    return bool(truth <= value <= truth * (1 + mp.mpf(slack)) + mp.mpf(5e-324))


# --- golden values ---------------------------------------------------------------------------------------------------


def test_golden_mu():
    assert f"{sf.Pure(1.0).mu:.10f}" == "1.2320353853"
    assert f"{sf.BoundedRange(1.0).mu:.10f}" == "0.6238925921"


@given(st.floats(1e-8, 60), ORDERS)
def test_bounded_range_is_zero_concentrated(bound, order):
    # eps^2/8-zCDP: Renyi(alpha) <= alpha eps^2/8 for every order.
    limit = mp.mpf(order) * mp.mpf(bound) ** 2 / 8
    assert sf.BoundedRange(bound).renyi(order) <= limit * (1 + mp.mpf(1e-14))


# --- pure: randomised response ---------------------------------------------------------------------------------------


@given(st.floats(0.01, 30), st.floats(0, 1))
def test_the_reference_is_the_hockey_stick_of_randomised_response(bound, share):
    direct = oracles.hockey_stick(*oracles.randomised_response(bound), bound * share)
    assert abs(pure_delta(bound, bound * share) - direct) < mp.mpf(10) ** -45


@given(BOUNDS, SHARES)
def test_pure_delta_is_that_of_randomised_response(bound, share):
    curve = sf.Pure(bound)
    for epsilon in (bound * share, -bound * share):
        assert covers(curve.delta(epsilon), pure_delta(bound, epsilon))
    assert curve.delta(bound) == 0


@given(BOUNDS, st.one_of(st.floats(0, 1), st.integers(1, 300).map(lambda k: 10.0**-k)))
def test_pure_epsilon_inverts_delta(bound, delta):
    value = sf.Pure(bound).epsilon(delta)
    assert pure_delta(bound, value) <= delta
    assert value == 0 or value <= 1e-12 or pure_delta(bound, value * (1 - TIGHT)) > delta


@given(BOUNDS, ORDERS)
def test_pure_renyi_is_that_of_randomised_response(bound, order):
    value = sf.Pure(bound).renyi(order)
    assert covers(value, pure_renyi(bound, order))
    assert value <= min(bound, order * bound * bound / 2) * (1 + 1e-14)


@given(st.floats(1e-8, 1e4))
def test_pure_mu_is_the_smallest_that_covers(bound):
    mu = sf.Pure(bound).mu
    corner = 1 / (1 + mp.exp(mp.mpf(bound)))
    assert oracles.normal_tail(mp.mpf(mu) / 2) <= corner
    assert oracles.normal_tail(mp.mpf(mu) * (1 - mp.mpf(TIGHT)) / 2) > corner
    assert dominated(sf.Pure(bound), mu)


def dominated(curve: Curve, mu: float) -> bool:
    """True where the Gaussian curve lies above `curve` at 60 epsilons (both are exact to 1e-12)."""
    epsilons = np.concatenate([np.linspace(0, 1, 40), np.geomspace(1e-6, 1, 20)]) * curve.renyi(math.inf)
    return all(curve.delta(e) <= sf.Gaussian(mu).delta(e) * (1 + 1e-11) for e in epsilons)


# --- bounded range: two and three points -----------------------------------------------------------------------------


@given(BOUNDS, SHARES)
def test_range_delta_is_the_worst_two_point_law(bound, share):
    curve = sf.BoundedRange(bound)
    for epsilon in (bound * share, -bound * share):
        assert covers(curve.delta(epsilon), range_delta(bound, epsilon))
    assert curve.delta(bound) == 0


@given(BOUNDS, st.floats(0, 1), st.floats(0, 1))
def test_no_two_point_law_exceeds_range_delta(bound, share, place):
    epsilon = bound * share
    p, q = oracles.bounded_range_laws(bound, mp.mpf(bound) * mp.mpf(place))
    assert oracles.hockey_stick(p, q, epsilon) <= sf.BoundedRange(bound).delta(epsilon)


@given(st.floats(1e-3, 40), st.floats(1.0, 200), st.floats(0, 1))
def test_no_two_point_law_exceeds_range_renyi(bound, order, place):
    p, q = oracles.bounded_range_laws(bound, mp.mpf(bound) * mp.mpf(place))
    assert oracles.finite_renyi(p, q, order) <= range_renyi(bound, order) * (1 + mp.mpf(10) ** -40) + mp.mpf(10) ** -40
    assert oracles.finite_renyi(p, q, order) <= sf.BoundedRange(bound).renyi(order)


@given(BOUNDS, st.one_of(st.floats(0, 1), st.integers(1, 300).map(lambda k: 10.0**-k)))
def test_range_epsilon_inverts_delta(bound, delta):
    value = sf.BoundedRange(bound).epsilon(delta)
    assert range_delta(bound, value) <= delta or value == bound
    assert value == 0 or value <= 1e-12 or range_delta(bound, value * (1 - TIGHT)) > delta


@given(st.floats(1e-4, 40), st.floats(1.00001, 200))
def test_range_renyi_is_the_worst_two_point_law(bound, order):
    assert covers(sf.BoundedRange(bound).renyi(order), range_renyi(bound, order))


@pytest.mark.parametrize("order", [1.0, 1 + 1e-9, 1 + 1.1e-6, 1.00001, 1.0001])
@pytest.mark.parametrize("bound", [1e-6, 1.1e-4, 1.5e-4, 4e-4, 1e-2, 1.0, 8.0])
def test_range_renyi_near_order_one_is_never_below(bound, order):
    assert sf.BoundedRange(bound).renyi(order) >= range_renyi(bound, order)


def three_point_laws(bound: float, count: int, seed: int) -> list[tuple[list[mp.mpf], list[mp.mpf]]]:
    """Random laws on three points with log ratios inside an interval of length `bound` that contains 0."""
    draw, found = np.random.default_rng(seed), []
    while len(found) < count:
        top = bound * draw.random()
        ratios = np.sort(top - bound * np.append(draw.choice([0.0, 1.0, draw.random()], 2), draw.random()))
        q = draw.dirichlet([0.5, 0.5, 0.5])
        if not ratios[0] < 0 < ratios[-1]:
            continue
        # Tilt Q between the outer points until P sums to 1; the ratios stay as they are.
        low, high = math.exp(ratios[0]) - 1, math.exp(ratios[2]) - 1
        middle = q[1] * (math.exp(ratios[1]) - 1)
        share = (middle + high * (1 - q[1])) / ((high - low) * (1 - q[1]))
        if 0 < share < 1:
            qs = [mp.mpf(share) * (1 - mp.mpf(q[1])), mp.mpf(q[1]), (1 - mp.mpf(share)) * (1 - mp.mpf(q[1]))]
            ps = [x * mp.exp(mp.mpf(r)) for x, r in zip(qs, ratios, strict=True)]
            found.append(([x / mp.fsum(ps) for x in ps], qs))
    return found


@pytest.mark.parametrize("bound", [0.05, 0.7, 3.0, 12.0])
def test_no_three_point_law_exceeds_the_curve(bound):
    # Normalising P moves every ratio by the same rounding error (about 1e-16), which the length does not feel.
    curve = sf.BoundedRange(bound)
    covering = sf.Gaussian(curve.mu)
    for p, q in three_point_laws(bound, 60, seed=11):
        for share in (0.0, 0.1, 0.3, 0.6, 0.9):
            delta = oracles.hockey_stick(p, q, bound * share)
            assert delta <= curve.delta(bound * share) * (1 + 1e-12)
            assert delta <= covering.delta(bound * share) * (1 + 1e-12)
        for order in (1.0, 1.3, 2.0, 7.0, 60.0):
            assert oracles.finite_renyi(p, q, order) <= curve.renyi(order) * (1 + 1e-12)


@given(st.floats(1e-8, 1e4))
def test_range_mu_covers_and_touches_at_zero(bound):
    curve = sf.BoundedRange(bound)
    assert dominated(curve, curve.mu)
    # 2 Phi(mu/2) - 1 = delta(0) = tanh(eps/4): equality at eps = 0, so no smaller mu will do.
    truth = mp.tanh(mp.mpf(bound) / 4)
    assert 1 - 2 * oracles.normal_tail(mp.mpf(curve.mu) / 2) >= truth
    corner = 1 / (1 + mp.exp(mp.mpf(bound) / 2))
    assert oracles.normal_tail(mp.mpf(curve.mu) * (1 - mp.mpf(TIGHT)) / 2) > corner


@given(BOUNDS, SHARES, ORDERS)
def test_bounded_range_costs_no_more_than_pure(bound, share, order):
    narrow, wide = sf.BoundedRange(bound), sf.Pure(bound)
    assert narrow.delta(bound * share) <= wide.delta(bound * share) * (1 + 1e-12)
    assert narrow.renyi(order) <= wide.renyi(order) * (1 + 1e-12)
    assert narrow.mu <= wide.mu


# --- extremes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [5e-324, 1e-310, 1e-200, 1e-100])
@pytest.mark.parametrize("kind", [sf.Pure, sf.BoundedRange])
def test_tiny_bounds_are_never_free(kind, bound):
    curve = kind(bound)
    # tanh(eps/2) and tanh(eps/4): the total variations.
    assert curve.delta(0.0) >= mp.tanh(mp.mpf(bound) / (2 if kind is sf.Pure else 4))
    assert curve.mu > 0
    assert curve.renyi(2.0) > 0


@pytest.mark.parametrize("bound", [709.0, 710.0, 800.0, 1e4, 1e300, 1.7e308])
@pytest.mark.parametrize("kind", [sf.Pure, sf.BoundedRange])
def test_huge_bounds_promise_little_and_raise_nothing(kind, bound):
    curve = kind(bound)
    assert curve.delta(0.0) == pytest.approx(1.0)
    assert curve.delta(2 * bound if bound < 1e308 else bound) == 0
    assert 0 < curve.epsilon(1e-6) <= bound
    assert all(0 < curve.renyi(order) <= bound for order in (1.0, 2.0, 1e6, 1e17, 1e300, math.inf))
    assert curve.mu >= math.sqrt(bound)


@pytest.mark.parametrize("bound", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("kind", [sf.Pure, sf.BoundedRange])
def test_epsilon_stays_tight_for_small_bounds(kind, bound):
    curve = kind(bound)
    delta = curve.delta(0.0) / 3
    value = curve.epsilon(delta)
    assert curve.delta(value * (1 - 1e-9)) > delta


def test_nothing_costs_nothing():
    for curve in (sf.Pure(0.0), sf.BoundedRange(0.0)):
        assert (curve.delta(0.0), curve.epsilon(0.0), curve.renyi(3.0), curve.mu) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", [sf.Pure, sf.BoundedRange])
@pytest.mark.parametrize("epsilon", [-1.0, math.nan, math.inf, "1"])
def test_impossible_bounds_are_refused(kind, epsilon):
    with pytest.raises(sf.errors.ArgumentError, match="epsilon must be"):
        kind(epsilon)


# --- planted faults --------------------------------------------------------------------------------------------------


@pytest.mark.planted
def test_a_wrong_constant_is_rejected():
    # Pure priced as bounded range, zCDP of eps^2/9, mu of half the range, the (eps, 0) profile without its profile.
    assert not covers(sf.BoundedRange(1.0).delta(0.2), pure_delta(1.0, 0.2))
    assert range_renyi(0.1, 2.0) > 2 * 0.1**2 / 9
    assert not dominated(sf.BoundedRange(1.0), sf.BoundedRange(0.95).mu)
    assert not dominated(sf.Pure(1.0), sf.Pure(0.95).mu)
    assert not covers(math.tanh(0.25), range_delta(1.0, 0.1))


@pytest.mark.planted
def test_a_law_outside_the_range_is_noticed():
    p, q = oracles.bounded_range_laws(1.1, mp.mpf("0.6"))
    assert any(oracles.hockey_stick(p, q, e) > sf.BoundedRange(1.0).delta(e) for e in (0.0, 0.1, 0.3, 0.5))
