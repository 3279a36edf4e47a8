"""Draws about persons, by brute force: two or three persons, all rows that each may have, and every neighbour of every table.

No divergence exceeds what the plan claims. The oracles are distribution functions, sums over listed points and quadrature; the
contributions of persons are means of the totals of single rows, as exact fractions. The law that the library draws from such totals
is that of the oracle.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from person_oracle import (
    Interval,
    added,
    beta_delta,
    contributions,
    gamma_delta,
    listed_delta,
    neighbours,
    normal_delta,
    worst,
)
from scipy import special

import sfumato as sf

EPSILONS = (0.05, 0.3, 1.0, 2.5)
BITS = sf.Schema({"x": sf.Boolean(missing=False)})
YES_NO = [{"x": True}, {"x": False}]


def planned(model, people, most=2, mechanism="diffused", **target) -> sf.Plan:
    """A plan about so many persons with up to `most` rows each."""
    given = target or {"epsilon": 1.0, "delta": 1e-3}
    given = {} if mechanism == "exact" else given
    return sf.plan(model, people, mechanism=mechanism, persons=sf.Persons("who", most=most, count=people), **given)


def numbers(*values) -> list[dict]:
    return [{"x": value} for value in values]


def drawn(plan: sf.Plan, totals):
    """The law that the plan draws from at these totals."""
    return plan.model.law(totals, plan.n, plan["power"], plan["strength"])


def check(plan: sf.Plan, pairs, measure, least: float = 0.0) -> None:
    """At every epsilon the claim is no smaller than the worst neighbour, and some neighbour reaches a share of it."""
    assert plan.guarantee.adjacency == "replace-person"
    assert plan.procedure == "law"
    listed, reached = list(pairs), 0.0
    for epsilon in EPSILONS:
        claimed = plan.guarantee.delta(epsilon)
        truth = worst(iter(listed), lambda one, two: measure(one, two, epsilon))
        assert claimed >= truth * (1 - 1e-9) - 1e-15
        reached = max(reached, truth / claimed if claimed > 1e-9 else 0.0)
    assert reached > least


# --- one dimension: exact profiles -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated", "exact"])
@pytest.mark.parametrize(("people", "most"), [(3, 2), (2, 3)])
def test_rates(mechanism, people, most):
    """Means of two or three bits are halves and thirds; the profile of W trials is attained."""
    model = sf.families.BetaBernoulli(0.7, 1.2)
    plan = planned(model, people, most, mechanism)
    r, s = plan["power"], plan["strength"]

    def cells(totals):
        ones = float(totals[0])
        return s * 0.7 + r * ones, s * 1.2 + r * (people - ones)

    own = contributions(model, BITS, YES_NO, most)
    assert Fraction(1, most) in {totals[0] for totals in own}
    assert all(drawn(plan, totals).cells == pytest.approx(cells(totals), rel=1e-14) for totals in own)
    check(plan, neighbours(own, people), lambda one, two, e: beta_delta(cells(one), cells(two), e), 0.999)


def test_counts_of_trials():
    model = sf.families.BetaBinomial(2, 0.8, 0.6)
    schema = sf.Schema({"x": sf.Number(0, 2, integer=True)})
    plan = planned(model, 2)
    r = plan["power"]

    def cells(totals):
        return 0.8 + r * float(totals[0]), 0.6 + r * (4 - float(totals[0]))

    own = contributions(model, schema, numbers(0, 1, 2))
    check(plan, neighbours(own, 2), lambda one, two, e: beta_delta(cells(one), cells(two), e), 0.999)


@pytest.mark.parametrize("mechanism", ["diffused", "concentrated", "exact"])
def test_events(mechanism):
    model = sf.families.GammaPoisson(2.0, 1.0, 3)
    schema = sf.Schema({"x": sf.Number(0, 3, integer=True)})
    plan = planned(model, 3, 2, mechanism)
    r, s = plan["power"], plan["strength"]

    def law_of(totals):
        return s * 2.0 + r * float(totals[0]), 1.0

    own = contributions(model, schema, numbers(0, 1, 3))
    assert all(drawn(plan, totals).shape == pytest.approx(law_of(totals)[0], rel=1e-14) for totals in own)
    check(plan, neighbours(own, 3), lambda one, two, e: gamma_delta(law_of(one), law_of(two), e), 0.999)


def test_durations():
    model = sf.families.ExponentialRate(2.0, 1.5, 4)
    schema = sf.Schema({"x": sf.Number(0, 4)})
    plan = planned(model, 3)
    r, s = plan["power"], plan["strength"]

    def law_of(totals):
        return s * 2.0 + r * 3, s * 1.5 + r * float(totals[0])

    own = contributions(model, schema, numbers(0.0, 1.3, 4.0))
    assert all(drawn(plan, totals).rate == pytest.approx(law_of(totals)[1], rel=1e-14) for totals in own)
    check(plan, neighbours(own, 3), lambda one, two, e: gamma_delta(law_of(one), law_of(two), e), 0.999)


def test_means():
    """Values of variance 4 with a prior N(.5, 1/2): the posterior's precision is 2 s + 3 r/4, whatever the rows."""
    model = sf.families.NormalMean(4.0, -1, 2, mean=0.5, precision=2.0)
    schema = sf.Schema({"x": sf.Number(-1, 2)})
    plan = planned(model, 3)
    r, precision = plan["power"], 2.0 * plan["strength"] + 3 * plan["power"] / 4

    def measure(one, two, epsilon):
        return normal_delta(r / 4 * float(one[0] - two[0]) / precision, precision**-0.5, epsilon)

    own = contributions(model, schema, numbers(-1.0, 0.4, 2.0))
    moved = drawn(plan, own[-1]).mean[0] - drawn(plan, own[0]).mean[0]
    assert float(moved) == pytest.approx(r / 4 * float(own[-1][0] - own[0][0]) / precision, rel=1e-12)
    check(plan, neighbours(own, 3), measure, 0.99)


