"""Calibration: never over the target by an independent oracle, and within 1e-6 of the limit (1e-4 for composed PLDs)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from mpmath import mp, mpf

from effort import sized
from sfumato import calibrate
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.privacy.curves import BoundedRange, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.metric import Metric
from sfumato.privacy.profiles import Profile
from sfumato.privacy.renyi import Renyi
from sfumato.theorems import canonical_glm, conjugate, exponential, finite_step, path, sharp, truncated

# What the losses, the priors and whoever runs a chain declare.
SHARP = {"convex": True, "convex_domain": True}
LAST = {"public_start": True, "full_batch": True, "momentum": 0.0}
WHOLE = {"public_start": True, "public_schedule": True, "full_batch": True}


def exact_gdp_delta(mu, epsilon):
    """delta of mu-GDP in 60 digits, written from the definition."""
    mp.dps = 60
    mu, eps = mpf(mu), mpf(epsilon)
    tail = lambda x: mp.erfc(x / mp.sqrt(2)) / 2
    return tail(eps / mu - mu / 2) - mp.exp(eps) * tail(eps / mu + mu / 2)


@dataclass(frozen=True)
class Case:
    """One theorem inverted for one parameter: the library's price, and mu (or range) recomputed from the definition."""

    name: str
    price: Callable[[float], Guarantee]
    oracle: Callable[[float], float]
    largest: bool
    lower: float
    upper: float


def closed_form_cases(rng: np.random.Generator) -> list[Case]:
    g, m, n = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1, 2), int(10 ** rng.uniform(1, 5))
    big_m = m * 10 ** rng.uniform(0.1, 3)
    t, r, lam = int(10 ** rng.uniform(0, 3.5)), 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-2, 2)
    h = 1 / big_m

    def chain(power_step):
        c = 1 - mpf(power_step) * mpf(m)
        return mpf(g) * mp.sqrt(mpf(power_step) / 2) * mp.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c))

    return [
        Case("sharp, power", lambda x: sharp.gibbs_draw(difference=x * g, strong_convexity=m, **SHARP),
             lambda x: mpf(x) * mpf(g) / mp.sqrt(mpf(m)), True, 1e-9, 1e9),
        Case("sharp, prior precision", lambda x: sharp.gibbs_draw(difference=g, strong_convexity=x, **SHARP),
             lambda x: mpf(g) / mp.sqrt(mpf(x)), False, 1e-6, 1e12),
        Case("Gaussian mean, power", lambda x: sharp.gaussian_mean(power=x, radius=r, n=n, precision=lam),
             lambda x: 2 * mpf(x) * r / mp.sqrt(n * mpf(x) + lam), True, 1e-9, 1e9),
        Case("finite step, power",
             lambda x: finite_step.last_iterate(
                 difference=x * g, strong_convexity=m, smoothness=big_m, step=h, steps=t, convex=True, **LAST),
             lambda x: mpf(x) * chain(h), True, 1e-9, 1e9),
        Case("path, noise", lambda x: path.whole_path(difference=g / x**2, step=x**2 / 2, steps=t, **WHOLE),
             lambda x: mp.sqrt(t) * mpf(g) / mpf(x) ** 2 * mpf(x) / 2, False, 1e-9, 1e9),
        Case("path, step size", lambda x: path.whole_path(difference=g, step=x, steps=t, **WHOLE),
             lambda x: mp.sqrt(t) * mpf(g) * mp.sqrt(mpf(x) / 2), True, 1e-14, 1e9),
        Case("canonical GLM, power",
             lambda x: canonical_glm.posterior_draw(radius=r, bound=1.0, n=n, precision_per_record=lam, power=x, canonical=True),
             lambda x: 2 * mpf(r) * mpf(x) / mp.sqrt(n * mpf(lam)), True, 1e-9, 1e9),
    ]  # fmt: skip


def overspent_or_loose(found: float, case: Case, epsilon: float, delta: float) -> str:
    if exact_gdp_delta(case.oracle(found), epsilon) > delta:
        return "overspent"
    beyond = found * (1 + 1e-6) if case.largest else found * (1 - 1e-6)
    inside = case.lower * 1.01 < found < case.upper * 0.99
    if inside and exact_gdp_delta(case.oracle(beyond), epsilon) <= delta:
        return "loose"
    return ""


