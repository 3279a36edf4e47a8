"""Renyi curves: the conversion to (eps, delta), what holds between listed orders, and how orders are handled."""

from __future__ import annotations

import itertools
import json
import math

import mpmath as mp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracles
import sfumato as sf
from sfumato.privacy.convert import minimise_over_orders, renyi_to_delta, renyi_to_epsilon
from sfumato.privacy.curves import Curve

ORDERS = st.one_of(st.floats(1.000001, 3), st.floats(3, 1e6))
LISTED = (1.25, 2.0, 3.0, 8.0, 32.0, 200.0)


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def exact_epsilon(order: float, value: float, delta: float) -> mp.mpf:
    a, tau, d = mp.mpf(order), mp.mpf(value), mp.mpf(delta)
    return max(mp.mpf(0), tau + mp.log(1 - 1 / a) - mp.log(d * a) / (a - 1))


def exact_delta(order: float, value: float, epsilon: float) -> mp.mpf:
    a, tau, eps = mp.mpf(order), mp.mpf(value), mp.mpf(epsilon)
    return min(mp.mpf(1), mp.exp((a - 1) * (tau - eps)) * (1 - 1 / a) ** (a - 1) / a)


def too_low(conversion, cases) -> list[tuple[float, float, float]]:
    """Cases (mu, order, delta) in which a Gaussian is not (conversion(...), delta)-private."""
    return [
        (mu, order, delta)
        for mu, order, delta in cases
        if oracles.gaussian_delta(conversion(order, order * mu * mu / 2, delta), mu) > delta
    ]


CASES = [
    (mu, order, delta)
    for mu in (0.01, 0.3, 1.0, 4.0, 20.0)
    for order in (1.01, 1.5, 2.0, 5.0, 20.0, 300.0, 1e5)
    for delta in (1e-300, 1e-30, 1e-9, 1e-5, 1e-2, 0.4)
]


# --- conversion ------------------------------------------------------------------------------------------------------


@given(ORDERS, st.floats(0, 1e4), st.one_of(st.floats(1e-12, 1), st.integers(1, 300).map(lambda k: 10.0**-k)))
def test_epsilon_is_the_formula_rounded_up(order, value, delta):
    truth = exact_epsilon(order, value, delta)
    scale = value + abs(math.log(delta)) / (order - 1) + math.log(order) / (order - 1) + 1
    assert truth <= renyi_to_epsilon(order, value, delta) <= truth + 1e-12 * mp.mpf(scale)


@given(ORDERS, st.floats(0, 50), st.floats(0, 100))
@example(25.0, 6.0, 36.0)
@example(26.0, 6.0, 35.0)
def test_delta_is_the_formula_rounded_up(order, value, epsilon):
    truth = exact_delta(order, value, epsilon)
    found = renyi_to_delta(order, value, epsilon)
    assert truth <= found <= 1
    exponent = (order - 1) * (value + epsilon) + math.log(order) + 1
    assert found <= truth * mp.exp(1e-13 * exponent) + 4 * mp.mpf(5e-324)


def test_a_gaussian_is_never_more_costly_than_the_conversion_says():
    assert too_low(renyi_to_epsilon, CASES) == []
    for mu, order, delta in CASES:
        curve = sf.Renyi([order], [order * mu * mu / 2])
        epsilon = sf.Gaussian(mu).epsilon(delta)
        assert curve.delta(epsilon) >= oracles.gaussian_delta(epsilon, mu)


@pytest.mark.planted
def test_wrong_conversions_are_rejected():
    # Order for order - 1 in the last term; the log of the order counted twice; delta's logarithm in base 10.
    wrong = [
        lambda a, t, d: max(0.0, t + math.log1p(-1 / a) - math.log(d * a) / a),
        lambda a, t, d: max(0.0, t + math.log1p(-1 / a) - (math.log(d) + 2 * a * math.log(a)) / (a - 1)),
        lambda a, t, d: max(0.0, t + math.log1p(-1 / a) - math.log10(d * a) / (a - 1)),
    ]
    assert all(too_low(conversion, CASES) for conversion in wrong)


