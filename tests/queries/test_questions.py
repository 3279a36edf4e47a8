"""Ready-made questions: the numbers of plain NumPy, sentences that name the law, and errors that hold."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from goodness import LEVEL
from sfumato.errors import ArgumentError
from sfumato.queries import noise_aware
from sfumato.queries._sample import Sample
from sfumato.queries.one_number import Numbers
from sfumato.queries.questions import Questions
from sfumato.queries.regret_bounds import digits_up

LEVELS = ["a", "b", "c", "d"]


def shares(draws: int = 50, mechanism: str = "exact", **target) -> sf.Release:
    schema = sf.Schema({"x": sf.Category(LEVELS, missing=LEVELS[0])})
    data = sf.Dataset.from_table({"x": ["a"] * 10 + ["b"] * 40 + ["c"] * 20 + ["d"] * 30}, schema=schema)
    plan = sf.plan(sf.families.DirichletCategorical(LEVELS), 100, mechanism=mechanism, draws=draws, **target)
    return sf.publish(plan, data, randomness=sf.seeded(3))


def rate(draws: int = 400) -> sf.Release:
    data = sf.Dataset.from_table({"x": [True] * 30 + [False] * 70}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    return sf.publish(
        sf.plan(sf.families.BetaBernoulli(), 100, mechanism="exact", draws=draws), data, randomness=sf.seeded(3)
    )


def test_means_and_quantiles_are_numpys():
    made = shares()
    assert np.allclose(made.ask.mean().value, made.mean())
    ratio = made.ask.mean(lambda d: d[:, 1] / d[:, 2])
    assert ratio.value == pytest.approx((made.draws.pooled()[:, 1] / made.draws.pooled()[:, 2]).mean())
    assert "over 50 draws of the posterior" in str(ratio)
    middle = rate().ask.quantile(0.5)
    assert middle.value == pytest.approx(float(rate().estimate()), abs=0.01)
    assert f"(a level within {digits_up(middle.error)} of it with probability 0.95)" in str(middle)


def test_probabilities_are_shares_of_draws_with_hoeffdings_error():
    found = rate().ask.probability(lambda d: d < 0.3, failure=0.1)
    drawn = noise_aware.known(rate().draws, rate().plan, rate().schema).pooled()
    assert found.value == (drawn < 0.3).mean()
    assert found.error == pytest.approx(math.sqrt(math.log(20) / (2 * len(drawn))))
    # 400 exact draws locate the posterior to a twentieth of its deviation.
    assert abs(found.value - stats.beta(31, 71).cdf(0.3)) <= found.error + 0.05
    assert "within" in str(found)
    with pytest.raises(ArgumentError, match="of bool"):
        rate().ask.probability(lambda d: d)
    with pytest.raises(ArgumentError, match="yes or no per draw"):
        shares().ask.probability(lambda d: d > 0.1)


@pytest.mark.planted
@pytest.mark.parametrize("question", ["probability", "quantile", "mean"])
def test_errors_hold_in_the_promised_share_of_runs_and_a_third_of_them_does_not(question):
    failure, runs, law = 0.2, 600, stats.beta(2, 5)
    rng = np.random.default_rng(1)
    misses = []
    for _ in range(runs):
        ask = Questions(Sample(rng.beta(2, 5, 40), ("theta",), "", True, {}), lambda: None, lambda: None)
        if question == "probability":
            found = ask.probability(lambda d: d < 0.26, failure)
            off = abs(found.value - law.cdf(0.26))
        elif question == "quantile":
            found = ask.quantile(0.4, failure=failure)
            off = abs(law.cdf(found.value) - 0.4)
        else:
            found = ask.mean(lambda d: (d < 0.26) * 3.0, failure, bounds=(0.0, 3.0))
            off = abs(found.value - 3 * law.cdf(0.26))
        misses.append(off / found.error)
    assert np.mean(np.array(misses) > 1) <= failure
    bad = np.count_nonzero(np.array(misses) > 1 / 3)
    assert stats.binomtest(bad, runs, failure, alternative="greater").pvalue < LEVEL


def test_the_best_action_under_a_loss_matrix_is_that_of_the_mean_shares():
    made = shares()
    losses = np.random.default_rng(0).normal(size=(4, 6)) * 10
    found = made.ask.best(losses, list("uvwxyz"))
    expected = made.mean() @ losses
    assert found.value == "uvwxyz"[int(expected.argmin())]
    assert f"expected loss {expected.min():.4g}" in str(found)
    span = losses.max() - losses.min()
    wanted = min(1.0, 2 * math.sqrt(math.log(2 * 6 / 0.05) / 100)) * span
    assert found.error == pytest.approx(wanted, rel=1e-6)
    by_function = made.ask.best(lambda d, actions: d @ losses, list("uvwxyz"), bounds=(losses.min(), losses.max()))
    assert by_function.value == found.value
    two = rate().ask.best([[0.0, 1.0], [5.0, 1.0]], ["skip", "treat"])
    assert two.value == "treat"  # skipping costs 5 in about 30 of 100 cases


def test_the_best_action_refuses_what_it_cannot_scale():
    with pytest.raises(ArgumentError, match="bounds"):
        rate().ask.best(lambda d, a: d, ["x"])
    with pytest.raises(ArgumentError, match="shaped"):
        rate().ask.best([[1.0, 2.0]], ["x", "y"])
    with pytest.raises(ArgumentError, match="same"):
        rate().ask.best([[1.0, 1.0], [1.0, 1.0]], ["x", "y"])
    with pytest.raises(ArgumentError, match="lie in"):
        rate().ask.best(lambda d, a: np.full((len(d), 2), 7.0), ["x", "y"], bounds=(0.0, 1.0))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_top_categories_hold_the_most_of_all_sets(k):
    made = shares()
    found = made.ask.top(k)
    found_shares = dict(zip(LEVELS, made.estimate(), strict=True))
    assert list(found.value) == sorted(LEVELS, key=lambda name: -found_shares[name])[:k]
    assert found.error is None
    low, high = made.interval()[:, LEVELS.index(found.value[0])]
    assert str(found).startswith(f"{found.value[0]} {found_shares[found.value[0]]:.4g} ({low:.4g} to {high:.4g})")


def test_where_no_interval_is_worked_out_the_top_categories_are_those_of_the_draws_with_a_bound():
    made = shares()
    numbers = Numbers(made.labels, made.mean(), None, ("",) * 4, 0.9, "none")
    found = replace(made.ask, numbers=lambda: numbers).top(2)
    totals = {chosen: made.mean()[list(chosen)].sum() for chosen in itertools.combinations(range(4), 2)}
    assert set(found.value) == {LEVELS[i] for i in max(totals, key=totals.get)}
    assert found.error == pytest.approx(min(1.0, 2 * math.sqrt(math.log(2 * math.comb(4, 2) / 0.05) / 100)), rel=1e-6)
    assert "over 50 draws of the posterior" in str(found)


def test_top_refuses_what_has_no_categories():
    with pytest.raises(ArgumentError, match="at most"):
        shares().ask.top(5)
    assert rate().ask.top(1).value == ("False",)
    schema = sf.Schema({"x": sf.Number(0, 9)})
    data = sf.Dataset.from_table({"x": [1.0] * 20}, schema=schema)
    plan = sf.plan(sf.families.GammaPoisson(1.0, 1.0, 9), 20, mechanism="exact")
    counts = sf.publish(plan, data, randomness=sf.seeded(1))
    with pytest.raises(ArgumentError, match="release of shares"):
        counts.ask.top(1)
    with pytest.raises(ArgumentError, match="regression"):
        counts.ask.prediction(public_rows=[[1.0]])


def test_the_sentence_says_what_the_draws_are_draws_of():
    tempered = shares(1, "diffused", epsilon=0.5, delta=1e-6)
    assert "over 1 draw of the posterior (power" in str(tempered.ask.mean())
    noisy = shares(5, "noisy-statistics", epsilon=0.5, delta=1e-6)
    assert "noisy totals" in str(noisy.ask.mean())


def test_bounds_of_a_mean_must_hold():
    with pytest.raises(ArgumentError, match="hold every value"):
        rate().ask.mean(bounds=(0.9, 1.0))
    found = rate().ask.mean(bounds=(0.0, 1.0))
    assert "within" in str(found)
    assert rate().ask.mean().error is None
    with pytest.raises(ArgumentError, match="finite numbers"):
        rate().ask.mean(lambda d: d + np.inf)


def test_a_column_of_a_single_parameter_is_refused_with_the_shape():
    schema = sf.Schema({"x": sf.Boolean(missing=False)}, name="bits")
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), n=100, epsilon=1.0, delta=1e-6, draws=5)
    assert "costs the same" not in str(plan)
    release = sf.publish(plan, sf.Dataset.from_table({"x": np.arange(100) < 30}, schema=schema))
    assert "what this release tells" in str(release.ask.mean())
    with pytest.raises(ArgumentError, match=r"shaped \(2000,\)"):
        release.ask.probability(lambda draws: draws[:, 0] > 0.5)
    one = sf.plan(sf.families.BetaBernoulli(1, 1), n=100, epsilon=1.0, delta=1e-6, mechanism="noisy-statistics")
    assert "any number of draws costs the same" in str(one)