def test_log_odds():
    model = sf.families.LogitNormal(1.3)
    plan = planned(model, 3)
    r = plan["power"]
    x = np.linspace(-14, 14, 4001)

    def logs(totals):
        ones = float(totals[0])
        return (
            r * (ones * -np.logaddexp(0, -x) + (3 - ones) * -np.logaddexp(0, x)) - 0.5 * 1.3 * plan["strength"] * x**2
        )

    own = contributions(model, BITS, YES_NO)
    assert all(drawn(plan, totals).ones == pytest.approx(r * float(totals[0]), rel=1e-14) for totals in own)
    check(plan, neighbours(own, 3), lambda one, two, e: listed_delta(logs(one), logs(two), e), 0.1)


# --- listed points ---------------------------------------------------------------------------------------------------


def test_a_finite_family():
    model = sf.families.Finite.bernoulli(0.125)
    plan = planned(model, 3, 2, "exponential", epsilon=1.0, delta=0.0)
    rates = np.linspace(0.125, 0.875, len(model.log_prior))
    assert np.allclose(np.exp(np.array(model.kept_log_likelihood))[:, 1], rates)

    def logs(totals):
        return np.array(model.log_prior) + plan["power"] * np.array(model.kept_log_likelihood) @ np.array(
            totals, dtype=float
        )

    own = contributions(model, BITS, YES_NO)
    assert all(same_weights(drawn(plan, totals), logs(totals)) for totals in own)
    check(plan, neighbours(own, 3), lambda one, two, e: listed_delta(logs(one), logs(two), e), 0.3)


def same_weights(law, logs: np.ndarray) -> bool:
    """Whether the logarithms of a finite law are these, up to a constant and a rounding to multiples of 2^-48."""
    gap = np.array([float(log) * 2.0**-48 for log in law.logs]) - logs
    return float(np.ptp(gap)) < 1e-12


def apart(own, logs) -> tuple[float, float]:
    """Of two persons, one of whom is replaced: the largest log ratio of two laws, and the largest change of a log weight."""
    ratio = moved = 0.0
    for other in own:
        # Every two of these laws are those of neighbours, so that ranges at a candidate are largest differences.
        weights = np.array([logs(added([other, each])) for each in own])
        shares = weights - special.logsumexp(weights, axis=1, keepdims=True)
        ratio, moved = (max(old, float(np.ptp(new, axis=0).max())) for old, new in ((ratio, shares), (moved, weights)))
    return ratio, moved