@pytest.mark.parametrize("order", [1.5, 2.0, 6.0])
def test_the_conversion_is_attained(order):
    # P puts a little mass where the loss is z = eps + log(a/(a-1)), the rest just below 0: equality up to 1e-5.
    a, epsilon = mp.mpf(order), mp.mpf(40)
    z = epsilon + mp.log(a / (a - 1))
    p = [mp.mpf("1e-3"), 1 - mp.mpf("1e-3")]
    q = [p[0] * mp.exp(-z), 1 - p[0] * mp.exp(-z)]
    tau = oracles.finite_renyi(p, q, order)
    reached = oracles.hockey_stick(p, q, 40)
    claimed = renyi_to_delta(order, float(tau), 40.0)
    assert reached <= claimed * (1 + 1e-12)  # tau was rounded to a float
    assert reached >= claimed * (1 - 1e-5)


def test_the_search_over_orders_finds_the_minimum():
    for mu, delta in ((0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-9), (0.01, 0.003)):
        found = minimise_over_orders(lambda a, m=mu, d=delta: renyi_to_epsilon(a, a * m * m / 2, d))
        best = min(
            exact_epsilon(1 + 10.0 ** (k / 400), 0.5 * (1 + 10.0 ** (k / 400)) * mu * mu, delta)
            for k in range(-800, 2400)
        )
        assert oracles.gaussian_delta(found, mu) <= delta
        assert found <= best * (1 + mp.mpf(1e-9)) + mp.mpf(1e-12)


def test_listed_orders_only_are_searched():
    found = minimise_over_orders(lambda a: renyi_to_epsilon(a, a / 2, 1e-6), [2.0, 3.0])
    assert found == renyi_to_epsilon(3.0, 1.5, 1e-6)


# --- a curve known at listed orders ----------------------------------------------------------------------------------


def curves() -> list[tuple[str, Curve]]:
    return [
        ("gaussian", sf.Gaussian(0.7)),
        ("randomised response", sf.Pure(1.0)),
        ("strong randomised response", sf.Pure(6.0)),
        ("bounded range", sf.BoundedRange(2.0)),
        ("beta pair", sf.Profile("beta-pair", {"a": 150.0, "b": 230.0, "power": 1.0, "draws": 1})),
    ]


def interpolation_too_low(read, curve: Curve) -> list[float]:
    """Orders between the listed ones at which `read(listed curve, order)` lies below the curve itself."""
    listed = sf.Renyi(LISTED, [curve.renyi(a) for a in LISTED])
    asked = [low + (high - low) * share for low, high in itertools.pairwise(LISTED) for share in (0.1, 0.5, 0.9)]
    return [a for a in [1.0, 1.1, *asked] if read(listed, a) < curve.renyi(a) * (1 - 1e-12)]


@pytest.mark.parametrize(("name", "curve"), curves())
def test_between_listed_orders_the_bound_holds(name, curve):
    assert interpolation_too_low(lambda listed, a: listed.renyi(a), curve) == []


@pytest.mark.parametrize(("name", "curve"), curves())
def test_between_listed_orders_the_bound_is_no_worse_than_the_next_order(name, curve):
    listed = sf.Renyi(LISTED, [curve.renyi(a) for a in LISTED])
    for low, high in itertools.pairwise(LISTED):
        assert listed.renyi(0.5 * (low + high)) <= listed.renyi(high)
        assert listed.renyi(high) == curve.renyi(high)


@pytest.mark.planted
def test_a_chord_of_the_divergence_itself_is_rejected():
    def straight(listed: sf.Renyi, order: float) -> float:
        for low, high, value, bound in zip(
            listed.orders, listed.orders[1:], listed.values, listed.values[1:], strict=False
        ):
            if low <= order <= high:
                return value + (bound - value) * (order - low) / (high - low)
        return listed.values[0]

    def previous(listed: sf.Renyi, order: float) -> float:
        return max(
            [v for a, v in zip(listed.orders, listed.values, strict=True) if a <= order], default=listed.values[0]
        )

    assert interpolation_too_low(straight, sf.Pure(6.0))
    assert interpolation_too_low(previous, sf.Gaussian(0.7))


def test_nothing_is_claimed_above_the_largest_order():
    curve = sf.Renyi([2, 8], [0.1, 0.5])
    assert curve.renyi(8) == 0.5
    assert curve.renyi(8.000001) == curve.renyi(math.inf) == math.inf
    assert curve.renyi(1.0) == curve.renyi(2.0) == 0.1


