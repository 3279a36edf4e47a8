"""Intervals by group from noisy counts: against brute force, by coverage through the real mechanism, and what is refused."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import special, stats

import goodness
import sfumato as sf
from effort import sized
from sfumato.errors import ArgumentError, FormatError
from sfumato.queries.statistics import groups as by_group
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.release import Release

N, LEVELS = 2000, ("north", "south", "east", "west")
SCHEMA = sf.Schema(
    {"g": sf.Category(LEVELS, missing=LEVELS[0]), "x": sf.Boolean(missing=False)}, target="x", name="groups"
)
MODEL = sf.grouped(sf.families.BetaBernoulli(1, 1), "g", LEVELS)


# --- against brute force ---------------------------------------------------------------------------------------------


def brute(noisy, n, groups, prior, deviation, others, floor):
    """Distribution functions of the share and of the rows' own posterior mean: every count, every theta on a fine line."""
    low, high = (math.asin(math.sqrt(end)) for end in (floor, 1 - floor))
    angles = low + (high - low) * (np.arange(4000) + 0.5) / 4000  # a prior may pile up at the ends
    theta = np.sin(angles) ** 2
    density, said, weights = np.zeros_like(theta), [], []
    log_prior = (prior[0] - 0.5) * np.log(theta) + (prior[1] - 0.5) * np.log1p(-theta)
    for k in range(n + 1):
        for m in range(n + 1 - k):
            sizes = special.comb(n - k - m + groups - 2, groups - 2, exact=False)
            seen = stats.norm.pdf(noisy[0], k, deviation) * stats.norm.pdf(noisy[1], m, deviation * math.sqrt(others))
            likelihood = special.comb(k + m, k) * np.exp(log_prior + k * np.log(theta) + m * np.log1p(-theta))
            part = sizes * seen * likelihood
            density += part
            weights.append(part.sum())
            said.append(float(part @ theta / part.sum()) if part.sum() > 0 else 0.5)
    return theta, np.cumsum(density) / density.sum(), np.array(said), np.array(weights) / np.sum(weights)


BRUTE = [
    ((4.3, 9.1), 30, 3, (1.0, 1.0), 2.0, 1, 0.0),
    ((-3.0, 21.0), 30, 2, (0.5, 2.0), 3.0, 1, 0.0),
    ((12.0, 30.5), 40, 4, (1.0, 2.0), 1.2, 2, 0.0),
    ((5.0, 14.0), 25, 3, (2.0, 1.0), 4.0, 1, 0.1),
    ((29.0, 0.4), 30, 2, (1.0, 6.0), 0.4, 1, 0.0),
    ((0.0, 30.0), 40, 2, (1.0, 1.0), 0.5, 1, 0.3),
    ((2.0, 3.0), 5, 3, (1.0, 1.0), 51.3, 1, 0.0),
]


@pytest.mark.parametrize("case", BRUTE, ids=str)
def test_quantiles_are_those_of_brute_force(case):
    law = by_group.noisy_law(*case)
    theta, below, said, weights = brute(*case)
    for level in (0.5, 0.9):
        ends = np.interp([0.5 * (1 - level), 0.5 * (1 + level)], below, theta)
        assert law.share_ends(level) == pytest.approx(ends, abs=6e-4)
        low, high = law.rows_ends(level)
        tail = 0.5 * (1 - level)
        for outside, inside in ((said < low - 1e-4, said <= low + 1e-4), (said > high + 1e-4, said >= high - 1e-4)):
            assert weights[outside].sum() <= tail + 1e-6
            assert weights[inside].sum() >= tail - 1e-6


SMALL = [
    ((20.0, 30.0), 400, 60, (1.0, 1.0), 51.3),
    ((20.0, 30.0), 400, 60, (1.0, 1.0), 433.0),
    ((40.0, 200.0), 400, 4, (0.1, 0.1), 51.3),
    ((4.0, 200.0), 400, 4, (0.01, 0.01), 12.0),
]


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_groups_smaller_than_the_noise_and_priors_that_pile_up_agree_with_single_counts(case):
    noisy, n, groups, prior, deviation = case
    k, m = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    k, m = k[k + m <= n], m[k + m <= n]
    logs = special.gammaln(n - k - m + groups - 1) - special.gammaln(n - k - m + 1)
    logs += stats.betabinom.logpmf(k, k + m, *prior)
    logs += stats.norm.logpdf(noisy[0], k, deviation) + stats.norm.logpdf(noisy[1], m, deviation)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    low, high = by_group.noisy_law(*case, 1, 0.0).share_ends(0.9)
    for end, tail in ((low, 0.05), (high, 0.95)):
        near = [weights @ special.betainc(prior[0] + k, prior[1] + m, max(end + way * 1e-3, 0.0)) for way in (-1, 1)]
        assert near[0] <= tail <= near[1]


