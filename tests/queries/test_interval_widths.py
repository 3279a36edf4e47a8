"""Planning by the width of an interval: what is found is narrow enough, and a cheaper one is not."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato import planning
from sfumato.errors import ArgumentError, CalibrationError
from sfumato.queries import interval_widths, restricted_priors
from sfumato.queries.statistics.protocol import numbers_of

F = sf.families
MEAN = F.NormalMean(1.0, -4.0, 4.0)


def test_the_price_found_is_the_smallest_that_is_narrow_enough():
    found = sf.plan_for_width(MEAN, 1000, width=0.5, level=0.9, delta=1e-6)
    assert found.width <= 0.5
    assert found.plan.guarantee.epsilon(1e-6) <= found.epsilon
    cheaper = sf.plan(MEAN, n=1000, epsilon=0.8 * found.epsilon, delta=1e-6)
    assert interval_widths.expected_width(cheaper, 0.9) > 0.5
    assert f"epsilon {found.epsilon:.4g}" in str(found)


@pytest.mark.planted
def test_the_expected_width_is_that_of_real_releases():
    """Against intervals of draws by the real sampler on data from the prior; a width 0.7 or 1.3 times as large is told apart."""
    import coverage_cases

    model = F.GammaPoisson(9.0, 3.0, 30)
    plan = sf.plan(model, n=500, epsilon=1.0, delta=1e-6, mechanism="noisy-statistics")
    rng, source, found = np.random.default_rng(2), sf.seeded(2), []
    numbers = numbers_of(plan.to_json())
    for _ in range(60):
        _, totals = coverage_cases.invented(model, rng, 500)
        belief = coverage_cases.belief(model, 500, numbers, coverage_cases.draws_of(plan, totals, source))
        found.append(belief.quantile(0.95) - belief.quantile(0.05))
    error = 5 * np.std(found) * np.sqrt(1 / 60 + 1 / interval_widths._RELEASES)
    expected = interval_widths.expected_width(plan, 0.9)
    assert abs(expected - np.mean(found)) <= error
    for factor in (0.7, 1.3):
        assert abs(factor * expected - np.mean(found)) > error


def test_how_many_draws_at_a_price():
    one = interval_widths.expected_width(
        sf.plan(MEAN, n=1000, epsilon=1.0, delta=1e-6, mechanism="noisy-statistics"), 0.9
    )
    # The interval is read from the noisy total, so no number of draws makes it narrower.
    planned = sf.plan_for_width(MEAN, 1000, width=1.001 * one, epsilon=1.0, draws=None, mechanism="noisy-statistics")
    assert planned.draws == planned.plan.draws == 1
    with pytest.raises(CalibrationError, match="with 1 draw"):
        sf.plan_for_width(MEAN, 1000, width=0.9 * one, epsilon=1.0, draws=None, mechanism="noisy-statistics")


def test_a_width_below_the_sampling_error_cannot_be_bought():
    with pytest.raises(CalibrationError, match="sampling"):
        sf.plan_for_width(MEAN, 100, width=1e-4)
    with pytest.raises(CalibrationError, match="narrowest"):
        sf.plan_for_width(MEAN, 100, width=1e-4, epsilon=1.0, draws=None, mechanism="noisy-statistics")


def test_exactly_one_of_price_and_draws_is_sought():
    with pytest.raises(ArgumentError, match="draws=None"):
        sf.plan_for_width(MEAN, 100, width=1.0, epsilon=1.0)


def test_a_bounded_mean_is_planned_as_an_estimate():
    found = sf.plan_for_width(F.BoundedMean(0, 1), 10_000, width=0.05)
    assert found.plan.goal == "estimate"
    assert found.width <= 0.05


def test_the_divergence_falls_with_the_price():
    curve = planning.divergence_curve(MEAN, 1000, [0.1, 0.5, 2.0], 1e-6, mechanism="diffused")
    gaps = [gap for _, gap in curve]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1]


def test_the_trade_off_of_a_restricted_prior_buys_loss_with_price():
    points = np.linspace(0.001, 0.999, 999)
    constants = lambda theta: np.abs(np.log(theta / (1 - theta)))
    curve = restricted_priors.restricted_prior_curve(constants, np.full(999, 1 / 999), points, 100, 2, 1, 0.05)
    prices, losses = np.array(curve).T
    assert (np.diff(prices) > 0).all()
    assert (np.diff(losses) <= 0).all()
    with pytest.raises(ArgumentError, match="sum to 1"):
        restricted_priors.restricted_prior_curve(constants, np.ones(999), points, 100, 2, 1, 0.05)


@pytest.mark.parametrize(
    ("sampling", "noise", "slope"), [(0.0, 1.0, 1.0), (0.5, 0.2, 1.0), (0.9, 3.0, 0.5), (0.1, 0.05, 2.0)]
)
@pytest.mark.parametrize("true", [0.0101, 0.05, 1.0, 7.0, 19.9])
def test_the_search_ends_within_three_per_cent_in_few_steps(sampling, noise, slope, true):
    """On widths of known form the price is at most 3 % above the smallest, and no search takes more plans than halving would."""

    def width(epsilon: float, _: object = None) -> float:
        return float(np.hypot(sampling, noise / epsilon**slope))

    answer = interval_widths.cheapest(lambda e, _: e, width(true), 0.9, 1e-6, 1, (0.01, 20.0), width)
    assert true * (1 - 1e-12) <= answer.epsilon <= 1.03 * true * (1 + 1e-12)
    assert answer.plan == answer.epsilon
    assert answer.width == width(answer.epsilon) <= answer.wanted
    assert len(answer.tried) <= 11


def test_the_search_copes_with_prices_that_have_no_interval():
    """A plan without intervals counts as infinitely wide."""
    answer = interval_widths.cheapest(
        lambda e, _: e, 1.0, 0.9, 1e-6, 1, (0.01, 20.0), lambda e, _: np.inf if e < 1 else 1 / e
    )
    assert 1.0 <= answer.epsilon <= 1.03


def test_a_lowest_price_that_is_enough_is_the_answer():
    answer = interval_widths.cheapest(lambda e, _: e, 200.0, 0.9, 1e-6, 1, (0.01, 20.0), lambda e, _: 1 / e)
    assert answer.epsilon == answer.plan == 0.01


def test_noisy_totals_are_searched_for_no_more_once_they_are_the_best(monkeypatch):
    """Of 20,000 records they win at one draw already: more draws are planned by name, and the answer is that of "auto"."""
    asked = []
    whole = planning.plan
    monkeypatch.setattr(planning, "plan", lambda *a, **k: asked.append(k["mechanism"]) or whole(*a, **k))
    rate = F.BetaBernoulli(1, 1)
    one = interval_widths.expected_width(whole(rate, 20_000, 2.0, 1e-6), 0.9)
    with pytest.raises(CalibrationError, match="with 1 draw"):
        sf.plan_for_width(rate, 20_000, 0.9 * one, epsilon=2.0, draws=None)
    assert asked[0] == "auto"
    assert set(asked[1:]) == {"noisy-statistics"}
    answer = sf.plan_for_width(rate, 20_000, 1.001 * one, epsilon=2.0, draws=None)
    assert answer.plan.digest == whole(rate, 20_000, 2.0, 1e-6, draws=answer.draws).digest
