"""Counts, durations, Laplace scales and precisions: totals, posteriors, prices and what a reader may expect."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from scipy import stats

import oracles
import sfumato as sf
from effort import sized
from gamma_models import ALL, BOUNDS, TRIMMED, F, dataset, level, parameters, records, statistic
from goodness import LEVEL, uniform_p
from pricing import family_price
from sfumato.errors import ArgumentError, MechanismRefused
from sfumato.models.families._fixed_point import RESOLUTION
from sfumato.procedures import law

# --- draws -----------------------------------------------------------------------------------------------------------


@pytest.mark.planted
@pytest.mark.parametrize("name", list(ALL))
def test_published_draws_follow_the_posterior(name):
    model, n = ALL[name], 60
    values = records(name, 1.3, n, np.random.default_rng(4))
    release = sf.publish(
        sf.plan(model, n, mechanism="exact", draws=3000), dataset(name, values), randomness=sf.seeded(9)
    )
    theta = release.draws.values.ravel()
    shape, rate = parameters(name, values)
    assert uniform_p(level(name, theta, shape, rate)) > LEVEL
    for scale in (0.7, 1.3):
        assert uniform_p(level(name, theta, shape, rate / scale)) < LEVEL
    assert set(theta) <= set(model.law([0], n).geometry.middles)
    if name in TRIMMED:
        assert model.lower < theta.min() < theta.max() < model.upper


@pytest.mark.parametrize("name", list(ALL))
def test_tempered_and_noisy_releases_stay_on_the_public_grid(name):
    model, n = ALL[name], 400
    tempered = "exponential" if name in TRIMMED else "diffused"
    for mechanism in (tempered, "noisy-statistics"):
        plan = sf.plan(model, n, 1.0, 1e-6, mechanism=mechanism)
        chosen = dict(plan.parameters)
        public = set(model.law([0], n, chosen.get("power", 1.0), chosen.get("strength", 1.0)).geometry.middles)
        for theta in (0.3, 3.0):
            values = records(name, theta, n, np.random.default_rng(4))
            release = sf.publish(plan, dataset(name, values), randomness=sf.seeded(9))
            assert float(release.mean().item()) in public


# --- totals ----------------------------------------------------------------------------------------------------------

CELLS = st.floats(allow_nan=True, allow_infinity=True, width=64)


@pytest.mark.parametrize("name", list(ALL))
@settings(max_examples=60)
@given(rows=st.lists(CELLS, min_size=1, max_size=9), new=CELLS, place=st.integers(0, 8), seed=st.integers(0, 99))
def test_totals_are_whole_additive_and_bounded_whatever_the_cells(name, rows, new, place, seed):
    model = ALL[name]
    tally = lambda values: int(model.tally({"x": np.array(values)}, ("x",))[0])
    total, unit = tally(rows), model.units[0]
    assert total == sum(tally([row]) for row in rows)
    assert total == tally(np.random.default_rng(seed).permutation(rows))
    changed = list(rows)
    changed[place % len(rows)] = new
    assert abs(tally(changed) - total) * unit <= Fraction(model.sensitivity)
    assert 0 <= total * unit <= len(rows) * Fraction(model.sensitivity)
    feasible = model.feasible(np.array([float(total * unit)]), len(rows))
    assert feasible[0] == pytest.approx(float(total * unit))


@pytest.mark.parametrize("name", list(ALL))
def test_totals_are_the_sums_of_the_statistics(name):
    values = records(name, 0.4, 500, np.random.default_rng(1))
    model = ALL[name]
    found = int(model.tally({"x": values}, ("x",))[0]) * model.units[0]
    assert float(found) == pytest.approx(statistic(name, values), rel=1e-9)
    worst = statistic(name, np.full(1, BOUNDS[name][1])), statistic(name, np.full(1, BOUNDS[name][0]))
    assert model.sensitivity == pytest.approx(max(worst), rel=1e-15)
    assert Fraction(model.sensitivity) >= model.units[0] * (1 if name == "counts" else RESOLUTION)
    np.testing.assert_allclose(
        model.natural(np.array([float(found)]), 500, 0.3), parameters(name, values, 0.3), rtol=1e-9
    )


def test_public_records_become_the_prior():
    for name, model in ALL.items():
        values = records(name, 1.1, 40, np.random.default_rng(2))
        schema = sf.Schema({"x": sf.Number(*BOUNDS[name])}, name="t")
        grown = model.with_public({"x": values}, schema=schema)
        shape, rate = parameters(name, values)
        assert (grown.shape, grown.rate) == pytest.approx((shape, rate), rel=1e-9)
        assert replace(grown, shape=model.shape, rate=model.rate) == model


def test_documents_and_refusals():
    for model in ALL.values():
        assert F.from_json(model.to_json()) == model
        assert type(model).__name__ in repr(model)
    assert not F.ExponentialRate(1, 1, 1).bounded
    assert F.LaplaceScale(1, 1, 2, 1).bounded
    for wrong in (
        lambda: F.GammaPoisson(0, 1, 3),
        lambda: F.GammaPoisson(1e-7, 1, 3),
        lambda: F.GammaPoisson(1, 1, 2.5),
        lambda: F.ExponentialRate(1, -1, 3),
        lambda: F.ExponentialRate(1, 1, 3, lower=1.0),
        lambda: F.ExponentialRate(1, 1, 3, lower=2.0, upper=1.0),
        lambda: F.LaplaceScale(1, 0, 2, 1),
        lambda: F.LaplaceScale(1, 1, 2, 1, centre=math.nan),
        lambda: F.NormalPrecision(1, 1, math.inf, 1),
        lambda: F.NormalPrecision(1, 1, 0, 0),
    ):
        with pytest.raises(ArgumentError):
            wrong()
    with pytest.raises(ArgumentError, match="bounds of column"):
        ALL["counts"].columns(sf.Schema({"x": sf.Number(0, 10)}, name="t"))
    with pytest.raises(ArgumentError, match="unit of the records"):
        F.ExponentialRate(1.0, 1e-307, 1.0).law([0], 10)
    with pytest.raises(MechanismRefused, match="never pure"):
        sf.plan(ALL["counts"], 100, 1.0, 0.0)


# --- prices ----------------------------------------------------------------------------------------------------------


def bare(model, n, power, strength=1.0):
    """The claimed curve without what the drawn masses are charged."""
    claim = model.claim(n)
    return law._THEOREMS[claim.theorem](**claim.facts, power=power, strength=strength, draws=1, log_error=0.0).curve


def worst_pair(model, n, power, strength) -> tuple[tuple[mpf, mpf], tuple[mpf, mpf]]:
    """The two posteriors that the claim is of: nothing but the replaced record, which goes from nothing to the largest."""
    a, b, r = mpf(strength) * mpf(model.shape), mpf(strength) * mpf(model.rate), mpf(power)
    if isinstance(model, F.GammaPoisson):
        return (a + r * model.bound, b), (a, b)
    k = a + r * n * mpf(model.shape_per_record)
    return (k, b), (k, b + r * mpf(model.sensitivity))


def log_density(shape, rate):
    constant = shape * mp.log(rate) - mp.loggamma(shape)
    return lambda y: constant + shape * y - rate * mp.exp(y)


def quadrature(integrand, *laws) -> mpf:
    """Integral over y = log theta, on panels about the modes of the laws, which reach down to exp(-60)."""
    cuts = set()
    for shape, rate in laws:
        mode = mp.log(shape / rate)
        cuts |= {mode + s * d for s in (-1, 1) for d in (0, *(mp.sqrt(2**k / shape) for k in range(-2, 8)))}
        cuts |= {mode - 60 / shape / 2**k for k in range(6)}
    ordered = sorted(cuts)
    top = max(mode for mode in (mp.log((shape + 12 * mp.sqrt(60 * shape) + 400) / rate) for shape, rate in laws))
    return mp.quad(integrand, [y for y in ordered if y < top] + [top])


RANDOM = {
    "shape": st.floats(0.05, 20),
    "rate": st.floats(0.05, 20),
    "bound": st.sampled_from([1, 3, 8]),
    "n": st.integers(1, 40),
    "power": st.floats(0.01, 1),
    "kind": st.sampled_from(["counts", "durations", "precision"]),
}


def model_of(kind, shape, rate, bound):
    if kind == "counts":
        return F.GammaPoisson(shape, rate, bound)
    return F.ExponentialRate(shape, rate, bound) if kind == "durations" else F.NormalPrecision(shape, rate, 0.0, bound)


@settings(max_examples=5)
@given(**RANDOM, share=st.floats(0.05, 0.8))
def test_renyi_matches_quadrature(shape, rate, bound, n, power, kind, share):
    model = model_of(kind, shape, rate, bound)
    mp.mp.dps = 20
    p, q = worst_pair(model, n, power, 1.0)
    limit = p[0] / (p[0] - q[0]) if kind == "counts" else q[1] / (q[1] - p[1])
    order = mpf(float(1 + share * min(float(limit) - 1, 30.0)))
    found = []
    for first, second in ((p, q), (q, p)):
        f, g = log_density(*first), log_density(*second)
        mixed = (order * first[0] + (1 - order) * second[0], order * first[1] + (1 - order) * second[1])
        if min(mixed) <= 0.02 * min(first + second):
            continue
        integral = quadrature(lambda y: mp.exp(order * f(y) + (1 - order) * g(y)), first, second, mixed)
        found.append(mp.log(integral) / (order - 1))
    claimed = bare(model, n, power).renyi(float(order))
    assert claimed >= float(max(found)) * (1 - 1e-8)
    if len(found) == 2:
        assert claimed == pytest.approx(float(max(found)), rel=1e-8, abs=1e-8)


@settings(max_examples=12)
@given(**RANDOM, epsilon=st.floats(0.0, 2.0))
def test_profiles_match_quadrature(shape, rate, bound, n, power, kind, epsilon):
    model = model_of(kind, shape, rate, bound)
    mp.mp.dps = 20
    pair = worst_pair(model, n, power, 1.0)
    found = mpf(0)
    for first, second in (pair, pair[::-1]):
        f, g = log_density(*first), log_density(*second)
        # The log ratio in y is c + shift y, or c + shift e^y: where it crosses epsilon the integrand has its kink.
        constant = f(mpf(0)) - g(mpf(0)) + (first[1] - second[1])
        if kind == "counts":
            kink = (mpf(epsilon) - constant) / (first[0] - second[0])
        else:
            at = (constant - mpf(epsilon)) / (first[1] - second[1])
            kink = mp.log(at) if at > 0 else mpf(-10_000)
        cut = lambda y: max(mpf(0), mp.exp(f(y)) - mp.exp(epsilon + g(y)))
        own = sorted({first, second})
        low, high = quadrature_split(cut, kink, own)
        found = max(found, low + high)
    assert bare(model, n, power).delta(epsilon) == pytest.approx(float(found), rel=1e-9, abs=1e-9)


def quadrature_split(integrand, kink, laws) -> tuple[mpf, mpf]:
    below = quadrature(lambda y: integrand(y) if y < kink else mpf(0), *laws) if kink < -9_000 else mpf(0)
    if kink < -9_000:
        return below, mpf(0)
    steps = [mpf(2) ** k for k in range(-6, 5)]
    scale = 1 / mp.sqrt(min(shape for shape, _ in laws))
    reach = 60 / min(shape for shape, _ in laws)
    left = [kink - reach, *sorted(kink - scale * s for s in steps if scale * s < reach), kink]
    right = [kink, *(kink + scale * s for s in steps if scale * s < 9), kink + 9]
    return mp.quad(integrand, left), mp.quad(integrand, right)


@pytest.mark.parametrize("power", [0.05, 1.0])
@pytest.mark.parametrize("epsilon", [0.2, 1.5])
def test_never_below_brute_force_over_neighbouring_totals(power, epsilon):
    counts, times, n = F.GammaPoisson(0.3, 0.8, 2), F.ExponentialRate(0.3, 0.8, 2.0), 3
    precision = F.NormalPrecision(0.3, 0.8, 0.0, 2.0)
    worst = {"counts": mpf(0), "times": mpf(0), "precision": mpf(0)}
    for low, move in itertools.product(range(2 * n), (1, 2)):
        if low + move > 2 * n:
            continue
        for way in (True, False):
            start, step = low * power, move * power
            for key, value in (
                ("counts", oracles.gamma_shape_delta(0.3 + start, step, epsilon, way, 12)),
                ("times", oracles.gamma_rate_delta(0.3 + power * n, 0.8 + start, step, epsilon, way, 12)),
                ("precision", oracles.gamma_rate_delta(0.3 + power * n / 2, 0.8 + start, step, epsilon, way, 12)),
            ):
                worst[key] = max(worst[key], value)
    for model, key in ((counts, "counts"), (times, "times"), (precision, "precision")):
        claimed = bare(model, n, power).delta(epsilon)
        assert claimed >= worst[key]
        assert claimed == pytest.approx(float(worst[key]), rel=1e-8)
        assert family_price(model, n, 1, power).delta(epsilon) >= claimed


# Trimmed laws are priced by the same two ends of the range: one of them in the quick form.
@pytest.mark.parametrize("name", sized([name for name in ALL if name not in list(TRIMMED)[1:]], list(ALL)))
def test_calibrated_plans_come_within_a_millionth_and_never_over(name):
    model = ALL[name]
    served = (
        ("exponential", "noisy-statistics") if name in TRIMMED else ("diffused", "concentrated", "noisy-statistics")
    )
    for mechanism, epsilon in itertools.product(served, (0.4,)):
        plan = sf.plan(model, 300, epsilon, 1e-6, mechanism=mechanism)
        spent = plan.guarantee.epsilon(1e-6)
        assert spent <= epsilon
        if dict(plan.parameters).get("power") != 1.0 or mechanism == "concentrated":
            assert spent == pytest.approx(epsilon, rel=1e-6)
    if name in TRIMMED:
        plan = sf.plan(model, 300, 0.5, 0.0)
        assert plan.mechanism == "exponential"
        assert 0.5 * (1 - 1e-6) <= plan.guarantee.epsilon(0.0) <= 0.5
        many = sf.plan(model, 300, 0.5, 1e-6, mechanism="exponential", draws=20)
        assert 0.5 * (1 - 1e-6) <= many.guarantee.epsilon(1e-6) <= 0.5


# --- expectations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ALL))
@pytest.mark.parametrize("theta", [0.05, 0.6, 2.5])
def test_moments_of_clipped_records(name, theta):
    """The invented totals have the mean and the spread of sums of clipped records, whose moments are integrals."""
    model = ALL[name]
    point = np.array([theta])
    if name == "counts":
        x = np.arange(400)
        chance, value = stats.poisson.pmf(x, theta), np.minimum(x, 9)
        first, second = float((chance * value).sum()), float((chance * value**2).sum())
        mean, variance = model._moments(point)
    else:
        law = stats.norm(0, theta**-0.5) if "precision" in name else stats.expon(scale=1 / theta)
        top = model.bound
        of = (lambda x: x * x / 2) if "precision" in name else (lambda x: x)
        start = -top if "precision" in name else 0.0
        outside = law.sf(top) + (law.cdf(-top) if "precision" in name else 0.0)
        first, second = (
            law.expect(lambda x, k=k: of(x) ** k, lb=start, ub=top) + of(top) ** k * outside for k in (1, 2)
        )
        mean, variance = model.moments(point)
    assert mean[0] == pytest.approx(first, rel=1e-6)
    assert variance[0] == pytest.approx(second - first**2, rel=1e-5)


@pytest.mark.parametrize("name", list(ALL))
def test_divergence_matches_quadrature(name):
    model = ALL[name]
    first, second = model.natural(np.array([[70.0], [5.0]]), 50), model.natural(np.array([[60.0], [9.0]]), 50, 0.4)
    found = model.divergence(first, second)
    lower, upper = (model.lower, model.upper) if name in TRIMMED else (1e-9, 60.0)
    theta = np.exp(np.linspace(math.log(lower), math.log(upper), 400_001))
    for k in range(2):
        logs = []
        for shape, rate in (first[k], second[k]):
            raw = shape * np.log(theta) - rate * theta
            mass = np.trapezoid(np.exp(raw - raw.max()), np.log(theta))
            logs.append(raw - raw.max() - math.log(mass))
        gap = np.trapezoid(np.exp(logs[0]) * (logs[0] - logs[1]), np.log(theta))
        assert found[k] == pytest.approx(gap, rel=1e-4)
    assert np.all(model.divergence(first, first) < 1e-9)
