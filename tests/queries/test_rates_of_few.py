"""Rates of few records: the reference prior and its edge, by exact coverage; what is declared; and the estimate beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

import coverage_cases as simulated
import sfumato as sf
from benchmarks import rate_coverage
from effort import sized
from sfumato.queries.statistics import bounded_means, groups, rates
from sfumato.queries.statistics.protocol import Numbers, Released, numbers_of
from sfumato.queries.statistics.table import reader_of

F = sf.families
RATE, HALF = F.BetaBernoulli(), F.BetaBernoulli(0.5, 0.5)
NOTHING = np.empty((0, 0))
LEVELS = (0.001, 0.1, 0.49, 0.5, 0.7, 0.9, 0.99)
GROUPS = ("a", "b", "c", "d")


def by_group(model):
    return sf.grouped(model, "g", GROUPS)


def read(model, released, prior=None):
    return reader_of(model)(model, prior or model, released)


def noisy(totals, n=400, noise=8.0, model=RATE):
    """A release of noisy totals, of a noise of this deviation."""
    return Released(n, Numbers(1.0, 1.0, noise / model.sensitivity), NOTHING, np.array(totals, dtype=float))


# --- which prior -----------------------------------------------------------------------------------------------------

RELEASES = {
    "noisy count": (RATE, noisy([150.0]), HALF),
    "draws": (RATE, Released(400, Numbers(0.1, 1.0, 0.0), np.array([[0.3], [0.35]])), HALF),
    "trials": (F.BetaBinomial(3), noisy([400.0], model=F.BetaBinomial(3)), F.BetaBinomial(3, 0.5, 0.5)),
    "group": (by_group(RATE), noisy([60.0, 90.0], model=by_group(RATE)), by_group(HALF)),
    "draws of a group": (by_group(RATE), Released(400, Numbers(0.5, 1.0, 0.0), np.array([[0.4]])), by_group(HALF)),
    "trials of a group": (
        by_group(F.BetaBinomial(3)),
        noisy([120.0, -20.0], model=by_group(F.BetaBinomial(3))),
        by_group(F.BetaBinomial(3, 0.5, 0.5)),
    ),
}


@pytest.mark.parametrize("case", RELEASES)
def test_the_prior_is_the_reference_where_none_is_declared(case):
    """Where no end is moved, intervals are those of a reader who gives Beta(1/2, 1/2); Beta(1, 1), given, is another prior."""
    model, released, half = RELEASES[case]
    ends = read(model, released)(0.9, True)
    assert (ends > 0).all()
    assert (ends < 1).all()
    np.testing.assert_array_equal(ends, read(model, released, half)(0.9, True))
    given = type(model)(**{**vars_of(model), **({"model": vars_one(model)} if "group" in case else {})})
    assert given == model
    assert np.abs(ends - read(model, released, given)(0.9, True)).max() > 1e-4
    np.testing.assert_array_equal(read(model, released)(0.9, False), read(model, released, half)(0.9, False))


def vars_of(model):
    """The arguments of a model, to make an equal one."""
    names = ("model", "by", "levels") if hasattr(model, "by") else ("trials", "alpha", "beta")
    return {name: getattr(model, name) for name in names if name != "trials" or isinstance(model, F.BetaBinomial)}


def vars_one(model):
    return type(model.model)(**vars_of(model.model))


def test_a_declared_prior_is_used_and_moves_nothing():
    """alpha, beta or a floor that are not those by default; the price depends on them in either case."""
    for model in (F.BetaBernoulli(2, 10), F.BetaBernoulli(1, 2), F.BetaBernoulli(1, 1, floor=0.01)):
        assert not model.reference
        for whole, totals in ((model, [2.0]), (by_group(model), [2.0, 60.0])):
            low = read(whole, noisy(totals, model=whole))(0.9, True)[0]
            assert (low > model.floor).all()
    assert F.BetaBernoulli() == F.BetaBernoulli(1, 1)
    assert F.BetaBernoulli(1, 1).reference
    plan = sf.plan(RATE, 400, 1.0, 1e-6)
    assert plan.to_json()["model"]["alpha"] == 1.0


# --- the edge --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_an_end_is_moved_where_the_noise_alone_gives_as_much_with_the_probability_of_one_tail(level):
    """A count of z deviations: the end is 0 below the tail's z, and above it that of the posterior."""
    z = stats.norm.isf(0.5 * (1 - level))
    group = by_group(RATE)
    others = F.BetaBinomial(3)
    of_trials = by_group(others)
    # Successes are y + c a, with the noise of both: d^2 + c^2 e^2.
    released = noisy([60.0, -80.0], model=of_trials)
    sizes, e = bounded_means.noisy_sizes(of_trials, released, bounded_means.rows_by_group(of_trials, released))
    spread = math.hypot(8.0, 1.5 * e)
    for step, moved in ((0.99, True), (1.01, False)):
        alone = read(RATE, noisy([8 * z * step]))(level, True)[:, 0]
        own = read(group, noisy([8 * z * step, 90.0], model=group))(level, True)[:, 0]
        trials = read(of_trials, noisy([60.0, spread * z * step - 1.5 * sizes[0]], model=of_trials))(level, True)[:, 0]
        for low, high in (alone, own, trials):
            assert (low == 0) == moved
            assert high < 1
        alone = read(RATE, noisy([400 - 8 * z * step]))(level, True)[:, 0]
        own = read(group, noisy([90.0, 8 * z * step], model=group))(level, True)[:, 0]
        trials = read(of_trials, noisy([60.0, 1.5 * sizes[0] - spread * z * step], model=of_trials))(level, True)[:, 0]
        for low, high in (alone, own, trials):
            assert (high == 1) == moved
            assert low > 0


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 3.2), (1.0, 400.0), (5.0, 2.0), (2.0, 1e6)])
def test_the_tail_of_one_draw_is_that_of_a_beta(a, b):
    places = np.array([1e-4, 0.01, 0.05, 0.3, 0.8, 0.99])
    seen = stats.beta.isf(places, a, b)
    found = [float(rates.draws_as_large(np.array([a]), np.array([b]), np.array([x]))[0]) for x in seen if 0 < x < 1]
    np.testing.assert_allclose(found, places[(seen > 0) & (seen < 1)], atol=1e-7)
    assert rates.draws_as_large(np.array([a]), np.array([b]), np.zeros(1))[0] == 1


