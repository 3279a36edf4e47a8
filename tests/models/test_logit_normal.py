"""Bernoulli in logit form with a normal prior: published draws, the price, expectations, public records."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from pricing import family_price
from sfumato import procedures
from sfumato.engines.codes import CodesEngine
from sfumato.errors import ArgumentError
from sfumato.grids import size
from sfumato.models.families import from_json
from sfumato.samplers import grid, logit_grid

LogitNormal = sf.families.LogitNormal
SCHEMA = sf.Schema({"sick": sf.Boolean(missing=False)})
N = 200


@pytest.fixture
def coarse(monkeypatch):
    """A grid of 4,096 cells: still far finer than the laws here, and quicker where hundreds are drawn."""
    monkeypatch.setattr(size, "MOST_CELLS", 1 << 12)


def survey(ones: int, n: int = N) -> sf.Dataset:
    return sf.Dataset.from_table({"sick": np.arange(n) < ones}, schema=SCHEMA)


def table(model, ones: float, n: int, power: float, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and distribution function of the posterior, by the trapezoid rule."""
    t = np.linspace(-40, 40, 800_001)
    counts = power * (ones * t - n * np.logaddexp(0, t))
    counts += strength * (model.ones * t - (model.ones + model.zeros) * np.logaddexp(0, t))
    logs = counts - 0.5 * strength * model.precision * (t - model.centre) ** 2
    density = np.exp(logs - logs.max())
    below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return t, below / below[-1]


@pytest.mark.planted
@pytest.mark.parametrize(
    ("ones", "mechanism"),
    [
        (55, "exact"),
        (55, "diffused"),
        (55, "concentrated"),
        (0, "exact"),
        *sized([], [(0, "diffused"), (0, "concentrated")]),
    ],
)
def test_published_draws_follow_the_posterior(ones, mechanism):
    model = LogitNormal(0.5, centre=-1.0, ones=1.5, zeros=4.0)
    target = {} if mechanism == "exact" else {"epsilon": 90.0, "delta": 1e-3, "allow_weak": True}
    count = sized(3000, 6000)
    plan = sf.plan(model, N, mechanism=mechanism, draws=count, **target)
    release = sf.publish(plan, survey(ones), randomness=sf.seeded(7))
    release.verify()
    draws = release.draws.values
    assert draws.shape == (1, count)
    t, below = table(model, ones, N, plan["power"], plan["strength"])
    middle = float(np.interp(0.5, below, t))
    for scale, fits in ((1.0, True), (0.7, False), (1.3, False)):
        assert (uniform_p(np.interp(middle + (draws[0] - middle) / scale, t, below)) > LEVEL) is fits


def test_noisy_statistics_are_published_too():
    plan = sf.plan(LogitNormal(1.0), N, 1.0, 1e-6, mechanism="noisy-statistics", draws=3)
    release = sf.publish(plan, survey(60), randomness=sf.seeded(1))
    assert release.draws.shape == (1, 3)
    assert release.guarantee.delta(1.0) <= 1e-6


# --- the price -------------------------------------------------------------------------------------------------------


def test_the_golden_power_of_the_example():
    """(0.1, 1e-3) and a standard normal prior: 0.0575, where the paper prints 0.012."""
    plan = sf.plan(LogitNormal(1.0), 1000, 0.1, 1e-3, mechanism="diffused", allow_weak=True)
    assert plan["power"] == pytest.approx(0.0575, abs=5e-5)
    assert plan["power"] == pytest.approx(0.05745674761, rel=2e-6)
    assert plan["power"] < 0.05745674761


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated"])
@pytest.mark.parametrize(("epsilon", "delta", "draws"), [(0.1, 1e-3, 1), (1.0, 1e-6, 1), (2.0, 1e-8, 4)])
def test_calibrated_numbers_are_within_a_millionth_and_never_over(mechanism, epsilon, delta, draws):
    model = LogitNormal(2.0, centre=0.5)
    plan = sf.plan(model, N, epsilon, delta, mechanism=mechanism, draws=draws, allow_weak=True)
    assert plan.guarantee.delta(epsilon) <= delta
    bolder = (min(1.0, plan["power"] * (1 + 2e-6)), max(1.0, plan["strength"] * (1 - 2e-6)))
    assert family_price(model, N, draws, *bolder).delta(epsilon) > delta


