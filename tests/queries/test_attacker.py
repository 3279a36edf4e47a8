"""What an attacker can tell: the sentence, the numbers behind it, and the best attack that they bound."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from goodness import LEVEL
from sfumato.errors import ArgumentError, AssumptionError
from sfumato.privacy.guarantee import Guarantee
from sfumato.queries.attacker import attacker, percent_up, trade_off

ATTACKS = 20_000


def guarantee(curve, **more) -> Guarantee:
    return Guarantee(curve, more.pop("adjacency", "replace-one"), "a theorem", "a source", **more)


def agrees(successes: int, bound: float) -> bool:
    """Whether a share of ATTACKS successes fits this chance, on both sides."""
    return stats.binomtest(successes, ATTACKS, bound).pvalue > LEVEL


# --- the best attack ---------------------------------------------------------------------------------------------------


BETA, NORMAL = sf.families.BetaBernoulli(1, 1), sf.families.NormalMean(0.1, 0.0, 1.0, precision=2.0)


@cache
def draws_of(model, records: tuple, seed: int) -> np.ndarray:
    """Draws of a real release, each to be attacked alone."""
    schema = sf.Schema({"x": sf.Boolean(missing=False) if model is BETA else sf.Number(0, 1)})
    data = sf.Dataset.from_table({"x": list(records)}, schema=schema)
    plan = sf.plan(model, data.n, mechanism="exact", draws=ATTACKS)
    return sf.publish(plan, data, randomness=sf.seeded(seed)).draws.pooled()


def attacked(first: np.ndarray, second: np.ndarray, ratio, prior: float) -> int:
    """Successes of the likelihood-ratio test on single draws, of which a share `prior` came from the second data set."""
    ones = round(prior * ATTACKS)
    threshold = math.log((1 - prior) / prior)
    right = np.count_nonzero(ratio(first[: ATTACKS - ones]) <= threshold)
    return int(right + np.count_nonzero(ratio(second[:ones]) > threshold))


def assert_attained(promise: Guarantee, prior: float, successes: int) -> None:
    """The promise's success is that of the attack, and neither 0.7 nor 1.3 times what it gains would pass."""
    said = attacker(promise, prior=prior)
    assert agrees(successes, said.success)
    for wrong in (0.7, 1.3):
        assert not agrees(successes, said.unaided + wrong * (said.success - said.unaided))


@pytest.mark.parametrize("prior", [0.5, 0.45])
def test_the_sentence_is_the_success_of_the_best_attack_on_beta_draws(prior):
    """The worst neighbours of Beta(1, 1), n = 20: no success and one."""
    first, second = (draws_of(BETA, (True,) * k + (False,) * (20 - k), k) for k in (0, 1))
    ratio = lambda theta: stats.beta(2, 20).logpdf(theta) - stats.beta(1, 21).logpdf(theta)
    # With unequal beliefs either of the two may be the likelier one: the attack is on the worse.
    both = attacked(first, second, ratio, prior), attacked(second, first, lambda theta: -ratio(theta), prior)
    assert_attained(sf.plan(BETA, 20, mechanism="exact").guarantee, prior, max(both))


@pytest.mark.parametrize("prior", [0.5, 0.6])
def test_the_sentence_is_the_success_of_the_best_attack_on_normal_draws(prior):
    first, second = (draws_of(NORMAL, (0.5,) * 9 + (end,), int(end)) for end in (0.0, 1.0))
    total = 2.0 + 10 / 0.1
    means = [(2.0 * 0.5 + (4.5 + end) / 0.1) / total for end in (0.0, 1.0)]
    ratio = lambda t: stats.norm(means[1], total**-0.5).logpdf(t) - stats.norm(means[0], total**-0.5).logpdf(t)
    assert_attained(sf.plan(NORMAL, 10, mechanism="exact").guarantee, prior, attacked(first, second, ratio, prior))


@pytest.mark.parametrize("mu", [0.1, 0.56, 2.0])
def test_gaussian_promises_have_their_closed_forms(mu):
    found = attacker(guarantee(sf.Gaussian(mu)), levels=(0.05, 0.5))
    assert found.success == pytest.approx(stats.norm.cdf(mu / 2), rel=1e-9)
    assert found.success >= stats.norm.cdf(mu / 2)
    for level, miss in found.trade_off:
        assert miss == pytest.approx(stats.norm.cdf(stats.norm.isf(level) - mu), rel=1e-9)


# --- other promises ----------------------------------------------------------------------------------------------------


def test_trade_offs_of_pure_promises_are_two_lines_and_never_above_the_truth():
    pure = guarantee(sf.Pure(1.0))
    for level in (0.0, 0.01, 0.2, 0.5, 0.9, 1.0):
        truth = max(0.0, 1 - math.e * level, (1 - level) / math.e)
        ((_, miss),) = trade_off(pure, (level,))
        assert truth * (1 - 1e-9) - 1e-12 <= miss <= truth


