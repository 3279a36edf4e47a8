"""A public share of uniform draws makes a sampler with a slack pure: brute force over finite laws, and where it is tight."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.errors import AssumptionError
from sfumato.privacy.curves import BoundedRange, Pure
from sfumato.theorems import exponential, inexact, rejection

ONE = exponential.exponential_mechanism(power=0.25, sensitivity=2.0)
SHARE = {"share": 0.25, "points": 8, "total_variation": 1e-3, "every_data_set": True}
ETA = Fraction(1, 4)


def pure(epsilon: float):
    return dataclasses.replace(ONE, curve=Pure(epsilon))


def mixed(law: list[Fraction], eta: Fraction) -> list[Fraction]:
    return [(1 - eta) * mass + eta / len(law) for mass in law]


def worst(first: list[Fraction], second: list[Fraction]) -> Fraction:
    """The largest ratio of the two laws at a point."""
    return max(a / b for a, b in zip(first, second, strict=True))


def moved(law: list[Fraction], point: int, gamma: Fraction) -> list[Fraction]:
    """The law with gamma more mass at the point, taken from the others in order; less if gamma is negative, put on the next.

    Either is within |gamma| of the law in total variation.
    """
    other = list(law)
    if gamma < 0:
        taken = min(-gamma, other[point])
        other[point] -= taken
        other[(point + 1) % len(law)] += taken
        return other
    rest = gamma
    for k in [k for k in range(len(law)) if k != point]:
        taken = min(rest, other[k])
        other[k], other[point], rest = other[k] - taken, other[point] + taken, rest - taken
    return other


WEIGHTS = st.lists(st.integers(1, 1000), min_size=2, max_size=6)


@given(WEIGHTS, st.data(), st.sampled_from([Fraction(1, 1000), Fraction(1, 4), Fraction(9, 10)]))
def test_no_perturbation_of_two_laws_exceeds_the_price(weights, data, eta):
    """Exact fractions; gamma is what r = tanh(eps/2) allows, or another size, and moves the worst way at every point."""
    count = len(weights)
    factors = data.draw(st.lists(st.integers(100, 300), min_size=count, max_size=count))
    second = [Fraction(w, sum(weights)) for w in weights]
    tilted = [w * f for w, f in zip(weights, factors, strict=True)]
    first = [Fraction(t, sum(tilted)) for t in tilted]
    e = max(worst(first, second), worst(second, first))  # e^eps of the exact laws
    spread = worst(first, second) * worst(second, first)  # e^range
    r = data.draw(st.sampled_from([(e - 1) / (e + 1), Fraction(1, 10**6), Fraction(1, 2), Fraction(99, 100)]))
    gamma = r * eta / (count * (1 - eta))
    assume(0 < gamma <= 1)
    given_share = {"share": float(eta), "points": count, "total_variation": float(gamma), "every_data_set": True}
    price = rejection.uniform_share(pure(math.log(e)), **given_share).curve.epsilon_value
    wide = dataclasses.replace(ONE, curve=BoundedRange(math.log(spread)))
    length = rejection.uniform_share(wide, **given_share).curve.epsilon_value
    for point in range(count):
        up, down = mixed(moved(first, point, gamma), eta), mixed(moved(second, point, -gamma), eta)
        assert math.log(worst(up, down)) <= price + 1e-12
        assert math.log(worst(up, down)) + math.log(worst(down, up)) <= length + 1e-12
        up, down = mixed(moved(first, point, -gamma), eta), mixed(moved(second, point, gamma), eta)
        assert math.log(worst(down, up)) <= price + 1e-12
        assert math.log(worst(up, down)) + math.log(worst(down, up)) <= length + 1e-12


def hostile(e: Fraction, gamma: Fraction, count: int = 8) -> tuple[list[Fraction], list[Fraction]]:
    """Two samplers within gamma of laws that are pure log(e): at the first point one has all it can, the other nothing."""
    small = gamma
    first, second = [e * small], [small]
    first += [(1 - e * small) / (count - 1)] * (count - 1)
    second += [(1 - small) / (count - 1)] * (count - 1)
    assert worst(first, second) == e
    assert worst(second, first) <= e
    return moved(first, 0, gamma), moved(second, 0, -gamma)


@pytest.mark.planted
@pytest.mark.parametrize("e", [Fraction(101, 100), Fraction(2), Fraction(9)])
def test_the_condition_is_tight_and_twice_the_slack_breaks_it(e):
    """At r = tanh(eps/2) the worst ratio IS e^eps; a slack twice as large exceeds it, and the formula says by how much."""
    gamma = (e - 1) / (e + 1) * ETA / (8 * (1 - ETA))
    for factor in (Fraction(1, 2), Fraction(1), Fraction(2)):
        first, second = hostile(e, factor * gamma)
        assert second[0] == 0
        ratio = worst(mixed(first, ETA), mixed(second, ETA))
        r = factor * (e - 1) / (e + 1)
        if factor == 1:
            assert ratio == e
        assert (ratio > e) == (factor == 2)
        if r < 1:
            found = rejection.uniform_share(
                pure(math.log(e)), share=0.25, points=8, total_variation=float(factor * gamma), every_data_set=True
            ).curve.epsilon_value
            assert found == pytest.approx(math.log(max(e, ratio)), rel=1e-8)
            assert found >= math.log(max(e, ratio)) * (1 - 1e-15)


@pytest.mark.planted
def test_without_the_share_a_slack_leaves_no_ratio_at_all():
    """A point that one sampler never returns has an infinite ratio; under the mixture every point has eta/N."""
    first, second = hostile(Fraction(2), Fraction(1, 1000))
    assert first[0] > 0
    assert second[0] == 0
    assert min(mixed(second, ETA)) == ETA / 8


def test_a_pure_price_does_not_grow_at_all_and_a_range_by_log_one_plus_two_r():
    r = 1e-3 * 8 * 0.75 / 0.25
    assert rejection.uniform_share(pure(1.0), **SHARE).curve == Pure(1.0)
    found = rejection.uniform_share(ONE, **SHARE)
    assert found.curve.epsilon_value == pytest.approx(1.0 + math.log1p(2 * r), rel=1e-9)
    assert found.curve.epsilon_value >= 1.0 + math.log1p(2 * r)
    assert isinstance(found.curve, BoundedRange)
    assert found.slack == 0
    assert found.trust == "proved"
    assert "uniform" in found.theorem


@pytest.mark.parametrize("points", [10, 10**40, 2**1000])
def test_the_slack_that_is_paid_for_gives_the_ratio_it_was_asked_for(points):
    gamma = rejection.variation_paid(share=2.0**-20, points=points, ratio=2.0**-30)
    exact = Fraction(1, 2**30) * Fraction(1, 2**20) / (points * (1 - Fraction(1, 2**20)))
    if points == 2**1000:
        assert gamma <= exact
        with pytest.raises(AssumptionError, match="fewer points"):
            rejection.uniform_share(ONE, share=2.0**-20, points=points**2, total_variation=0.0, every_data_set=True)
    else:
        assert float(exact) * (1 - 1e-8) <= gamma <= exact
    assert rejection.variation_paid(share=2.0**-20, points=2**2000, ratio=2.0**-30) == 0


def test_trials_pay_by_the_chance_that_all_fail_and_by_their_errors():
    numbers = {"acceptance": 0.01, "trials": 2000, "trial_error": 1e-12}
    gamma = 0.99**2000 + 2000 * 1e-12
    found = rejection.uniform_trials(ONE, share=0.25, points=8, every_data_set=True, **numbers)
    same = rejection.uniform_share(ONE, **{**SHARE, "total_variation": gamma})
    assert found.curve.epsilon_value == pytest.approx(same.curve.epsilon_value, rel=1e-12)
    assert [a.symbol for a in found.assumptions][-3:] == ["p", "K", "e"]
    # (1 - p)^K = 1e-1737 underflows: it counts as 1e-300, which 1e308 points make 1e8 times the share.
    with pytest.raises(AssumptionError, match="fewer points"):
        rejection.uniform_trials(
            ONE, share=0.5, points=10**308, acceptance=0.98, trials=1023, trial_error=0.0, every_data_set=True
        )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"every_data_set": False}, "every data set"),
        ({"share": 0.0}, "share of uniform draws"),
        ({"share": 1.0}, "share of uniform draws"),
        ({"points": 0}, "points of the public lattice"),
        ({"total_variation": -0.1}, "total variation of one draw"),
        ({"total_variation": 0.2}, "more trials"),
    ],
)
def test_each_dropped_hypothesis_is_named(changed, said):
    with pytest.raises(AssumptionError, match=said):
        rejection.uniform_share(ONE, **{**SHARE, **changed})


def test_only_one_exact_draw_has_its_slack_paid():
    slack = inexact.approximate_sampler(ONE, total_variation=1e-9, every_data_set=True)
    for other in (slack, 2 * ONE, dataclasses.replace(ONE, curve=2 * ONE.curve)):
        with pytest.raises(AssumptionError, match="one exact draw"):
            rejection.uniform_share(other, **SHARE)