@pytest.mark.parametrize(("precision", "n", "power"), [(1.0, 3, 1.0), (0.2, 1, 1.0), (3.0, 8, 0.5)])
def test_no_drawn_neighbours_exceed_the_claim(precision, n, power, coarse):
    """The weights that are drawn from, every pair of neighbouring counts, against the claim."""
    model = LogitNormal(precision)
    weights = []
    for ones in range(n + 1):
        found = grid.integer_weights(logit_grid.masses(model.law([Fraction(ones)], n, power)))
        assert found.first == 0
        assert len(found.cumulative) == found.cells
        masses = np.diff(np.array([float(Fraction(c, found.total)) for c in found.cumulative]), prepend=0.0)
        weights.append(masses)
    price = family_price(model, n, 1, power)
    for epsilon in (0.0, 0.2, 1.0):
        scale = math.exp(epsilon)
        pairs = [*pairwise(weights), *pairwise(weights[::-1])]
        worst = max(float(np.maximum(p - scale * q, 0).sum()) for p, q in pairs)
        assert worst <= price.delta(epsilon)
        assert worst > 0


def test_the_error_of_the_grid_is_charged():
    model = LogitNormal(1.0)
    priced = family_price(model, N, 1).curve
    assert priced.parameters["error"] == pytest.approx(2e-9, rel=1e-6)
    assert priced.delta(1.0) > sf.Gaussian(1.0).delta(1.0)
    assert priced.delta(1.0) == pytest.approx(sf.Gaussian(1.0).delta(1.0), rel=1e-7)


# --- what a reader may expect ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "n", "epsilon", "mechanism"),
    [
        (LogitNormal(1.0), 300, 1.0, "diffused"),
        (LogitNormal(0.3, centre=-2.0, ones=3.0, zeros=9.0), 150, 2.0, "noisy-statistics"),
        (LogitNormal(2.0, centre=1.0), 100, 4.0, "concentrated"),
    ],
)
def test_expectations_are_met_by_simulated_releases(model, n, epsilon, mechanism, coarse):
    plan = sf.plan(model, n, epsilon, 1e-6, mechanism=mechanism)
    rng = np.random.default_rng(19)
    t, below = table(model, 0, 0, 1.0, 1.0)
    misses = []
    for run in range(200):
        truth = float(np.interp(rng.random(), below, t))
        bits = rng.random(n) < 1 / (1 + math.exp(-truth))
        data = sf.Dataset.from_table({"sick": bits}, schema=SCHEMA)
        # What publish draws, without pricing the plan anew for every data set.
        engine = CodesEngine(data, model.columns(SCHEMA))
        drawn = procedures.named(plan.procedure).carry_out(plan.task, engine, sf.seeded(run))
        misses.append(abs(float(drawn.pooled()[0]) - truth))
    assert np.quantile(misses, 0.9) == pytest.approx(plan.expected.value, rel=0.15)