def test_an_infinite_order_is_a_pure_bound():
    curve = sf.Renyi([2, math.inf], [0.3, 1.0])
    assert curve.renyi(50.0) == curve.renyi(math.inf) == 1.0
    assert curve.delta(1.0) == 0.0
    assert curve.epsilon(1e-300) <= 1.0
    assert curve.epsilon(0.0) == 1.0
    assert 0 < curve.delta(0.5) < 1


def test_infinite_values_claim_nothing_and_spoil_nothing():
    curve = sf.Renyi([2, 4, 8], [0.3, 0.7, math.inf])
    assert curve.renyi(4.0) == 0.7
    assert curve.renyi(5.0) == curve.renyi(8.0) == math.inf
    assert curve.epsilon(1e-6) == min(renyi_to_epsilon(2, 0.3, 1e-6), renyi_to_epsilon(4, 0.7, 1e-6))
    hopeless = sf.Renyi([2], [math.inf])
    assert (hopeless.delta(1e9), hopeless.epsilon(0.5)) == (1.0, math.inf)


@given(st.lists(st.tuples(st.floats(1.01, 100), st.floats(0, 10)), min_size=1, max_size=5, unique_by=lambda t: t[0]))
def test_answers_are_the_best_over_the_listed_orders(pairs):
    curve = sf.Renyi(*zip(*pairs, strict=True))
    for delta in (1e-9, 1e-3):
        epsilon = curve.epsilon(delta)
        assert epsilon == min(renyi_to_epsilon(a, v, delta) for a, v in pairs)
        assert curve.delta(epsilon) <= delta * (1 + 1e-10)
    assert curve.epsilon(0.0) == math.inf
    assert curve.mu is None
    assert not curve.composable_as_profile


# --- orders, refusals, JSON ------------------------------------------------------------------------------------------


def test_orders_are_sorted_with_their_values():
    assert sf.Renyi([8, 2, 4], [0.8, 0.2, 0.4]) == sf.Renyi([2, 4, 8], [0.2, 0.4, 0.8])


@pytest.mark.parametrize(
    ("orders", "values", "says"),
    [
        ([], [], "at least one order"),
        ([0.999999], [0.1], "1 or greater"),
        ([0.5], [0.1], "1 or greater"),
        ([math.nan], [0.1], "orders must"),
        ([2.0], [-0.1], "0 or greater"),
        ([2.0], [math.nan], "values must"),
        ([2.0, 2.0], [0.1, 0.2], "repeat"),
        ([2.0], [0.1, 0.2], "same length"),
        ([2.0, 3.0], [0.1], "same length"),
    ],
)
def test_impossible_curves_are_refused(orders, values, says):
    with pytest.raises(sf.errors.ArgumentError, match=says):
        sf.Renyi(orders, values)


@pytest.mark.parametrize("order", [0.99, -1.0, math.nan])
def test_orders_below_one_are_refused(order):
    with pytest.raises(sf.errors.ArgumentError, match="order"):
        sf.Renyi([2.0], [0.1]).renyi(order)


def test_json_both_ways_with_infinity():
    curve = sf.Renyi([2, 4, math.inf], [0.1, math.inf, math.inf])
    text = json.dumps(curve.to_json(), allow_nan=False)
    assert Curve.from_json(json.loads(text)) == curve
    assert '"inf"' in text


@pytest.mark.parametrize(
    "document",
    [
        {"curve": "renyi", "orders": [2], "values": [1, 2]},
        {"curve": "renyi", "orders": ["two"], "values": [1]},
        {"curve": "renyi", "orders": [2], "values": ["nan"]},
        {"curve": "renyi", "orders": [2]},
        {"curve": "renyi", "orders": [2], "values": [1], "note": "x"},
        {"curve": "renyi", "orders": "23", "values": "12"},
        {"curve": "renyi", "orders": [0.5], "values": [1]},
    ],
)
def test_broken_documents_are_refused(document):
    with pytest.raises(sf.errors.FormatError):
        Curve.from_json(document)


def test_a_single_number_for_the_orders_is_refused_in_a_sentence():
    with pytest.raises(sf.errors.ArgumentError, match=r"orders must be a list of numbers, such as \[2.0\]; got 1"):
        sf.Renyi(1, 0.1)