def random_target(rng: np.random.Generator) -> tuple[float, float]:
    return 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-10, -2)


@pytest.mark.parametrize("index", range(7))
def test_closed_form_calibrations(index):
    rng = np.random.default_rng(100 + index)
    for _ in range(sized(150, 1000)):
        case = closed_form_cases(rng)[index]
        epsilon, delta = random_target(rng)
        target = calibrate.target_of(epsilon, delta)
        search = calibrate.largest if case.largest else calibrate.smallest
        found = search(case.price, target, case.lower, case.upper)
        assert overspent_or_loose(found, case, epsilon, delta) == "", (case.name, found, epsilon, delta)


@pytest.mark.planted
def test_the_check_sees_a_calibrator_that_lands_on_either_side():
    """Minimising the absolute gap overspends about half the time; the same check finds it."""
    rng = np.random.default_rng(5)
    said = set()
    for _ in range(40):
        case = closed_form_cases(rng)[0]
        epsilon, delta = random_target(rng)
        limit = calibrate.largest(case.price, calibrate.target_of(epsilon, delta), case.lower, case.upper)
        said.add(overspent_or_loose(limit * (1 + rng.choice([-1, 1]) * 1e-5), case, epsilon, delta))
    assert {"overspent", "loose"} <= said


def test_calibrations_of_the_exponential_mechanism():
    """Bounded range: delta = (e^(r/2) - e^(e/2))^2/(e^r - 1), r = 2 power Delta, in 60 digits; also the OPS ball."""
    mp.dps = 60
    rng = np.random.default_rng(7)

    def exact(width, epsilon):
        r, e = mpf(width), mpf(epsilon)
        return mpf(0) if e >= r else (mp.exp(r / 2) - mp.exp(e / 2)) ** 2 / (mp.exp(r) - 1)

    for turn in range(sized(150, 1000)):
        spread = 10 ** rng.uniform(-1, 1)
        epsilon, delta = random_target(rng)
        if turn % 2:
            price = lambda x: exponential.exponential_mechanism(power=x, sensitivity=spread)
            width = lambda x: 2 * mpf(x) * mpf(spread)
        else:
            apart = lambda x: math.nextafter(spread * x, math.inf)
            price = lambda x: exponential.ops_draw(power=0.3, radius=spread, ball=x, difference=apart(x))
            width = lambda x: 2 * mpf(0.3) * mpf(spread) * mpf(x)
        found = calibrate.largest(price, calibrate.target_of(epsilon, delta), 1e-9, 1e9)
        assert exact(width(found), epsilon) <= delta
        assert exact(width(found * (1 + 1e-6)), epsilon) > delta


def test_pure_targets_are_met_exactly():
    price = lambda x: exponential.exponential_mechanism(power=x, sensitivity=2.0)
    found = calibrate.largest(price, calibrate.target_of(1.0, 0.0), 1e-9, 1e9)
    assert 4 * found <= 1.0
    assert found == pytest.approx(0.25, rel=1e-6)


NUMERIC = {
    "Beta-Bernoulli, power": (
        lambda x: conjugate.beta_bernoulli(alpha=2.0, beta=5.0, n=300, power=x), 1e-6, 1e3, 1e-6, True),
    "Beta-Bernoulli, strength": (
        lambda x: conjugate.beta_bernoulli(alpha=2.0, beta=5.0, n=300, strength=x), 1e-2, 1e4, 1e-6, False),
    "Dirichlet, power": (lambda x: conjugate.dirichlet(cells=[0.5, 1.0, 3.0], power=x), 1e-6, 1e3, 1e-6, True),
    "Gamma-Poisson, power": (lambda x: conjugate.gamma_poisson(shape=3.0, bound=10.0, power=x), 1e-7, 1e3, 1e-6, True),
    "Gamma rate, power": (
        lambda x: conjugate.gamma_rate(shape=2.0, rate=3.0, n=40, bound=1.0, shape_per_record=0.5, power=x),
        1e-6, 1e2, 1e-6, True),
}  # fmt: skip