def test_the_tail_of_two_draws_is_that_of_the_sum_of_their_log_odds():
    a, b, seen = 1.0, 9.0, np.array([0.3, 0.15])
    total = float(np.log(seen / (1 - seen)).sum())
    law = lambda x: stats.beta.pdf(x, a, b) * stats.beta.sf(1 / (1 + np.exp(math.log(x / (1 - x)) - total)), a, b)
    exact = integrate.quad(law, 0, 1, epsabs=1e-10)[0]
    assert float(rates.draws_as_large(np.array([a]), np.array([b]), seen)[0]) == pytest.approx(exact, abs=1e-7)


def test_draws_of_a_group_are_judged_on_average_over_its_possible_sizes():
    model, n, power = by_group(RATE), 400, 0.05
    law = groups.tempered_group(model, model, n, Numbers(power, 1.0, 0.0), np.array([[0.2]]))[0]
    sizes = np.arange(n + 1.0)
    weights = np.exp(groups.log_size(sizes, n, len(GROUPS)))
    exact = weights @ stats.beta.sf(0.2, 1, 1 + power * sizes) / weights.sum()
    # Sizes at 24 equal steps of probability.
    assert law.tails[0] == pytest.approx(exact, abs=0.01)


def test_draws_behind_a_noisy_count_that_was_not_released_are_judged_with_its_noise():
    """As in releases of older versions: P(draw >= t | no success) by quadrature over the clipped noise."""
    n, noise, draw = 60, 5.0, 0.12
    statistic = rates.rate_statistic(RATE, RATE, n, Numbers(1.0, 1.0, noise), np.array([draw]))
    law = lambda z: stats.norm.pdf(z) * stats.beta.sf(draw, 1 + noise * z, 1 + n - noise * z)
    exact = 0.5 * stats.beta.sf(draw, 1, 1 + n) + integrate.quad(law, 0, 8)[0]
    # The noise is at 64 equal steps of probability; the draw is known up to its cell.
    assert statistic.tails()[0] == pytest.approx(exact, abs=0.01)


# --- coverage of fixed truths ----------------------------------------------------------------------------------------

