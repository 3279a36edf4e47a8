"""The price of a private quantile: what is asked for and what is charged."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.errors import AssumptionError
from sfumato.theorems import quantile


def test_the_price_is_twice_the_power_whatever_the_grid():
    found = quantile.quantile_draws(candidates=500, power=0.5)
    assert isinstance(found.curve, sf.BoundedRange)
    assert 1.0 <= found.curve.epsilon_value <= 1.0 + 1e-14
    assert found == quantile.quantile_draws(candidates=500, power=0.5, draws=1)


def test_the_error_of_drawn_masses_is_charged_four_times():
    found = quantile.quantile_draws(candidates=5, power=0.25, log_error=1e-3)
    assert found.curve.epsilon_value == pytest.approx(0.5 + 4e-3, rel=1e-12)


def test_several_draws_compose():
    three = quantile.quantile_draws(candidates=5, power=0.25, draws=3)
    assert three.draws == 3
    assert three.curve == 3 * quantile.quantile_draws(candidates=5, power=0.25).curve


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"candidates": 0}, "candidates"),
        ({"candidates": 2.5}, "candidates"),
        ({"power": 0.0}, "power"),
        ({"power": math.inf}, "power"),
        ({"draws": 0}, "draws"),
        ({"log_error": -1e-9}, "error"),
    ],
)
def test_each_hypothesis_is_asked_for(change, named):
    with pytest.raises(AssumptionError, match=named):
        quantile.quantile_draws(**{"candidates": 5, "power": 0.5, **change})
