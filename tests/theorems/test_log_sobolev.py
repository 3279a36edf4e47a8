"""Minami's named results against exact laws: what is proved holds, what is printed wrongly fails the same check."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from sfumato.errors import AssumptionError
from sfumato.privacy.gaussian_tail import gaussian_delta, gaussian_mu
from sfumato.theorems import log_sobolev, sharp

SETTINGS = settings(max_examples=100, deadline=None)
UNIT_MODEL = {"lipschitz": 1.0, "strong_convexity": 1.0, "convex": True}


def exact_delta(epsilon: float, mu: float) -> float:
    """The Gaussian profile, in 50 digits: an oracle that shares no code with the library."""
    with mpmath.workdps(50):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))


def linear_losses_satisfy(power: float, epsilon: float, delta: float, lipschitz: float = 1.0, m: float = 1.0) -> bool:
    """Whether this power is (eps, delta) for l = <x, theta>, |x| <= L, prior N(0, I/m): mu = 2 beta L/sqrt(m)."""
    return exact_delta(epsilon, 2 * power * lipschitz / math.sqrt(m)) <= delta * (1 + 1e-12)


# --- Theorem 5 and the inequalities it is fed with ---------------------------------------------------------------


def test_theorem_5_claims_exactly_the_given_point() -> None:
    claim = log_sobolev.tail_condition(epsilon=0.7, tail=1e-4, every_ordered_pair=True)
    assert claim.delta(0.7) == 1e-4
    assert claim.epsilon(1e-4) == pytest.approx(0.7, rel=1e-12)
    assert claim.delta(5.0) == 1e-4  # nothing better is claimed further out
    assert claim.delta(0.3) > 1e-4


def test_theorem_5_on_a_normal_pair() -> None:
    # N(0,1) against N(mu,1): the loss is N(mu^2/2, mu^2), so its tail is known, and delta lies below it.
    for mu in (0.3, 1.0, 2.0):
        for epsilon in (0.2, 1.0, 4.0):
            tail = float(stats.norm.sf(epsilon / mu - mu / 2))
            assert exact_delta(epsilon, mu) <= log_sobolev.tail_condition(
                epsilon=epsilon, tail=tail, every_ordered_pair=True
            ).delta(epsilon)


def test_concentration_is_the_sub_gaussian_bound_of_the_normal() -> None:
    # Under N(0, s^2) the log-Sobolev constant is s^2 and F(x) = L x is the extreme L-Lipschitz function.
    for spread, slope, t in ((1.0, 1.0, 0.5), (0.3, 2.0, 1.5), (2.0, 0.1, 3.0)):
        bound = log_sobolev.concentration(lipschitz=slope, log_sobolev=spread**2, deviation=t)
        assert stats.norm.sf(t / (slope * spread)) <= bound
        assert bound == pytest.approx(math.exp(-(t**2) / (2 * slope**2 * spread**2)), rel=1e-12)
    assert log_sobolev.concentration(lipschitz=1e-3, log_sobolev=1.0, deviation=10.0) > 0


def posterior_pair(loss_one, loss_two, power: float, m: float):
    """Densities of two neighbouring one-record posteriors on a fine grid, prior N(0, 1/m)."""
    grid = np.linspace(-12 / math.sqrt(m), 12 / math.sqrt(m), 200_001)
    laws = []
    for loss in (loss_one, loss_two):
        log_density = -power * loss(grid) - 0.5 * m * grid**2
        density = np.exp(log_density - log_density.max())
        laws.append(density / integrate.trapezoid(density, grid))
    return grid, laws[0], laws[1]


LOSSES = {
    "logistic": (lambda t: np.logaddexp(0, -t), lambda t: np.logaddexp(0, t)),
    "hinge": (lambda t: np.maximum(0, 1 - t), lambda t: np.maximum(0, 1 + t)),
    "linear": (lambda t: t, lambda t: -t),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("power", [0.1, 0.5, 2.0])
def test_divergence_and_tail_bounds_hold_for_real_posteriors(name: str, power: float) -> None:
    grid, p, q = posterior_pair(*LOSSES[name], power, m=1.5)
    ratio = np.log(p) - np.log(q)
    kl = integrate.trapezoid(p * ratio, grid)
    bound = log_sobolev.kl_bound(power=power, lipschitz=1.0, strong_convexity=1.5, convex=True)
    assert kl <= bound * (1 + 1e-7)
    for epsilon in (1.1 * bound, 2 * bound + 0.5, 5 * bound + 1):
        tail = integrate.trapezoid(np.where(ratio >= epsilon, p, 0), grid)
        claim = log_sobolev.tail_bound(power=power, lipschitz=1.0, strong_convexity=1.5, epsilon=epsilon, convex=True)
        assert tail <= claim.delta(epsilon) + 1e-9
    if name == "linear":
        assert kl == pytest.approx(bound, rel=1e-6)  # attained
        assert kl > 0.9 * bound  # so a constant 10 % too small would be rejected


def test_kl_is_what_concentration_is_centred_at() -> None:
    # (6) is (21) at t = eps - k: composing the two named functions gives the third.
    k = log_sobolev.kl_bound(power=0.2, lipschitz=1.3, strong_convexity=0.7, convex=True)
    tail = log_sobolev.concentration(lipschitz=2 * 0.2 * 1.3, log_sobolev=1 / 0.7, deviation=1.0 - k)
    claim = log_sobolev.tail_bound(power=0.2, lipschitz=1.3, strong_convexity=0.7, epsilon=1.0, convex=True)
    assert claim.delta(1.0) == pytest.approx(tail, rel=1e-12)


# --- Theorem 7, its inverse and Corollary 8 -----------------------------------------------------------------------

POWERS = st.floats(1e-4, 3)
CONSTANTS = st.floats(0.05, 20)


@SETTINGS
@mpmath.workdps(50)
@given(power=POWERS, lipschitz=CONSTANTS, m=CONSTANTS, stretch=st.floats(1.001, 30))
def test_tail_bound_is_rounded_up_and_above_the_truth(power: float, lipschitz: float, m: float, stretch: float) -> None:
    k = 2 * mpmath.mpf(lipschitz) ** 2 * mpmath.mpf(power) ** 2 / mpmath.mpf(m)
    epsilon = float(k) * stretch
    claim = log_sobolev.tail_bound(power=power, lipschitz=lipschitz, strong_convexity=m, epsilon=epsilon, convex=True)
    printed = mpmath.exp(-((mpmath.mpf(epsilon) - k) ** 2) / (4 * k))
    got = claim.delta(epsilon)
    assert mpmath.mpf(got) >= printed
    if printed > 1e-280:
        slope = float((mpmath.mpf(epsilon) ** 2 - k**2) / (4 * k)) + 1  # how much the exponent magnifies rounding
        assert got <= float(printed) * (1 + 1e-14 * (100 + 100 * slope))
    assert exact_delta(epsilon, 2 * power * lipschitz / math.sqrt(m)) <= got * (1 + 1e-12)


@SETTINGS
@mpmath.workdps(50)
@given(epsilon=st.floats(0.01, 40), exponent=st.floats(0.01, 30))
def test_eta_inverts_the_tail_bound(epsilon: float, exponent: float) -> None:
    delta = math.exp(-exponent)
    e, l = mpmath.mpf(epsilon), -mpmath.log(mpmath.mpf(delta))
    printed = e + 2 * l - 2 * mpmath.sqrt(l * (e + l))  # (B.9)
    got = log_sobolev.eta(epsilon=epsilon, delta=delta)
    assert mpmath.mpf(got) <= printed
    assert got == pytest.approx(float(printed), rel=1e-13)
    assert mpmath.exp(-((e - printed) ** 2) / (4 * printed)) == pytest.approx(delta, rel=1e-20)


@SETTINGS
@given(epsilon=st.floats(0.01, 40), exponent=st.floats(0.1, 30), lipschitz=CONSTANTS, m=CONSTANTS)
def test_largest_power_is_safe_and_tight(epsilon: float, exponent: float, lipschitz: float, m: float) -> None:
    delta = math.exp(-exponent)
    model = {"lipschitz": lipschitz, "strong_convexity": m, "convex": True}
    power = log_sobolev.largest_power_tail_bound(epsilon=epsilon, delta=delta, **model)
    assert log_sobolev.tail_bound(power=power, epsilon=epsilon, **model).delta(epsilon) <= delta
    assert linear_losses_satisfy(power, epsilon, delta, lipschitz, m)
    closed = math.sqrt(m * log_sobolev.eta(epsilon=epsilon, delta=delta) / 2) / lipschitz
    assert power == pytest.approx(closed, rel=1e-9)
    bigger = log_sobolev.tail_bound(power=power * (1 + 1e-6), epsilon=epsilon, **model)
    assert bigger.delta(epsilon) > delta


@pytest.mark.planted
@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-5, 1e-6, 1e-12])
def test_corollary_8_limit_is_where_it_meets_theorem_7(delta: float) -> None:
    l = math.log(1 / delta)
    limit = log_sobolev.corollary_8_limit(delta=delta)
    assert limit == pytest.approx(2 * (1 + 2 * l - math.sqrt(2 * l * (1 + 2 * l))), rel=1e-12)
    target = {"epsilon": limit, "delta": delta}
    power = log_sobolev.corollary_8(**target, **UNIT_MODEL)
    assert power == pytest.approx(limit / 2 / math.sqrt(1 + 2 * l), rel=1e-12)
    assert power == pytest.approx(log_sobolev.largest_power_tail_bound(**target, **UNIT_MODEL), rel=1e-9)
    assert linear_losses_satisfy(power, limit, delta)
    # One part in a thousand beyond, the printed power breaks (6) itself, and the function refuses.
    beyond = 1.001 * limit
    printed = beyond / 2 / math.sqrt(1 + 2 * l)
    assert log_sobolev.tail_bound(power=printed, epsilon=beyond, **UNIT_MODEL).delta(beyond) > delta
    with pytest.raises(AssumptionError, match="epsilon within the reach of Theorem 7"):
        log_sobolev.corollary_8(epsilon=beyond, delta=delta, **UNIT_MODEL)


@pytest.mark.planted
@pytest.mark.parametrize(("delta", "first"), [(1e-3, 8.08), (1e-5, 8.99), (1e-6, 9.34)])
def test_printed_corollary_8_is_false_for_large_epsilon(delta: float, first: float) -> None:
    scale = math.sqrt(1 + 2 * math.log(1 / delta))
    found = optimize.brentq(lambda eps: exact_delta(eps, eps / scale) - delta, 2, 30)
    assert found == pytest.approx(first, abs=0.005)
    assert linear_losses_satisfy(0.99 * found / 2 / scale, 0.99 * found, delta)
    assert not linear_losses_satisfy(1.01 * found / 2 / scale, 1.01 * found, delta)


@pytest.mark.planted
def test_printed_corollary_8_at_epsilon_20() -> None:
    printed = 20 / 2 / math.sqrt(1 + 2 * math.log(1e6))
    assert exact_delta(20, 2 * printed) == pytest.approx(1.2e-4, rel=0.05)
    assert not linear_losses_satisfy(printed, 20, 1e-6)
    sound = log_sobolev.largest_power_tail_bound(epsilon=20, delta=1e-6, **UNIT_MODEL)
    assert linear_losses_satisfy(sound, 20, 1e-6)
    assert sound < printed
    with pytest.raises(AssumptionError, match="epsilon within the reach"):
        log_sobolev.corollary_8(epsilon=20, delta=1e-6, **UNIT_MODEL)


@pytest.mark.planted
def test_workshop_corollary_is_false_and_refused() -> None:
    claimed = math.exp(-(1 + 5) / 4)
    assert claimed == pytest.approx(0.223, abs=5e-4)
    assert exact_delta(5, math.sqrt(10)) == pytest.approx(0.384, abs=5e-4)
    assert not linear_losses_satisfy(math.sqrt(5 / 2), 5, claimed)
    first = optimize.brentq(lambda eps: exact_delta(eps, math.sqrt(2 * eps)) - math.exp(-(1 + eps) / 4), 0.1, 5)
    assert first == pytest.approx(3.11, abs=0.005)
    with pytest.raises(AssumptionError, match=r"Corollary 8\(i\).*3\.11"):
        log_sobolev.corollary_8_workshop(epsilon=5.0)
    # Its power is exactly where (6) stops: k = eps.
    assert log_sobolev.kl_bound(power=math.sqrt(5 / 2), **UNIT_MODEL) == pytest.approx(5.0)
    with pytest.raises(AssumptionError, match="epsilon beyond the divergence bound"):
        log_sobolev.tail_bound(power=math.sqrt(5 / 2) * 1.0001, epsilon=5.0, **UNIT_MODEL)


def test_theorem_10_is_refused_with_the_sharp_price() -> None:
    mu = sharp.gibbs_draw(difference=2 * 0.3 * 1.5, strong_convexity=4.0, convex=True, convex_domain=True).curve.mu
    with pytest.raises(AssumptionError, match="known universal constant") as caught:
        log_sobolev.theorem_10(power=0.3, lipschitz=1.5, strong_convexity=4.0, convex=True)
    assert f"{mu:.6g}-GDP" in str(caught.value)


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"), [(0.1, 1e-3, 2.21), (0.1, 1e-5, 1.59), (1, 1e-5, 1.31), (1, 1e-6, 1.27)]
)
def test_sharp_power_over_corollary_8(epsilon: float, delta: float, ratio: float) -> None:
    power = log_sobolev.corollary_8(epsilon=epsilon, delta=delta, **UNIT_MODEL)
    assert gaussian_mu(epsilon, delta) / (2 * power) == pytest.approx(ratio, abs=0.005)


# --- section 3.3, Lemma 20 and supplement B ------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("radius", [0.5, 1.0, 3.0])
def test_logistic_with_intercept_is_not_r_lipschitz(radius: float) -> None:
    features = np.array([radius, 1.0])
    theta = -40 * features / np.linalg.norm(features)
    gradient = -features / (1 + np.exp(theta @ features))
    steepest = np.linalg.norm(gradient)
    assert steepest == pytest.approx(math.hypot(radius, 1), rel=1e-9)
    assert steepest > radius * 1.05  # the printed constant
    target = {"epsilon": 0.5, "delta": 1e-5}
    with_it = log_sobolev.logistic_power(**target, radius=radius, precision=30.0, intercept=True)
    without = log_sobolev.logistic_power(**target, radius=radius, precision=30.0, intercept=False)
    assert with_it / without == pytest.approx(radius / math.hypot(radius, 1), rel=1e-12)
    assert without == pytest.approx(
        log_sobolev.corollary_8(**target, lipschitz=radius, strong_convexity=30.0, convex=True), rel=1e-12
    )


def test_lemma_20_a_mollified_hinge_keeps_convexity_and_slope() -> None:
    def bump(x: np.ndarray) -> np.ndarray:
        inside = np.clip(1 - x**2, 1e-12, None)
        return np.where(np.abs(x) < 1, np.exp(-1 / inside), 0)

    nodes, weights = np.polynomial.legendre.leggauss(400)
    weights = weights * bump(nodes) / np.sum(weights * bump(nodes))
    grid = np.linspace(-2, 4, 241)
    step = grid[1] - grid[0]
    hinge = np.maximum(0, 1 - grid)
    errors = []
    for width in (0.8, 0.4, 0.2, 0.1):
        smooth = np.maximum(0, 1 - (grid[:, None] - width * nodes)) @ weights
        bent = smooth + 0.5 * 3.0 * ((grid[:, None] - width * nodes) ** 2 @ weights)  # 3-strongly convex before
        assert np.diff(smooth, 2).min() > -1e-12
        assert np.abs(np.diff(smooth)).max() <= step * (1 + 1e-12)
        assert np.diff(bent, 2).min() >= 3.0 * step**2 * (1 - 1e-9)
        errors.append(np.abs(smooth - hinge).max())
    assert all(later < 0.6 * earlier for earlier, later in pairwise(errors))
    # The check can fail: a loss that is not convex is not made so.
    ramp = np.clip(1 - (grid[:, None] - 0.1 * nodes), 0, 1) @ weights
    assert np.diff(ramp, 2).min() < -1e-4


TARGET = {"epsilon": 0.1, "delta": 1e-3, "radius": 1.0}


def test_supplement_b_numbers() -> None:
    per_record = {
        "B.7": log_sobolev.gaussian_mechanism_power(**TARGET, n=10**6) / 1e6,
        "B.8": log_sobolev.gaussian_mean_power(**TARGET, n=10**6) / 1e6,
        "exact": log_sobolev.gaussian_mean_exact_power(**TARGET, n=10**6) / 1e6,
    }
    assert per_record["B.7"] == pytest.approx(1.64e-4, abs=5e-7)  # printed 1.26e-4
    assert per_record["B.8"] == pytest.approx(1.7966e-4, abs=5e-9)
    assert per_record["exact"] == pytest.approx(8.2532e-4, abs=5e-9)
    overtakes = next(n for n in range(1, 200) if log_sobolev.gaussian_mean_power(**TARGET, n=n) >= 0.1 / 8)
    assert overtakes == 70  # printed 15
    full = next(n for n in range(1000, 1400) if log_sobolev.gaussian_mean_exact_power(**TARGET, n=n) >= 1)
    assert full == 1212  # printed 5600
    assert sharp.gaussian_mean(power=1.0, radius=1.0, n=1212, precision=0.0).delta(0.1) <= 1e-3
    assert sharp.gaussian_mean(power=1.0, radius=1.0, n=1211, precision=0.0).delta(0.1) > 1e-3


@SETTINGS
@given(
    epsilon=st.floats(0.01, 2.7), exponent=st.floats(0.1, 30), radius=st.floats(0.1, 10), n=st.integers(1, 10**6),
    precision=st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
)  # fmt: skip
def test_gaussian_mean_powers_are_safe_and_ordered(
    epsilon: float, exponent: float, radius: float, n: int, precision: float
) -> None:
    target = {"epsilon": epsilon, "delta": math.exp(-exponent), "radius": radius, "n": n}
    exact = log_sobolev.gaussian_mean_exact_power(**target, precision=precision)
    tail = log_sobolev.gaussian_mean_power(**target, precision=precision)
    classical = log_sobolev.gaussian_mechanism_power(**target)
    assert max(tail, classical) <= exact * (1 + 1e-12)
    for power in (exact, tail, classical):
        claim = sharp.gaussian_mean(power=power, radius=radius, n=n, precision=precision)
        assert claim.delta(epsilon) <= target["delta"]
    more = sharp.gaussian_mean(power=exact * (1 + 1e-6), radius=radius, n=n, precision=precision)
    assert more.delta(epsilon) > target["delta"]


@pytest.mark.planted
def test_printed_gaussian_mechanism_is_false_for_large_epsilon() -> None:
    for epsilon, delta in ((9.8, 1e-6), (8.6, 1e-3), (6.5, 0.5)):
        assert exact_delta(epsilon, epsilon / math.sqrt(2 * math.log(2 / delta))) > delta
    with pytest.raises(AssumptionError, match="epsilon within the classical range"):
        log_sobolev.gaussian_mechanism_power(epsilon=2.8, delta=1e-6, radius=1.0, n=10)


# --- hypotheses ----------------------------------------------------------------------------------------------------

TAIL = {"power": 0.1, "lipschitz": 1.0, "strong_convexity": 1.0, "epsilon": 1.0, "convex": True}
POINT = {"epsilon": 0.5, "delta": 1e-5}
POINT_5 = {"epsilon": 1.0, "tail": 0.1, "every_ordered_pair": True}
SOBOLEV = {"lipschitz": 1.0, "log_sobolev": 1.0, "deviation": 1.0}
LOGISTIC = POINT | {"radius": 1.0, "precision": 1.0, "intercept": True}


@pytest.mark.parametrize(
    ("function", "arguments", "change", "hypothesis"),
    [
        ("tail_condition", POINT_5, {"every_ordered_pair": False}, "every ordered pair"),
        ("tail_condition", POINT_5, {"epsilon": 0.0}, "epsilon"),
        ("tail_condition", POINT_5, {"tail": 1.5}, "tail of the log ratio"),
        ("concentration", SOBOLEV, {"lipschitz": math.inf}, "Lipschitz constant"),
        ("concentration", SOBOLEV, {"log_sobolev": 0}, "log-Sobolev constant"),
        ("concentration", SOBOLEV, {"deviation": -1}, "deviation"),
        ("tail_bound", TAIL, {"convex": False}, "convexity of every loss"),
        ("tail_bound", TAIL, {"convex": None}, "convexity of every loss"),
        ("tail_bound", TAIL, {"lipschitz": math.inf}, "Lipschitz constant of the loss"),
        ("tail_bound", TAIL, {"strong_convexity": 0.0}, "strong convexity"),
        ("tail_bound", TAIL, {"power": 0.0}, "power"),
        ("tail_bound", TAIL, {"epsilon": 0.0}, "epsilon"),
        ("tail_bound", TAIL, {"epsilon": 0.02}, "epsilon beyond the divergence bound"),
        ("kl_bound", {"power": 0.1, **UNIT_MODEL}, {"convex": False}, "convexity of every loss"),
        ("largest_power_tail_bound", POINT | UNIT_MODEL, {"convex": False}, "convexity of every loss"),
        ("largest_power_tail_bound", POINT | UNIT_MODEL, {"delta": 0.0}, "delta"),
        ("eta", POINT, {"delta": 1.0}, "delta"),
        ("corollary_8_limit", {"delta": 0.1}, {"delta": 0.0}, "delta"),
        ("corollary_8", POINT | UNIT_MODEL, {"convex": 1}, "convexity of every loss"),
        ("corollary_8", POINT | UNIT_MODEL, {"strong_convexity": -1.0}, "strong convexity"),
        ("corollary_8", POINT | UNIT_MODEL, {"epsilon": 1.5}, "epsilon within the reach of Theorem 7"),
        ("logistic_power", LOGISTIC, {"radius": math.nan}, "bound on the rows"),
        ("gaussian_mechanism_power", TARGET | {"n": 5}, {"n": 0}, "number of records"),
        ("gaussian_mechanism_power", TARGET | {"n": 5}, {"epsilon": 3.0}, "classical range"),
        ("gaussian_mean_power", TARGET | {"n": 5}, {"radius": 0.0}, "bound on the rows"),
        ("gaussian_mean_exact_power", TARGET | {"n": 5}, {"precision": -1.0}, "prior precision"),
    ],
)  # fmt: skip
def test_each_hypothesis_is_checked(function: str, arguments: dict, change: dict, hypothesis: str) -> None:
    call = getattr(log_sobolev, function)
    call(**arguments)
    with pytest.raises(AssumptionError, match=hypothesis):
        call(**(arguments | change))


def test_library_profile_agrees_with_the_oracle() -> None:
    for epsilon, mu in ((20, 3.7), (5, 3.16), (0.1, 0.0575)):
        assert gaussian_delta(epsilon, mu) == pytest.approx(exact_delta(epsilon, mu), rel=1e-9)
