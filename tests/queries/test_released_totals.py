"""Noisy totals that are kept with a release: one draw and ten have one interval, and it holds the truth as often as it says."""

import numpy as np
import pytest
from scipy import integrate, stats

import sfumato as sf
from sfumato.queries.statistics.protocol import Numbers, Released
from sfumato.queries.statistics.table import reader_of

F = sf.families
CASES = {
    "rate": (F.BetaBernoulli(1, 1), sf.Boolean(missing=False), np.arange(900) % 3 == 0),
    "rate of trials": (F.BetaBinomial(trials=4), sf.Number(0, 4, integer=True), np.arange(900) % 5),
    "log odds": (F.LogitNormal(0.25), sf.Boolean(missing=False), np.arange(900) % 4 == 0),
    "events": (F.GammaPoisson(1, 1, bound=9), sf.Number(0, 9, integer=True), np.arange(900) % 7),
    "durations": (F.ExponentialRate(2, 1, bound=8), sf.Number(0, 8), np.arange(900) % 11 / 4),
    "normal mean": (F.NormalMean(1, -4, 4), sf.Number(-4, 4), np.linspace(-1, 2, 900)),
    "shares": (F.DirichletCategorical(list("abc")), sf.Category(list("abc"), missing="a"), list("aabbbc" * 150)),
}


def published(name, draws, seed=3):
    model, column, cells = CASES[name]
    plan = sf.plan(model, n=900, epsilon=0.5, delta=1e-6, draws=draws, mechanism="noisy-statistics")
    data = sf.Dataset.from_table({"x": cells}, schema=sf.Schema({"x": column}, name="kept"))
    return sf.publish(plan, data, randomness=sf.seeded(seed))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("include", ["privacy and sampling", "privacy"])
def test_one_draw_and_ten_have_the_same_interval(name, include):
    one, ten = (published(name, draws) for draws in (1, 10))
    assert one.draws.values.shape != ten.draws.values.shape
    np.testing.assert_array_equal(one.totals, ten.totals)
    np.testing.assert_array_equal(one.interval(include=include), ten.interval(include=include))
    other = published(name, 1, seed=4)
    assert not np.array_equal(other.interval(include=include), one.interval(include=include))


@pytest.mark.parametrize("name", CASES)
def test_the_totals_travel_in_the_file_and_are_verified(name, tmp_path):
    release = published(name, 1)
    release.save(tmp_path / "kept.sfumato")
    again = sf.load(tmp_path / "kept.sfumato")
    again.verify()
    np.testing.assert_array_equal(again.totals, release.totals)
    assert len(release.totals) == release.plan["parameters"]["totals"]


@pytest.mark.parametrize(("seen", "deviation"), [(30.2, 4.0), (-5.0, 6.0), (103.0, 2.5), (0.4, 3.0)])
def test_the_posterior_of_a_rate_given_its_noisy_count_is_that_of_quadrature(seen, deviation):
    n, model = 100, F.BetaBernoulli(2, 3)
    counts = np.arange(n + 1)
    weights = stats.betabinom.pmf(counts, n, 2, 3) * stats.norm.pdf(seen, counts, deviation)
    weights /= weights.sum()
    released = Released(n, Numbers(1.0, 1.0, deviation), np.empty((0, 0)), np.array([seen]))
    for level in (0.5, 0.9):
        low, high = reader_of(model)(model, model, released)(level, True)[:, 0]
        for end, mass in ((low, 0.5 * (1 - level)), (high, 0.5 * (1 + level))):
            assert weights @ stats.beta.cdf(end, 2 + counts, 3 + n - counts) == pytest.approx(mass, abs=2e-3)
            # A reader who takes the noisy count for the count is off by more.
            taken = stats.beta.cdf(end, 2 + max(seen, 0), 3 + n - min(seen, n))
            assert abs(taken - mass) > 0.02


def test_the_posterior_of_a_normal_mean_given_its_noisy_sum_is_that_of_quadrature():
    n, model, deviation = 50, F.NormalMean(1.0, -40, 40, precision=1.0), 60.0
    total = 50 * 40.0 + 20.0
    released = Released(n, Numbers(1.0, 1.0, deviation / model.sensitivity), np.empty((0, 0)), np.array([total]))
    low, high = reader_of(model)(model, model, released)(0.9, True)[:, 0]

    def density(theta):
        return stats.norm.pdf(theta) * stats.norm.pdf(total - 2000, n * theta, np.sqrt(n + deviation**2))

    whole = integrate.quad(density, -9, 9)[0]
    assert integrate.quad(density, -9, low)[0] / whole == pytest.approx(0.05, abs=1e-3)
    assert integrate.quad(density, high, 9)[0] / whole == pytest.approx(0.05, abs=1e-3)


def test_shares_use_that_the_counts_sum_to_n():
    n, model, deviation = 300, F.DirichletCategorical(list("abcd")), 9.0
    counts = np.array([70.0, 95.0, 60.0, 80.0])
    released = Released(n, Numbers(1.0, 1.0, deviation / model.sensitivity), np.empty((0, 0)), counts)
    low, high = reader_of(model)(model, model, released)(0.9, True)
    held = np.arange(n + 1)
    for place in range(4):
        near = counts[place] + (n - counts.sum()) / 4
        weights = stats.betabinom.pmf(held, n, 1, 3) * stats.norm.pdf(near, held, deviation * np.sqrt(0.75))
        weights /= weights.sum()
        for end, mass in ((low[place], 0.05), (high[place], 0.95)):
            assert weights @ stats.beta.cdf(end, 1 + held, 3 + n - held) == pytest.approx(mass, abs=1e-3)


def test_a_number_of_totals_that_the_model_has_not_is_refused():
    from sfumato.errors import FormatError
    from sfumato.procedures import noisy_totals

    with pytest.raises(FormatError, match="has 3 totals"):
        noisy_totals.price(CASES["shares"][0], 900, 1, noisy_totals.Parameters(1.0, None, 2))