# Of the cells of docs/benchmarks/rate_coverage.md, those with the lowest coverage and those of the default prior's failures.
HARD = [(20, 1.0, 0.5), (100, 0.1, 0.01), (100, 0.1, 0.02), (270, 0.1, 0.5), (1000, 1.0, 0.01), (5000, 0.1, 0.02)]
HARD_GROUPS = [(270, 0.1, 0.02), *sized([], [(5000, 0.3, 0.01), (270, 0.3, 0.2), (1000, 0.3, 0.05), (20, 0.1, 0.01)])]


@pytest.mark.parametrize(("n", "epsilon", "truth"), HARD)
def test_intervals_of_a_rate_hold_fixed_truths(n, epsilon, truth):
    assert rate_coverage.alone(n, rate_coverage.planned(n, epsilon), truth) >= 0.87


@pytest.mark.parametrize(("size", "epsilon", "truth"), HARD_GROUPS)
def test_intervals_of_a_group_hold_fixed_truths(size, epsilon, truth):
    n, count = sum(rate_coverage.SIZES), len(rate_coverage.SIZES)
    numbers = rate_coverage.planned(n, epsilon, sf.grouped(RATE, "g", list(range(count))))
    assert rate_coverage.in_group(size, n, count, numbers, truth) >= 0.87


@pytest.mark.parametrize(
    ("n", "epsilon", "truth", "mechanism"), [(100, 0.1, 0.02, "auto"), (60, 1.0, 0.05, "diffused")]
)
def test_through_the_real_mechanism_fixed_truths_are_held_and_the_default_numbers_as_a_prior_are_not(
    n, epsilon, truth, mechanism
):
    """The quadrature says .95; a reader who gives Beta(1, 1) holds .135 in the first case."""
    sets = sized(80, 1000)
    plan = sf.plan(RATE, n, epsilon, 1e-6, mechanism=mechanism)
    numbers, rng, source = numbers_of(plan.to_json()), np.random.default_rng([n, 7]), sf.seeded(3)
    held = np.zeros(2, dtype=int)
    for _ in range(sets):
        draws = simulated.draws_of(plan, [int(rng.binomial(n, truth))], source)
        released = Released(n, numbers, draws)
        for k, prior in enumerate((RATE, F.BetaBernoulli())):
            low, high = read(RATE, released, prior)(0.9, True)[:, 0]
            held[k] += low <= truth <= high
    least = stats.binom.ppf(1e-4, sets, 0.87)
    assert held[0] >= least
    if n == 100:
        assert held[1] < least


def test_the_quadrature_of_a_group_is_that_of_simulation():
    """60 data sets, or 2,000: the coverage within four standard errors."""
    size, n, count, epsilon, truth, sets = 100, 400, 4, 1.0, 0.05, sized(60, 2000)
    model = by_group(RATE)
    numbers = rate_coverage.planned(n, epsilon, model)
    exact, rng, held = rate_coverage.in_group(size, n, count, numbers, truth), np.random.default_rng(11), 0
    for _ in range(sets):
        ones = rng.binomial(size, truth)
        totals = np.array([ones, size - ones]) + numbers.noise * model.sensitivity * rng.standard_normal(2)
        low, high = read(model, Released(n, numbers, NOTHING, totals))(0.9, True)[:, 0]
        held += low <= truth <= high
    assert abs(held / sets - exact) <= 4 * math.sqrt(exact * (1 - exact) / sets)


# --- the estimate ----------------------------------------------------------------------------------------------------

FEW = {
    **RELEASES,
    "few": (RATE, noisy([-3.0]), HALF),
    "none of a group": (by_group(RATE), noisy([-5.0, -2.0], model=by_group(RATE)), by_group(HALF)),
    "few draws": (RATE, Released(60, Numbers(0.05, 1.0, 0.0), np.array([[0.02]])), HALF),
}


@pytest.mark.parametrize("case", FEW)
def test_the_estimate_is_the_posterior_median_and_lies_in_every_interval(case):
    model, released, half = FEW[case]
    ends = read(model, released)
    low, high = ends(0.0, True)[:, 0]
    assert low == high
    assert low == read(model, released, half)(0.0, True)[0, 0]
    inner = (low, high)
    for level in LEVELS:
        outer = ends(level, True)[:, 0]
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]
        inner = outer
    assert 0 < low < 1