def test_lines_alone_are_close_to_the_gaussian_curve_and_below_it():
    """A profile that is not known to be Gaussian: the lines' bound is valid and loses little."""
    curve = sf.Profile.from_function(sf.Gaussian(1.0).delta, [k / 20 for k in range(200)])
    for level in (0.01, 0.05, 0.3):
        truth = stats.norm.cdf(stats.norm.isf(level) - 1.0)
        ((_, miss),) = trade_off(guarantee(curve), (level,))
        assert truth - 0.01 < miss <= truth


def test_slack_and_delta_help_the_attacker():
    plain = attacker(guarantee(sf.Gaussian(0.5)))
    slack = attacker(guarantee(sf.Gaussian(0.5), slack=0.01, trust="proved with slack"))
    assert slack.success == pytest.approx(plain.success + 0.01, abs=1e-6)  # TV grows by the slack of both laws
    assert all(b < a for (_, a), (_, b) in zip(plain.trade_off, slack.trade_off, strict=True))
    approximate = attacker(guarantee(sf.Profile("approximate", {"epsilon": 0.0, "delta": 0.2})))
    assert approximate.success == pytest.approx(0.6, rel=1e-6)
    assert attacker(guarantee(sf.Gaussian(0.5)), prior=0.999).success == pytest.approx(0.999, rel=1e-6)


def test_le_cams_bound_is_half_the_separation_times_what_the_laws_share():
    found = attacker(guarantee(sf.Gaussian(0.5)), separation=10.0)
    assert found.error == pytest.approx(5 * 2 * stats.norm.cdf(-0.25), rel=1e-9)
    assert attacker(guarantee(sf.Gaussian(0.5))).error is None
    # The best estimator of the two-point problem errs by exactly that on average over the two values.
    values = np.random.default_rng(0).normal(size=200_000)
    errors = 10.0 * (np.concatenate([values[:100_000] > 0.25, values[100_000:] + 0.5 <= 0.25]))
    assert abs(errors.mean() - found.error) < 5 * errors.std() / math.sqrt(200_000)


def test_metric_promises_need_a_distance_and_carry_theorem_13():
    metric = guarantee(sf.Metric(4.0, 0.0, "|x - y|"), adjacency="metric", draws=10)
    found = attacker(metric, distance=0.1)
    assert found.success == pytest.approx(math.exp(0.4) / (1 + math.exp(0.4)), rel=1e-9)
    # L = 4/(2 N) and N = 10: 3 ln(1/failure)/(4 L N) = 3 ln(100)/8.
    assert found.comparing == pytest.approx(3 * math.log(100) / 8, rel=1e-9)
    assert "at distance 0.1" in str(found)
    assert attacker(guarantee(sf.Metric(4.0, 0.1, "d"), adjacency="metric"), distance=0.1).comparing is None
    with pytest.raises(ArgumentError, match="distance="):
        attacker(metric)
    with pytest.raises(ArgumentError, match="metric"):
        attacker(guarantee(sf.Pure(1.0)), distance=1.0)
    with pytest.raises(AssumptionError, match="small partition"):
        attacker(metric, distance=0.1, cells=9)


# --- sentences ---------------------------------------------------------------------------------------------------------


def test_the_sentence_names_the_unit_and_rounds_up():
    said = str(attacker(guarantee(sf.Gaussian(0.559), unit="patient")))
    assert "knows every other patient guesses this one right at most 62 % of the time" in said
    assert "50 %" in said
    entry = str(attacker(guarantee(sf.Pure(1.0), adjacency="replace-entry", unit="patient")))
    assert "every other entry of every patient" in entry
    assumed = guarantee(sf.Pure(1.0), trust="assumes converged")
    assert "if the chain has converged" in str(attacker(assumed))
    assert str(attacker(guarantee(sf.Profile("approximate", {"epsilon": 0.0, "delta": 1.0})))).startswith("Nothing is")


SHARES = {0.5: "50 %", 0.6101: "62 %", 0.61: "61 %", 0.991: "99.1 %", 0.99999: "99.999 %", 1.0: "100 %", 0.9: "90 %"}


@pytest.mark.parametrize(("share", "text"), SHARES.items())
def test_per_cents_never_understate(share, text):
    assert percent_up(share) == text


def test_a_seeded_release_protects_nobody_and_a_private_one_says_its_sentence():
    data = sf.Dataset.from_table({"x": [True] * 30 + [False] * 70}, schema=sf.Schema({"x": sf.Boolean(missing=False)}))
    plan = sf.plan(sf.families.BetaBernoulli(1, 1), 100, 0.5, 1e-6, mechanism="diffused")
    seeded = sf.publish(plan, data, randomness=sf.seeded(1)).attacker(separation=1.0)
    assert seeded.success == 1
    assert seeded.error == 0
    assert {miss for _, miss in seeded.trade_off} == {0.0}
    assert "protects nobody" in str(seeded)
    private = sf.publish(plan, data).attacker(prior=0.1)
    assert private.success == attacker(plan.guarantee, prior=0.9).success
    assert "at most" in str(private)


def test_wrong_arguments_are_refused():
    with pytest.raises(ArgumentError, match="prior"):
        attacker(guarantee(sf.Pure(1.0)), prior=1.0)
    with pytest.raises(ArgumentError, match="level"):
        attacker(guarantee(sf.Pure(1.0)), levels=(1.5,))