def quadrature_delta(curve: Profile, epsilon: float):
    """delta of a posterior profile by mpmath on the difference of tails, over the pairs written out here."""
    mp.dps = 30
    p = curve.parameters
    pairs = []
    if curve.name in ("beta-bernoulli", "beta-pair"):
        r = mpf(p["power"])
        if curve.name == "beta-bernoulli":
            a, b, n = mpf(p["alpha"]), mpf(p["beta"]), int(p["n"])
            cells = [(a + r * k, b + r * (n - 1 - k)) for k in (0, 1, n // 2, n - 1)]
        else:
            cells = [(mpf(p["a"]), mpf(p["b"]))]
        best = mpf(0)
        for a, b in cells:
            for x, y in ((a, b), (b, a)):
                cut = (mpf(epsilon) - mp.log(mp.beta(x, y + r)) + mp.log(mp.beta(x + r, y))) / r
                u = 1 / (1 + mp.exp(cut))  # mirrored: mass of 1 - theta below u
                low = lambda s, t, u=u: mp.betainc(s, t, 0, u, regularized=True)
                best = max(best, low(y, x + r) - mp.exp(mpf(epsilon)) * low(y + r, x))
        return best
    shape, shift = mpf(p["shape"]), mpf(p["shift"])
    upper = lambda s, z: mp.gammainc(s, z, mp.inf, regularized=True)
    lower = lambda s, z: mp.gammainc(s, 0, z, regularized=True)
    e = mp.exp(mpf(epsilon))
    if curve.name == "gamma-shape":
        cut = mp.exp((mpf(epsilon) + mp.loggamma(shape + shift) - mp.loggamma(shape)) / shift)
        mirrored = mp.exp((-mpf(epsilon) + mp.loggamma(shape + shift) - mp.loggamma(shape)) / shift)
        pairs = [
            upper(shape + shift, cut) - e * upper(shape, cut),
            lower(shape, mirrored) - e * lower(shape + shift, mirrored),
        ]
    else:
        rate = mpf(p["rate"])
        reach = shape * mp.log1p(shift / rate)
        cut, mirrored = (reach + mpf(epsilon)) / shift, (reach - mpf(epsilon)) / shift
        pairs = [upper(shape, cut * rate) - e * upper(shape, cut * (rate + shift))]
        if mirrored > 0:
            pairs.append(lower(shape, mirrored * (rate + shift)) - e * lower(shape, mirrored * rate))
    return max(pairs)


@pytest.mark.parametrize("name", list(NUMERIC))
def test_numeric_calibrations(name):
    price, lower, upper, tolerance, up = NUMERIC[name]
    rng = np.random.default_rng(len(name))
    for _ in range(sized(3, 30)):
        epsilon, delta = 10 ** rng.uniform(-1, 0.7), 10 ** rng.uniform(-9, -3)
        target = calibrate.target_of(epsilon, delta)
        found = (calibrate.largest if up else calibrate.smallest)(price, target, lower, upper)
        assert quadrature_delta(price(found).curve, epsilon) <= delta
        beyond = found * (1 + tolerance) if up else found * (1 - tolerance)
        assert quadrature_delta(price(beyond).curve, epsilon) > delta


def convolved_delta(a: float, b: float, power: float, draws: int, epsilon: float) -> float:
    """delta of `draws` draws of Beta(a+r, b) against Beta(a, b+r): the loss r x + c, its law convolved on a fine grid.

    Midpoint cells of the loss under P; error of second order in the cell, far below the 1e-4 that is asked.
    """
    from scipy.special import betaln

    c = betaln(a, b + power) - betaln(a + power, b)
    spread = math.sqrt(1 / a + 1 / b)
    x = np.linspace(-40 * spread - 20, 40 * spread + 20, 1 << 15)
    log_p = -(a + power) * np.logaddexp(0, -x) - b * np.logaddexp(0, x) - betaln(a + power, b)
    mass = np.exp(log_p) * (x[1] - x[0])
    total = mass
    size = 1 << 18
    transform = np.fft.rfft(total, size) ** draws
    law = np.fft.irfft(transform, size)
    loss = power * (draws * x[0] + np.arange(size) * (x[1] - x[0])) + draws * c
    return float((law * np.maximum(0, -np.expm1(epsilon - loss)))[loss > epsilon].sum())


def test_calibrations_of_composed_draws():
    rng = np.random.default_rng(11)
    for _ in range(sized(1, 30)):
        a, b, draws = 10 ** rng.uniform(-0.3, 1.5), 10 ** rng.uniform(-0.3, 1.5), int(rng.integers(2, 12))
        epsilon, delta = 10 ** rng.uniform(-0.5, 0.7), 10 ** rng.uniform(-6, -3)
        price = lambda x: conjugate.beta_any_n(alpha=a, beta=b, power=x, draws=draws)
        found = calibrate.largest(price, calibrate.target_of(epsilon, delta), 1e-5, 1e2, tolerance=1e-6)
        worst = lambda x: max(convolved_delta(a, b, x, draws, epsilon), convolved_delta(b, a, x, draws, epsilon))
        assert worst(found) <= delta * (1 + 1e-6)
        assert worst(found * (1 + 1e-4)) > delta * (1 - 1e-6)


def test_truncation_radius_is_inverted():
    price = lambda f: truncated.beta(alpha=1.0, beta=1.0, n=50, floor=f, power=0.1)
    target = calibrate.target_of(0.4, 0.0)
    found = calibrate.smallest(price, target, 1e-9, 0.49, "truncation")
    assert price(found).curve.epsilon_value <= 0.4 < price(found * (1 - 1e-6)).curve.epsilon_value


def test_number_of_draws_is_inverted():
    price = lambda k: sharp.gibbs_draw(difference=0.02, strong_convexity=1.0, draws=k, **SHARP)
    target = calibrate.target_of(1.0, 1e-6)
    found = calibrate.largest_count(price, target)
    assert exact_gdp_delta(0.02 * math.sqrt(found), 1.0) <= 1e-6 < exact_gdp_delta(0.02 * math.sqrt(found + 1), 1.0)
    with pytest.raises(CalibrationError, match="not even one"):
        calibrate.largest_count(
            lambda k: sharp.gibbs_draw(difference=9, strong_convexity=1.0, draws=k, **SHARP),
            target,
        )


@pytest.mark.parametrize(
    ("target", "limit"),
    [
        (Renyi([2], [0.5]), math.sqrt(0.5)),
        (Renyi([2, 8], [0.5, 1.0]), 0.5),
        (Gaussian(0.3), 0.3),
    ],
)
def test_curve_targets(target, limit):
    price = lambda x: sharp.gibbs_draw(difference=x, strong_convexity=1.0, **SHARP)
    found = calibrate.largest(price, calibrate.target_of(target=target), 1e-9, 1e3)
    assert found <= limit
    assert found == pytest.approx(limit, rel=1e-9)


def test_a_target_admits_only_what_it_can_judge():
    gaussian = sharp.gibbs_draw(difference=0.1, strong_convexity=1.0, **SHARP)
    beta = conjugate.beta_bernoulli(alpha=1.0, beta=1.0, n=10, power=0.01)
    ranged = exponential.exponential_mechanism(power=0.1, sensitivity=1.0)
    assert not calibrate.target_of(target=Pure(5.0)).admits(gaussian)
    assert not calibrate.target_of(target=Gaussian(5.0)).admits(beta), "a Beta draw has no mu"
    assert calibrate.target_of(target=Renyi([2], [1.0])).admits(beta)
    assert calibrate.target_of(target=BoundedRange(0.2000001)).admits(ranged)
    assert not calibrate.target_of(target=BoundedRange(0.19)).admits(ranged)
    slack = Guarantee(Gaussian(0.1), "replace-one", "t", "s", trust="proved with slack", slack=1e-9)
    assert not calibrate.target_of(target=Gaussian(0.5)).admits(slack)
    assert calibrate.target_of(1.0, 1e-6).admits(slack)
    metric = Guarantee(Metric(1.0, 0.0, "|x-y|"), "metric", "t", "s")
    with pytest.raises(ArgumentError, match="within"):
        calibrate.target_of(1.0, 1e-6).admits(metric)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilon": 1.0}, "delta must be given"),
        ({"delta": 1e-6}, "epsilon must be given"),
        ({}, "epsilon and delta must be given"),
        ({"epsilon": 0.0, "delta": 1e-6}, "epsilon must be greater than 0"),
        ({"epsilon": -1.0, "delta": 1e-6}, "epsilon must be greater than 0"),
        ({"epsilon": math.inf, "delta": 1e-6}, "epsilon must be finite"),
        ({"epsilon": "1", "delta": 1e-6}, "real number"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be less than 1"),
        ({"epsilon": 1.0, "delta": -1e-9}, "delta must lie in"),
        ({"epsilon": 1.0, "delta": 1e-6, "target": Pure(1.0)}, "not both"),
        ({"target": Metric(1.0, 0.0, "d")}, "target must be"),
    ],
)
def test_targets_are_checked(arguments, said):
    with pytest.raises(ArgumentError, match=said):
        calibrate.target_of(**arguments)


def test_an_impossible_target_is_refused_with_the_range():
    with pytest.raises(CalibrationError, match=r"no power in \[1e-06, 1\]"):
        calibrate.largest(
            lambda x: sharp.gibbs_draw(difference=1e9, strong_convexity=1.0, **SHARP),
            calibrate.target_of(1.0, 1e-6), 1e-6, 1.0, "power",
        )  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.0])