def test_a_finite_family_in_which_half_a_count_costs_more_than_any_whole_one():
    """Rows of two levels of the other person bring up the last parameter, which no whole counts of theirs do."""
    table = np.log([[0.1, 0.89, 0.01], [0.1, 0.01, 0.89], [0.02, 0.49, 0.49], [0.3, 0.35, 0.35]])
    model = sf.families.Finite(table.tolist(), [0, 1, 2, 3], [0.25, 0.25, 0.49, 0.01], ["a", "b", "c"])
    plan = planned(model, 2, 2, "exponential", epsilon=5.5, delta=0.0)

    def logs(totals):
        return np.array(model.log_prior) + plan["power"] * table @ np.array(totals, dtype=float)

    schema = sf.Schema({"x": sf.Category(["a", "b", "c"], missing="a")})
    own = contributions(model, schema, [{"x": level} for level in "abc"])
    assert apart(own, logs)[0] <= plan.guarantee.epsilon(0.0)


@pytest.mark.planted
@pytest.mark.parametrize("level", [0.5, 0.3])
def test_a_quantile(level):
    """The rank error of a person who is spread over both sides of a candidate moves by a fraction, and by 1 at most."""
    grid = [1.0, 2.0, 3.0]
    model = sf.families.Quantile(level, grid)
    schema = sf.Schema({"x": sf.Number(0, 4)})
    plan = planned(model, 2, 2, "exponential", epsilon=1.0, delta=0.0)
    rank = Fraction(str(level)) * 2

    def logs(totals):
        """Counts below the first candidate, at it, between it and the second, and so on."""
        below, upto = ([sum(totals[: 2 * k + end]) for k in range(3)] for end in (1, 2))
        losses = [max(Fraction(0), low - rank, rank - high) for low, high in zip(below, upto, strict=True)]
        return -plan["power"] * np.array(losses, dtype=float)

    own = contributions(model, schema, numbers(0.5, 1.0, 1.5, 2.0, 2.5, 3.5))
    assert all(same_weights(drawn(plan, totals), logs(totals)) for totals in own)
    ratio, moved = apart(own, logs)
    assert ratio <= plan.guarantee.epsilon(0.0)
    assert 0.99 * plan["power"] <= moved <= plan["power"] * (1 + 1e-12)


# --- truncated posteriors: pure --------------------------------------------------------------------------------------


def test_a_rate_above_a_floor():
    model = sf.families.BetaBernoulli(0.8, 1.1, floor=0.1)
    plan = planned(model, 3, 2, "exact")
    within = Interval(0.1, 0.9)

    def logs(totals):
        ones = float(totals[0])
        return (0.8 + ones - 1) * np.log(within.points) + (1.1 + 3 - ones - 1) * np.log1p(-within.points)

    own = contributions(model, BITS, YES_NO)
    truth = worst(neighbours(own, 3), lambda one, two: within.largest_log_ratio(logs(one), logs(two)))
    assert 0.999 * plan.guarantee.epsilon(0.0) < truth <= plan.guarantee.epsilon(0.0)


def test_a_scale_between_bounds():
    model = sf.families.LaplaceScale(1.0, 0.5, 3.0, 8.0, centre=3.0)
    schema = sf.Schema({"x": sf.Number(-5, 11)})
    plan = planned(model, 3, 2, "exact")
    within = Interval(model.lower, model.upper)

    def logs(totals):
        """Three records of density theta exp(-theta |x - centre|), after the prior."""
        return (model.shape - 1 + 3) * np.log(within.points) - (model.rate + float(totals[0])) * within.points

    own = contributions(model, schema, numbers(-5.0, 3.0, 4.0))
    truth = worst(neighbours(own, 3), lambda one, two: within.largest_log_ratio(logs(one), logs(two)))
    assert 0.999 * plan.guarantee.epsilon(0.0) < truth <= plan.guarantee.epsilon(0.0)
