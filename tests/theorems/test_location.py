"""Normal posteriors at their exact price and log odds at the sharp one: quadrature, limits, dropped hypotheses."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sfumato as sf
from grid_oracle import hockey_stick, normalised
from oracles import gaussian_delta
from sfumato.errors import ArgumentError, AssumptionError
from sfumato.privacy.curves import Curve
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import location, sharp

ONE = {"curvatures": (0.5,), "precisions": (0.2,), "n": 30, "sensitivity": 4.0}
TWO = {"curvatures": (0.5, 3.0), "precisions": (0.2, 0.7), "n": 30, "sensitivity": 4.0}


# --- normal posteriors -----------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(
    power=st.floats(1e-4, 1.0),
    radius=st.floats(1e-3, 1e3),
    n=st.integers(1, 10**7),
    precision=st.floats(1e-6, 1e6),
    draws=st.integers(1, 50),
)
def test_it_agrees_with_the_sharp_theorem(power, radius, n, precision, draws):
    found = location.gaussian_location(
        curvatures=(1.0, 1.0), precisions=(precision,) * 2, n=n, sensitivity=2 * radius, power=power, draws=draws
    ).curve.mu
    mean = sharp.gaussian_mean(power=power, radius=radius, n=n, precision=precision, draws=draws)
    gibbs = sharp.gibbs_draw(
        difference=2 * power * radius,
        strong_convexity=power * n + precision,
        convex=True,
        draws=draws,
        convex_domain=True,
    )
    assert found == pytest.approx(mean.curve.mu, rel=1e-14)
    assert found == pytest.approx(gibbs.curve.mu, rel=1e-14)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4, 1.0, 2.5])
@pytest.mark.parametrize(("power", "strength"), [(1.0, 1.0), (0.2, 1.0), (1.0, 60.0)])
def test_one_coordinate_is_the_hockey_stick_of_two_normals(epsilon, power, strength):
    a, prior, n, reach = 0.5, 0.2, 30, 4.0
    precision = strength * prior + power * n * a
    gap, deviation = power * a * reach / precision, 1 / math.sqrt(precision)
    x = np.linspace(-12 * deviation, gap + 12 * deviation, 20_001)
    p, q = (normalised(-0.5 * ((x - centre) / deviation) ** 2, x) for centre in (0.0, gap))
    found = location.gaussian_location(**ONE, power=power, strength=strength)
    assert found.delta(epsilon) == pytest.approx(hockey_stick(p, q, x, epsilon), rel=1e-9, abs=1e-13)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 100_000))
def test_no_shift_is_longer_and_one_is_as_long(seed):
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, 100))
    a, prior = 10 ** rng.uniform(-3, 3, d), 10 ** rng.uniform(-3, 3, d)
    power, strength, reach = 10 ** rng.uniform(-2, 0), 10 ** rng.uniform(0, 2), 10 ** rng.uniform(-2, 2)
    mu = location.gaussian_location(
        curvatures=tuple(a), precisions=tuple(prior), n=n, sensitivity=reach, power=power, strength=strength
    ).curve.mu
    precision = strength * prior + power * n * a
    moves = rng.normal(size=(200, d))
    moves *= reach / np.linalg.norm(moves, axis=1, keepdims=True)
    shifts = np.linalg.norm(power * a * moves / np.sqrt(precision), axis=1)
    assert shifts.max() <= mu
    along = reach * np.eye(d)
    assert np.linalg.norm(power * a * along / np.sqrt(precision), axis=1).max() == pytest.approx(mu, rel=1e-13)


def test_the_largest_curvature_decides_and_not_the_smallest_precision():
    """a/sqrt(l + r n a) grows with a: the coordinate with the least posterior precision is not the worst."""
    mu = location.gaussian_location(**TWO).curve.mu
    each = [4.0 * a / math.sqrt(prior + 30 * a) for a, prior in ((0.5, 0.2), (3.0, 0.7))]
    assert mu == pytest.approx(max(each), rel=1e-14)
    assert each[1] > each[0]


@pytest.mark.parametrize("draws", [2, 9, 100])
def test_draws_compose_as_the_root(draws):
    one, many = location.gaussian_location(**TWO).curve.mu, location.gaussian_location(**TWO, draws=draws)
    assert many.curve.mu == pytest.approx(math.sqrt(draws) * one, rel=1e-14)
    assert many.draws == draws
    assert (draws * sf.Gaussian(one)).mu == pytest.approx(many.curve.mu, rel=1e-14)


def test_a_drawn_error_is_charged_here_too():
    found = location.gaussian_location(**ONE, log_error=1e-6)
    assert found.delta(1.0) > location.gaussian_location(**ONE).delta(1.0)
    assert found.curve.parameters["error"] == 1e-6


# --- log odds --------------------------------------------------------------------------------------------------------


def posterior(t, ones, n, power, precision, centre=0.0):
    return power * (ones * t - n * np.logaddexp(0, t)) - 0.5 * precision * (t - centre) ** 2


@pytest.mark.parametrize(("n", "precision", "power"), [(1, 1.0, 1.0), (4, 0.3, 1.0), (20, 2.0, 0.4), (3, 50.0, 1.0)])
def test_no_neighbouring_log_odds_exceed_the_claim(n, precision, power):
    claim = location.logit_draw(precision=precision, power=power)
    reach = 12 / math.sqrt(precision) + 12
    t = np.linspace(-reach, reach, 30_001)
    laws = [normalised(posterior(t, k, n, power, precision), t) for k in range(n + 1)]
    for epsilon in (0.0, 0.1, 0.5, 1.5):
        worst = max(hockey_stick(p, q, t, epsilon) for p, q in pairwise(laws))
        assert worst <= claim.delta(epsilon) + 1e-12
    # With next to no likelihood the two laws are normals: the claim is met with equality.
    small = 1e-4 * math.sqrt(precision)
    p, q = (normalised(posterior(t, k, 1, small, precision), t) for k in (0, 1))
    tight = location.logit_draw(precision=precision, power=small).delta(0.0)
    assert hockey_stick(p, q, t, 0.0) == pytest.approx(tight, rel=1e-3)


@pytest.mark.planted
def test_half_the_slope_would_be_seen():
    """The planted fault: G = r/2 is below what neighbours reach."""
    t = np.linspace(-15, 15, 30_001)
    p, q = (normalised(posterior(t, k, 1, 0.1, 1.0), t) for k in (0, 1))
    assert hockey_stick(p, q, t, 0.0) > sf.Gaussian(0.05).delta(0.0)
    assert hockey_stick(p, q, t, 0.0) <= location.logit_draw(precision=1.0, power=0.1).delta(0.0)


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-3, 1.0), st.floats(1e-3, 1e4), st.floats(1.0, 1e3), st.integers(1, 30))
def test_log_odds_agree_with_the_sharp_theorem(power, precision, strength, draws):
    found = location.logit_draw(precision=precision, power=power, strength=strength, draws=draws).curve.mu
    gibbs = sharp.gibbs_draw(
        difference=power, strong_convexity=strength * precision, convex=True, draws=draws, convex_domain=True
    )
    assert found == pytest.approx(gibbs.curve.mu, rel=1e-14)


def test_the_golden_power():
    assert location.logit_draw(precision=1.0, power=0.0574567).delta(0.1) < 1e-3
    assert location.logit_draw(precision=1.0, power=0.0574568).delta(0.1) > 1e-3


# --- the profile with a stated error ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 1e-7, 0.3, 1.0, 4.0])
@pytest.mark.parametrize(("mu", "draws", "error"), [(0.5, 1, 1e-6), (0.1, 7, 1e-3), (1.0, 2, 1e-9)])
def test_the_stated_error_is_charged_for_every_draw(epsilon, mu, draws, error):
    curve = location.logit_draw(precision=1 / mu**2, draws=draws, log_error=error).curve
    total, root = draws * error, mu * math.sqrt(draws)
    moved = epsilon - 2 * total
    inner = float(gaussian_delta(abs(moved), root))
    if moved < 0:
        inner = -math.expm1(moved) + math.exp(moved) * inner
    assert curve.delta(epsilon) == pytest.approx(math.exp(total) * inner, rel=1e-9)
    assert curve.delta(epsilon) > sf.Gaussian(root).delta(epsilon)
    for order in (1.5, 4.0):
        extra = draws * error * (2 * order - 1) / (order - 1)
        assert curve.renyi(order) == pytest.approx(0.5 * order * root**2 + extra, rel=1e-9)
    assert curve.renyi(math.inf) == math.inf


def test_a_law_that_is_off_by_the_error_stays_below_the_profile():
    """Cells of two normals, every mass moved by the worst factor within the error: the claim covers it."""
    edges = np.linspace(-8, 8.6, 400)
    error, mu = 0.01, 0.6
    masses = [np.diff(norm.cdf(edges - centre)) for centre in (mu, 0.0)]
    cut = len(masses[0]) // 2
    signs = np.where(np.arange(len(masses[0])) > cut, 1.0, -1.0)
    # Half of the error in the weights, half in their sum, as a drawn law has it.
    p, q = (m * np.exp(s * 0.5 * error * signs) for m, s in zip(masses, (1, -1), strict=True))
    p, q = p / p.sum(), q / q.sum()
    profile = location.logit_draw(precision=1 / mu**2, log_error=error)
    bare = location.logit_draw(precision=1 / mu**2)
    gaps = {eps: float(np.maximum(p - math.exp(eps) * q, 0).sum()) for eps in (0.0, 0.2, 0.8)}
    assert all(gap <= profile.delta(eps) for eps, gap in gaps.items())
    assert any(gap > bare.delta(eps) for eps, gap in gaps.items())


def test_a_stored_profile_is_read_back_and_composes():
    guarantee = location.logit_draw(precision=4.0, draws=3, log_error=1e-9)
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    assert Curve.from_json(guarantee.curve.to_json()) == guarantee.curve
    twice = 2 * guarantee.curve
    whole = sf.Gaussian(0.5 * math.sqrt(6))
    assert whole.delta(1.0) <= twice.delta(1.0) <= whole.delta(1.0) * 1.02
    assert math.isfinite(twice.epsilon(1e-5))
    assert twice.epsilon(1e-5) == pytest.approx(whole.epsilon(1e-5), rel=0.01)
    with pytest.raises(ArgumentError, match="exactly the parameters"):
        sf.Profile("perturbed-gaussian", {"mu": 1.0})


# --- hypotheses ------------------------------------------------------------------------------------------------------

DROPPED = [
    ({"curvatures": (), "precisions": ()}, "coordinates"),
    ({"curvatures": (1.0, 2.0)}, "coordinates"),
    ({"curvatures": (0.0,)}, "precision of one record"),
    ({"curvatures": (math.inf,)}, "precision of one record"),
    ({"curvatures": (math.nan,)}, "precision of one record"),
    ({"precisions": (-1.0,)}, "precision of the prior"),
    ({"precisions": (math.inf,)}, "precision of the prior"),
    ({"n": 0}, "number of records"),
    ({"n": 2.5}, "number of records"),
    ({"sensitivity": 0.0}, "one record moves"),
    ({"sensitivity": math.inf}, "one record moves"),
    ({"power": 0.0}, "power"),
    ({"strength": -1.0}, "strength"),
    ({"draws": 0}, "draws"),
    ({"log_error": -1e-9}, "error"),
    ({"log_error": math.nan}, "error"),
]


@pytest.mark.parametrize(("change", "said"), DROPPED)
def test_a_dropped_hypothesis_is_named(change, said):
    with pytest.raises(AssumptionError, match=said):
        location.gaussian_location(**{**ONE, **change})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"precision": 0.0}, "precision of the prior"),
        ({"precision": math.inf}, "precision of the prior"),
        ({"power": -1.0}, "power"),
        ({"strength": 0.0}, "strength"),
        ({"draws": 1.5}, "draws"),
        ({"log_error": math.inf}, "error"),
    ],
)
def test_a_dropped_hypothesis_of_log_odds_is_named(change, said):
    with pytest.raises(AssumptionError, match=said):
        location.logit_draw(**{"precision": 1.0, **change})