def test_a_bounded_range_target_admits_bounded_ranges_only(epsilon):
    """Pure(e) has ranges of up to 2 e, and says nothing about them: only BoundedRange(e) is within BoundedRange(e)."""
    target = calibrate.target_of(target=BoundedRange(epsilon))
    guarantee = exponential.exponential_mechanism(power=1.0, sensitivity=1.0)
    held = lambda curve: dataclasses.replace(guarantee, curve=curve)
    assert target.admits(held(BoundedRange(epsilon)))
    assert target.admits(held(BoundedRange(0.5 * epsilon)))
    assert not target.admits(held(BoundedRange(epsilon * (1 + 1e-12))))
    for other in (
        Pure(epsilon),
        Pure(0.4 * epsilon),
        Gaussian(1e-3 * epsilon),
        BoundedRange(0.1 * epsilon) + Pure(1e-9),
    ):
        assert not target.admits(held(other))
    # The other way round a range is a pure guarantee.
    assert calibrate.target_of(target=Pure(epsilon)).admits(held(BoundedRange(epsilon)))
    assert not calibrate.target_of(target=Pure(epsilon)).admits(held(Pure(epsilon * (1 + 1e-12))))


def test_a_slack_is_never_within_a_curve():
    """A total-variation slack is in no curve: only a point with a delta admits it, and pays (1 + e^eps) slack."""
    guarantee = dataclasses.replace(
        exponential.exponential_mechanism(power=0.01, sensitivity=1.0), slack=1e-9, trust="proved with slack"
    )
    for curve in (Gaussian(5.0), Pure(5.0), BoundedRange(5.0), Renyi([2.0], [5.0])):
        assert not calibrate.target_of(target=curve).admits(guarantee)
    assert calibrate.target_of(1.0, 1e-6).admits(guarantee)
    assert not calibrate.target_of(1.0, 1e-9).admits(guarantee)