@pytest.mark.planted
@pytest.mark.parametrize("n", [1, 50, 1_000_000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_sketched_draws_follow_the_posterior(n, share):
    model, ones = LogitNormal(0.1), float(int(share * n))
    natural = np.tile(model.natural(np.array([ones]), n, 0.8, 1.0), (4000, 1))
    draws = model.sketch(np.random.default_rng(5), natural)[:, 0]
    t, below = table(model, ones, n, 0.8, 1.0)
    assert uniform_p(np.interp(draws, t, below)) > LEVEL
    middle = float(np.interp(0.5, below, t))
    assert uniform_p(np.interp(middle + 1.4 * (draws - middle), t, below)) < LEVEL


def test_sketched_draws_of_several_totals_follow_their_own_laws():
    model = LogitNormal(0.1)
    cases = [(5, 1.0), (40_000, 900.0), (300, 300.0)]
    natural = np.concatenate([np.tile(model.natural(np.array([k]), n), (3000, 1)) for n, k in cases])
    draws = model.sketch(np.random.default_rng(6), natural)[:, 0].reshape(3, -1)
    for (n, k), part in zip(cases, draws, strict=True):
        t, below = table(model, k, n, 1.0, 1.0)
        assert uniform_p(np.interp(part, t, below)) > LEVEL


@pytest.mark.parametrize(("n", "ones"), [(10, 0), (10, 4), (2000, 1900)])
def test_divergence_matches_quadrature(n, ones):
    model = LogitNormal(0.5, centre=0.3, ones=1.0, zeros=2.0)
    _, first = table(model, ones, n, 1.0, 1.0)
    _, second = table(model, ones, n, 0.4, 1.5)
    p, q = np.diff(first), np.diff(second)
    kept = p > 1e-14
    exact = float((p[kept] * np.log(p[kept] / np.maximum(q[kept], 1e-300))).sum())
    given = [model.natural(np.array([[float(ones)]]), n, *x) for x in ((1.0, 1.0), (0.4, 1.5))]
    assert model.divergence(*given)[0] == pytest.approx(exact, rel=2e-3, abs=1e-4)
    assert model.divergence(given[0], given[0])[0] == pytest.approx(0, abs=1e-9)


def test_invented_counts_come_from_the_prior():
    model = LogitNormal(0.7, centre=-0.5)
    truth, counts = model.simulate(np.random.default_rng(2), 3000, 40)
    assert uniform_p(stats.norm.cdf((truth[:, 0] + 0.5) * math.sqrt(0.7))) > LEVEL
    assert float(np.mean(counts[:, 0] / 40 - 1 / (1 + np.exp(-truth[:, 0])))) == pytest.approx(0, abs=0.01)


# --- public records, documents, refusals -----------------------------------------------------------------------------


def test_public_bits_join_the_prior():
    model = LogitNormal(1.0, centre=0.2).with_public({"sick": np.arange(30) < 12}, schema=SCHEMA)
    assert (model.ones, model.zeros) == (12.0, 18.0)
    law, other = model.law([Fraction(5)], 20), LogitNormal(1.0, centre=0.2).law([Fraction(17)], 50)
    assert law == other
    with pytest.raises(ArgumentError, match="private rows"):
        model.with_public(survey(3), schema=SCHEMA)


def test_a_stored_model_is_read_back():
    model = LogitNormal(1.0, 0.5, 2.0, 3.0)
    assert from_json(model.to_json()) == model


def test_a_strong_prior_is_still_drawn():
    plan = sf.plan(LogitNormal(1e-4), 10, 0.01, 1e-9, mechanism="concentrated")
    assert plan.guarantee.delta(0.01) <= 1e-9
    assert np.isfinite(sf.publish(plan, survey(3, 10), randomness=sf.seeded(1)).mean())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LogitNormal(1e-5), "precision"),
        (lambda: LogitNormal(0.0), "precision"),
        (lambda: LogitNormal(1.0, centre=25.0), "centre"),
        (lambda: LogitNormal(1.0, ones=-1.0), "ones"),
        (lambda: LogitNormal(1.0).columns(sf.Schema({"x": sf.Number(0, 1)})), "Boolean"),
        (lambda: sf.plan(LogitNormal(1.0), 2_000_000_000, mechanism="exact"), "at most"),
    ],
)
def test_what_cannot_be_is_refused(make, said):
    with pytest.raises(ArgumentError, match=said):
        make()
