"""Closed forms at 50 digits: each number that a theorem returns lies on the safe side of its formula, and close to it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from sfumato.privacy.curves import Gaussian
from sfumato.privacy.guarantee import Guarantee
from sfumato.theorems import (
    canonical_glm,
    conjugate,
    distinguish,
    exponential,
    finite_family,
    inexact,
    interpolated,
    location,
    log_sobolev,
    metric,
    metric_examples,
    pac_bayes,
    rejection,
    sampling_error,
    truncated,
)
from sfumato.theorems import networks as networks_of_tables

CASES = 120
UP, DOWN = 1, -1


def glm(c, b, m, h, t, k):
    """A draw at power h; and what order 1 + h at a Renyi bound of b asks of the prior, or of the power."""
    model = {"radius": c, "n": t, "precision_per_record": m, "canonical": True}
    target = {"order": 1.0 + h, "epsilon": b, "bound": h, **model}
    order, c, b, m, h = map(mpf, (1.0 + h, c, b, m, h))
    mu = canonical_glm.posterior_draw(**model, bound=float(b), power=float(h), draws=k).curve.mu
    yield UP, mu, 2 * c * b * h / mp.sqrt(t * m) * mp.sqrt(k)
    yield UP, canonical_glm.concentrated_precision(**target), max(2 * (c * h) ** 2 * order / (t * b), m)
    yield DOWN, canonical_glm.diffused_power(**target), min(mpf(1), mp.sqrt(b * t * m / (2 * order)) / (c * h))


def responses(c, b, m, h, t, k):
    low, high, g_low, g_high = -c, b, -m, h
    found = canonical_glm.response_bound(y_min=low, y_max=high, mean_min=g_low, mean_max=g_high)
    yield UP, found, max(mpf(high) - mpf(g_low), mpf(g_high) - mpf(low))
    again = canonical_glm.response_bound(y_min=-high, y_max=-low, mean_min=-g_high, mean_max=-g_low)
    yield UP, again, max(mpf(high) - mpf(g_low), mpf(g_high) - mpf(low))


def guesses(c, b, m, h, t, k):
    total = mpf(c) * k
    best = (1 + min(mp.sqrt(total / 2), mp.sqrt(-mp.expm1(-total)))) / 2
    yield UP, distinguish.best_success(divergence=c, draws=k), min(mpf(1), best)
    tv = h / (1 + h)
    yield DOWN, distinguish.minimax_error(separation=c, total_variation=tv), mpf(c) / 2 * (1 - mpf(tv))
    risk, cells = 2.0 ** -(2 * k + 1), k + 1
    partition = mp.sqrt(2 * (mp.log(mpf(2) ** cells - 2) - mp.log(mpf(risk))) / t)
    yield UP, distinguish.partition_error(draws=t, cells=cells, delta=risk), min(mpf(2), partition)
    small = {"draws": t, "cells": k, "delta": risk}
    square = -3 * mp.log(mpf(risk)) / t
    yield UP, distinguish.empirical_error(**small), mp.sqrt(square)
    yield DOWN, distinguish.necessary_distance_uniform(lipschitz=c, **small), square / (4 * mpf(c))
    found = distinguish.necessary_distance_stochastic(concentration=m, offset=c, log_ratio=h, **small)
    yield DOWN, found, square / (2 * (1 + 2 * mpf(c) + 1 / mpf(m))) * mp.exp(-mpf(h))


def balls(c, b, m, h, t, k):
    """The losses u and -u, whose mode lies at distance h c/m on either side; and the logistic ball."""
    for sign in (1, -1):
        found = exponential.scalar_link_map_radius(
            slope=lambda u, sign=sign: float(sign), slope_bound=1.0, power=h, radius=c,
            precision_per_record=m, convex=True, cells=64,
        )  # fmt: skip
        yield UP, found, mpf(h) * mpf(c) / mpf(m)
    width = exponential.scalar_link_difference(loss=lambda u: b * u * u, radius=c, ball=h, convex=True, minimum=-m)
    yield UP, width, mpf(b) * (mpf(c) * mpf(h)) ** 2 + mpf(m)
    radius = mpf(exponential.logistic_map_radius(power=h, radius=c, precision_per_record=m))
    peak = mp.lambertw(1 / mp.e).real
    flat = mp.sqrt(peak * mpf(h) / mpf(m))
    if c * flat >= 1 + peak:
        yield UP, radius, flat


def finite(c, b, m, h, t, k):
    table = [[-c, -b, -m], [-h, -c, -b], [-0.7 * b, -m, -h]]
    rows = [[mpf(value) for value in row] for row in table]
    pairs = [(x, y) for x in range(3) for y in range(x)]
    ranges = {(x, y): max(r[x] - r[y] for r in rows) - min(r[x] - r[y] for r in rows) for x, y in pairs}
    yield UP, finite_family.largest_range(log_likelihood=table), max(ranges.values())
    rho = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    claim = finite_family.finite_metric(
        log_likelihood=table, distances=rho, distance="rank", power=h, draws=k, log_error=1e-3
    )
    slope = max(value / mpf(rho[pair]) for pair, value in ranges.items())
    # A drawn log mass is off by e at each of two neighbours, and the nearest pair of levels is 1 apart.
    yield UP, claim.curve.epsilon_value, k * (mpf(h) * slope + 2 * mpf(1e-3))
    wide = finite_family.posterior_draws(
        log_likelihood=table, log_prior=[0.0, 0.0, 0.0], n=2, power=h, draws=k, form="bounded range", log_error=1e-3
    )
    one = mpf(wide.curve.renyi(math.inf)) / k
    yield UP, one, mpf(h) * max(ranges.values()) + 4 * mpf(1e-3)


def chains(c, b, m, h, t, k):
    mu = interpolated.grid_draw(
        difference=c, strong_convexity=m, convex=True, convex_domain=True, log_error=0.5, draws=k
    )  # fmt: skip
    known = dict(mu.curve.parameters)
    yield UP, float(known["mu"]), mpf(c) / mp.sqrt(mpf(m))
    assert (known["draws"], float(known["error"])) == (k, 0.5)
    yield DOWN, interpolated.cell_acceptance(slope=h, half_diagonal=1.5, gap=0.25), mp.exp(-3 * mpf(h) - mpf(0.25))
    plan = inexact.langevin_schedule(
        strong_convexity=m, smoothness=2 * m, dimension=k + 1, total_variation=0.25, argmin_error=c
    )
    horizon = (4 * mp.log(4) + (k + 1) * mp.log(2) + 4 * mpf(m) * mpf(c) ** 2) / (2 * mpf(m))
    yield UP, plan.horizon, horizon
    assert plan.steps >= (horizon * 2 * mpf(m) * 4) ** 2 * (k + 1)
    base = Guarantee(Gaussian(1.0), "replace-one", "a theorem", "a source", draws=k)
    slack = inexact.approximate_sampler(base, total_variation=1e-3 / 7, every_data_set=True).slack
    yield UP, slack, k * mpf(1e-3 / 7)


def locations(c, b, m, h, t, k):
    """With errors of the drawn masses the mu of one draw stands in the curve itself."""
    known = {"power": h, "strength": 1.3, "draws": k, "log_error": 1e-3}
    found = location.gaussian_location(curvatures=[c, b], precisions=[m, 0.3 * m], n=t, sensitivity=h, **known).curve
    steep = max(mpf(a) / mp.sqrt(mpf(1.3) * mpf(p) + t * mpf(h) * mpf(a)) for a, p in ((c, m), (b, 0.3 * m)))
    yield UP, float(found.parameters["mu"]), mpf(h) * mpf(h) * steep
    odds = location.logit_draw(precision=m, **known).curve
    yield UP, float(odds.parameters["mu"]), mpf(h) / mp.sqrt(mpf(1.3) * mpf(m))
    for curve in (found, odds):
        assert (curve.parameters["draws"], float(curve.parameters["error"])) == (k, 1e-3)


def distances(c, b, m, h, t, k):
    reach = mpf(c) * mpf(h) * mpf(b)
    yield UP, metric.divergence(lipschitz=c, rho=b, power=h), min(2 * reach, reach**2 / 2)
    within = metric.posterior_draws_within(lipschitz=c, rho=b, power=h, draws=k).curve
    yield UP, within.renyi(math.inf), k * 2 * reach
    assumption = {"concentration": m, "offset": c, "log_ratio": b}
    log_c = mpf(b) * max(mpf(1), mpf(h))
    mass = min(mpf(2), mp.exp(log_c))
    mean = mpf(c) * mpf(h) + (1 + log_c - mp.log(mass)) * mpf(h) / mpf(m)
    found = metric.stochastic_draws(**assumption, distance="|x|", draws=k, power=h).curve
    yield UP, found.delta_value, mp.sqrt(k * mass * mean) / 2
    variation = metric.total_variation(jeffreys=h)
    if variation < 1:
        assert 4 * mpf(variation) * mp.atanh(mpf(variation)) >= h


def networks(c, b, m, h, t, k):
    floor = 0.3 / (1 + m)
    span = {size: mp.log((1 - (size - 1) * mpf(floor)) / mpf(floor)) for size in (2, 3)}
    shape = {"parents": [[], [0], [0]], "cardinalities": [2, 3, 2], "floor": floor}
    for adjacency in ("replace-one", "replace-entry"):  # the first node has both others below it
        claim = metric_examples.network_draws(**shape, adjacency=adjacency, power=h, draws=k)
        yield UP, claim.curve.renyi(math.inf), k * 2 * mpf(h) * (2 * span[2] + span[3])
    claim = truncated.dirichlet(categories=3, floor=floor, power=h, draws=k, log_error=1e-3)
    yield UP, claim.curve.renyi(math.inf), k * (2 * mpf(h) * span[3] + 4 * mpf(1e-3))


def trimmed(c, b, m, h, t, k):
    low, high = c, c + m
    found = metric_examples.trimmed_laplace(rate=b, lower=low, upper=high, bound=h, mean=-b, n=k)
    worst = min(mp.log(mpf(x)) - mpf(x) * (mpf(h) + mpf(b)) for x in (low, high))
    yield UP, found.log_ratio, k * (mp.log(mpf(high)) - worst)
    yield UP, found.diameter, 2 * mpf(h)
    yield DOWN, found.concentration, mpf(b)
    found = metric_examples.trimmed_precision(rate=b, lower=low, upper=high, bound=h, mean=-b, n=k)
    half = max(mpf(1), mpf(b)) / 2
    yield DOWN, found.concentration, mpf(b) / half
    yield UP, found.offset, mpf(low) * half
    # |x^2 - y^2| + 2|x - y| over [-h, h]: at (h, -h) below 1, at (h, -1) beyond.
    yield UP, found.diameter, 4 * mpf(h) if h <= 1 else (mpf(h) + 1) ** 2


def risks(c, b, m, h, t, k):
    lam = t * mpf(h)
    hoeffding = pac_bayes.bounded_hoeffding(loss_range=c, n=t, power=h)
    yield UP, hoeffding, (lam * mpf(c)) ** 2 / (8 * t)
    known = {"divergence": m, "hoeffding": b, "n": t, "power": h, "failure": 0.1, "independent": True}
    excess = (mpf(b) + mpf(m) - mp.log(mpf(0.1))) / lam
    yield UP, pac_bayes.empirical_bound(empirical_risk=c, **known), mpf(c) + excess
    yield UP, pac_bayes.oracle_bound(risk=c, **known), mpf(c) + 2 * excess
    yield UP, sampling_error.regret(total_variation=h / (4 * h + 1)), 2 * mpf(h / (4 * h + 1))


def tails(c, b, m, h, t, k):
    """Theorem 7 of Minami and its inverse (B.9)."""
    power = 0.2 * math.sqrt(m) / c
    divergence = 2 * (mpf(c) * mpf(power)) ** 2 / mpf(m)
    yield UP, log_sobolev.kl_bound(power=power, lipschitz=c, strong_convexity=m, convex=True), divergence
    bound = log_sobolev.tail_bound(power=power, lipschitz=c, strong_convexity=m, epsilon=0.5, convex=True)
    yield UP, bound.delta(0.5), mp.exp(-((mpf(0.5) - divergence) ** 2) / (4 * divergence))
    log_inverse = -mp.log(mpf(1e-5))
    yield DOWN, log_sobolev.eta(epsilon=h, delta=1e-5), (mp.sqrt(log_inverse + mpf(h)) - mp.sqrt(log_inverse)) ** 2
    found = log_sobolev.logistic_power(epsilon=0.5, delta=1e-5, radius=c, precision=m, intercept=True)
    slope = mp.sqrt(mpf(c) ** 2 + 1)
    yield DOWN, found, mpf(0.5) / (2 * slope) * mp.sqrt(mpf(m) / (1 + 2 * log_inverse))


def trials(c, b, m, h, t, k):
    base = Guarantee(Gaussian(1.0), "replace-one", "a theorem", "a source", draws=k)
    chance, error = 0.5 / (1 + h), 1e-7
    found = rejection.bounded_trials(base, acceptance=chance, trials=9, trial_error=error, every_data_set=True)
    yield UP, found.slack, min(mpf(1), k * ((1 - mpf(chance)) ** 9 + 9 * mpf(error)))
    needed = rejection.trials_needed(acceptance=chance, failure=1e-9)
    assert (1 - mpf(chance)) ** needed <= mpf(1e-9) < (1 - mpf(chance)) ** (needed - 2)


FORMULAS = [
    glm, responses, guesses, balls, finite, chains, locations, distances, networks, trimmed, risks,
    tails, trials,
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=[formula.__name__ for formula in FORMULAS])
def test_a_number_lies_on_the_safe_side_of_its_formula(formula):
    rng, seen = np.random.default_rng(21), 0
    with mp.workdps(50):
        for _ in range(CASES):
            c, b, m, h = (float(10 ** rng.uniform(-1, 1)) for _ in range(4))
            t, k = int(10 ** rng.uniform(1, 4)), int(rng.integers(1, 7))
            for side, found, exact in formula(c, b, m, h, t, k):
                gap = side * (mpf(found) / exact - 1)
                assert 0 <= gap <= 1e-9, (c, b, m, h, t, k, side)
                seen += 1
    assert seen >= CASES // 4


@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_a_strength_multiplies_both_numbers_of_a_gamma_prior(strength):
    """A prior s times as strong is the prior with both of its numbers multiplied by s."""
    known = {"n": 10, "bound": 2.0, "shape_per_record": 0.5, "power": 0.3, "draws": 2}
    found = conjugate.gamma_rate(shape=1.5, rate=0.7, strength=strength, **known)
    plain = conjugate.gamma_rate(shape=1.5 * strength, rate=0.7 * strength, **known)
    assert found.curve == plain.curve
    assert found.curve != conjugate.gamma_rate(shape=1.5, rate=0.7, **known).curve


def test_the_success_of_a_trial_is_its_formula():
    """On a box a ratio of sums over the steps of each side; on a ball the mass of what lies half a cell inside."""
    sums = [0.5 + sum(math.exp(-0.5 * c * 0.09 * j * j) for j in (1, 2, 3)) for c in (5.0, 2.0)]
    box = rejection.box_acceptance(strong_convexity=2.0, smoothness=5.0, spacings=[0.3] * 2, steps=[3] * 2, gap=0.1)
    assert box == pytest.approx((sums[0] / sums[1]) ** 2 * math.exp(-0.1), rel=1e-8)
    ball = {"strong_convexity": 2.0, "smoothness": 5.0, "spacing": 0.2, "dimension": 9, "distance": 0.0}
    a = 5.0 * (1 + 5.0 * 0.04 / 6)
    ratio = math.sqrt(2 * math.pi / (a * 0.04)) / (1 + math.sqrt(2 * math.pi / (2.0 * 0.04)))
    mass = stats.chi2.cdf(a * (1.2 - 0.2 * 3 / 2) ** 2, 9)
    assert rejection.ball_acceptance(**ball, radius=1.2) == pytest.approx(ratio**9 * mass, rel=1e-5)


def test_a_replaced_entry_is_priced_by_the_smallest_cells_wherever_they_stand():
    shape = {"parents": [[], [0], []], "adjacency": "replace-entry", "power": 0.5}
    one = networks_of_tables.table_draws(smallest_cells=[1.0, 2.0, 9.0], **shape)
    assert one.curve == networks_of_tables.table_draws(smallest_cells=[9.0, 2.0, 1.0], **shape).curve
