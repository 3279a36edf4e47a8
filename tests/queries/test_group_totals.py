"""Means and other parameters by group, whose sizes are private: their intervals against enumeration, and their coverage."""

import math

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from benchmarks.group_coverage import LAWS
from effort import sized
from sfumato.errors import ArgumentError
from sfumato.models import _centred
from sfumato.queries.statistics import bounded_means
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.queries.statistics.table import reader_of

F = sf.families
# Noise multipliers of the Gaussian mechanism at delta = 1e-6 (test_the_noise_of_these_prices_is_that_of_plans).
NOISE = {0.1: 36.30, 1.0: 4.225, 3.0: 1.545}
NOTHING = np.empty((0, 0))


def test_the_noise_of_these_prices_is_that_of_plans():
    for epsilon, noise in NOISE.items():
        plan = sf.plan(F.BoundedMean(0, 1), 100, epsilon, 1e-6, goal="estimate")
        assert plan["noise"] == pytest.approx(noise, rel=1e-3)


def released_means(rng, law, n, groups, noise):
    """Totals of n values in groups at random, with the noise of the mechanism."""
    own, draw = F.BoundedMean(0, 1), LAWS[law][0]
    group, x = rng.integers(0, groups, n), draw(rng, n) - 0.5
    sums = [np.bincount(group, weights, minlength=groups) for weights in (np.ones(n), x, x * x - 0.125)]
    sums[0] *= float(own.presence)
    rows = np.array(sums).T + noise * rng.standard_normal((groups, 3))
    return Released(n, Numbers(1.0, 1.0, noise), NOTHING, rows.ravel())


def share_held(law, n, epsilon, groups, sets, change=lambda released: released):
    """How often intervals hold the mean, over data sets and (at most ten) groups; and the number of intervals."""
    rng, mean = np.random.default_rng([n, groups, int(10 * epsilon)]), LAWS[law][1]
    model = sf.grouped(F.BoundedMean(0, 1), "g", list(range(groups)))
    held = []
    for _ in range(sets):
        released = change(released_means(rng, law, n, groups, NOISE[epsilon]))
        for each in bounded_means.group_totals(model, released)[:10]:
            low, high = each.ends(0.9, True)
            held.append(low <= mean <= high)
    return float(np.mean(held)), len(held)


QUICK = [
    ("even", 2_000, 1.0, 2),
    ("skewed", 2_000, 3.0, 10),
    ("two values", 50_000, 0.1, 10),
    ("narrow", 50_000, 1.0, 2),
    ("low", 20_000, 0.1, 10),
]
FULL = [(law, n, e, g) for law in LAWS for n in (200, 2_000, 50_000) for e in NOISE for g in (2, 10, 100)]


@pytest.mark.parametrize(("law", "n", "epsilon", "groups"), sized(QUICK, FULL))
def test_intervals_of_means_by_group_hold_the_mean_nine_times_in_ten(law, n, epsilon, groups):
    sets = sized(60 if n > 10_000 else 150, 2_000)
    share, count = share_held(law, n, epsilon, groups, sets)
    room = 4.5 * math.sqrt(0.09 / count)
    assert share >= 0.87 - room
    if n / groups > 12 * NOISE[epsilon] / 0.48:
        # Groups that are large beside the noise of their sizes; those of smaller ones end at the bounds, and hold more.
        assert share <= 0.93 + room


@pytest.mark.parametrize("wrong", ["noise ignored", "noise of the size ignored", "spread ignored"])
def test_wrong_intervals_of_means_are_seen(wrong, monkeypatch):
    if wrong == "noise ignored":
        monkeypatch.setattr(bounded_means, "group_totals", changed(noise=1e-6))
    elif wrong == "noise of the size ignored":
        monkeypatch.setattr(bounded_means, "group_totals", changed(size_noise=0.0))
    else:
        monkeypatch.setattr(bounded_means, "group_totals", changed(second=0.0))
    case = {
        "noise ignored": ("skewed", 2_000, 0.1, 2, 150),
        "noise of the size ignored": ("low", 20_000, 0.1, 10, 60),
        "spread ignored": ("two values", 2_000, 3.0, 2, 150),
    }
    share, count = share_held(*case[wrong])
    assert share < 0.87 - 4.5 * math.sqrt(0.09 / count)


def changed(**numbers):
    from dataclasses import replace

    sound = bounded_means.group_totals
    return lambda model, released: [replace(each, **numbers) for each in sound(model, released)]


def test_a_mean_of_few_noisy_records_is_said_to_be_anything():
    rng = np.random.default_rng(1)
    model = sf.grouped(F.BoundedMean(0, 1), "g", list(range(100)))
    ends = reader_of(model)(model, model, released_means(rng, "even", 200, 100, NOISE[0.1]))(0.9, True)
    assert np.median(ends[1] - ends[0]) > 0.95


def test_the_spread_of_the_values_is_used():
    """Values in a twentieth of the range: the interval is far narrower than that for any values between the bounds."""
    schema = sf.Schema({"x": sf.Number(0, 1)}, name="narrow")
    values = LAWS["narrow"][0](np.random.default_rng(2), 2_000)
    plan = sf.plan(F.BoundedMean(0, 1), 2_000, 3.0, 1e-6, goal="estimate")
    release = sf.publish(plan, sf.Dataset.from_table({"x": values}, schema=schema), randomness=sf.seeded(1))
    low, high = release.interval()
    # One noise multiplier over n, and the widest spread of values, to each side: 1.645 sqrt(noise^2/n^2 + 1/(4 n)).
    widest = 2 * 1.645 * math.hypot(NOISE[3.0] / 2_000, math.sqrt(0.25 / 2_000))
    assert (high - low) < 0.15 * widest
    assert low <= values.mean() <= high