def test_the_smallest_value_is_priced_again_after_it_was_chosen():
    """A price that refuses what it admitted before, as one does that is refined: the answer is one it admits at last."""
    asked: list[float] = []

    def price(value: float) -> Guarantee:
        refused = value < 1.5 or value in asked
        asked.append(value)
        return sharp.gibbs_draw(difference=2.0 if refused else 0.5, strong_convexity=1.0, **SHARP)

    target = calibrate.target_of(target=Gaussian(1.0))
    found = calibrate.smallest(price, target, 1e-3, 1e3, "noise")
    # What the search chose was asked for once more, refused, and left for the next value up.
    assert asked[-2] in asked[:-2]
    assert asked[-2] < found == asked[-1]
    assert 1.5 <= found <= 1.5 * (1 + 1e-9)


@pytest.mark.parametrize("curve", [Gaussian(0.7), Pure(0.7), Renyi([2.0, 8.0], [0.3, 0.9]), BoundedRange(0.7)])
def test_every_search_returns_a_value_that_was_priced_and_admitted(curve):
    """Of a price that jumps up and down near the limit too."""
    target = calibrate.target_of(target=curve)
    asked: dict[float, bool] = {}

    def price(value: float) -> Guarantee:
        jump = 1 + 0.3 * math.sin(1e4 * value)
        found = exponential.exponential_mechanism(power=value * jump, sensitivity=0.5)
        asked[value] = target.admits(found)
        return found

    assert asked.get(calibrate.largest(price, target, 1e-6, 1e3, "power"), False)
    falling = lambda value: price(1 / value)
    asked.clear()
    smallest = calibrate.smallest(falling, target, 1e-3, 1e6, "noise")
    assert target.admits(falling(smallest))
