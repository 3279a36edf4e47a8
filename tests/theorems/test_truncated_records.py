"""Truncated posteriors of records that hold more than one bit, and of ranges that are small against their ends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special

from sfumato.theorems import truncated


def log_normaliser(a: float, b: float, half: float) -> float:
    """Log of the integral of theta^a (1 - theta)^b in logit coordinates over [-half, half]."""
    log_density = lambda x: -a * np.logaddexp(0, -x) - b * np.logaddexp(0, x)
    top = max(log_density(x) for x in np.linspace(-half, half, 401))
    value, _ = integrate.quad(lambda x: math.exp(log_density(x) - top), -half, half, epsabs=0, epsrel=1e-12, limit=200)
    return top + math.log(value)


@pytest.mark.parametrize("trials", [1, 2, 4])
@pytest.mark.parametrize("power", [0.3, 1.0])
def test_a_record_of_several_bits_is_priced_by_all_of_them(trials, power):
    """Brute force over every count: a replaced record moves it by up to `trials`, and the log ratio by its supremum."""
    n, a, b, floor = 3, 1.5, 2.5, 0.1
    half = float(special.logit(1 - floor))
    total = n * trials
    levels = [log_normaliser(a + power * k, b + power * (total - k), half) for k in range(total + 1)]
    worst = widest = 0.0
    for k in range(total + 1):
        for other in range(max(0, k - trials), min(total, k + trials) + 1):
            move = power * (k - other)
            ends = [move * x - (levels[k] - levels[other]) for x in (-half, half)]
            worst, widest = max(worst, *map(abs, ends)), max(widest, abs(ends[1] - ends[0]))
    facts = {"alpha": a, "beta": b, "n": n, "floor": floor, "trials": trials, "power": power}
    pure = truncated.beta(**facts, form="pure").epsilon(0.0)
    assert worst <= pure <= worst + 1e-8
    ranged = truncated.beta(**facts, form="bounded range").curve.epsilon_value
    assert widest * (1 - 1e-12) <= ranged <= widest * (1 + 1e-9)


@pytest.mark.parametrize("form", ["pure", "bounded range"])
def test_the_ends_of_a_drawn_range_may_be_off_by_a_rounding(form):
    """[10^6, 10^6 + 10^-3]: a rounding of either end is a large part of the range, and is charged."""
    low, high, bound = 1e6, 1e6 + 1e-3, 2.0
    claim = truncated.gamma(
        shape=2.0, rate=1.0, n=5, bound=bound, lower=low, upper=high, power=0.5, form=form
    )  # fmt: skip
    wider = Fraction(high) * (1 + Fraction(1, 1 << 51)) - Fraction(low) * (1 - Fraction(1, 1 << 51))
    exact = Fraction(0.5) * Fraction(bound) * wider
    if form == "bounded range":
        assert Fraction(claim.curve.epsilon_value) >= exact
        assert claim.curve.epsilon_value <= float(exact) * 1.01
    else:
        assert claim.epsilon(0.0) <= float(exact) * 1.01 + 1e-8


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("categories", [2, 3, 7])
def test_the_range_of_a_dirichlet_is_that_of_two_cells(categories, draws):
    """A count that leaves one cell and enters another: r log of each cell's largest over smallest share, twice."""
    floor, power = 0.05, 0.4
    largest = 1 - (categories - 1) * floor
    exact = 2 * power * math.log(largest / floor)
    claim = truncated.dirichlet(categories=categories, floor=floor, power=power, draws=draws)
    assert exact * draws <= claim.curve.renyi(math.inf) <= exact * draws * (1 + 1e-12)
    # Attained: one cell from its smallest to its largest share, the other the opposite way.
    ends = [power * (math.log(first) - math.log(second)) for first, second in ((largest, floor), (floor, largest))]
    assert max(ends) - min(ends) == pytest.approx(exact, rel=1e-12)