def enumerated(noisy, n, deviation, trials, prior):
    """Quantile function's inverse of the rate of one of two groups, by enumeration of sizes and successes."""
    size_seen, total_seen = noisy
    laws, weights = [], []
    for size in range(1, n + 1):
        # The common part of the noise of two sizes is gone: half the variance is left.
        count_noise = deviation / (trials / 2) * math.sqrt(0.5)
        seen = stats.norm.logpdf(size_seen, size, count_noise)
        successes = np.arange(size * trials + 1)
        logs = seen + stats.betabinom.logpmf(successes, size * trials, *prior)
        logs = logs + stats.norm.logpdf(total_seen, successes - size * trials / 2, deviation)
        laws.append((prior[0] + successes, prior[1] + size * trials - successes))
        weights.append(logs)
    joined = np.concatenate(weights)
    shares = np.exp(joined - joined.max())
    a, b = (np.concatenate([law[i] for law in laws]) for i in (0, 1))
    return lambda rate: float(shares @ stats.beta.cdf(rate, a, b) / shares.sum())


@pytest.mark.parametrize(("sizes", "totals"), [((33.0, 27.0), (14.0, -20.0)), ((52.0, 9.0), (-30.0, 3.0))])
def test_a_rate_by_group_is_that_of_enumeration(sizes, totals):
    n, own, noise = 60, F.BetaBinomial(2, 2.0, 3.0), 2.0
    model = sf.grouped(own, "g", ["u", "v"])
    rows = np.column_stack([np.array(sizes) * float(own.presence), totals])
    released = Released(n, Numbers(1.0, 1.0, noise), NOTHING, rows.ravel())
    low, high = reader_of(model)(model, model, released)(0.9, True)
    seen, known = _centred.sizes(own, rows, n), []
    for group in range(2):
        below = enumerated((seen[group], totals[group]), n, noise * model.sensitivity, 2, (2.0, 3.0))
        assert below(low[group]) == pytest.approx(0.05, abs=0.015)
        assert below(high[group]) == pytest.approx(0.95, abs=0.015)
        known.append(stats.beta.cdf(high[group], 2 + totals[group] + seen[group], 3 + seen[group] - totals[group]))
    # Sizes and totals taken as known without noise give other ends.
    assert max(abs(share - 0.95) for share in known) > 0.025


FAMILIES = {
    "events": F.GammaPoisson(2, 1, bound=10),
    "durations": F.ExponentialRate(20, 40, 6),
    "normal": F.NormalMean(1, -4, 4),
    "log odds": F.LogitNormal(0.5),
    "rate of trials": F.BetaBinomial(4),
}


@pytest.mark.parametrize("name", sized(["normal"], list(FAMILIES)))
@pytest.mark.parametrize(("n", "epsilon"), sized([(2_000, 1.0)], [(n, e) for n in (200, 2_000, 50_000) for e in NOISE]))
def test_intervals_of_families_by_group_hold_parameters_from_the_prior(name, n, epsilon):
    own, sets, groups = FAMILIES[name], sized(24, 1_000), 2
    model, rng = sf.grouped(FAMILIES[name], "g", list(range(groups))), np.random.default_rng(5)
    read, deviation = reader_of(model), NOISE[epsilon] * model.sensitivity
    truth, totals = own.simulate(rng, sets * groups, n // groups)
    order = rng.permutation(sets * groups)  # parameters come at equal steps of probability
    truth, totals = truth[order].reshape(sets, groups), totals[order].reshape(sets, groups, -1)
    held = []
    for true, total in zip(truth, totals, strict=True):
        rows = _centred.joined(own, np.full(groups, n / groups), total)
        rows = rows + deviation * rng.standard_normal(rows.shape)
        released = Released(n, Numbers(1.0, 1.0, NOISE[epsilon]), NOTHING, rows.ravel())
        low, high = read(model, model, released)(0.9, True)
        held += list((low <= true) & (true <= high))
    room = 4.5 * math.sqrt(0.09 / len(held))
    assert 0.87 - room <= np.mean(held) <= 0.93 + room


def test_the_interval_of_the_rows_own_mean_is_narrower():
    own = F.GammaPoisson(2, 1, bound=2)
    presence = float(own.presence)
    rows = np.array([[400 * presence, 120.0, 20.0], [600 * presence, -100.0, 10.0]])
    model = sf.grouped(own, "g", ["u", "v"])
    read = reader_of(model)(model, model, Released(1000, Numbers(1.0, 1.0, 2.0), NOTHING, rows.ravel()))
    both, privacy = read(0.9, True), read(0.9, False)
    assert ((privacy[1] - privacy[0]) < (both[1] - both[0])).all()
    middle = (2 + rows[:, 1] + 1.0 * np.array([400, 600])) / (1 + np.array([400, 600]))
    assert ((privacy[0] < middle) & (middle < privacy[1])).all()


def test_families_without_intervals_by_group_are_refused_by_name():
    model = sf.grouped(F.Finite.bernoulli(0.125), "g", ["a", "b"])
    with pytest.raises(ArgumentError, match="Finite"):
        reader_of(model)


def test_releases_by_group_of_older_versions_say_why_there_is_no_interval():
    model = sf.grouped(F.BoundedMean(0, 1), "g", ["a", "b"])
    with pytest.raises(ArgumentError, match="before they were kept"):
        reader_of(model)(model, model, Released(10, Numbers(1.0, 1.0, 1.0), np.zeros((1, 2))))