def test_a_release_shows_the_median_and_its_noise_aware_draws_have_no_mass_at_0():
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="few")
    data = sf.Dataset.from_table({"x": np.arange(60) < 1}, schema=schema)
    plan = sf.plan(RATE, 60, 0.3, 1e-6, mechanism="noisy-statistics")
    release = sf.publish(plan, data, randomness=sf.seeded(4))
    assert release.interval(0.9)[0] == 0
    middle = float(release.estimate())
    assert middle == float(release.estimate(prior=HALF)) > 0
    values = release.to_pandas(noise_aware=True, draws=2_000).to_numpy().ravel()
    assert (values > 0).all()
    # Half of the draws are below the median, but for four standard errors.
    assert abs((values < middle).mean() - 0.5) <= 4 * math.sqrt(0.25 / 2_000)


@pytest.mark.parametrize(("n", "epsilon"), [(20, 0.1), (100, 0.3)])
def test_the_estimate_errs_no_more_than_one_draw(n, epsilon):
    """Root mean square over the five truths; at 1/2 alone it may err by a tenth more, where the noise is as large as n/8."""
    numbers = rate_coverage.planned(n, epsilon)
    each = np.array([rate_coverage.alone_errors(n, numbers, truth, 200) for truth in rate_coverage.TRUTHS])
    own, drawn = np.sqrt(np.mean(each**2, axis=0))
    assert own <= drawn
    assert (each[:, 0] <= 1.12 * each[:, 1]).all()


TOTALS = [
    bounded_means.NoisyTotals(12.0, -9.0, 3.0, 8.8, 4.2),
    bounded_means.NoisyTotals(-3.0, 2.0, 1.0, 8.8, 4.2),
    bounded_means.NoisyTotals(900.0, -180.0, 60.0, 8.8, 4.2),
    bounded_means.NoisyTotals(40.0, -23.0, None, 0.0, 4.2),
]


@pytest.mark.parametrize("each", TOTALS, ids=str)
@pytest.mark.parametrize("sampling", [True, False])
def test_the_estimate_of_a_mean_is_the_median_over_possible_sizes_and_totals(each, sampling):
    """By a grid over size and mean; its intervals reach to it, at every level."""
    sizes = (
        each.size + each.size_noise * np.linspace(-7, 7, 401)[:, None] if each.size_noise else np.array([[each.size]])
    )
    sizes = sizes[sizes[:, 0] >= 1]
    mean = (np.arange(4000) + 0.5) / 4000
    ratio = np.clip(0.5 + each.first / sizes, 0, 1)
    widest = ratio * (1 - ratio)
    spread = sizes * widest
    if each.second is not None:
        spread = np.clip(each.second - sizes * (ratio - 0.5) ** 2, 0, spread) + widest
    deviation = np.sqrt(each.noise**2 + (spread if sampling else 0))
    # (N, (mu - 1/2) N) is flat, so a mean has the density N given the size.
    logs = -0.5 * ((each.first - (mean - 0.5) * sizes) / deviation) ** 2 + np.log(sizes / deviation)
    if each.size_noise:
        logs = logs - 0.5 * ((sizes - each.size) / each.size_noise) ** 2
    density = np.exp(logs - logs.max()).sum(axis=0)
    exact = np.interp(0.5, np.cumsum(density) / density.sum(), mean + 0.5 / 4000)
    middle = each.median(sampling)
    assert middle == pytest.approx(exact, abs=3e-3)
    assert each.ends(0.0, sampling) == (middle, middle)
    for level in LEVELS:
        low, high = each.ends(level, sampling)
        assert low <= middle <= high


def test_estimates_of_means_of_small_groups_err_less_than_ratios():
    """Uniform values in a group of 20 beside larger ones, at epsilon 0.3: the ratio is often beyond a bound."""
    rng, noise, errors = np.random.default_rng(5), 12.99, []
    for _ in range(200):
        x = rng.random(20) - 0.5
        first, second, size = np.array([x.sum(), (x * x).sum(), 20]) + noise * np.array(
            [1, 1, 2.08]
        ) * rng.standard_normal(3)
        each = bounded_means.NoisyTotals(size, first, second, 2.08 * noise, noise)
        errors.append((each.median(True) - 0.5, np.clip(0.5 + first / max(size, 1), 0, 1) - 0.5))
    own, ratio = np.sqrt(np.mean(np.square(errors), axis=0))
    assert own < 0.7 * ratio
