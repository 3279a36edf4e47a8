"""The Gaussian curve against 50 digits: never below the truth, tight, and finite at every extreme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import sfumato as sf
from effort import sized
from sfumato.privacy.gaussian_tail import bisect_down, gaussian_delta, gaussian_epsilon, gaussian_mu, mills

TIGHT = 1e-9
SEEN = 1e-300  # below this a float has too few digits left for a relative claim

MUS = (1e-6, 1e-4, 0.03, 0.5, 0.5000001, 1.0, 6.0, 40.0, 1e3)
EPSILONS = (0.0, 1e-300, 1e-12, 1e-3, 1.0, 30.0, 709.0, 710.0, 1e4)
DELTAS = (1e-300, 1e-100, 1e-17, 1e-16, 1e-5, 0.1, 0.5, 0.999)


def profile_arguments(count: int, seed: int) -> list[tuple[float, float]]:
    """(eps, mu): half placed by how deep they lie in the tail (to 1e-324), the rest anywhere; eps up to 1e4."""
    draw = np.random.default_rng(seed)
    mu = 10.0 ** draw.uniform(-6, 3, count)
    deep = np.clip(mu * (mu / 2 + draw.uniform(-9, 39, count)), 0, 1e4)
    anywhere = 10.0 ** draw.uniform(-8, 4, count)
    return list(zip(np.where(draw.random(count) < 0.5, deep, anywhere).tolist(), mu.tolist(), strict=True))


def target_arguments(count: int, seed: int, low: float, high: float) -> list[tuple[float, float]]:
    """(delta, x): delta down to 1e-300, close to 1 included, and x log-uniform from 10^low to 10^high."""
    draw = np.random.default_rng(seed)
    delta = np.where(draw.random(count) < 0.5, 10.0 ** draw.uniform(-300, 0, count), draw.random(count))
    return list(zip(delta.tolist(), (10.0 ** draw.uniform(low, high, count)).tolist(), strict=True))


def wrong_deltas(
    delta: Callable[[float, float], float], arguments: Iterable[tuple[float, float]]
) -> list[tuple[str, float, float]]:
    """What is wrong with a profile: answers below the truth, far above it, or no numbers at all."""
    found = []
    for epsilon, mu in arguments:
        truth = oracles.gaussian_delta(epsilon, mu)
        try:
            value = delta(epsilon, mu)
        except (OverflowError, ValueError):
            value = math.nan
        if not 0 <= value <= 1:
            found.append(("not a probability", epsilon, mu))
        elif value < truth:
            found.append(("below", epsilon, mu))
        elif truth > SEEN and value > truth * (1 + TIGHT):
            found.append(("loose", epsilon, mu))
    return found


def wrong_epsilons(
    epsilon: Callable[[float, float], float], arguments: Iterable[tuple[float, float]]
) -> list[tuple[str, float, float]]:
    """The same for the inverse, judged through the reference profile at the answer and just below it."""
    found = []
    for delta, mu in arguments:
        value = epsilon(delta, mu)
        if not 0 <= value < math.inf:
            found.append(("not finite", delta, mu))
        elif oracles.gaussian_delta(value, mu) > delta:
            found.append(("below", delta, mu))
        elif value > 0 and oracles.gaussian_delta(value * (1 - TIGHT), mu) <= delta:
            found.append(("loose", delta, mu))
    return found


def wrong_mus(
    mu: Callable[[float, float], float], arguments: Iterable[tuple[float, float]]
) -> list[tuple[str, float, float]]:
    """The same for mu(eps, delta), which must not lie above the true one."""
    found = []
    for delta, epsilon in arguments:
        value = mu(epsilon, delta)
        if oracles.gaussian_delta(epsilon, value) > delta:
            found.append(("above", delta, epsilon))
        elif oracles.gaussian_delta(epsilon, value * (1 + TIGHT)) <= delta:
            found.append(("loose", delta, epsilon))
    return found


# --- golden values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mu", "delta", "printed"),
    [
        (0.1, 1e-5, "0.340669364684"),
        (0.5, 1e-5, "1.993091404415"),
        (1.0, 1e-5, "4.377178095681"),
        (1.0, 1e-6, "4.886554117462"),
        (2.0, 1e-5, "9.997256146434"),
    ],
)
def test_golden_epsilon(mu, delta, printed):
    value = sf.Gaussian(mu).epsilon(delta)
    assert f"{value:.12f}" == printed
    with mp.workdps(40):
        root = mp.findroot(lambda e: mp.log(oracles.gaussian_delta(e, mu)) - mp.log(mp.mpf(delta)), float(printed))
    assert root <= value <= root * (1 + TIGHT)


@pytest.mark.parametrize(("epsilon", "delta", "printed"), [(0.1, 1e-3, "0.05745674761"), (1.0, 1e-5, "0.26805112321")])
def test_golden_mu(epsilon, delta, printed):
    value = gaussian_mu(epsilon, delta)
    assert f"{value:.11f}" == printed
    assert wrong_mus(gaussian_mu, [(delta, epsilon)]) == []


@pytest.mark.parametrize(
    ("epsilon", "delta", "gain"), [(0.1, 1e-3, "2.21"), (0.1, 1e-5, "1.59"), (1.0, 1e-5, "1.31"), (1.0, 1e-6, "1.27")]
)
def test_golden_gain_over_the_sub_gaussian_tail_bound(epsilon, delta, gain):
    # Minami et al., Corollary 8: mu = eps / sqrt(1 + 2 log(1/delta)).
    assert f"{gaussian_mu(epsilon, delta) * math.sqrt(1 - 2 * math.log(delta)) / epsilon:.2f}" == gain


# --- ten thousand random arguments, and the corners ------------------------------------------------------------------


def test_delta_is_never_below_the_truth_and_tight():
    assert wrong_deltas(gaussian_delta, profile_arguments(sized(1000, 5000), seed=1)) == []


def test_epsilon_is_never_below_the_truth_and_tight():
    assert wrong_epsilons(gaussian_epsilon, target_arguments(sized(600, 3000), seed=2, low=-6, high=3)) == []


def test_mu_is_never_above_the_truth_and_tight():
    assert wrong_mus(gaussian_mu, target_arguments(sized(400, 2000), seed=3, low=-6, high=4)) == []


def test_the_corners():
    assert wrong_deltas(gaussian_delta, [(epsilon, mu) for mu in MUS for epsilon in EPSILONS]) == []
    assert wrong_epsilons(gaussian_epsilon, [(delta, mu) for mu in MUS for delta in DELTAS]) == []
    assert wrong_mus(gaussian_mu, [(delta, epsilon) for epsilon in EPSILONS for delta in DELTAS]) == []


@given(st.floats(0, 1e4), st.floats(5e-324, 1e3))
def test_a_positive_delta_is_never_zero(epsilon, mu):
    assert 0 < sf.Gaussian(mu).delta(epsilon) <= 1


@pytest.mark.parametrize("mu", [5e-324, 1e-323, 1e-310, 1e-300])
def test_the_smallest_mu(mu):
    assert sf.Gaussian(mu).delta(0.0) >= oracles.gaussian_delta(0.0, mu)
    assert sf.Gaussian(mu).renyi(2.0) > 0


@pytest.mark.parametrize("mu", [1e100, 1e200, 1.7e308])
def test_the_largest_mu_promises_nothing_rather_than_failing(mu):
    curve = sf.Gaussian(mu)
    assert curve.delta(1.0) == 1.0
    assert curve.epsilon(0.5) >= 0.5 * mu * mu
    assert curve.renyi(2.0) >= mu * mu


def test_the_reference_itself():
    with mp.workdps(30):
        quadrature = mp.quad(lambda x: mp.npdf(x, 1, 1) - mp.e * mp.npdf(x), [1.5, 4, 8, 20])
        assert abs(oracles.gaussian_delta(1.0, 1.0) / quadrature - 1) < 1e-25


# --- the shape of the curve ------------------------------------------------------------------------------------------


@given(st.floats(1e-3, 20), st.floats(-30, 30))
def test_negative_epsilon_follows_from_symmetry(mu, epsilon):
    value = sf.Gaussian(mu).delta(epsilon)
    with mp.workdps(60):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        truth = oracles.normal_tail(e / m - m / 2) - mp.exp(e) * oracles.normal_tail(e / m + m / 2)
        assert value >= truth
        assert value <= truth * (1 + mp.mpf(TIGHT)) + mp.mpf(5e-324)


@given(st.floats(1.0, 1e6), st.floats(1e-6, 1e3))
def test_renyi_is_half_the_order_times_mu_squared(order, mu):
    with mp.workdps(40):
        truth = mp.mpf(order) * mp.mpf(mu) ** 2 / 2
        assert truth <= sf.Gaussian(mu).renyi(order) <= truth * (1 + mp.mpf(1e-14))


def test_the_ends_of_the_line():
    curve = sf.Gaussian(1.0)
    assert (curve.delta(math.inf), curve.delta(-math.inf)) == (0.0, 1.0)
    assert (curve.epsilon(0.0), curve.epsilon(1.0)) == (math.inf, 0.0)
    assert curve.renyi(math.inf) == math.inf
    free = sf.Gaussian(0.0)
    assert (free.delta(0.0), free.epsilon(0.0), free.renyi(math.inf)) == (0.0, 0.0, 0.0)
    assert free.delta(-1.0) >= 1 - oracles.mp.exp(-1)


@pytest.mark.parametrize("mu", [-1e-9, math.nan, math.inf, "1", None, True])
def test_impossible_mu_is_refused(mu):
    with pytest.raises(sf.errors.ArgumentError, match="mu must be"):
        sf.Gaussian(mu)


@pytest.mark.parametrize(
    ("question", "value"), [("epsilon", 1.1), ("epsilon", -0.1), ("delta", math.nan), ("renyi", 0.9)]
)
def test_impossible_questions_are_refused(question, value):
    with pytest.raises(sf.errors.ArgumentError, match="must"):
        getattr(sf.Gaussian(1.0), question)(value)


@pytest.mark.parametrize("x", [-37.0, -3.0, 0.0, 2.999999, 3.0, 10.0, 300.0])
def test_mills_ratio(x):
    with mp.workdps(60):
        truth = oracles.normal_tail(x) / mp.npdf(mp.mpf(x))
        assert abs(mills(x) / truth - 1) < 64 * 2.0**-53 * (1 + x * x)


# --- planted faults --------------------------------------------------------------------------------------------------


def _naive_delta(epsilon: float, mu: float) -> float:
    def phi(x: float) -> float:
        return 0.5 * math.erfc(-x / math.sqrt(2))

    return phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2)


@pytest.mark.planted
def test_the_textbook_formula_in_floats_is_rejected():
    found = wrong_deltas(_naive_delta, profile_arguments(300, seed=4))
    assert {kind for kind, _, _ in found} == {"below", "loose", "not a probability"}


@pytest.mark.planted
def test_a_profile_a_hair_low_or_high_is_rejected():
    arguments = [
        (epsilon, mu) for epsilon, mu in profile_arguments(200, seed=5) if gaussian_delta(epsilon, mu) > 1e-290
    ]
    low = wrong_deltas(
        lambda e, m: gaussian_delta(e, m) * (1 - 1e-10), [a for a in arguments if gaussian_delta(*a) < 0.99]
    )
    assert {kind for kind, _, _ in low} == {"below"}
    high = wrong_deltas(lambda e, m: min(1.0, gaussian_delta(e, m) * (1 + 1e-8)), arguments)
    assert {kind for kind, _, _ in high} == {"loose"}


def _two_sided_epsilon(delta: float, mu: float) -> float:
    """Minimise |delta(eps) - delta|: ends on either side."""
    low, high = 0.0, 1e6
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gaussian_delta(middle, mu) > delta else (low, middle)
    return low if gaussian_delta(low, mu) - delta < delta - gaussian_delta(high, mu) else high


@pytest.mark.planted
def test_a_calibrator_that_lands_on_either_side_is_rejected():
    arguments = [a for a in target_arguments(200, seed=6, low=-2, high=2) if gaussian_epsilon(*a) > 0]
    found = wrong_epsilons(_two_sided_epsilon, arguments)
    assert 0.2 * len(arguments) < len(found) < 0.9 * len(arguments)
    assert {kind for kind, _, _ in found} == {"below"}
    assert wrong_epsilons(gaussian_epsilon, arguments) == []


@pytest.mark.planted
def test_a_mu_from_the_wrong_side_is_rejected():
    arguments = target_arguments(50, seed=7, low=-2, high=2)
    found = wrong_mus(lambda e, d: gaussian_mu(e, d) * (1 + 1e-10), arguments)
    assert len(found) > 45
    assert {kind for kind, _, _ in found} == {"above"}


def test_one_sided_search_returns_what_was_tested():
    tested: list[float] = []

    def holds(x: float) -> bool:
        tested.append(x)
        return x >= math.pi

    found = bisect_down(holds, 0.0, 100.0)
    assert found in tested
    assert math.pi <= found <= math.pi * (1 + 2e-15)