@pytest.mark.parametrize(("n", "epsilon"), [(6_000, 20.0), (6_000, 1.0), (60_000, 20.0), *sized([], [(300_000, 1.0)])])
def test_rates_outside_a_floor_have_intervals_at_its_edge(n, epsilon):
    levels = LEVELS[:3]
    model = sf.grouped(sf.families.BetaBernoulli(1, 1, floor=0.1), "g", levels)
    schema = sf.Schema(
        {"g": sf.Category(levels, missing=levels[0]), "x": sf.Boolean(missing=False)}, target="x", name="floored"
    )
    bits = np.random.default_rng(1).random(n) < np.repeat([0.0, 0.5, 1.0], n // 3)
    plan = sf.plan(model, n, epsilon, 1e-6, mechanism="noisy-statistics")
    release = sf.publish(
        plan, sf.Dataset.from_table({"g": np.repeat(levels, n // 3), "x": bits}, schema=schema), randomness=sf.seeded(1)
    )
    both, rows = release.interval(0.9), release.interval(0.9, include="privacy")
    for low, high in (both, rows):
        assert ((low >= 0.1) & (high <= 0.9) & (low <= high)).all()
        assert high[0] < 0.11
        assert low[2] > 0.89
    assert both[0][1] < 0.51
    assert both[1][1] > 0.49
    if (n, epsilon) != (6_000, 1.0):  # there the noise is not small beside the group
        # Far below the floor a cut Beta is an exponential at its edge, of rate (b - 1)/(1 - f) - (a - 1)/f.
        slope = (n / 3) / 0.9
        assert both[1][0] - 0.1 == pytest.approx(-math.log(0.05) / slope, rel=0.1)


@pytest.mark.parametrize(("power", "values"), [(0.2, [0.31]), (0.05, [0.9]), (0.3, [0.12, 0.2, 0.16, 0.1])])
def test_tempered_draws_agree_with_brute_force_over_sizes_and_counts(power, values):
    n, groups = 80, 3
    model = sf.grouped(sf.families.BetaBernoulli(1, 2), "g", LEVELS[:groups])
    (law,) = by_group.tempered_group(model, model, n, Numbers(power, 1.0, 0.0), np.array(values)[:, None])
    theta, cumulative = np.linspace(0, 1, 401), 0.0
    weights = []
    for size in range(n + 1):
        k = np.arange(size + 1)
        a, b = 1 + power * k, 2 + power * (size - k)
        seen = np.prod([stats.beta.pdf(value, a, b) for value in values], axis=0)
        part = (n - size + 1) * stats.betabinom.pmf(k, size, 1, 2) * seen
        weights.append(part.sum())
        cumulative = cumulative + part @ stats.beta.cdf(theta[None, :], (1 + k)[:, None], (2 + size - k)[:, None])
    cumulative = cumulative / sum(weights)
    for level in (0.5, 0.9):
        ends = np.interp([0.5 * (1 - level), 0.5 * (1 + level)], cumulative, theta)
        assert law.share_ends(level) == pytest.approx(ends, abs=0.01)


def test_runs_of_counts_agree_with_single_counts(monkeypatch):
    """At a noise of 40 counts are summed in runs of 6; one by one they say the same."""
    case = ((160.0, 75.0), 1000, 3, (1.0, 1.0), 40.0, 1, 0.0)
    coarse = by_group.noisy_law(*case)
    monkeypatch.setattr(by_group, "_RUNS", 1000)
    fine = by_group.noisy_law(*case)
    assert len(coarse.own) < len(fine.own) / 20
    assert coarse.share_ends(0.9) == pytest.approx(fine.share_ends(0.9), abs=3e-4)


def test_counts_that_no_records_can_have_are_refused():
    with pytest.raises(ArgumentError, match="edited"):
        by_group.noisy_law((1e300, 1e300), 1000, 3, (1.0, 1.0), 5.0, 1, 0.0)


def test_a_prior_that_contradicts_the_counts_moves_the_window():
    law = by_group.noisy_law((0.0, 1000.0), 5000, 2, (4000.0, 4000.0), 10.0, 1, 0.0)
    assert law.own.min() > 70  # beyond seven deviations of the noise
    weights = {side: law.weights[law.own == side].sum() for side in (law.own.min(), law.own.max())}
    assert max(weights.values()) < 1e-6


# --- through the real mechanism --------------------------------------------------------------------------------------


def planned(draws=1, model=MODEL, epsilon=1.0):
    return sf.plan(model, n=N, epsilon=epsilon, delta=1e-6, draws=draws, mechanism="noisy-statistics")


def published(plan, sizes, truth, rng, source):
    groups = np.repeat(LEVELS, sizes)
    bits = np.concatenate([rng.random(size) < share for size, share in zip(sizes, truth, strict=True)])
    return sf.publish(plan, sf.Dataset.from_table({"g": groups, "x": bits}, schema=SCHEMA), randomness=source)


def covered(runs, sizes=None, draws=1, misread=1.0, seed=3):
    """How often each group's true rate lies in its 90 % interval, when the noise is held to be `misread` times its size."""
    rng, source, plan = np.random.default_rng(seed), sf.seeded(seed), planned(draws)
    inside = np.zeros(len(LEVELS))
    for _ in range(runs):
        truth = rng.random(len(LEVELS))
        bars = np.sort(rng.integers(0, N + 1, len(LEVELS) - 1))
        own = np.diff(np.concatenate([[0], bars, [N]])) if sizes is None else sizes
        release = published(plan, own, truth, rng, source)
        noise = misread * float(plan["noise"])
        released = Released(N, Numbers(1.0, 1.0, noise), release.draws.pooled(), release.draws.totals)
        laws = by_group.group_laws(MODEL, MODEL, released)
        # The truth lies between the two ends where its own mass lies between theirs; the ends are tested above.
        below = [
            law.weights @ special.betainc(law.prior[0] + law.own, law.prior[1] + law.rest, share)
            for law, share in zip(laws, truth, strict=True)
        ]
        inside += np.abs(np.array(below) - 0.5) <= 0.45
    return inside


def test_intervals_by_group_cover_as_often_as_they_say_however_many_draws():
    runs = sized(10, 400)
    for draws in (1, 300):
        inside = covered(runs, draws=draws)
        # The groups of one release have noise of their own: each is one trial.
        assert stats.binomtest(int(inside.sum()), runs * len(LEVELS), 0.9).pvalue > goodness.LEVEL


def test_small_groups_are_covered_too():
    runs = sized(24, 400)
    inside = covered(runs, sizes=[20, 60, 920, 1000])
    assert (stats.binom.cdf(inside, runs, 0.84) > goodness.LEVEL).all()


def test_noise_that_is_misread_is_seen():
    inside = covered(40, sizes=[20, 60, 920, 1000], misread=0.1)
    assert stats.binom.cdf(inside[:2].sum(), 80, 0.84) < goodness.LEVEL


# --- what is released ------------------------------------------------------------------------------------------------


def release_by_group(**options):
    rng = np.random.default_rng(1)
    return published(planned(**options), [200, 300, 500, 1000], [0.1, 0.3, 0.5, 0.9], rng, sf.seeded(2))


def test_noisy_counts_are_kept_and_survive_a_file(tmp_path):
    release = release_by_group()
    assert release.totals.shape == (4, 2)
    assert release.totals.sum() == pytest.approx(N, abs=60)
    again = Release.from_bytes(release.to_bytes())
    assert (again.totals == release.totals).all()
    assert (again.interval() == release.interval()).all()
    assert again.verify() is again
    with pytest.raises(ValueError, match="read-only"):
        again.draws.totals[0] = 3.0


def test_tempered_releases_have_no_totals():
    tempered = sf.plan(MODEL, n=N, epsilon=1.0, delta=1e-6, mechanism="diffused")
    rng = np.random.default_rng(4)
    assert published(tempered, [500] * 4, [0.5] * 4, rng, sf.seeded(1)).totals is None


@pytest.mark.parametrize("forged", [None, np.zeros(7), np.full(8, 0.1), np.full(8, np.inf)])
def test_totals_that_are_missing_or_off_their_grid_are_a_forgery(forged):
    release = release_by_group()
    other = dataclasses.replace(release, draws=dataclasses.replace(release.draws, totals=forged))
    with pytest.raises(FormatError, match="with what is kept"):
        other.verify()
    if forged is None:
        with pytest.raises(ArgumentError, match="no noisy totals"):
            other.interval()


def test_what_the_rows_say_is_narrower_and_holds_their_own_number():
    release = release_by_group()
    both, rows = release.interval(0.99), release.interval(0.99, include="privacy")
    assert (np.diff(rows, axis=0) < np.diff(both, axis=0)).all()
    assert (rows[0] < np.array([0.1, 0.3, 0.5, 0.9]) + 0.06).all()
    assert (rows[1] > np.array([0.1, 0.3, 0.5, 0.9]) - 0.06).all()


def _shares(levels, values):
    """Ends of intervals of shares in two groups, of 300 and 100 records."""
    model = sf.grouped(sf.families.DirichletCategorical(levels, 1.0), "g", LEVELS[:2])
    schema = sf.Schema(
        {"g": sf.Category(LEVELS[:2], missing=LEVELS[0]), "x": sf.Category(levels, missing=levels[0])},
        target="x",
        name="shares",
    )
    table = {"g": ["north"] * 300 + ["south"] * 100, "x": values * 100}
    plan = sf.plan(model, n=400, epsilon=2.0, delta=1e-6, mechanism="noisy-statistics")
    release = sf.publish(plan, sf.Dataset.from_table(table, schema=schema), randomness=sf.seeded(6))
    return release.interval(0.999)


def test_shares_of_three_levels_have_intervals_in_every_group():
    low, high = _shares(("a", "b", "c"), ["a", "b", "b", "c"])
    assert low.shape == (2, 3)
    assert (low < np.array([0.25, 0.5, 0.25])).all()
    assert (np.array([0.25, 0.5, 0.25]) < high).all()
    assert (high[1] - low[1] > high[0] - low[0]).all()


def test_shares_of_two_levels_have_an_interval_each_and_mirror_one_another():
    low, high = _shares(("no", "yes"), ["no", "no", "no", "yes"])
    assert low.shape == (2, 2)
    assert (low < np.array([0.75, 0.25])).all()
    assert (np.array([0.75, 0.25]) < high).all()
    assert low == pytest.approx(1 - high[:, ::-1], abs=1e-9)


def test_auto_tells_the_counts_of_groups_at_every_price_but_a_pure_one():
    for epsilon in (0.1, 8.0, 20.0):
        assert sf.plan(MODEL, n=N, epsilon=epsilon, delta=1e-6).mechanism == "noisy-statistics"
    bounded = sf.grouped(sf.families.BetaBernoulli(1, 1, floor=0.1), "g", LEVELS)
    assert sf.plan(bounded, n=N, epsilon=1.0, delta=0.0).mechanism == "exponential"


def test_a_level_next_to_one_and_a_prior_of_another_kind():
    release = release_by_group()
    low, high = release.interval(1 - 1e-16)
    assert (low < high).all()
    for prior in (
        sf.grouped(sf.families.GammaPoisson(1, 1, 5), "g", LEVELS),
        sf.grouped(sf.families.BetaBernoulli(1, 1, floor=0.1), "g", LEVELS),
        sf.grouped(sf.families.BetaBernoulli(1, 1), "g", LEVELS[:-1]),
    ):
        with pytest.raises(ArgumentError, match="same labels and floor"):
            release.interval(prior=prior)


@pytest.mark.parametrize(
    "model",
    [
        sf.grouped(sf.families.NormalMean(1.0, -4.0, 4.0), "g", LEVELS),
        sf.grouped(sf.families.BoundedMean(0, 80), "g", LEVELS),
        sf.families.Quantile(0.5, list(range(10))),
        sf.Gibbs(sf.losses.Logistic(1.0), sf.priors.Gaussian(1.0), 2),
    ],
    ids=lambda model: getattr(model, "name", "gibbs"),
)
def test_widths_that_no_interval_gives_are_refused_in_a_sentence(model):
    with pytest.raises(sf.errors.SfumatoError):
        sf.plan_for_width(model, 400, 0.3)


def test_a_width_can_be_planned_for_groups():
    n, width, epsilons = sized((200, 0.3, (0.5, 3.0)), (N, 0.2, (0.1, 0.3)))
    found = sf.plan_for_width(MODEL, n, width, mechanism="noisy-statistics", epsilons=epsilons)
    assert 0.95 * width < found.width <= width
    with pytest.raises(sf.errors.CalibrationError, match="sampling error"):
        sf.plan_for_width(MODEL, 100, 0.05, mechanism="noisy-statistics")
