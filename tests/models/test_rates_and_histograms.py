"""Rates and histograms: draws against closed forms, prices against brute force over all counts, low bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import special, stats

import oracles
import sfumato as sf
from effort import sized
from goodness import LEVEL, uniform_p
from pricing import family_price
from sfumato.grids.rates import RateGrid
from sfumato.samplers import laws as exact_laws

LEVELS = ["a", "b", "c", "d"]


def histogram(counts, levels=LEVELS) -> sf.Dataset:
    schema = sf.Schema({"x": sf.Category(levels, missing=levels[0])})
    return sf.Dataset.from_table({"x": np.repeat(levels, counts)}, schema=schema)


@pytest.mark.planted
@pytest.mark.parametrize("counts", [(20, 10, 5, 0), (0, 0, 0, 40), (300, 2, 50, 7)])
def test_every_marginal_of_a_drawn_histogram_is_its_beta(counts):
    model = sf.families.DirichletCategorical(LEVELS, [0.5, 1.0, 2.0, 1.5])
    plan = sf.plan(model, sum(counts), mechanism="exact", draws=9000)
    draws = sf.publish(plan, histogram(counts), randomness=sf.seeded(1)).draws.values[0]
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    cells = np.array(model.alpha) + counts
    # Each share, and a sum of two of them, which only the whole law gets right.
    checks = [(draws[:, k], cells[k]) for k in range(4)] + [(draws[:, 0] + draws[:, 2], cells[0] + cells[2])]
    for values, cell in checks:
        assert uniform_p(stats.beta.cdf(values, cell, cells.sum() - cell)) > LEVEL
    values, cell = checks[0]
    if counts[0]:
        assert uniform_p(stats.beta.cdf(values, 0.7 * cell, 0.7 * (cells.sum() - cell))) < LEVEL
        assert uniform_p(stats.beta.cdf(values, 1.4 * cell, 1.4 * (cells.sum() - cell))) < LEVEL


@pytest.mark.planted
@pytest.mark.parametrize("trials", [2, 5])
def test_several_trials_per_record_follow_their_posterior(trials):
    model = sf.families.BetaBinomial(trials, 2, 3)
    schema = sf.Schema({"x": sf.Number(0, trials)})
    data = sf.Dataset.from_table({"x": np.arange(60) % (trials + 1)}, schema=schema)
    ones = int((np.arange(60) % (trials + 1)).sum())
    draws = sf.publish(
        sf.plan(model, 60, mechanism="exact", draws=12_000), data, randomness=sf.seeded(2)
    ).draws.values.ravel()
    law = (2 + ones, 3 + 60 * trials - ones)
    assert uniform_p(stats.beta.cdf(draws, *law)) > LEVEL
    assert uniform_p(stats.beta.cdf(draws, 0.7 * law[0], 0.7 * law[1])) < LEVEL
    assert uniform_p(stats.beta.cdf(draws, 1.3 * law[0], 1.3 * law[1])) < LEVEL


@settings(max_examples=sized(20, 40))
@given(
    st.floats(0.05, 5), st.floats(0.05, 5), st.floats(0.01, 1.0), st.integers(1, 3), st.integers(1, 5), st.floats(0.05, 3)
)  # fmt: skip
def test_several_trials_cost_what_the_worst_pair_of_counts_costs(alpha, beta, power, trials, n, epsilon):
    """Every pair of totals that two neighbouring data sets can have, by an independent quadrature."""
    model = sf.families.BetaBinomial(trials, alpha, beta)
    claimed = family_price(model, n, 1, power).curve.delta(epsilon)
    worst = 0.0
    for others in range((n - 1) * trials + 1):
        for low, high in itertools.combinations(range(trials + 1), 2):
            # The pair moves (high - low) bits; what both hold stays in the cells.
            a = alpha + power * (others + low)
            b = beta + power * ((n - 1) * trials - others + trials - high)
            forward = float(oracles.beta_pair_delta(a, b, power * (high - low), epsilon))
            backward = float(oracles.beta_pair_delta(b, a, power * (high - low), epsilon))
            worst = max(worst, forward, backward)
    assert claimed >= worst * (1 - 1e-9)
    # The error of the drawn masses is charged on top, and nothing else.
    error = exact_laws.log_error(model.public_law(n, power, 1.0))
    assert claimed <= worst * (1 + 1e-6) + 4 * error
    single = sf.families.BetaBernoulli(alpha, beta)
    if trials > 1 and worst > 1e-12:
        assert family_price(single, n, 1, power).curve.delta(epsilon) < worst


@pytest.mark.parametrize("cells", [(0.3, 1.0, 2.0), (1.0, 1.0, 1.0, 1.0), (2.0, 0.2, 0.5, 0.1)])
@pytest.mark.parametrize("power", [0.2, 1.0])
def test_a_histogram_costs_at_least_every_pair_of_counts(cells, power):
    """All counts of n records in K cells, one record moved: the two cells that change, given the rest."""
    model = sf.families.DirichletCategorical(len(cells), cells)
    n = 6 if len(cells) == 3 else 4
    curve = family_price(model, n, 1, power).curve
    for epsilon in (0.1, 0.7, 2.0):
        pairs = {
            (cells[i] + power * counts[i], cells[j] + power * counts[j])
            for counts in itertools.product(range(n), repeat=len(cells))
            if sum(counts) == n - 1
            for i, j in itertools.permutations(range(len(cells)), 2)
        }
        worst = max(float(oracles.beta_pair_delta(a, b, power, epsilon)) for a, b in pairs)
        assert curve.delta(epsilon) >= worst * (1 - 1e-9)
        assert curve.delta(epsilon) <= worst * (1 + 1e-6) + 1e-7


def pair_deltas(a, b, power, epsilon):
    """Beta(a + r, b) against Beta(a, b + r) by distribution functions, for arrays: the event is theta above a threshold."""
    gap = special.betaln(a, b + power) - special.betaln(a + power, b)
    below = special.expit(-(epsilon - gap) / power)  # 1 - threshold, so that nothing is lost near 1
    return special.betainc(b, a + power, below) - math.exp(epsilon) * special.betainc(b + power, a, below)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_no_counts_of_thirty_records_cost_more_than_is_claimed(size):
    """All counts of the other 29 records, random priors from 0.05 and powers from 0.01: the price covers every pair."""
    generator = np.random.default_rng(size)
    n, tight = 30, 0
    for _ in range(40):
        cells = tuple(10 ** generator.uniform(math.log10(0.05), 1.5, size))
        power = float(10 ** generator.uniform(-2, 0))
        epsilon = float(power * 10 ** generator.uniform(-1, 1.5))
        model = sf.families.DirichletCategorical(size, cells)
        claimed = family_price(model, n, 1, power).curve.delta(epsilon)
        first, second = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
        # With a third cell the others may be anywhere; with two they are all in these two.
        possible = first + second <= n - 1 if size > 2 else first + second == n - 1
        worst = max(
            pair_deltas(cells[i] + power * first[possible], cells[j] + power * second[possible], power, epsilon).max()
            for i, j in itertools.permutations(range(size), 2)
        )
        assert claimed >= worst * (1 - 1e-9) - 1e-14
        tight += claimed <= worst * (1 + 1e-5) + 1e-7
        half = family_price(model, n, 1, 0.5 * power).curve.delta(epsilon)
        assert half < worst or worst < 1e-12
    assert tight == 40


@pytest.mark.parametrize(("parameters", "golden"), [((1, 1, 100, 0.1), 4.299138975), ((1, 1, 5, 0.1), 3.295897)])
def test_truncated_rates_have_their_golden_price(parameters, golden):
    alpha, beta, n, floor = parameters
    plan = sf.plan(sf.families.BetaBernoulli(alpha, beta, floor=floor), n, mechanism="exact")
    assert plan.guarantee.epsilon(0.0) == pytest.approx(golden, abs=1e-6)
    assert plan.guarantee.curve.kind == "pure"


@pytest.mark.parametrize("floor", [0.05, 0.3])
def test_a_truncated_draw_is_pure_on_the_grid_itself(floor):
    """The drawn integer weights of every two neighbours: no log ratio exceeds the price."""
    from sfumato.samplers.beta_grid import beta_masses
    from sfumato.samplers.grid import integer_weights

    model, n, power = sf.families.BetaBernoulli(1.5, 2.5, floor=floor), 12, 0.8
    epsilon = family_price(model, n, 1, power).epsilon(0.0)
    logs = []
    mp.dps = 30
    for ones in range(n + 1):
        law = model.law([ones], n, power)
        weights = integer_weights(beta_masses(*law.cells, 16, law.geometry.rates))
        each = np.diff(np.array([0, *weights.cumulative], dtype=object))
        logs.append(np.array([float(mp.log(int(w)) - mp.log(weights.total)) for w in each[::37]]))
    steps = [np.abs(a - b).max() for a, b in itertools.pairwise(logs)]
    assert max(steps) <= epsilon
    assert max(steps) >= 0.98 * epsilon


@pytest.mark.planted
def test_low_bits_tell_a_float_variant_and_nothing_here():
    """A float draw of a rate or a histogram is a different set of numbers for every data set; a release never is."""
    for model, few, many in (
        (sf.families.BetaBernoulli(1, 1), [0], [400]),
        (sf.families.DirichletCategorical(4, 1.0), [400, 0, 0, 0], [0, 0, 0, 400]),
    ):
        for totals in (few, many):
            law = model.law(totals, 400, 0.5)
            public = set(RateGrid(0.0, law.grid).middles)
            ours = exact_laws.draw(law, 2000, sf.seeded(3))[:, 0]
            assert set(ours) <= public
            generator = np.random.default_rng(1)
            natural = model.natural(np.array(totals, dtype=float), 400, 0.5)
            floats = model.sketch(generator, np.tile(natural, (2000, 1)))[:, 0]
            assert np.mean([value in public for value in floats]) < 0.01


def test_rates_are_clipped_into_trials_whatever_a_cell_holds():
    model = sf.families.BetaBinomial(3)
    values = np.array([np.nan, np.inf, -np.inf, 1e308, -5.0, 2.4, 3.0])
    assert model.tally({"x": values}, ("x",)).tolist() == [0 + 3 + 0 + 3 + 0 + 2 + 3]


WRONG = [
    (lambda: sf.families.BetaBernoulli(0, 1), "alpha"),
    (lambda: sf.families.BetaBernoulli(1, -1), "beta"),
    (lambda: sf.families.BetaBernoulli(1, 1, floor=0.5), "below 1/2"),
    (lambda: sf.families.BetaBinomial(0), "trials"),
    (lambda: sf.families.DirichletCategorical(["a"]), "two different"),
    (lambda: sf.families.DirichletCategorical(["a", "a"]), "two different"),
    (lambda: sf.families.DirichletCategorical(["a", "b"], [1.0]), "one per level"),
    (lambda: sf.families.DirichletCategorical(["a", "b"], [1.0, 0.0]), "alpha"),
    (
        lambda: sf.families.DirichletCategorical(LEVELS).columns(
            sf.Schema({"x": sf.Category(LEVELS[::-1], missing=LEVELS[-1])})
        ),
        "same order",
    ),
    (lambda: sf.families.BetaBinomial(2).columns(sf.Schema({"x": sf.Number(0, 3)})), "must contain"),
]


@pytest.mark.parametrize(("call", "said"), WRONG)
def test_misuse_is_refused(call, said):
    with pytest.raises(sf.errors.ArgumentError, match=said):
        call()


def test_public_records_make_a_release_cheaper():
    """The point of a public prior: the same power, a smaller price."""
    model = sf.families.BetaBernoulli(1, 1)
    schema = sf.Schema({"x": sf.Boolean(missing=False)})
    seen = model.with_public({"x": np.arange(200) % 3 == 0}, schema=schema)
    assert (seen.alpha, seen.beta) == (68.0, 134.0)
    prices = [sf.plan(m, 1000, mechanism="exact").guarantee.epsilon(1e-6) for m in (model, seen)]
    assert prices[1] < 0.2 * prices[0]
    with pytest.raises(sf.errors.ArgumentError, match="empty"):
        model.with_public({"x": []}, schema=schema)
    assert math.isclose(seen.alpha / (seen.alpha + seen.beta), 1 / 3, abs_tol=0.01)
