"""What a target admits: nothing above it by a last digit, no unbounded loss where no delta is left, no order left out."""

from __future__ import annotations

import math

import pytest

from sfumato import calibrate
from sfumato.errors import CalibrationError
from sfumato.privacy.curves import BoundedRange, Curve, Gaussian, Pure
from sfumato.privacy.guarantee import Guarantee
from sfumato.privacy.renyi import Renyi


def held(curve: Curve) -> Guarantee:
    return Guarantee(curve, "replace-one", "a theorem", "a source")


def above(value: float, steps: int) -> float:
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [1e-6, 0.001, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("kind", [Pure, Gaussian, BoundedRange, lambda value: Renyi([2.0], [value])])
def test_a_price_above_its_target_by_a_last_digit_is_not_admitted(kind, epsilon, steps):
    """Whether the logarithms of the two can be told apart or not."""
    target = calibrate.target_of(target=kind(epsilon))
    assert target.admits(held(kind(epsilon)))
    assert not target.admits(held(kind(above(epsilon, steps))))


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("mu", [0.05, 0.4, 3.0])
def test_a_delta_above_its_target_by_a_last_digit_is_not_admitted(mu, steps):
    price = held(Gaussian(mu))
    delta = price.delta(1.0)
    assert 0 < delta < 1
    assert calibrate.target_of(1.0, delta).admits(price)
    below = delta
    for _ in range(steps):
        below = math.nextafter(below, 0.0)
    assert not calibrate.target_of(1.0, below).admits(price)


def test_targets_that_leave_no_delta_are_pure():
    pure = [calibrate.target_of(1.0, 0.0), *(calibrate.target_of(target=kind(1.0)) for kind in (Pure, BoundedRange))]
    others = [calibrate.target_of(1.0, 1e-300)]
    others += [calibrate.target_of(target=curve) for curve in (Gaussian(1.0), Renyi([2.0], [1.0]))]
    assert all(target.pure for target in pure)
    assert not any(target.pure for target in others)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_pure_point_is_exceeded_by_the_largest_loss(epsilon):
    target = calibrate.target_of(epsilon, 0.0)
    for factor in (1.5, 2.0, 40.0):
        assert target.excess(held(Pure(factor * epsilon))) == pytest.approx(math.log(factor))
    for factor in (1.0, 0.5):
        assert target.admits(held(Pure(factor * epsilon)))
    assert target.excess(held(Gaussian(1e-2 * epsilon))) == math.inf


@pytest.mark.parametrize("most", [1, 2, 3, 10, 16, 23])
def test_the_largest_count_is_the_limit_or_the_most_that_is_asked_for(most):
    """k draws cost k: by counting."""
    for limit in range(1, 40):
        asked = []

        def price(count, asked=asked):
            asked.append(count)
            return held(Pure(float(count)))

        target = calibrate.target_of(target=Pure(limit + 0.5))
        assert calibrate.largest_count(price, target, most) == min(limit, most)
        assert max(asked) <= most
        assert min(asked) >= 1
    with pytest.raises(CalibrationError, match="not even one"):
        calibrate.largest_count(price, calibrate.target_of(target=Pure(0.5)), most)


def test_every_order_of_a_renyi_target_must_be_met():
    """mu-GDP has mu^2 a/2 at order a."""
    price = held(Gaussian(1.0))
    for values in ([1.0, 3.99], [0.99, 4.0]):
        assert not calibrate.target_of(target=Renyi([2.0, 8.0], values)).admits(price)
    assert calibrate.target_of(target=Renyi([2.0, 8.0], [1.001, 4.001])).admits(price)
    tight = calibrate.target_of(target=Renyi([2.0, 8.0], [2.0, 2.0]))
    assert tight.excess(price) == pytest.approx(math.log(2.0))


@pytest.mark.parametrize("delta", [1.0, 1.5])
def test_a_delta_that_promises_nothing_is_refused(delta):
    with pytest.raises(ValueError, match="delta must"):
        calibrate.target_of(1.0, delta)
    assert calibrate.target_of(1.0, math.nextafter(1.0, 0.0)).delta < 1
