"""Renyi order 1, the KL divergence: curves against quadrature, the charge for a stated error, targets, and what it implies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import sfumato as sf
from effort import sized
from sfumato.privacy.convert import renyi_to_delta, renyi_to_epsilon
from sfumato.privacy.curves import Curve
from sfumato.privacy.gamma_profiles import gamma_rate_renyi, gamma_shape_renyi
from sfumato.privacy.inflation import renyi_extra
from sfumato.privacy.posterior_profiles import beta_renyi

# --- the curves at order 1 -------------------------------------------------------------------------------------------


def kl(p, q, low: float, high: float) -> float:
    """KL of two scipy laws by adaptive quadrature between two public ends."""
    return integrate.quad(lambda x: math.exp(p.logpdf(x)) * (p.logpdf(x) - q.logpdf(x)), low, high, limit=400)[0]


def larger(p, q, low: float, high: float) -> float:
    return max(kl(p, q, low, high), kl(q, p, low, high))


def worst_beta(alpha: float, beta: float, n: int, power: float) -> float:
    """Largest KL over every ordered pair of neighbouring data sets of n bits."""
    laws = [stats.beta(alpha + power * k, beta + power * (n - k)) for k in range(n + 1)]
    return max(larger(laws[k], laws[k + 1], 1e-12, 1 - 1e-12) for k in range(n))


# By name: a curve, and the largest KL by quadrature, which is worked out when a test asks and not when tests are collected.
CASES: dict[str, tuple[Curve, Callable[[], float]]] = {
    "gaussian": (sf.Gaussian(0.7), lambda: kl(stats.norm(0, 1), stats.norm(0.7, 1), -12, 12)),
    "randomised response": (sf.Pure(1.3), lambda: 1.3 * math.tanh(0.65)),
    "beta-bernoulli": (
        sf.Profile("beta-bernoulli", {"alpha": 2.0, "beta": 3.0, "n": 7, "power": 0.8, "draws": 1}),
        lambda: worst_beta(2.0, 3.0, 7, 0.8),
    ),
    "beta-pair": (
        sf.Profile("beta-pair", {"a": 1.5, "b": 2.5, "power": 1.0, "draws": 1}),
        lambda: larger(stats.beta(2.5, 2.5), stats.beta(1.5, 3.5), 0, 1),
    ),
    "gamma-shape": (
        sf.Profile("gamma-shape", {"shape": 3.0, "shift": 1.7, "draws": 1}),
        lambda: larger(stats.gamma(3.0), stats.gamma(4.7), 1e-12, 80),
    ),
    "gamma-rate": (
        sf.Profile("gamma-rate", {"shape": 3.0, "rate": 2.0, "shift": 0.9, "draws": 1}),
        lambda: larger(stats.gamma(3.0, scale=1 / 2.0), stats.gamma(3.0, scale=1 / 2.9), 1e-12, 60),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_order_one_is_the_larger_kl_divergence(name):
    curve, by_quadrature = CASES[name]
    exact = by_quadrature()
    assert exact * (1 - 1e-9) <= curve.renyi(1) <= exact * (1 + 1e-7)


@pytest.mark.parametrize("name", CASES)
def test_order_one_is_the_limit_of_the_orders_above(name):
    curve, _ = CASES[name]
    assert curve.renyi(1) <= curve.renyi(1 + 1e-6) == pytest.approx(curve.renyi(1), rel=1e-4)


def test_order_one_of_small_and_large_numbers_is_never_below_fifty_digits():
    """Shifts down to 1e-9, where the two logarithms of the Gamma function nearly cancel."""
    rng = np.random.default_rng(4)
    with mpmath.workdps(50):
        for first, second, shift in 10.0 ** rng.uniform([-6, -6, -9], [7, 7, 3], (sized(200, 2000), 3)):
            a, b, s = mpmath.mpf(first), mpmath.mpf(second), mpmath.mpf(shift)
            rise, fall = (mpmath.loggamma(x + s) - mpmath.loggamma(x) for x in (a, b))
            beta = fall - rise + s * (mpmath.digamma(a + s) - mpmath.digamma(b))
            shape = max(s * mpmath.digamma(a + s) - rise, rise - s * mpmath.digamma(a))
            rate = a * max(s / b - mpmath.log1p(s / b), mpmath.log1p(s / b) - s / (b + s))
            assert beta_renyi(first, second, shift, 1.0) >= beta
            assert gamma_shape_renyi(first, shift, 1.0) >= shape
            assert gamma_rate_renyi(first, second, shift, 1.0) >= rate


def test_a_bounded_range_covers_every_two_point_law():
    """The KL of laws on two points whose log ratios are 2 apart, over where the interval lies."""
    top = np.linspace(1e-3, 2 - 1e-3, 400)
    high = (1 - np.exp(top - 2)) / (np.exp(top) - np.exp(top - 2))  # the mass under Q where the log ratio is `top`
    exact = float((high * np.exp(top) * top + (1 - high) * np.exp(top - 2) * (top - 2)).max())
    assert exact <= sf.BoundedRange(2.0).renyi(1) <= exact * 1.001


def test_kl_adds_under_composition():
    listed = sf.Renyi([1, 4], [0.1, 0.5])
    assert (3 * listed).renyi(1) == pytest.approx(0.3)
    mixed = listed + sf.Gaussian(0.4)
    assert mixed.renyi(1) == pytest.approx(0.1 + 0.08)
    assert (sf.Renyi([1], [0.1]) + sf.Renyi([2], [0.3])).renyi(1) == pytest.approx(0.4)


# --- a stated error of the drawn masses ------------------------------------------------------------------------------


def adverse(p: np.ndarray, q: np.ndarray, error: float) -> float:
    """A large KL of laws within factors exp(+-error): P gains mass where its log ratio is large, Q loses it there."""
    best = 0.0
    order = np.argsort(np.log(p / q))
    for cut in range(1, len(p)):
        factors = np.full(len(p), math.exp(-error))
        factors[order[cut:]] = math.exp(error)
        far, near = p * factors, q / factors
        for law, masses in ((far, p), (near, q)):
            spare = 1 - law.sum()  # mended on the points whose bound leaves room, so that the law sums to 1
            room = masses * math.exp(error) - law if spare > 0 else law - masses * math.exp(-error)
            np.add(law, spare * room / room.sum(), out=law)
        best = max(best, float((far * np.log(far / near)).sum()))
    return best


def exceeded(extra) -> list[float]:
    """Perturbed pairs whose KL is above the exact one plus `extra(error, KL)`, and how close the others come."""
    rng = np.random.default_rng(11)
    gaps = []
    for _ in range(300):
        p, q = (weights / weights.sum() for weights in rng.gamma(0.3, size=(2, 6)) + 1e-6)
        error = float(10 ** rng.uniform(-4, -0.5))
        exact = float((p * np.log(p / q)).sum())
        gaps.append((adverse(p, q, error) - exact) / extra(error, exact))
    return gaps


def test_no_perturbation_within_the_error_adds_more_to_the_kl():
    gaps = exceeded(lambda error, exact: renyi_extra(error, 1, exact))
    assert max(gaps) <= 1 + 1e-9
    assert max(gaps) > 0.5  # within a factor of two of what can happen


@pytest.mark.planted
def test_twice_the_error_alone_is_too_little():
    assert max(exceeded(lambda error, exact: 2 * error)) > 1


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("name", ["beta-pair", "perturbed-gaussian"])
def test_every_draw_adds_its_own_error(name, draws):
    numbers = {"a": 2.0, "b": 3.0, "power": 0.4} if name == "beta-pair" else {"mu": 0.3}
    one = sf.Profile(name, {**numbers, "draws": 1, "error": 0.0}).renyi(1)
    rough = sf.Profile(name, {**numbers, "draws": draws, "error": 0.01}).renyi(1)
    assert rough == pytest.approx(draws * (one + renyi_extra(0.01, 1, one)), rel=1e-12)
    assert rough < math.inf


# --- what it implies -------------------------------------------------------------------------------------------------


def test_a_kl_bounds_the_total_variation_and_nothing_else():
    rng = np.random.default_rng(3)
    closest = 0.0
    for _ in range(2000):
        middle, step = rng.uniform(0.05, 0.95), rng.uniform(-0.05, 0.05)
        p, q = np.array([middle, 1 - middle]), np.array([middle + step / 2, 1 - middle - step / 2])
        total = abs(p - q).sum() / 2
        bound = sf.Renyi([1], [float((p * np.log(p / q)).sum())]).delta(0.0)
        assert total <= bound * (1 + 1e-9)
        closest = max(closest, total / bound)
    assert closest > 0.999  # Pinsker's constant cannot be better
    curve = sf.Renyi([1], [0.02])
    assert curve.delta(5.0) == renyi_to_delta(1, 0.02, 5.0) == pytest.approx(0.1)
    assert (curve.epsilon(0.2), curve.epsilon(0.0999), renyi_to_epsilon(1, 0.02, 1e-6)) == (0.0, math.inf, math.inf)
    assert sf.Renyi([1], [9.0]).delta(0.0) == 1


def test_a_ledger_at_order_one_is_refused(tmp_path):
    with (
        sf.Ledger(tmp_path / "ledger.db") as ledger,
        pytest.raises(sf.errors.ArgumentError, match=r"greater than 1.*KL"),
    ):
        ledger.register("people", epsilon=1, delta=1e-6, currency="renyi", order=1)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-9), (20, 1e-3), (5, 1e-5)])
def test_the_order_that_the_refusal_suggests_can_be_registered(tmp_path, epsilon, delta):
    with sf.Ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(sf.errors.ArgumentError) as refused:
            ledger.register("people", epsilon=epsilon, delta=delta, currency="renyi", order=1)
        suggested = re.search(r"Register order (\d+)", str(refused.value))
        ledger.register("people", epsilon=epsilon, delta=delta, currency="renyi", order=int(suggested[1]))
        assert ledger.remaining("people").renyi(int(suggested[1])) > epsilon / 4
    # The smallest whole order at which -log(delta)/(order - 1) takes no more than half of epsilon.
    assert -math.log(delta) / (int(suggested[1]) - 1) <= epsilon / 2
    assert int(suggested[1]) == 2 or -math.log(delta) / (int(suggested[1]) - 2) > epsilon / 2


def test_a_promise_of_a_kl_alone_states_it_and_no_infinite_epsilon():
    promise = str(sf.Guarantee(sf.Renyi([1], [0.02]), "replace-one", "theorem", "source"))
    assert promise.startswith("KL divergence at most 0.02 (total variation at most 0.1")
    assert "no epsilon is promised at a smaller delta" in promise
    assert "infinity" not in promise
    assert "(epsilon, delta) = (" in str(
        sf.Guarantee(sf.Renyi([1, 2], [0.02, 0.1]), "replace-one", "theorem", "source")
    )


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("perturbed-gaussian", {"mu": 0.1, "error": 1e6}),
        ("beta-pair", {"a": 1.0, "b": 1.0, "power": 0.1, "error": 1e6}),
        ("gamma-shape", {"shape": 1.0, "shift": 0.1, "error": 1e300}),
        ("gamma-rate", {"shape": 1.0, "rate": 1e-300, "shift": 1e300}),
    ],
)
def test_numbers_beyond_float64_promise_nothing_instead_of_failing(name, numbers):
    """A file may state them; 1e300/1e-300 and e^(10^6) overflow."""
    curve = sf.Profile(name, {**numbers, "draws": 1})
    assert curve.renyi(1) == math.inf
    if "error" in numbers:
        assert curve.delta(1.0) == curve.deltas(np.array([1.0]))[0] == 1


# --- targets ---------------------------------------------------------------------------------------------------------

GIBBS = sf.Gibbs(sf.losses.Logistic(radius=1.0), sf.priors.Gaussian(precision=1.0), dimension=3)


@pytest.mark.parametrize(
    ("model", "mechanism"),
    [
        (sf.families.BetaBernoulli(6, 12), "diffused"),
        (sf.families.BetaBernoulli(6, 12), "concentrated"),
        (sf.families.BetaBernoulli(6, 12), "noisy-statistics"),
        (sf.families.DirichletCategorical(["a", "b", "c"]), "diffused"),
        (sf.families.GammaPoisson(2, 1, bound=5), "diffused"),
        (GIBBS, "auto"),
        (GIBBS, "langevin"),
    ],
    ids=str,
)
def test_a_plan_meets_a_kl_target_and_uses_it(model, mechanism):
    target = sf.Renyi([1], [0.01])  # alone it keeps no delta below 0.07
    plan = sf.plan(model, 100, target=target, mechanism=mechanism, allow_weak=True)
    assert 0.0099 <= plan.guarantee.renyi(1) <= 0.01
    assert plan.target.curve == Curve.from_json(target.to_json())
